/* SPDX-License-Identifier: MIT */
#include "attach/loss/loss_windows.h"

#include "base/random.h"

#define FIRST_LOOK_NS 1000000ull
#define LONG_NS 4000000ull	/* without a look: the process may have been idle until then */
#define LONGEST_NS 10000000000ull	/* of a window: what is lost in one copy is confirmed by a later one */
#define ASK_AGAIN_NS 500000000ull
#define RESERVE_PART 4		/* one part in so many of the bucket is for what comes until the probes are taken out */
/* a window begins within so much time after it may, on average; within twice as much for sure */
#define SPREAD_NS 3000000000ull

void loss_windows_init(struct loss_windows *w, uint32_t ppm, const struct loss_clocks *now)
{
	*w = (struct loss_windows){
		.random = now->now_ns | 1, .next_ns = now->now_ns, .first_ns = now->now_ns,
		.first_work_ns = now->work_ns,
	};
	token_bucket_init(&w->bucket, ppm, now->now_ns);
}

/* How long it works in @ns, on average. */
static double work_in(const struct loss_windows *w, const struct loss_clocks *now, uint64_t ns)
{
	const uint64_t time_ns = now->now_ns - w->first_ns,
		       work_ns = now->work_ns > w->first_work_ns ? now->work_ns - w->first_work_ns : 0;

	return time_ns ? (double)work_ns / (double)time_ns * (double)ns : 0;
}

static void choose_moment(struct loss_windows *w, const struct loss_clocks *now)
{
	w->ready_ns = now->now_ns;
	w->at_work_ns = now->work_ns + random_below(&w->random, (uint64_t)work_in(w, now, SPREAD_NS) + 1);
	w->at_ns = now->now_ns + 2 * SPREAD_NS;
}

bool loss_windows_begins(struct loss_windows *w, const struct loss_clocks *now, uint64_t room_ns)
{
	int64_t level;

	if (w->open || now->now_ns < w->next_ns)
		return false;
	level = token_bucket_level(&w->bucket, now->now_ns);
	if (level < w->bucket.capacity_ns / 4 * 3 || (int64_t)room_ns < level) {
		w->next_ns = now->now_ns + ASK_AGAIN_NS;
		return false;
	}
	if (!w->ready_ns)
		choose_moment(w, now);
	w->next_ns = now->now_ns + LONG_NS;
	return now->work_ns >= w->at_work_ns || now->now_ns >= w->at_ns;
}

void loss_windows_open(struct loss_windows *w, uint64_t now_ns)
{
	w->open = true;
	w->opened_ns = now_ns;
	w->cost_ns = 0;
	w->ready_ns = 0;
	w->next_ns = now_ns + FIRST_LOOK_NS;
	w->n++;
}

bool loss_windows_spend(struct loss_windows *w, uint64_t now_ns, uint64_t ns)
{
	double until_ns = (double)LONG_NS, level;

	token_bucket_take(&w->bucket, ns, now_ns);
	level = (double)token_bucket_level(&w->bucket, now_ns);
	w->cost_ns += ns;
	level -= (double)w->bucket.capacity_ns / RESERVE_PART;
	if (level <= 0 || now_ns - w->opened_ns >= LONGEST_NS)
		return true;
	/* half of what is left, at the rate so far: that may become higher */
	if (w->cost_ns)
		until_ns = level * (double)(now_ns - w->opened_ns) / (double)w->cost_ns / 2;
	until_ns = until_ns < (double)LONG_NS ? until_ns : (double)LONG_NS;
	w->next_ns = now_ns + (until_ns > (double)FIRST_LOOK_NS ? (uint64_t)until_ns : FIRST_LOOK_NS);
	return false;
}

bool loss_windows_overdraws(struct loss_windows *w, uint64_t now_ns, uint64_t ns)
{
	token_bucket_take(&w->bucket, ns, now_ns);
	return token_bucket_level(&w->bucket, now_ns) < -w->bucket.capacity_ns / RESERVE_PART;
}

void loss_windows_close(struct loss_windows *w, uint64_t now_ns, uint64_t ns)
{
	token_bucket_take(&w->bucket, ns, now_ns);
	w->open = false;
	w->lasted_ns += now_ns - w->opened_ns;
	w->next_ns = now_ns;
}
