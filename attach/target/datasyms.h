/* SPDX-License-Identifier: MIT */
/*
 * datasyms: the variable of an ELF file at an address, and the address of a variable. For occasional
 * questions: each one searches the symbol tables from the beginning.
 */
#ifndef MM_DATASYMS_H
#define MM_DATASYMS_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/taddr.h"

/*
 * The variable of .symtab or .dynsym that covers @addr (an address of the file): its name (owned by libelf)
 * and where it begins. false: there is none.
 */
bool datasyms_over(Elf *elf, taddr addr, const char **name, taddr *begin);

/*
 * The address, in the file, of the variable @name: the exported one (.dynsym), else one of .symtab. false:
 * there is none.
 */
bool datasyms_find(Elf *elf, const char *name, taddr *addr);

#endif
