/* SPDX-License-Identifier: MIT */
/*
 * skips: the code ranges of functions that are to be left out at the front of stacks, and that the user gave
 * without a name: as MODULE+0xOFFSET or 0xADDRESS, any address within the function.
 */
#ifndef MM_SKIPS_H
#define MM_SKIPS_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/rules/rulefile.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"

struct skips_range {
	const struct module *module;
	struct code_range at;		/* runtime addresses */
};

struct skips {
	const struct rule_skip *all;	/* the rule set's */
	size_t n;
	struct skips_range *ranges;
	size_t nranges;
};

void skips_init(struct skips *s, const struct rule_skip *all, size_t n);
void skips_fini(struct skips *s);

/* The target runs another program: no range is valid any more. */
void skips_forget(struct skips *s);

/* @m is mapped: add its functions. One whose extent is unknown is logged and not added. 0 or -ENOMEM. */
must_check int skips_add_module(struct skips *s, const struct module *m);

/* Is the code at @addr to be left out? @ctx: the struct skips. */
bool skips_has(void *ctx, taddr addr);

#endif
