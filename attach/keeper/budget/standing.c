/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/standing.h"

#define EVERY 8			/* one of so many stops is chosen */
/*
 * times `still`: in longer slices, what interrupts and the machine below take, which the kernel may not
 * count, is too much of the rest
 */
#define LONGEST 20
#define AT_FIRST 8		/* the child's figure counts for so many stops */
#define LAST 32			/* a mean of about so many stops */
#define MOST 4			/* so many times what the child has shown */

void standing_begin(struct standing *s, const struct latency *shown)
{
	*s = (struct standing){ .shown = *shown, .mean_ns = shown->still_ns, .n = AT_FIRST };
}

bool standing_wants(struct standing *s, pid_t tid)
{
	return s->shown.still_ns && (++s->passed >= EVERY || tid == s->tid);
}

static void add(struct standing *s, int64_t still_ns)
{
	int64_t mean = (int64_t)s->mean_ns, most = MOST * (int64_t)s->shown.still_ns;

	if (still_ns > most)
		still_ns = most;
	/* a thread that waits for our own processor has begun to wait before we note that it resumed */
	if (still_ns < 0)
		still_ns = 0;
	if (s->n < LAST)
		s->n++;
	s->mean_ns = (uint64_t)(mean + (still_ns - mean) / (int64_t)s->n);
}

static void learn(const struct standing *s, struct latency *now)
{
	uint64_t still = s->shown.still_ns, whole = s->shown.wake_ns + s->shown.restart_ns, more = s->mean_ns > still ? s->mean_ns - still : 0;

	more = whole < 2 * still ? more * whole / still : 2 * more;
	now->wake_ns = s->shown.wake_ns + more * s->shown.wake_ns / whole;
	now->restart_ns = s->shown.restart_ns + more * s->shown.restart_ns / whole;
}

static void compare(struct standing *s, const struct procfs_turns *turns, uint64_t seen_ns, struct latency *now)
{
	uint64_t ran = turns->ran_ns - s->before.ran_ns, waited = turns->waited_ns - s->before.waited_ns;

	/* the thread has slept, or others had its processor meanwhile */
	if (turns->n != s->before.n + 1 || seen_ns < s->on_ns || ran > LONGEST * s->shown.still_ns)
		return;
	add(s, (int64_t)(seen_ns - s->on_ns - ran - waited));
	learn(s, now);
}

void standing_stopped(struct standing *s, pid_t tid, const struct procfs_turns *turns, uint64_t seen_ns, struct latency *now)
{
	if (tid == s->tid && s->on_ns && seen_ns)
		compare(s, turns, seen_ns, now);
	s->tid = 0;
	if (s->passed < EVERY)
		return;
	s->passed = 0;
	s->tid = tid;
	s->on_ns = 0;
	s->before = *turns;
}

void standing_goes_on(struct standing *s, pid_t tid, uint64_t at_ns)
{
	if (tid == s->tid)
		s->on_ns = at_ns;
}
