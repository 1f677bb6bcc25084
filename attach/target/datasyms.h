/* SPDX-License-Identifier: MIT */
/* datasyms: which variable of an ELF file lies at an address, and where one lies. For a question now and then: the tables are gone through for each. */
#ifndef MM_DATASYMS_H
#define MM_DATASYMS_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/taddr.h"

/* The variable of .symtab or .dynsym that covers @addr (the file's own), its name (libelf's) and where it begins. false: there is none. */
bool datasyms_over(Elf *elf, taddr addr, const char **name, taddr *begin);

/* Where the variable @name lies that others can see (.dynsym): the file's own address. */
bool datasyms_find(Elf *elf, const char *name, taddr *addr);

#endif
