/* SPDX-License-Identifier: MIT */
/* lines: source file and line of the code of one compilation unit, from its line table. */
#ifndef MM_LINES_H
#define MM_LINES_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "base/taddr.h"

/* A position in the source. All strings belong to the Dwarf. */
struct source {
	const char *dir;	/* what a relative name is relative to; NULL: nothing to add */
	const char *file;	/* NULL: not known */
	int line;		/* 0: not known */
};

struct lines {
	Dwarf_Die *unit;
	const char *dir;	/* DW_AT_comp_dir */
	Dwarf_Lines *table;	/* NULL: there is none */
	size_t n;
	Dwarf_Files *files;	/* NULL */
};

/* Read the tables of @unit, which must outlive @l; they stay in memory until dwarf_end. */
void lines_init(struct lines *l, Dwarf_Die *unit);

/* Roughly how much memory the tables use, in bytes. */
uint64_t lines_memory(const struct lines *l);

struct source lines_at(const struct lines *l, taddr addr);

/* Where the inlined subroutine @die was called. */
struct source lines_call(const struct lines *l, Dwarf_Die *die);

#endif
