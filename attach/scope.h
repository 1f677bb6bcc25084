/* SPDX-License-Identifier: MIT */
/*
 * scope: whose calls count: those of some threads (--thread), those made by the code of some modules (--module). Without
 * either, everybody's. (--in, --from and --until are rules: probes/rule.h.)
 *
 * What is taken must be in scope; what is given back always counts, whoever does it.
 */
#ifndef MM_SCOPE_H
#define MM_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/options.h"
#include "base/addrmap.h"
#include "base/cleanup.h"
#include "trace/defs.h"

struct scope {
	pid_t pid;
	const struct option_list *threads;	/* numbers, or globs of names */
	const struct option_list *modules;	/* globs of base names */
	struct addrmap by_tid;		/* -> struct scope_thread */
	struct addrmap by_stack;	/* -> is it wanted, a byte */
	bool out_of_memory;
};

/* @threads, @modules: stay the caller's. */
void scope_init(struct scope *s, pid_t pid, const struct option_list *threads, const struct option_list *modules);
void scope_fini(struct scope *s);

/* Does @tid count? A name is looked up anew when it was seen a second ago: threads give themselves names when they have begun. */
bool scope_has_thread(struct scope *s, uint32_t tid, uint64_t now_ns);

/* Does what was taken by stack index @stack count: is its first frame that no rule leaves out in a wanted module? */
bool scope_has_caller(struct scope *s, const struct defs *d, uint32_t stack);

#endif
