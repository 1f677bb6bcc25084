/* SPDX-License-Identifier: MIT */
/*
 * symtab: functions by address, from the symbol tables of one file.
 *
 * Read are .symtab of the file; if it was stripped, that of its debug file, else
 * its .dynsym and the packed .symtab of static functions (symbolize/files/minidebug.h).
 *
 * A symbol answers inside [st_value, st_value + st_size) only. Of several the
 * global ones come first, then the one that begins last, then the stronger
 * binding, the smaller size, the first in the table: as eu-addr2line chooses. A
 * symbol without a size answers up to the next symbol, but never past the end of its section,
 * nor for another function that can be unwound.
 */
#ifndef MM_SYMTAB_H
#define MM_SYMTAB_H

#include <libelf.h>

#include "base/cleanup.h"
#include "base/taddr.h"

struct symtab;

/* @debug: its debug file, or NULL; both must outlive the table. 0 or -ENOMEM; what is damaged is left out. */
must_check int symtab_new(Elf *elf, Elf *debug, struct symtab **out);
void symtab_free(struct symtab *t);

/* The name of the function at @addr as the table has it, or NULL. Valid until symtab_free. */
const char *symtab_find(const struct symtab *t, taddr addr);

#endif
