/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/round_queue.h"

/* checked at least so often: if owed hits are no longer expected, there is enough sooner */
#define LOOK_NS 100000000ull

void round_queue_wait(struct round_queue *t, uint32_t i, uint64_t now_ns)
{
	time_heap_set(&t->waiting, i, now_ns);
}

void round_queue_drop(struct round_queue *t, uint32_t i)
{
	time_heap_drop(&t->waiting, i);
}

uint32_t round_queue_first(const struct round_queue *t, uint64_t now_ns)
{
	return now_ns >= t->look_ns ? time_heap_first(&t->waiting) : TIME_HEAP_NONE;
}

/*
 * What is missing for @hits more. A round may cost more than there can ever be to spend: it begins when three
 * quarters of that are there, and nothing else is owed.
 */
static int64_t missing_ns(const struct round_queue *t, uint32_t hits, const struct round_queue_tokens *p)
{
	int64_t cost = (int64_t)((t->owed + hits) * p->stop_ns), most = p->most_ns * 3 / 4;

	return (cost > most && !t->owed ? most : cost) - p->spare_ns;
}

bool round_queue_begin(struct round_queue *t, uint64_t now_ns, uint32_t hits,
		       const struct round_queue_tokens *p, uint64_t chance_ns)
{
	int64_t missing = missing_ns(t, hits, p);
	uint64_t comes_ns = missing > 0 && p->ppm ? (uint64_t)missing * 1000000 / p->ppm : 0;

	t->look_ns = now_ns + (comes_ns < LOOK_NS ? comes_ns : LOOK_NS) + chance_ns;
	if (missing > 0)
		return false;
	time_heap_drop(&t->waiting, time_heap_first(&t->waiting));
	t->owed += hits;
	return true;
}

void round_queue_paid(struct round_queue *t, uint32_t hits)
{
	t->owed -= hits;
}
