/* SPDX-License-Identifier: MIT */
/*
 * plan_exits: the exits and calls of a watched function, and which traps it needs because of them. For plan.c
 * only.
 *
 * The functions of a module are compared with each other: if one jumps to or calls another watched function
 * of its family, the traps of that one serve both, or hits of the two must be distinguished. A function of
 * another family counts as an unwatched one.
 */
#ifndef MM_PLAN_EXITS_H
#define MM_PLAN_EXITS_H

#include "attach/probes/code/body.h"
#include "attach/probes/plan.h"

/* The state while one module is planned. bodies[i], entries[i] and ends[i] belong to set->plans[i]. */
struct planning {
	struct elfimage *img;
	struct decoder *d;
	const struct rule *rules;
	size_t nrules;
	const struct plan_options *opt;
	struct plan_set *set;
	struct body *bodies;
	taddr *entries;		/* 0: not to be planned; the reason is in the plan */
	bool *ends;		/* the end of its calls will be seen */
	taddr *taken;		/* addresses that have a trap */
	size_t ntaken;
};

enum exit_use {
	EXIT_TRAP,		/* a ret: the result is in rax */
	EXIT_TRAP_RDI,		/* a jump to a function that returns its first argument */
	/* a jump to a function of the family whose end is watched: that ends the call */
	EXIT_CLOSED_THERE,
	EXIT_UNKNOWN,
};

/* Is the end of the call needed, not only its beginning? */
static inline bool has_end(const struct rule *r)
{
	return r->op == RULE_IN || rule_at_exit(r);
}

/* How the exit @e of @p's function is treated. */
enum exit_use use_of(const struct planning *pl, const struct plan *p, const struct body_exit *e);

size_t count_exits(const struct planning *pl, const struct plan *p, const struct body *b, enum exit_use use);

/* Say of each function whether the end of its calls will be seen (pl->ends). The bodies are scanned. */
void find_ends(struct planning *pl);

/* Is every exit known, and can it be trapped (there may be none to trap)? If not, @why is the reason. */
bool exits_known(const struct planning *pl, const struct plan *p, const struct body *b, char *why, size_t n);

/* The function calls one of its family, perhaps itself: hits of the inner call must be ignored meanwhile. */
bool calls_watched(const struct planning *pl, const struct plan *p, const struct body *b);

/*
 * The call needs a trap at its entry, too: its arguments are needed when it returns, or the rule is about
 * what happens inside, or the call may end at a trap of another function whose rule records less.
 */
bool needs_entry(const struct planning *pl, const struct plan *p, const struct body *b);

/* All its blocks are recorded by the traps of another function, which allocates them. */
bool is_wrapper(const struct planning *pl, const struct plan *p, const struct body *b);

/* It calls one of its family, or jumps there: it may forward its argument. */
bool forwards_argument(const struct planning *pl, const struct plan *p, const struct body *b);

/* It only jumps to another function that frees, with the same first argument: the free is recorded there. */
bool only_jumps_to_free(const struct planning *pl, const struct plan *p, const struct body *b);

#endif
