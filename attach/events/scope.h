/* SPDX-License-Identifier: MIT */
/*
 * scope: whose calls count: those of some threads (--thread), those made by the code of some modules (--module). Without
 * either, everybody's. (--in, --from and --until are rules: rules/rule.h.)
 *
 * What is taken must be in scope; what was taken in scope and is given back always counts, whoever does it.
 *
 * A thread is known by its name only as long as it is there, and we ask for it when we read of what it did: one that has
 * ended by then under a name that was never read is SCOPE_UNKNOWN. Its caller counts these.
 */
#ifndef MM_SCOPE_H
#define MM_SCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addrmap.h"
#include "base/cleanup.h"

struct ledger;
struct modules;
struct option_list;

struct scope {
	pid_t pid;
	const struct modules *mapped;		/* to know wrappers by their names; NULL: they are not known */
	const struct option_list *threads;	/* numbers, or globs of names */
	const struct option_list *modules;	/* globs of base names */
	struct addrmap by_tid;		/* -> struct scope_thread */
	struct addrmap by_stack;	/* -> is it wanted, a byte */
	bool out_of_memory;
};

/* All but @s stay the caller's. */
void scope_init(struct scope *s, pid_t pid, const struct modules *mapped, const struct option_list *threads,
		const struct option_list *modules);
void scope_fini(struct scope *s);

enum scope_answer { SCOPE_NO, SCOPE_YES, SCOPE_UNKNOWN };

/* Does @tid count? A name is looked up anew when it was seen a second ago: threads give themselves names when they have begun. */
enum scope_answer scope_has_thread(struct scope *s, uint32_t tid, uint64_t now_ns);

/* It has ended: its number may become another's. */
void scope_thread_end(struct scope *s, uint32_t tid);

/*
 * Does what was taken by stack index @stack count: is the first frame that is no wrapper's, as a report has it, in a wanted
 * module? To be asked while that stack's modules are mapped.
 */
bool scope_has_caller(struct scope *s, const struct ledger *l, uint32_t stack);

#endif
