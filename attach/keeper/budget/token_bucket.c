/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/token_bucket.h"

#include <string.h>

#define FILL_NS 1000000ull	/* filled in such steps: one ppm of it is a ns */

/* --- what was spent --- */

static void advance(struct ten_seconds *t, uint64_t now_ns)
{
	uint64_t slot = now_ns / TOKEN_BUCKET_SLOT_NS;

	if (slot >= t->newest + TOKEN_BUCKET_SLOTS) {
		memset(t->slots, 0, sizeof(t->slots));
		t->sum_ns = 0;
		t->newest = slot;
	}
	while (t->newest < slot) {
		uint64_t *oldest = &t->slots[++t->newest % TOKEN_BUCKET_SLOTS];

		t->sum_ns -= *oldest;
		*oldest = 0;
	}
}

void ten_seconds_add(struct ten_seconds *t, uint64_t ns, uint64_t now_ns)
{
	advance(t, now_ns);
	t->slots[t->newest % TOKEN_BUCKET_SLOTS] += ns;
	t->sum_ns += ns;
	if (t->sum_ns > t->worst_ns)
		t->worst_ns = t->sum_ns;
}

uint64_t ten_seconds_sum(struct ten_seconds *t, uint64_t now_ns)
{
	advance(t, now_ns);
	return t->sum_ns;
}

/* --- what may be spent --- */

void token_bucket_init(struct token_bucket *s, uint32_t ppm, uint64_t now_ns)
{
	memset(s, 0, sizeof(*s));
	s->ppm = ppm;
	s->promise_ns = TEN_SECONDS_NS / 1000000 * ppm;
	s->capacity_ns = TOKEN_BUCKET_SIZE(s->promise_ns);
	s->level_ns = s->capacity_ns;
	s->filled_ns = now_ns;
}

static void fill(struct token_bucket *s, uint64_t now_ns)
{
	uint64_t steps = (now_ns - s->filled_ns) / FILL_NS;

	s->filled_ns += steps * FILL_NS;
	s->level_ns += (int64_t)TOKEN_BUCKET_FILL(steps * s->ppm);
	if (s->level_ns > s->capacity_ns)
		s->level_ns = s->capacity_ns;
}

void token_bucket_share(struct token_bucket *s, uint32_t ppm, uint64_t now_ns)
{
	fill(s, now_ns);
	s->ppm = ppm;
	s->capacity_ns = (int64_t)TOKEN_BUCKET_SIZE(TEN_SECONDS_NS / 1000000 * ppm);
	if (s->level_ns > s->capacity_ns)
		s->level_ns = s->capacity_ns;
}

bool token_bucket_is_shared(const struct token_bucket *s)
{
	return TEN_SECONDS_NS / 1000000 * s->ppm < s->promise_ns;
}

void token_bucket_note(struct token_bucket *s, uint64_t ns, uint64_t now_ns)
{
	ten_seconds_add(&s->recent, ns, now_ns);
}

void token_bucket_take(struct token_bucket *s, uint64_t ns, uint64_t now_ns)
{
	fill(s, now_ns);
	s->level_ns -= (int64_t)ns;
	if (s->level_ns < -(int64_t)TOKEN_BUCKET_DEBT(s->promise_ns))
		s->level_ns = -(int64_t)TOKEN_BUCKET_DEBT(s->promise_ns);
	ten_seconds_add(&s->recent, ns, now_ns);
}

int64_t token_bucket_level(struct token_bucket *s, uint64_t now_ns)
{
	fill(s, now_ns);
	return s->level_ns;
}

int64_t token_bucket_room(struct token_bucket *s, uint64_t now_ns)
{
	return (int64_t)s->promise_ns - (int64_t)ten_seconds_sum(&s->recent, now_ns);
}
