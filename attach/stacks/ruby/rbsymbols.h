/* SPDX-License-Identifier: MIT */
/*
 * rbsymbols: the names of methods. Ruby has a table of all symbols, by number; nothing that is exported leads
 * to it. So it is looked for in the initialized data of the file, and known by what it has for symbols whose
 * numbers never change: those of operators are their letters.
 */
#ifndef MM_RUBY_SYMBOLS_H
#define MM_RUBY_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/stacks/ruby/rblayouts.h"
#include "attach/target/modules.h"

/* The address of the table of @m; 0: it was not found. */
taddr rb_symbols_locate(const struct module *m, int mem, const struct rb_layout *l);

/* The name of symbol @id. */
bool rb_symbols_name(int mem, const struct rb_layout *l, taddr table, uint64_t id, char *buf, size_t n);

#endif
