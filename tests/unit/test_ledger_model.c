/* SPDX-License-Identifier: MIT */
/* ledger: random events of blocks against a simple model. */
#include "report/ledger.h"

#include <stdlib.h>

#include "ledger_facts.h"

#define ADDRESSES 300

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

static void agrees_with_a_model(void **state)
{
	static struct model model[ADDRESSES], aside_of[4];
	static int aside_at[4];
	uint64_t allocs = 0, frees = 0, unmatched = 0, displaced = 0, blocks = 0, bytes = 0, nonsense = 0;
	uint64_t place_frees[STACKS] = { 0 }, place_blocks[STACKS] = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		aside_at[i] = -1;
	for (int step = 0; step < 300000; step++) {
		int k = (int)rnd(ADDRESSES), key = (int)rnd(4);
		struct model *m = &model[k], *a = &aside_of[key];
		taddr addr = 0x7f0000000000 + 16 * (unsigned)k;
		int what = (int)rnd(12);

		now += rnd(100);
		if (what < 10 && m->held) {
			blocks--;
			bytes -= m->size;
			place_blocks[m->stack]--;
		}
		if (what < 5) {
			displaced += m->held;
			*m = (struct model){ true, rnd(1000), (uint32_t)rnd(STACKS) };
			alloc(addr, m->size, m->stack);
			allocs++;
			blocks++;
			bytes += m->size;
			place_blocks[m->stack]++;
		} else if (what < 8) {
			frees++;
			unmatched += !m->held;
			place_frees[m->stack] += m->held;
			m->held = false;
			simple(what == 5 ? MMT_FREE : MMT_FREE_AT, addr);
		} else if (what < 9) {
			m->held = false;
			simple(MMT_FORGET, addr);
		} else if (what < 10) {
			*a = *m;
			aside_at[key] = k;
			m->held = false;
			aside(MMT_ASIDE, (uint64_t)key, addr);
		} else if (what < 11) {
			bool known = aside_at[key] >= 0 && a->held;

			frees++;
			unmatched += !known;
			if (known)
				place_frees[a->stack]++;
			aside_at[key] = -1;
			aside(MMT_ASIDE_FREED, (uint64_t)key, 0);
		} else {
			struct model *to = aside_at[key] >= 0 ? &model[aside_at[key]] : NULL;

			nonsense += !to || (a->held && to->held);
			if (to && a->held && !to->held) {
				*to = *a;
				blocks++;
				bytes += a->size;
				place_blocks[a->stack]++;
			}
			aside_at[key] = -1;
			aside(MMT_ASIDE_BACK, (uint64_t)key, 0);
		}
		assert_int_equal(ledger.held_blocks, blocks);
		assert_int_equal(ledger.held_bytes, bytes);
	}
	assert_totals(allocs, frees, unmatched, 0);
	assert_doubts(displaced, 0, nonsense);
	assert_held(blocks, bytes);
	for (uint32_t i = 0; i < STACKS; i++) {
		assert_int_equal(ledger.books[0].places[i].blocks, place_blocks[i]);
		assert_int_equal(ledger.books[0].places[i].frees, place_frees[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(agrees_with_a_model, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
