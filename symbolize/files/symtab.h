/* SPDX-License-Identifier: MIT */
/*
 * symtab: functions by address, from the symbol tables of one file.
 *
 * The .symtab of the file is read; if it was stripped, that of its debug file, else its .dynsym and the
 * compressed .symtab of static functions (symbolize/files/minidebug.h).
 *
 * A symbol covers [st_value, st_value + st_size) only. Of several, global and weak ones come first, then the
 * one that begins last, then the stronger binding, the smaller size, the first in the table: the same choice
 * as eu-addr2line's. A symbol without a size covers the code up to the next symbol, but never past the end of
 * its section, nor into another function that can be unwound.
 */
#ifndef MM_SYMTAB_H
#define MM_SYMTAB_H

#include <libelf.h>

#include "base/cleanup.h"
#include "base/taddr.h"

struct symtab;

/* @debug: its debug file, or NULL; both must outlive the table. 0 or -ENOMEM; damaged parts are left out. */
must_check int symtab_new(Elf *elf, Elf *debug, struct symtab **out);
void symtab_free(struct symtab *t);

/* The name of the function at @addr as written in the table, or NULL. Valid until symtab_free. */
const char *symtab_find(const struct symtab *t, taddr addr);

#endif
