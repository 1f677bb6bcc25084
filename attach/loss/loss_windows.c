/* SPDX-License-Identifier: MIT */
#include "attach/loss/loss_windows.h"

#include "base/random.h"

#define FIRST_LOOK_NS 1000000ull
#define LONG_NS 4000000ull	/* without a look: the process may have been idle until then */
#define LONGEST_NS 10000000000ull	/* of a window: what is lost in one copy is confirmed by a later one */
#define ASK_AGAIN_NS 500000000ull
#define COPYING_NS 20000000ull	/* until it is known how long it takes */
/* one part in so many of what it may cost is not used up by a window: until its probes are out some time passes; */
#define RESERVE_PART 4
/* and so much of it must be left when the probes are out, else the copy is not affordable */
#define OVERDRAFT_PART 8
#define ROOM_PART 5	/* of the limit: a window that may cost less sees too little */
/* a window begins within so much time after it may, on average; within twice as much for sure */
#define SPREAD_NS 3000000000ull

void loss_windows_init(struct loss_windows *w, uint32_t ppm, const struct loss_clocks *now)
{
	*w = (struct loss_windows){
		.random = now->now_ns | 1, .next_ns = now->now_ns, .first_ns = now->now_ns,
		.first_work_ns = now->work_ns, .copying_ns = COPYING_NS, .limit_ns = TEN_SECONDS_NS / 1000000 * ppm,
	};
	w->allowed_ns = w->limit_ns;
}

static void spend(struct loss_windows *w, uint64_t now_ns, uint64_t ns)
{
	w->cost_ns += ns;
	ten_seconds_add(&w->spent, ns, now_ns);
}

/* What the last ten seconds leave of its part. */
static uint64_t left_ns(struct loss_windows *w, uint64_t now_ns)
{
	const uint64_t sum_ns = ten_seconds_sum(&w->spent, now_ns);

	return sum_ns < w->limit_ns ? w->limit_ns - sum_ns : 0;
}

/* And of what the present window may cost. */
static uint64_t window_left_ns(struct loss_windows *w, uint64_t now_ns)
{
	const uint64_t left = left_ns(w, now_ns),
		       allowed = w->cost_ns < w->allowed_ns ? w->allowed_ns - w->cost_ns : 0;

	return left < allowed ? left : allowed;
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
	uint64_t left;

	if (w->open || now->now_ns < w->next_ns)
		return false;
	left = left_ns(w, now->now_ns);
	w->allowed_ns = room_ns < left ? room_ns : left;
	if (left < w->limit_ns / 4 * 3 || w->allowed_ns < w->limit_ns / ROOM_PART) {
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
	w->opened_ns = w->looked_ns = now_ns;
	w->over_ns = 0;
	w->overdrawn = false;
	w->cost_ns = 0;
	w->ready_ns = 0;
	w->next_ns = now_ns + FIRST_LOOK_NS;
	w->n++;
}

bool loss_windows_spend(struct loss_windows *w, uint64_t now_ns, uint64_t ns)
{
	/* what a nanosecond costs now: no more than that all threads make nothing but calls */
	const double rate = now_ns > w->looked_ns ? (double)ns / (double)(now_ns - w->looked_ns) : 0;
	double until_ns = (double)LONG_NS, left;

	spend(w, now_ns, ns);
	w->looked_ns = now_ns;
	left = (double)window_left_ns(w, now_ns) - (double)w->allowed_ns / RESERVE_PART - rate * (double)w->copying_ns;
	if (left <= 0 || now_ns - w->opened_ns >= LONGEST_NS) {
		w->over_ns = now_ns;
		return true;
	}
	/* half of what is left, at that rate: it may become higher */
	if (rate > 0)
		until_ns = left / rate / 2;
	until_ns = until_ns < (double)LONG_NS ? until_ns : (double)LONG_NS;
	w->next_ns = now_ns + (until_ns > (double)FIRST_LOOK_NS ? (uint64_t)until_ns : FIRST_LOOK_NS);
	return false;
}

bool loss_windows_overdraws(struct loss_windows *w, uint64_t now_ns, uint64_t ns)
{
	spend(w, now_ns, ns);
	w->overdrawn |= window_left_ns(w, now_ns) < w->allowed_ns / OVERDRAFT_PART;
	return w->overdrawn;
}

void loss_windows_close(struct loss_windows *w, uint64_t now_ns, uint64_t ns)
{
	spend(w, now_ns, ns);
	/* one that was given up would have taken longer */
	if (w->over_ns)
		w->copying_ns = (w->overdrawn ? 2 : 1) * (now_ns - w->over_ns);
	w->open = false;
	w->lasted_ns += now_ns - w->opened_ns;
	w->next_ns = now_ns;
}
