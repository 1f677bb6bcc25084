/* SPDX-License-Identifier: MIT */
/*
 * sampled: what the samples of a group's stacks come to together: how much is allocated and kept there a minute, and what becomes of it.
 *
 *	a stack's part of its site ── x ── hits / time the trap stood ──▶ its rate	added up over the stacks of the group
 *	steps of age, of all its stacks ──▶ survival (report/sampling/survival.h)
 *	rate x share that stays x mean size ──▶ what is kept a minute
 *
 * What is kept follows from what becomes of the blocks, not from the share alone:
 *
 *	stays		rate x share
 *	table		the rate in the last fifth of the run, in which none was seen, x share
 *	goes		0; at most rate x share: those that are left are going too
 *	unknown		nobody knows; at most rate x share. That is what it may keep, and no sum of what is kept has it
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
	struct estimate allocs, late;	/* a minute: over the run, in its last fifth */
	double late_expected;		/* to be seen then, had it gone on as before */
	struct survival_step steps[SURVIVAL_STEPS];
};

/* The sum of independent ones. */
void sampled_add_estimate(struct estimate *to, const struct estimate *e);

/* Begin with one that is all zero. */
void sampled_add(struct sampled *to, const struct fact_sample *its);
void sampled_merge(struct sampled *to, const struct sampled *from);

/* In a run of @seconds. */
void sampled_judge(const struct sampled *s, double seconds, struct summary_sample *out);

/* What was judged to stay (SURVIVAL_STAYS) is not known, for this reason. */
void sampled_doubt(struct summary_sample *its, enum survival_doubt why);

/* What it has kept in a run of @seconds, as is estimated: nothing, where it is not known whether it keeps any. */
uint64_t sampled_kept_bytes(const struct summary_sample *its, double seconds);

/*
 * Who asks for what has kept so much or more is told of it if this is that much: where a rate is a lower bound it may be anything, and where it is not known
 * whether it stays, all that it may be.
 */
uint64_t sampled_bytes_to_ask_for(const struct summary_sample *its, double seconds);

/* How it grows, in the words of other runs, in a run of @seconds: what follows from @its, not from the blocks that happen to be followed. */
void sampled_growth(const struct summary_sample *its, double seconds, struct growth *out);

#endif
