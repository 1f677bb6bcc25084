/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/stop_cost_learn.h"

#define EVERY 8			/* one of so many stops is chosen */
/*
 * times `still`: in longer slices, what interrupts and the machine below take, which the kernel may not
 * count, is too much of the rest
 */
#define LONGEST 20
#define AT_FIRST 8		/* the child's figure counts for so many stops */
#define LAST 32			/* a mean of about so many stops */
#define MOST 4			/* so many times the child's figure */

void stop_cost_learn_begin(struct stop_cost_learn *s, const struct stop_cost *calibrated)
{
	*s = (struct stop_cost_learn){
		.calibrated = *calibrated, .mean_ns = calibrated->still_ns, .n = AT_FIRST,
	};
}

bool stop_cost_learn_wants(struct stop_cost_learn *s, pid_t tid)
{
	return s->calibrated.still_ns && (++s->skipped >= EVERY || tid == s->tid);
}

static void add(struct stop_cost_learn *s, int64_t still_ns)
{
	int64_t mean = (int64_t)s->mean_ns, most = MOST * (int64_t)s->calibrated.still_ns;

	if (still_ns > most)
		still_ns = most;
	/* a thread that waits for our own processor has begun to wait before we record that it resumed */
	if (still_ns < 0)
		still_ns = 0;
	if (s->n < LAST)
		s->n++;
	s->mean_ns = (uint64_t)(mean + (still_ns - mean) / (int64_t)s->n);
}

static void learn(const struct stop_cost_learn *s, struct stop_cost *now)
{
	uint64_t still = s->calibrated.still_ns, whole = s->calibrated.wake_ns + s->calibrated.restart_ns,
		 more = s->mean_ns > still ? s->mean_ns - still : 0;

	more = whole < 2 * still ? more * whole / still : 2 * more;
	now->wake_ns = s->calibrated.wake_ns + more * s->calibrated.wake_ns / whole;
	now->restart_ns = s->calibrated.restart_ns + more * s->calibrated.restart_ns / whole;
}

static void compare(struct stop_cost_learn *s, const struct procfs_slices *slices, uint64_t seen_ns,
		    struct stop_cost *now)
{
	uint64_t ran = slices->ran_ns - s->before.ran_ns, waited = slices->waited_ns - s->before.waited_ns;

	/* the thread has slept, or others had its processor meanwhile */
	if (slices->n != s->before.n + 1 || seen_ns < s->on_ns || ran > LONGEST * s->calibrated.still_ns)
		return;
	add(s, (int64_t)(seen_ns - s->on_ns - ran - waited));
	learn(s, now);
}

void stop_cost_learn_stopped(struct stop_cost_learn *s, pid_t tid, const struct procfs_slices *slices,
			     uint64_t seen_ns, struct stop_cost *now)
{
	if (tid == s->tid && s->on_ns && seen_ns)
		compare(s, slices, seen_ns, now);
	s->tid = 0;
	if (s->skipped < EVERY)
		return;
	s->skipped = 0;
	s->tid = tid;
	s->on_ns = 0;
	s->before = *slices;
}

void stop_cost_learn_resumed(struct stop_cost_learn *s, pid_t tid, uint64_t at_ns)
{
	if (tid == s->tid)
		s->on_ns = at_ns;
}
