/* SPDX-License-Identifier: MIT */
/* ledger: random events of blocks compared with a simple model. */
#include "report/ledger/ledger.h"

#include <stdlib.h>

#include "tests/unit/ledger_facts.h"

#define ADDRESSES 300
#define KEYS 4

static uint64_t rng = 88172645463325252u;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

struct model {
	bool held;
	uint64_t size;
	uint32_t stack;
};

/* The totals that the ledger must have. */
static struct {
	struct model at[ADDRESSES];
	struct model aside[KEYS];
	int aside_at[KEYS];	/* -1: nothing is aside */
	uint64_t allocs, frees, unmatched, displaced, blocks, bytes, nonsense;
	uint64_t place_frees[STACKS], place_blocks[STACKS];
} want;

static void enters(const struct model *m)
{
	want.blocks++;
	want.bytes += m->size;
	want.place_blocks[m->stack]++;
}

static void leaves(struct model *m)
{
	if (!m->held)
		return;
	m->held = false;
	want.blocks--;
	want.bytes -= m->size;
	want.place_blocks[m->stack]--;
}

static void gives_out(struct model *m, taddr addr)
{
	want.displaced += m->held;
	leaves(m);
	*m = (struct model){ true, rnd(1000), (uint32_t)rnd(STACKS) };
	enters(m);
	want.allocs++;
	alloc(addr, m->size, m->stack);
}

static void releases(struct model *m, taddr addr, uint32_t kind)
{
	want.frees++;
	want.unmatched += !m->held;
	want.place_frees[m->stack] += m->held;
	leaves(m);
	simple(kind, addr);
}

static void puts_aside(int k, int key, taddr addr)
{
	want.aside[key] = want.at[k];
	want.aside_at[key] = k;
	leaves(&want.at[k]);
	aside(MMT_ASIDE, (uint64_t)key, addr);
}

static void aside_is_released(int key)
{
	bool known = want.aside_at[key] >= 0 && want.aside[key].held;

	want.frees++;
	want.unmatched += !known;
	if (known)
		want.place_frees[want.aside[key].stack]++;
	want.aside_at[key] = -1;
	aside(MMT_ASIDE_FREED, (uint64_t)key, 0);
}

static void aside_comes_back(int key)
{
	struct model *to = want.aside_at[key] >= 0 ? &want.at[want.aside_at[key]] : NULL;
	const struct model *a = &want.aside[key];

	want.nonsense += !to || (a->held && to->held);
	if (to && a->held && !to->held) {
		*to = *a;
		enters(to);
	}
	want.aside_at[key] = -1;
	aside(MMT_ASIDE_BACK, (uint64_t)key, 0);
}

static void step(void)
{
	int k = (int)rnd(ADDRESSES), key = (int)rnd(KEYS), what = (int)rnd(12);
	taddr addr = 0x7f0000000000 + 16 * (unsigned)k;

	now += rnd(100);
	if (what < 5) {
		gives_out(&want.at[k], addr);
	} else if (what < 8) {
		releases(&want.at[k], addr, what == 5 ? MMT_FREE : MMT_FREE_AT);
	} else if (what < 9) {
		leaves(&want.at[k]);
		simple(MMT_FORGET, addr);
	} else if (what < 10) {
		puts_aside(k, key, addr);
	} else if (what < 11) {
		aside_is_released(key);
	} else {
		aside_comes_back(key);
	}
}

static void agrees_with_a_model(void **state)
{
	(void)state;
	for (int i = 0; i < KEYS; i++)
		want.aside_at[i] = -1;
	for (int i = 0; i < 300000; i++) {
		step();
		assert_int_equal(ledger.held_blocks, want.blocks);
		assert_int_equal(ledger.held_bytes, want.bytes);
	}
	assert_totals(want.allocs, want.frees, want.unmatched, 0);
	assert_doubts(want.displaced, 0, want.nonsense);
	assert_held(want.blocks, want.bytes);
	for (uint32_t i = 0; i < STACKS; i++) {
		assert_int_equal(ledger.books[0].places[i].blocks, want.place_blocks[i]);
		assert_int_equal(ledger.books[0].places[i].frees, want.place_frees[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(agrees_with_a_model, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
