/* SPDX-License-Identifier: MIT */
/*
 * skipped_functions: the code ranges of functions that are to be left out at the front of stacks, and that
 * the user gave without a name: as MODULE+0xOFFSET or 0xADDRESS, any address within the function.
 */
#ifndef MM_SKIPPED_FUNCTIONS_H
#define MM_SKIPPED_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/rules/rulefile.h"
#include "attach/target/modules.h"
#include "base/cleanup.h"

struct skipped_functions_range {
	const struct module *module;
	struct code_range at;		/* runtime addresses */
};

struct skipped_functions {
	const struct rule_skip *all;	/* the rule set's */
	size_t n;
	struct skipped_functions_range *ranges;
	size_t nranges;
};

void skipped_functions_init(struct skipped_functions *s, const struct rule_skip *all, size_t n);
void skipped_functions_fini(struct skipped_functions *s);

/* The target runs another program: no range is valid any more. */
void skipped_functions_forget(struct skipped_functions *s);

/* @m is mapped: add its functions. One whose extent is unknown is logged and not added. 0 or -ENOMEM. */
must_check int skipped_functions_add_module(struct skipped_functions *s, const struct module *m);

/* Is the code at @addr to be left out? @ctx: the struct skipped_functions. */
bool skipped_functions_has(void *ctx, taddr addr);

#endif
