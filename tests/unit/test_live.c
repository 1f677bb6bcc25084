/* SPDX-License-Identifier: MIT */
/* live: what is held, by whom, and what a release was; by hand, and against a model. */
#include "attach/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define A 0x5000ull
#define B 0x6000ull
#define PLACE1 1
#define PLACE2 2

static struct live live;

static int setup(void **state)
{
	(void)state;
	live_init(&live);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	live_fini(&live);
	return 0;
}

static const struct place *place(uint32_t number)
{
	assert_in_range(number, 0, live.nplaces - 1);
	return &live.places[number];
}

static void assert_held(uint64_t blocks, uint64_t bytes)
{
	uint64_t of_places = 0, bytes_of_places = 0;

	assert_int_equal(live.held_blocks, blocks);
	assert_int_equal(live.held_bytes, bytes);
	for (size_t i = 0; i < live.nplaces; i++) {
		of_places += live.places[i].blocks;
		bytes_of_places += live.places[i].bytes;
	}
	assert_int_equal(of_places, blocks);
	assert_int_equal(bytes_of_places, bytes);
}

static void assert_place(uint32_t number, uint64_t allocs, uint64_t frees, uint64_t blocks, uint64_t bytes)
{
	const struct place *p = place(number);

	assert_int_equal(p->allocs, allocs);
	assert_int_equal(p->frees, frees);
	assert_int_equal(p->blocks, blocks);
	assert_int_equal(p->bytes, bytes);
}

static void assert_totals(uint64_t allocs, uint64_t frees, uint64_t unmatched, uint64_t doubled)
{
	assert_int_equal(live.allocs, allocs);
	assert_int_equal(live.frees, frees);
	assert_int_equal(live.unmatched_frees, unmatched);
	assert_int_equal(live.double_frees, doubled);
}

static void alloc(taddr addr, uint64_t size, uint32_t number)
{
	assert_int_equal(live_alloc(&live, addr, size, number, 1000), 0);
}

static void held_and_released(void **state)
{
	struct block *b;

	(void)state;
	assert_held(0, 0);
	assert_int_equal(live_alloc(&live, A, 100, PLACE1, 777), 0);
	alloc(B, 50, PLACE2);
	assert_held(2, 150);
	b = addrmap_get(&live.blocks, A);
	assert_int_equal(b->born_ns, 777);
	assert_int_equal(b->size, 100);
	assert_true(b->held);
	live_free(&live, A, true);
	assert_held(1, 50);
	assert_place(PLACE1, 1, 1, 0, 0);
	assert_place(PLACE2, 1, 0, 1, 50);
	assert_totals(2, 1, 0, 0);
}

static void a_place_keeps_many(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++)
		alloc(A + 16 * i, 10, PLACE1 + i % 200); /* more places than the first table of them holds */
	assert_int_equal(live.nplaces, 201); /* the first was not used */
	assert_held(1000, 10000);
	for (int i = 0; i < 1000; i += 2)
		live_free(&live, A + 16 * i, true);
	assert_held(500, 5000);
	assert_place(PLACE1, 5, 5, 0, 0);
	assert_place(PLACE1 + 1, 5, 0, 5, 50);
}

static void released_by_nobody_we_saw(void **state)
{
	(void)state;
	live_free(&live, A, true);
	assert_totals(0, 1, 1, 0);
	assert_held(0, 0);
	live_free(&live, A, true); /* and now once too often */
	assert_totals(0, 2, 1, 1);
}

static void released_twice(void **state)
{
	(void)state;
	alloc(A, 100, PLACE1);
	live_free(&live, A, true);
	live_free(&live, A, true);
	assert_totals(1, 2, 0, 1);
	assert_held(0, 0);
	assert_place(PLACE1, 1, 1, 0, 0);
	/* given out again all is well */
	alloc(A, 30, PLACE2);
	live_free(&live, A, true);
	assert_totals(2, 3, 0, 1);
}

static void given_out_again_unseen(void **state)
{
	(void)state;
	alloc(A, 100, PLACE1);
	alloc(A, 40, PLACE2);
	assert_held(1, 40);
	assert_place(PLACE1, 1, 0, 0, 0);
	assert_place(PLACE2, 1, 0, 1, 40);
	assert_totals(2, 0, 0, 0);
	alloc(A, 41, PLACE2); /* the same place again */
	assert_held(1, 41);
}

static void uncounted_release(void **state)
{
	(void)state;
	alloc(A, 100, PLACE1);
	live_free(&live, A, false);
	assert_held(0, 0);
	assert_totals(1, 0, 0, 0);
	assert_place(PLACE1, 1, 0, 0, 0);
	live_free(&live, B, false);
	assert_totals(1, 0, 0, 0);
}

static void forgotten(void **state)
{
	(void)state;
	alloc(A, 100, PLACE1);
	live_forget(&live, A);
	assert_held(0, 0);
	live_free(&live, A, true); /* nothing is known of it: not a second release */
	assert_totals(1, 1, 1, 0);
	live_forget(&live, A);	/* a released one */
	live_free(&live, A, true);
	assert_totals(1, 2, 2, 0);
	live_forget(&live, B);	/* one never seen */
	assert_null(addrmap_get(&live.blocks, B));
}

static void size_nothing_and_address_nothing(void **state)
{
	(void)state;
	alloc(A, 0, 0);
	assert_held(1, 0);
	assert_place(0, 1, 0, 1, 0);
	live_free(&live, A, true);
	assert_held(0, 0);
	alloc(A, UINT64_MAX / 2, PLACE1);	/* malloc of an absurd size is the allocator's affair */
	assert_held(1, UINT64_MAX / 2);
	live_free(&live, A, true);
	assert_held(0, 0);
}

/* --- set aside --- */

static void set_aside_and_released(void **state)
{
	struct aside a;

	(void)state;
	alloc(A, 100, PLACE1);
	live_set_aside(&live, A, &a);
	assert_int_equal(a.was, ASIDE_HELD);
	assert_int_equal(a.addr, A);
	assert_held(0, 0);
	assert_totals(1, 0, 0, 0);
	live_released(&live, &a, true);
	assert_totals(1, 1, 0, 0);
	assert_place(PLACE1, 1, 1, 0, 0);
	live_free(&live, A, true);
	assert_totals(1, 2, 0, 1);
}

static void set_aside_and_put_back(void **state)
{
	struct aside a;
	struct block *b;

	(void)state;
	assert_int_equal(live_alloc(&live, A, 100, PLACE1, 777), 0);
	live_set_aside(&live, A, &a);
	live_put_back(&live, &a);
	assert_held(1, 100);
	assert_totals(1, 0, 0, 0);
	b = addrmap_get(&live.blocks, A);
	assert_int_equal(b->born_ns, 777); /* it is as old as it was */
	assert_place(PLACE1, 1, 0, 1, 100);
}

/* Its address is another's before the release has ended. */
static void set_aside_and_the_address_given_away(void **state)
{
	struct aside a;

	(void)state;
	alloc(A, 100, PLACE1);
	live_set_aside(&live, A, &a);
	alloc(A, 30, PLACE2);
	live_released(&live, &a, true);
	assert_held(1, 30);
	assert_place(PLACE1, 1, 1, 0, 0);
	assert_place(PLACE2, 1, 0, 1, 30);
	assert_totals(2, 1, 0, 0);
	live_free(&live, A, true);
	assert_totals(2, 2, 0, 0);
}

static void set_aside_unknown(void **state)
{
	struct aside a;

	(void)state;
	live_set_aside(&live, A, &a);
	assert_int_equal(a.was, ASIDE_UNKNOWN);
	live_put_back(&live, &a);
	assert_null(addrmap_get(&live.blocks, A)); /* as unknown as it was */
	live_set_aside(&live, A, &a);
	live_released(&live, &a, true);
	assert_totals(0, 1, 1, 0);
	live_set_aside(&live, A, &a);
	assert_int_equal(a.was, ASIDE_RELEASED);
	live_put_back(&live, &a);
	live_free(&live, A, true);
	assert_totals(0, 2, 1, 1);
}

static void set_aside_released_uncounted(void **state)
{
	struct aside a;

	(void)state;
	alloc(A, 100, PLACE1);
	live_set_aside(&live, A, &a);
	live_released(&live, &a, false);
	assert_held(0, 0);
	assert_totals(1, 0, 0, 0);
}

/* --- against a model --- */

#define ADDRESSES 300

struct model_block {
	enum { NEVER, HELD, RELEASED } is;
	uint64_t size;
	int place;
};

static void agrees_with_a_model(void **state)
{
	static struct model_block model[ADDRESSES];
	uint64_t allocs = 0, frees = 0, unmatched = 0, doubled = 0, blocks = 0, bytes = 0;
	uint64_t of_place[7] = { 0 };

	(void)state;
	srandom(6);
	for (int step = 0; step < 200000; step++) {
		int k = random() % ADDRESSES;
		struct model_block *m = &model[k];
		taddr addr = 0x7f0000000000 + 16 * k;
		int what = random() % 10;

		if (m->is == HELD && (what < 9)) {
			blocks--;
			bytes -= m->size;
			of_place[m->place]--;
		}
		if (what < 5) {
			*m = (struct model_block){ HELD, random() % 1000, random() % 7 };
			alloc(addr, m->size, PLACE1 + m->place);
			allocs++;
			blocks++;
			bytes += m->size;
			of_place[m->place]++;
		} else if (what < 8) {
			frees++;
			unmatched += m->is == NEVER;
			doubled += m->is == RELEASED;
			m->is = RELEASED;
			live_free(&live, addr, true);
		} else if (what < 9) {
			m->is = NEVER;
			live_forget(&live, addr);
		} else {
			struct aside a;

			live_set_aside(&live, addr, &a);
			live_put_back(&live, &a);
		}
		assert_int_equal(live.held_blocks, blocks);
		assert_int_equal(live.held_bytes, bytes);
	}
	assert_totals(allocs, frees, unmatched, doubled);
	assert_held(blocks, bytes);
	for (int i = 0; i < 7; i++)
		assert_int_equal(place(PLACE1 + i)->blocks, of_place[i]);
}

int main(void)
{
#define live_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		live_test(held_and_released),
		live_test(a_place_keeps_many),
		live_test(released_by_nobody_we_saw),
		live_test(released_twice),
		live_test(given_out_again_unseen),
		live_test(uncounted_release),
		live_test(forgotten),
		live_test(size_nothing_and_address_nothing),
		live_test(set_aside_and_released),
		live_test(set_aside_and_put_back),
		live_test(set_aside_and_the_address_given_away),
		live_test(set_aside_unknown),
		live_test(set_aside_released_uncounted),
		live_test(agrees_with_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
