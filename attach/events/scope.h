/* SPDX-License-Identifier: MIT */
/*
 * scope: which calls count: those of some threads (--thread), and those made by the code of some modules
 * (--module). Without either option, all calls count. (--in, --from and --until are rules: rules/rule.h.)
 *
 * An allocation must be in scope; its free then always counts, in whatever thread and module. References
 * likewise.
 *
 * A thread has a name only as long as it exists, and the name is read when the thread's record is read. If
 * the thread has ended by then, and its name was never read, the answer is SCOPE_UNKNOWN. The caller counts
 * these.
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
	const struct modules *mapped;		/* to recognize wrappers by name; NULL: they are not */
	const struct option_list *threads;	/* numbers, or globs of names */
	const struct option_list *modules;	/* globs of base names */
	struct addrmap by_tid;		/* -> struct scope_thread */
	struct addrmap by_stack;	/* -> bool: is it wanted */
	bool out_of_memory;
};

/* The caller owns everything but @s, and must not free it before scope_fini. */
void scope_init(struct scope *s, pid_t pid, const struct modules *mapped, const struct option_list *threads,
		const struct option_list *modules);
void scope_fini(struct scope *s);

enum scope_answer { SCOPE_NO, SCOPE_YES, SCOPE_UNKNOWN };

/*
 * Does @tid count? The name is read again if that was more than a second ago: threads name themselves some
 * time after they have begun.
 */
enum scope_answer scope_has_thread(struct scope *s, uint32_t tid, uint64_t now_ns);

/* Thread @tid has ended: its number may be reused. */
void scope_thread_end(struct scope *s, uint32_t tid);

/*
 * Does an allocation with stack index @stack count: is the first frame that is not a wrapper's, as in a
 * report, in a wanted module? Call it while the modules of that stack are mapped.
 */
bool scope_has_caller(struct scope *s, const struct ledger *l, uint32_t stack);

#endif
