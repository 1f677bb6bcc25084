/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_trial.h"

#include "attach/keeper/budget/site_stats.h"
#include "attach/sampling/sampling_calls.h"

#define ENOUGH 4u		/* so many times it must have returned the block */
#define FRESH 8u		/* so often it must have called malloc just before it returned, */
#define STALE 2u		/* if so often it had not, or has returned something else, it is refused */
#define HEADER_MAX 256u		/* bytes that a wrapper keeps in front of a block, at most */

/* --- what comes out of the function --- */

/*
 * Does this hit belong to the call for which the thread was held? The thread may have returned unseen, as the
 * trap was lifted just then: then what the function returns at the next hit is the result of another call.
 * Not if the hit came sooner than a lifted trap can be planted again.
 */
static bool is_of_that_call(const struct sampling_last *last, const struct record_hit *hit)
{
	return hit->head.time_ns - last->time_ns < SITE_STATS_AWAY_NS;
}

/* Does the function return the block that the thread got in it, @delta bytes inside? */
static bool is_block(const struct sampling_trial *t, const struct sampling_last *last,
		     const struct record_hit *hit, uint64_t *delta)
{
	*delta = hit->regs.rax - last->block;
	return *delta < last->size && *delta < HEADER_MAX &&
	       (!t->same || *delta == t->delta || last->has_start);
}

/*
 * If the function returns the block, that counts in any case; if it returns something else, that counts only
 * if it is the result of the same call.
 */
void sampling_trial_weigh(struct sampling_trial *t, const struct sampling_last *last,
			  const struct record_hit *hit)
{
	uint64_t delta;

	if (!is_block(t, last, hit, &delta)) {
		t->other += is_of_that_call(last, hit);
		return;
	}
	if (delta > t->delta)
		t->delta = (uint32_t)delta;
	t->same++;
}

static bool is_same(const struct sampling_lifts *a, const struct sampling_lifts *b)
{
	return a->hits == b->hits && a->closed == b->closed && a->dropped == b->dropped;
}

/*
 * Has the thread allocated in the function since it was held at @caller? If not, the trap at the inner site
 * must have been there all the time, and there must be no other; and it must be another call of the function
 * that returns there, not an older one, in which that one was made where the thread was held.
 */
void sampling_trial_check(struct sampling_trial *t, const struct sampling_last *last,
			  const struct record_hit *hit, taddr caller, const struct sampling_lifts *lifts)
{
	const bool was_there = lifts && is_same(lifts, &last->lifts);
	uint64_t delta;

	if (!last->block && was_there && hit->regs.rsp <= last->rsp)
		t->stale++;
	else if (!last->block)
		t->unclear++;
	else if (last->led_from != caller || !is_of_that_call(last, hit))
		return;
	else if (is_block(t, last, hit, &delta))
		t->fresh++;
	else
		t->other++;
}

/* --- what the code shows --- */

/*
 * A function without a result may leave the address of what it stores in rax. Then some callers overwrite
 * that, and none uses it. UNUSED: all overwrite it. USED: one uses it, or it is not known of any of them.
 */
static enum body_result result_of(const struct sampling_trial *t, const struct planting *planting)
{
	uint32_t unused = 0, n = 0;

	for (; n < SAMPLING_CALLERS && t->callers[n]; n++) {
		const enum body_result r = sampling_calls_result(planting, t->callers[n]);

		if (r == BODY_RESULT_USED)
			return r;
		unused += r == BODY_RESULT_UNUSED;
	}
	return !unused ? BODY_RESULT_USED : unused == n ? BODY_RESULT_UNUSED : BODY_RESULT_UNKNOWN;
}

/*
 * Does the function allocate each time that it is called? Its code shows that, if it has no branch before the
 * call at the inner site. It must be known that a function begins there, and not its cold part.
 */
static bool always_allocates(const struct sampling_trial *t, const struct planting *planting, taddr ret)
{
	bool begins = sampling_calls_is_global(planting, t->function);

	if (!sampling_calls_always(planting, t->function, ret))
		return false;
	for (size_t i = 0; !begins && i < SAMPLING_CALLERS && t->callers[i]; i++)
		begins = sampling_calls_goes_to(planting, t->callers[i], t->function);
	return begins;
}

/* --- the answer --- */

static enum sampling_answer in_time(const struct sampling_trial *t, uint64_t now_ns)
{
	return now_ns < t->until_ns ? SAMPLING_NOT_YET : SAMPLING_NOT_KNOWN;
}

static enum sampling_answer checked(const struct sampling_trial *t, uint64_t now_ns)
{
	if (t->stale >= STALE)
		return SAMPLING_NO_WRAPPER;
	if (t->fresh >= FRESH && t->fresh > t->unclear)
		return t->stale || t->other ? SAMPLING_NOT_KNOWN : SAMPLING_WRAPPER;
	return in_time(t, now_ns);
}

/* It has returned its block often enough to ask: does it allocate each time? */
static enum sampling_answer returned(struct sampling_trial *t, const struct planting *planting, taddr ret,
				     uint64_t now_ns)
{
	const enum body_result result = result_of(t, planting);

	if (result != BODY_RESULT_USED)
		return result == BODY_RESULT_UNUSED ? SAMPLING_NO_WRAPPER : SAMPLING_NOT_KNOWN;
	if (t->other)
		return SAMPLING_NOT_KNOWN;
	if (t->same >= ENOUGH + FRESH && t->always)
		return SAMPLING_WRAPPER;
	t->always = t->always || always_allocates(t, planting, ret);
	return t->always ? in_time(t, now_ns) : SAMPLING_CHECK;
}

enum sampling_answer sampling_trial_answer(struct sampling_trial *t, const struct planting *planting,
					   taddr ret, uint64_t now_ns)
{
	if (t->other >= STALE)
		return SAMPLING_NO_WRAPPER;
	if (t->checking)
		return checked(t, now_ns);
	return t->same >= ENOUGH ? returned(t, planting, ret, now_ns) : in_time(t, now_ns);
}
