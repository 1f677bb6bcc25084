/* SPDX-License-Identifier: MIT */
/*
 * rbruntime: the Ruby interpreter in a process: which version it is, how its structures are laid out, where
 * the frames of each thread begin, and which function executes them. Since 3.3 its file exports neither that
 * function nor the variable that leads to its threads: without a table of symbols, both are found by what
 * they must be, as soon as there is a thread that executes a script.
 *
 * Each thread has in a variable of its own what it executes: a fiber. Nothing says where in glibc's
 * thread-local storage that variable lies; but what the first thread executes is known from Ruby itself, and
 * the variable is the only one of the thread that has that value.
 */
#ifndef MM_RUBY_RUNTIME_H
#define MM_RUBY_RUNTIME_H

#include <stdint.h>

#include "attach/stacks/ruby/rblayouts.h"
#include "attach/stacks/scripts/script_language.h"

struct rb_runtime {
	struct script_runtime base;	/* first */
	struct rb_layout layout;	/* of this version; its chain is in base, with the slot */
	taddr vm;			/* ruby_current_vm_ptr; 0: not known yet */
	taddr core;			/* what executes instructions; the loop was searched for it */
	uint32_t searches;		/* for it */
	taddr symbols;			/* the table of symbols; 0: it was not found */
};

static inline const struct rb_runtime *rb_runtime_of(const struct script_runtime *rt)
{
	return (const void *)rt;
}

/* Of struct script_language. */
must_check int rb_runtime_find(struct script_runtime *rt, const struct module *m, int mem, char *why,
			       size_t n);
must_check int rb_runtime_locate(struct script_runtime *rt, const struct module *m);

#endif
