/* SPDX-License-Identifier: MIT */
/*
 * judge: what the body of a watched function means for its traps. For plan.c only.
 *
 * The functions of a module are judged together: where one jumps to or calls
 * another that is watched, that one's traps do for both, or must be told apart.
 */
#ifndef MM_JUDGE_H
#define MM_JUDGE_H

#include "attach/probes/body.h"
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
	EXIT_CLOSED_THERE,	/* a jump to a watched function: its exits end the call */
	EXIT_UNKNOWN,
};

static inline bool has_result(const struct rule *r)
{
	return r->op == RULE_ALLOC || r->op == RULE_REALLOC;
}

/* What the exit @e is to @p's function. */
enum exit_use use_of(const struct planning *pl, const struct plan *p, const struct body_exit *e);

size_t count_exits(const struct planning *pl, const struct plan *p, const struct body *b, enum exit_use use);

/* Every exit is known and can be trapped (there may be none to trap); else @why says why not. */
bool exits_known(const struct planning *pl, const struct plan *p, const struct body *b, char *why, size_t n);

/* The function itself calls one that is watched: that one must be told to be silent meanwhile. */
bool calls_watched(const struct planning *pl, const struct plan *p, const struct body *b);

/* What the call was given is needed when it returns. */
bool needs_arguments(const struct planning *pl, const struct plan *p);

/* Its blocks are all seen where they are made, by another function's traps. */
bool is_wrapper(const struct planning *pl, const struct plan *p, const struct body *b);

#endif
