/* SPDX-License-Identifier: MIT */
/*
 * judge: what the body of a watched function means for its traps. For plan.c only.
 *
 * The functions of a module are judged together: where one jumps to or calls
 * another of its family that is watched, that one's traps do for both, or must be told apart. What
 * belongs to another family is any function.
 */
#ifndef MM_JUDGE_H
#define MM_JUDGE_H

#include "attach/probes/code/body.h"
#include "attach/probes/plan.h"

/* All that is known while one module is planned. bodies[i] and entries[i] go with set->plans[i]. */
struct planning {
	struct elfimage *img;
	struct decoder *d;
	const struct rule *rules;
	size_t nrules;
	const struct plan_options *opt;
	struct plan_set *set;
	struct body *bodies;
	taddr *entries;		/* 0: not to be planned, for the reason given */
	taddr *taken;		/* where traps stand */
	size_t ntaken;
};

enum exit_use {
	EXIT_TRAP,		/* a ret: the result is in rax */
	EXIT_TRAP_RDI,		/* a jump to a function that returns its first argument */
	EXIT_CLOSED_THERE,	/* a jump to a function of the family that is watched to its end: that ends the call */
	EXIT_UNKNOWN,
};

/* Is the end of the call wanted, not only its beginning? */
static inline bool has_end(const struct rule *r)
{
	return r->op == RULE_IN || rule_at_exit(r);
}

/* What the exit @e is to @p's function. */
enum exit_use use_of(const struct planning *pl, const struct plan *p, const struct body_exit *e);

size_t count_exits(const struct planning *pl, const struct plan *p, const struct body *b, enum exit_use use);

/* Every exit is known and can be trapped (there may be none to trap); else @why says why not. */
bool exits_known(const struct planning *pl, const struct plan *p, const struct body *b, char *why, size_t n);

/* The function itself calls one of its family, perhaps itself: that one must be told to be silent meanwhile. */
bool calls_watched(const struct planning *pl, const struct plan *p, const struct body *b);

/*
 * The call's beginning is wanted too: what it was given is needed when it returns, or it is about what happens inside, or
 * it may end by another one's traps and say more than that one's rule.
 */
bool needs_entry(const struct planning *pl, const struct plan *p, const struct body *b);

/* Its blocks are all seen where they are made, by another function's traps. */
bool is_wrapper(const struct planning *pl, const struct plan *p, const struct body *b);

/* It calls one of its family, or jumps there: what it was given it may pass on. */
bool passes_on(const struct planning *pl, const struct plan *p, const struct body *b);

/* It jumps to another one that releases, with the same first argument, and does nothing else to it: the release is seen there. */
bool only_jumps_to_free(const struct planning *pl, const struct plan *p, const struct body *b);

#endif
