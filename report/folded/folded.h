/* SPDX-License-Identifier: MIT */
/*
 * folded: stacks as lines "root;...;leaf NUMBER", for flame graph tools. Lines are collected, those of the
 * same stack are added up, and they are printed sorted by their text. Numbers may have a second column
 * (before and after).
 *
 * A name cannot contain what has a meaning in this format: ';' becomes ':', and a number at the end of a
 * name, which would be read as the number of the line, is joined to the name by '_'.
 */
#ifndef MM_FOLDED_H
#define MM_FOLDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "report/model/summary.h"

struct folded_line {
	char *stack;
	uint64_t bytes[2];
};

struct folded {
	struct folded_line *lines;
	size_t n, size;
	bool families;		/* each stack begins with its family's name, */
	bool verdicts;		/* and with its verdict, if it has one; false unless set */
	int err;
};

/* @families: there is more than one family, and their bytes may be the same memory. */
void folded_init(struct folded *f, bool families);
void folded_fini(struct folded *f);

/*
 * Add @g's stack without its wrappers, with its tag after the leaf. Out of memory is sticky, and returned by
 * folded_put.
 */
void folded_add(struct folded *f, const struct summary_group *g, uint64_t first, uint64_t second);

/* Append to @sb, with @columns (1 or 2) numbers per line. 0 or -ENOMEM. */
must_check int folded_put(struct folded *f, size_t columns, struct strbuf *sb);

/* Is there more than one family in @s, of blocks or of objects? */
bool folded_families(const struct summary *s);

#endif
