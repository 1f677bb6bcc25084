/* SPDX-License-Identifier: MIT */
#include "report/model/sampled.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/model/unknown_reason.h"
#include "report/sampling/quantile.h"

#define CUT_LEAST 0.05	/* if rounds end in bunches and a smaller part of the time was seen than this, */
#define CUT_LESS 10.0	/* so many times less of the calls is assumed to be seen */
#define LATE_PART 5	/* late is the last fifth */
#define LOST_ENOUGH 3u	/* so many tracked blocks that are lost are no accident, */
#define LOST_PART 2u	/* if they are one part in so many of those that are live, at least */
#define WINDOW_S 10.0		/* the probes show what is lost until then */
#define POINTED_PART 10		/* if fewer than one in so many are lost, something points to all, or nearly */
#define NOT_FREED_SOON 0.9	/* of the blocks of such a stack so large a part is live, at least */

_Static_assert(SURVIVAL_STEPS == MMT_SAMPLE_STEPS, "steps of age");

/* Their deviations are combined as the root of the sum of squares. */
void sampled_add_estimate(struct estimate *to, const struct estimate *e)
{
	const double low = hypot(to->value - to->low, e->value - e->low),
		     high = hypot(to->high - to->value, e->high - e->value);

	to->value += e->value;
	to->low = fmax(to->value - low, 0);
	to->high = to->value + high;
	to->at_least |= e->at_least;
}

/* The part of this stack in the hits that the meter of the site has counted. */
static uint64_t hits_of(const struct fact_sample *its, uint64_t seen)
{
	const double share = its->site_seen > seen ? (double)seen / (double)its->site_seen : 1;

	return seen ? (uint64_t)llround(fmin(share * (double)its->site_hits, 1e18)) : 0;
}

static struct estimate rate_of(const struct fact_sample *its)
{
	const struct estimate_rounds rounds = {
		.rounds = its->rounds, .full = its->full, .hits = its->site_hits,
		.exposed_us = its->exposed_us, .hits2 = its->hits2,
		.hits_exposed = its->hits_exposed, .exposed2 = its->exposed2, .missed = its->missed,
		.stood_us = its->stood_us,
	};
	struct estimate e;

	estimate_rate(&rounds, hits_of(its, its->seen), &e);
	estimate_scale(&e, 60);
	return e;
}

/* Nothing is known of the rounds of that time. */
static struct estimate late_rate_of(const struct fact_sample *its)
{
	const struct estimate_rounds rounds = { .exposed_us = its->late_exposed_us };
	struct estimate e;

	estimate_rate(&rounds, hits_of(its, its->late_seen), &e);
	estimate_scale(&e, 60);
	return e;
}

static double late_expected(const struct fact_sample *its)
{
	return its->exposed_us ? (double)hits_of(its, its->seen) / (double)its->exposed_us *
					 (double)its->late_exposed_us
			       : 0;
}

static void add(struct sampled *to, const struct sampled *from)
{
	to->seen += from->seen;
	to->late_seen += from->late_seen;
	to->late_expected += from->late_expected;
	to->usable_bytes += from->usable_bytes;
	to->stacks += from->stacks;
	to->searched += from->searched;
	to->lost += from->lost;
	to->probed += from->probed;
	to->probed_lost += from->probed_lost;
	to->losing_bytes += from->losing_bytes;
	sampled_add_estimate(&to->losing, &from->losing);
	to->standing += from->standing;
	to->exposed_us += from->exposed_us;
	sampled_add_estimate(&to->allocs, &from->allocs);
	sampled_add_estimate(&to->late, &from->late);
	for (unsigned i = 0; i < SURVIVAL_STEPS; i++) {
		to->steps[i].at_risk += from->steps[i].at_risk;
		to->steps[i].gone += from->steps[i].gone;
		to->steps[i].unknown += from->steps[i].unknown;
	}
}

/* That of @process in the list; made, if there is none. NULL: out of memory. */
static struct sampled *of_process(struct sampled **list, uint32_t process)
{
	struct sampled *made;

	while (*list && (*list)->process < process)
		list = &(*list)->next;
	if (*list && (*list)->process == process)
		return *list;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->process = process;
	made->next = *list;
	*list = made;
	return made;
}

int sampled_merge(struct sampled **list, const struct sampled *from)
{
	for (; from; from = from->next) {
		struct sampled *to = of_process(list, from->process);

		if (!to)
			return -ENOMEM;
		add(to, from);
	}
	return 0;
}

/* Blocks a minute. */
static struct estimate losing_of(const struct fact_losing *its)
{
	struct estimate e = { .value = (double)its->blocks, .low = (double)its->least, .high = (double)its->most };

	if (!its->over_us)
		return (struct estimate){ 0 };
	estimate_scale(&e, 60e6 / (double)its->over_us);
	return e;
}

void sampled_one(const struct fact_sample *its, uint32_t process, struct sampled *out)
{
	*out = (struct sampled){
		.process = process,
		.seen = its->seen, .late_seen = its->late_seen, .usable_bytes = its->usable_bytes,
		/* one that only the probes have seen has no site */
		.stacks = its->seen || its->exposed_us,
		.standing = its->standing,
		.exposed_us = (double)its->exposed_us, .allocs = rate_of(its), .late = late_rate_of(its),
		.late_expected = late_expected(its), .searched = its->searched, .lost = its->lost,
		.probed = its->losing.seen, .probed_lost = its->losing.lost, .losing = losing_of(&its->losing),
		.losing_bytes = its->losing.over_us ? (double)its->losing.bytes * 60e6 / (double)its->losing.over_us : 0,
	};

	for (uint32_t i = 0; i < its->nsteps && i < SURVIVAL_STEPS; i++)
		out->steps[i] = (struct survival_step){ its->steps[i].at_risk, its->steps[i].gone,
							its->steps[i].unknown };
}

int sampled_add(struct sampled **list, uint32_t process, const struct fact_sample *its)
{
	struct sampled one;

	sampled_one(its, process, &one);
	return sampled_merge(list, &one);
}

void sampled_free(struct sampled *list)
{
	while (list) {
		struct sampled *next = list->next;

		free(list);
		list = next;
	}
}

static bool is_known(const struct summary_sample *its)
{
	return its->survival.kind != SURVIVAL_UNKNOWN;
}

static struct estimate at_most(const struct estimate *e)
{
	return (struct estimate){ .high = e->high, .at_least = e->at_least };
}

static void put_kept(struct summary_sample *its)
{
	its->kept_blocks = is_known(its) ? its->may_keep_blocks : at_most(&its->may_keep_blocks);
	its->kept_bytes = is_known(its) ? its->may_keep_bytes : at_most(&its->may_keep_bytes);
}

/* Of what is left, so large a part is lost; of all that were tracked, at least what is lost stays. */
static struct survival of_lost(const struct summary_sample *its)
{
	struct survival v = its->survival;
	double unused;

	quantile_share((double)its->lost, fmax((double)v.followed, (double)its->lost), &v.low, &unused);
	v.share *= (double)its->lost / (double)its->searched;
	v.low = fmin(v.low, v.share);
	return v;
}

static void judge_kept(const struct sampled *s, struct summary_sample *out)
{
	const struct survival v = out->by_lost ? of_lost(out) : out->survival;
	const struct estimate *rate = v.kind == SURVIVAL_TABLE ? &s->late : &s->allocs;

	estimate_kept(rate, v.share, v.low, v.high, &out->may_keep_blocks);
	if (v.kind == SURVIVAL_GOES)
		out->may_keep_blocks = (struct estimate){ .high = out->may_keep_blocks.high };
	out->may_keep_bytes = out->may_keep_blocks;
	/* without any seen block the size is unknown, and an unbounded number must not become 0 */
	if (s->seen)
		estimate_scale(&out->may_keep_bytes, out->bytes_each);
	put_kept(out);
}

/* The part of the allocations at their sites that was seen: that of the time. */
static double sees_of(const struct sampled *s, double seconds)
{
	return s->stacks && seconds > 0 ? fmin(s->exposed_us / s->stacks / (seconds * 1e6), 1) : 1;
}

/* If the rate may be any higher, as bunches were cut, it may be less; how much is not known. */
static double sees_at_least(const struct sampled *s, double sees)
{
	return s->allocs.at_least && sees < CUT_LEAST ? sees / CUT_LESS : sees;
}

/*
 * Is it only for want of blocks, or of time, that it is not known whether they stay live, do allocations go on, and are
 * several lost? Where the blocks at their addresses may be others, what is lost may be another stack's.
 */
static bool lost_decides(const struct summary_sample *its)
{
	const enum unknown_reason why = unknown_reason(its);

	return its->lost >= LOST_ENOUGH && its->lost <= its->searched &&
	       its->lost >= its->searched / LOST_PART + its->searched % LOST_PART && its->late_seen &&
	       (why == UNKNOWN_FEW || why == UNKNOWN_YOUNG || why == UNKNOWN_FEW_LEFT || why == UNKNOWN_SOME_LATE);
}

/*
 * Is a part of what the process has lost known to be its? That is more certain than what samples show, unless these
 * show that more than that stays: something points to the rest.
 */
static bool probes_decide(const struct sampled *s, const struct summary_sample *its)
{
	return s->losing.value > 0 && (its->survival.kind != SURVIVAL_STAYS || its->by_lost ||
				       its->kept_blocks.low <= s->losing.high);
}

/* The share that is left at the age that a window of the probes shows. */
static double left_soon(const struct summary_sample *its)
{
	double left[SURVIVAL_STEPS];
	unsigned n = survival_left(its->steps, left), i = 0;

	while (i + 1 < n && survival_age_s(i + 1) <= WINDOW_S)
		i++;
	return left[i];
}

/*
 * A part of the blocks is freed soon, and of those that the kernel's probes have seen fewer are lost than of the tracked
 * ones, by more than chance explains: then these are others' blocks, which got the addresses. What is lost only much
 * later than it was allocated would be there until then.
 */
static bool probes_contradict(const struct summary_sample *its)
{
	double unused, most;

	if (!its->probed || !its->lost || left_soon(its) > NOT_FREED_SOON)
		return false;
	quantile_share((double)its->probed_lost, (double)its->probed, &unused, &most);
	return most < (its->by_lost ? of_lost(its).low :
				      its->survival.low * (double)its->lost / fmax((double)its->searched, 1));
}

/*
 * Are the blocks that stay not lost, as far as they were looked for? A cache that fills, or sessions that last longer
 * than the watch, cannot be distinguished from a leak then.
 */
static bool is_pointed_to(const struct summary_sample *its)
{
	return its->survival.kind == SURVIVAL_STAYS && its->searched && its->lost < LOST_ENOUGH &&
	       (double)its->lost < (double)its->searched / POINTED_PART && its->survival.age_s < SAMPLED_OLD_S;
}

static void conclude_by_probes(const struct sampled *s, struct summary_sample *out)
{
	out->by_probes = true;
	out->by_lost = false;
	out->doubt = SURVIVAL_SURE;
	out->survival.kind = SURVIVAL_STAYS;
	out->bytes_each = s->losing_bytes / s->losing.value;
	out->may_keep_blocks = out->may_keep_bytes = s->losing;
	estimate_scale(&out->may_keep_bytes, out->bytes_each);
	put_kept(out);
}

void sampled_conclude(const struct sampled *s, double seconds, struct summary_sample *out)
{
	*out = (struct summary_sample){
		.seen = s->seen, .late_seen = s->late_seen,
		.bytes_each = s->seen ? (double)s->usable_bytes / (double)s->seen : 0,
		.standing = s->stacks && s->standing == s->stacks, .allocs = s->allocs,
		.sees = sees_of(s, seconds), .searched = s->searched, .lost = s->lost,
		.probed = s->probed, .probed_lost = s->probed_lost,
	};
	for (unsigned i = 0; i < SURVIVAL_STEPS; i++)
		out->steps[i] = s->steps[i];
	survival_conclude(out->steps, seconds, s->late_seen, s->late_expected, &out->survival);
	/* between two steps of age it is interpolated, and may be beyond what was watched */
	out->survival.half_s = fmin(out->survival.half_s, seconds);
	out->doubt = survival_doubt(&out->survival, sees_at_least(s, out->sees));
	out->by_lost = lost_decides(out);
	if (out->by_lost)
		out->survival.kind = SURVIVAL_STAYS;
	judge_kept(s, out);
	if (probes_decide(s, out))
		conclude_by_probes(s, out);
	else if (out->survival.kind == SURVIVAL_STAYS && probes_contradict(out))
		sampled_doubt(out, SURVIVAL_OTHERS);
	else if (is_pointed_to(out))
		sampled_doubt(out, SURVIVAL_POINTED_TO);
}

/* Which conclusion decides where those of several processes differ: the first one. */
static const enum survival_kind DECIDES[] = { SURVIVAL_STAYS, SURVIVAL_UNKNOWN, SURVIVAL_TABLE, SURVIVAL_GOES };

static enum survival_kind deciding(const struct summary_sample *all, size_t n)
{
	for (size_t k = 0; k < sizeof(DECIDES) / sizeof(DECIDES[0]); k++)
		for (size_t i = 0; i < n; i++)
			if (all[i].survival.kind == DECIDES[k])
				return DECIDES[k];
	return SURVIVAL_UNKNOWN;
}

/* The ages of blocks, of those processes that decide. */
static void sum_ages(const struct summary_sample *all, size_t n, enum survival_kind kind, struct summary_sample *out)
{
	double half_s = 0, min_age_s = 0;

	for (size_t i = 0; i < n; i++) {
		if (all[i].survival.kind != kind)
			continue;
		min_age_s = fmax(min_age_s, all[i].survival.min_age_s);
		for (unsigned k = 0; k < SURVIVAL_STEPS; k++) {
			out->steps[k].at_risk += all[i].steps[k].at_risk;
			out->steps[k].gone += all[i].steps[k].gone;
			out->steps[k].unknown += all[i].steps[k].unknown;
		}
		half_s = fmax(half_s, all[i].survival.half_s);
		if (all[i].doubt != SURVIVAL_SURE)
			out->doubt = all[i].doubt;
	}
	survival_conclude(out->steps, 0, 0, 0, &out->survival);
	out->survival.kind = kind;
	out->survival.min_age_s = min_age_s;
	out->survival.half_s = fmin(out->survival.half_s, half_s);
}

void sampled_sum(const struct summary_sample *all, size_t n, struct summary_sample *out)
{
	bool stays = false, stays_by_lost = false;
	double bytes = 0, seen_of_all = 0;

	*out = (struct summary_sample){ .standing = true };
	for (size_t i = 0; i < n; i++) {
		const struct summary_sample *its = &all[i];

		out->seen += its->seen;
		out->late_seen += its->late_seen;
		out->searched += its->searched;
		out->lost += its->lost;
		out->probed += its->probed;
		out->probed_lost += its->probed_lost;
		out->by_probes |= its->by_probes;
		stays_by_lost |= its->by_lost;
		stays |= its->survival.kind == SURVIVAL_STAYS && !its->by_lost;
		bytes += its->bytes_each * (double)its->seen;
		seen_of_all += its->sees / (double)n;
		out->standing &= its->standing;
		sampled_add_estimate(&out->allocs, &its->allocs);
		sampled_add_estimate(&out->kept_blocks, &its->kept_blocks);
		sampled_add_estimate(&out->kept_bytes, &its->kept_bytes);
		sampled_add_estimate(&out->may_keep_blocks, &its->may_keep_blocks);
		sampled_add_estimate(&out->may_keep_bytes, &its->may_keep_bytes);
	}
	out->bytes_each = out->seen ? bytes / (double)out->seen : 0;
	out->by_lost = stays_by_lost && !stays;
	out->sees = seen_of_all;
	sum_ages(all, n, deciding(all, n), out);
}

void sampled_doubt(struct summary_sample *its, enum survival_doubt why)
{
	its->survival.kind = SURVIVAL_UNKNOWN;
	its->by_lost = false;
	its->survival.low = its->may_keep_blocks.low = its->may_keep_bytes.low = 0;
	its->doubt = why;
	put_kept(its);
}

uint64_t sampled_kept_bytes(const struct summary_sample *its, double seconds)
{
	const double bytes = its->kept_bytes.value * seconds / 60;

	return bytes > 0 && bytes < 1e18 ? (uint64_t)bytes : 0;
}

uint64_t sampled_bytes_to_ask_for(const struct summary_sample *its, double seconds)
{
	const double bytes = its->kept_bytes.high * seconds / 60;

	if (its->kept_bytes.at_least)
		return UINT64_MAX;
	if (is_known(its))
		return sampled_kept_bytes(its, seconds);
	return bytes < 1e18 ? (uint64_t)bytes : UINT64_MAX;
}

void sampled_growth(const struct summary_sample *its, double seconds, struct growth *out)
{
	switch (its->survival.kind) {
	case SURVIVAL_STAYS:
		*out = (struct growth){ .shape = GROWTH_GROWS, .bytes_per_minute = its->kept_bytes.value };
		break;
	case SURVIVAL_TABLE:
		*out = (struct growth){ .shape = GROWTH_LEVEL, .since_s = seconds - seconds / LATE_PART };
		break;
	case SURVIVAL_GOES:
		*out = (struct growth){ .shape = GROWTH_LEVEL };
		break;
	default:
		*out = (struct growth){ .shape = GROWTH_UNKNOWN };
	}
}
