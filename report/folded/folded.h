/* SPDX-License-Identifier: MIT */
/*
 * folded: stacks as lines "root;...;leaf NUMBER", for whoever makes flame graphs. Lines are gathered, those of the same
 * stack added up, and printed in the order of their text. Numbers may have a second column (before and after).
 *
 * What has a meaning there cannot be in a name: ';' becomes ':', and a number at the end of a name, which would be taken for
 * one of ours, is tied to it by '_'.
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
	bool families;		/* each stack stands on its family's name, */
	bool verdicts;		/* and on its verdict, if it has one; false unless set */
	int err;
};

/* @families: there is more than one, whose bytes may be the same memory. */
void folded_init(struct folded *f, bool families);
void folded_fini(struct folded *f);

/* @g's stack without its wrappers, its tag at the leaf's end. Want of memory is sticky, and found by folded_put. */
void folded_add(struct folded *f, const struct summary_group *g, uint64_t first, uint64_t second);

/* Append to @sb, with @columns (1 or 2) numbers a line. 0 or -ENOMEM. */
must_check int folded_put(struct folded *f, size_t columns, struct strbuf *sb);

/* Is there more than one family in @s, of blocks or of objects? */
bool folded_families(const struct summary *s);

#endif
