/* SPDX-License-Identifier: MIT */
/*
 * sampled: what the samples of a group's stacks say together: how much is allocated there per minute, how
 * much of it stays live, and what becomes of it.
 *
 *	a stack's part of its site ── x ── hits / exposure ──▶ its rate	added up over the group's stacks
 *	steps of age, of all its stacks ──▶ survival (report/sampling/survival.h)
 *	rate x share that stays x mean size ──▶ what stays live, per minute
 *
 * What stays live follows from what becomes of the blocks, not from the share alone:
 *
 *	stays		leaks: rate x share
 *	table		bounded: the rate in the last fifth of the run, in which none was seen, x share
 *	goes		freed: 0; at most rate x share, since those that are left will be freed too
 *	unknown		not known; at most rate x share. No sum of what stays live includes it
 */
#ifndef MM_SAMPLED_H
#define MM_SAMPLED_H

#include <stdint.h>

#include "report/model/summary.h"
#include "trace/fact.h"

struct sampled {
	uint64_t seen, late_seen, chunk_bytes;
	uint32_t stacks, standing;
	double exposed_us;		/* of their sites, added up */
	struct estimate allocs, late;	/* per minute: over the run, in its last fifth */
	double late_expected;		/* how many were expected to be seen then, at the rate before */
	struct survival_step steps[SURVIVAL_STEPS];
};

/* Add an estimate that is independent of @to. */
void sampled_add_estimate(struct estimate *to, const struct estimate *e);

/* Begin with one that is all zero. */
void sampled_add(struct sampled *to, const struct fact_sample *its);
void sampled_merge(struct sampled *to, const struct sampled *from);

/* What the samples say of a run of @seconds. */
void sampled_conclude(const struct sampled *s, double seconds, struct summary_sample *out);

/* Change the conclusion SURVIVAL_STAYS to unknown, for this reason. */
void sampled_doubt(struct summary_sample *its, enum survival_doubt why);

/* The bytes estimated to stay live in a run of @seconds; 0 if it is not known whether any do. */
uint64_t sampled_kept_bytes(const struct summary_sample *its, double seconds);

/*
 * The bytes to be compared with the minimum that a user asks for. If the rate is a lower bound, they may be
 * any number; if it is not known whether the blocks stay live, they are the possible maximum.
 */
uint64_t sampled_bytes_to_ask_for(const struct summary_sample *its, double seconds);

/*
 * Growth in a run of @seconds, in the terms of exact runs: it follows from @its, not from the blocks that
 * happen to be tracked.
 */
void sampled_growth(const struct summary_sample *its, double seconds, struct growth *out);

#endif
