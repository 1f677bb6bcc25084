/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/spending.h"

#include <string.h>

#define FILL_NS 1000000ull	/* filled in such steps: one ppm of it is a ns */

/* --- what was spent --- */

static void go_on_to(struct ten_seconds *t, uint64_t now_ns)
{
	uint64_t slot = now_ns / SPENDING_SLOT_NS;

	if (slot >= t->newest + SPENDING_SLOTS) {
		memset(t->slots, 0, sizeof(t->slots));
		t->sum_ns = 0;
		t->newest = slot;
	}
	while (t->newest < slot) {
		uint64_t *oldest = &t->slots[++t->newest % SPENDING_SLOTS];

		t->sum_ns -= *oldest;
		*oldest = 0;
	}
}

void ten_seconds_add(struct ten_seconds *t, uint64_t ns, uint64_t now_ns)
{
	go_on_to(t, now_ns);
	t->slots[t->newest % SPENDING_SLOTS] += ns;
	t->sum_ns += ns;
	if (t->sum_ns > t->worst_ns)
		t->worst_ns = t->sum_ns;
}

uint64_t ten_seconds_sum(struct ten_seconds *t, uint64_t now_ns)
{
	go_on_to(t, now_ns);
	return t->sum_ns;
}

/* --- what may be spent --- */

void spending_init(struct spending *s, uint32_t ppm, uint64_t now_ns)
{
	memset(s, 0, sizeof(*s));
	s->ppm = ppm;
	s->promise_ns = TEN_SECONDS_NS / 1000000 * ppm;
	s->purse_most_ns = SPENDING_PURSE(s->promise_ns);
	s->purse_ns = s->purse_most_ns;
	s->filled_ns = now_ns;
}

static void fill(struct spending *s, uint64_t now_ns)
{
	uint64_t steps = (now_ns - s->filled_ns) / FILL_NS;

	s->filled_ns += steps * FILL_NS;
	s->purse_ns += (int64_t)SPENDING_FILL(steps * s->ppm);
	if (s->purse_ns > s->purse_most_ns)
		s->purse_ns = s->purse_most_ns;
}

void spending_take(struct spending *s, uint64_t ns, uint64_t now_ns)
{
	fill(s, now_ns);
	s->purse_ns -= (int64_t)ns;
	if (s->purse_ns < -(int64_t)SPENDING_DEBT(s->promise_ns))
		s->purse_ns = -(int64_t)SPENDING_DEBT(s->promise_ns);
	ten_seconds_add(&s->had, ns, now_ns);
}

int64_t spending_purse(struct spending *s, uint64_t now_ns)
{
	fill(s, now_ns);
	return s->purse_ns;
}

int64_t spending_room(struct spending *s, uint64_t now_ns)
{
	return (int64_t)s->promise_ns - (int64_t)ten_seconds_sum(&s->had, now_ns);
}
