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
 *
 * Where too few blocks were tracked, or not for long enough, to know that, and at the end nothing points to several
 * of them, those stay live: what is lost is never freed. Likewise where the kernel's probes have seen several that are
 * lost (attach/loss/loss_probes.h): then the rate is their part of what the whole process has lost.
 */
#ifndef MM_SAMPLED_H
#define MM_SAMPLED_H

#include <stdint.h>

#include "base/cleanup.h"
#include "report/model/summary.h"
#include "trace/fact.h"

struct sampled {
	uint32_t process;		/* of a merged run, its index; else 0 */
	struct sampled *next;		/* of another process, with a higher index */
	uint64_t seen, late_seen, usable_bytes;
	uint32_t stacks, standing;
	double exposed_us;		/* of their sites, added up */
	struct estimate allocs, late;	/* per minute: over the run, in its last fifth */
	double late_expected;		/* how many were expected to be seen then, at the rate before */
	struct survival_step steps[SURVIVAL_STEPS];
	uint64_t searched, lost;
	uint64_t probed, probed_lost;	/* seen by the kernel's probes; of these, lost */
	double losing_bytes;		/* a minute, of `losing`: usable */
	struct estimate losing;		/* blocks a minute */
};

/* Add an estimate that is independent of @to. */
void sampled_add_estimate(struct estimate *to, const struct estimate *e);

/* That of one stack in one process; not in a list. */
void sampled_one(const struct fact_sample *its, uint32_t process, struct sampled *out);

/* A list, which begins as NULL, has one of each process. 0 or -ENOMEM; sampled_free in any case. */
must_check int sampled_add(struct sampled **list, uint32_t process, const struct fact_sample *its);
must_check int sampled_merge(struct sampled **list, const struct sampled *from);
void sampled_free(struct sampled *list);

/* At this age a block that is pointed to is old, and no more one of a cache that fills. */
#define SAMPLED_OLD_S 300.0

/* What the samples of one process say of its run of @seconds. */
void sampled_conclude(const struct sampled *s, double seconds, struct summary_sample *out);

/*
 * Of several processes: blocks stay live there if they do in one of them; it is not known whether they do if that is
 * not known of one, and they stay in none. Ages are those of the processes that decide.
 */
void sampled_sum(const struct summary_sample *all, size_t n, struct summary_sample *out);

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
