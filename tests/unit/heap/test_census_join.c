/* SPDX-License-Identifier: MIT */
/* census_join: of two allocators' blocks, areas and figures; what only one of them knows; memory both claim. */
#include "heap/census_join.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "heap/census_blocks.h"

/* A census of blocks of 16 bytes at multiples of @step from @lo on, in one arena and one area. */
static struct census make(const char *name, taddr lo, size_t n, uint64_t step)
{
	struct census c;

	census_init(&c);
	c.known = true;
	snprintf(c.layout, sizeof(c.layout), "%s 1", name);
	c.listed[c.nlisted++] = name;
	assert_true(census_blocks_reserve(&c, n));
	for (size_t i = 0; i < n; i++)
		assert_true(census_blocks_add(&c, lo + i * step, 16));
	census_blocks_trim(&c);
	c.areas = calloc(1, sizeof(*c.areas));
	c.arenas = calloc(1, sizeof(*c.arenas));
	assert_true(c.areas && c.arenas);
	c.areas[0] = (struct census_area){ lo, lo + n * step, 0 };
	c.arenas[0] = (struct census_arena){ .at = lo, .allocator = name };
	c.nareas = c.narenas = 1;
	return c;
}

static struct census unknown(const char *why, const char *unread)
{
	struct census c;

	census_init(&c);
	snprintf(c.problem.what, sizeof(c.problem.what), "%s", why);
	c.nproblems = 1;
	snprintf(c.unread, sizeof(c.unread), "%s", unread);
	return c;
}

static void expect_sorted(const struct census *c, size_t n)
{
	assert_int_equal(c->nblocks, n);
	for (size_t i = 1; i < n; i++)
		assert_true(c->blocks[i - 1].addr + c->blocks[i - 1].size <= c->blocks[i].addr);
}

/* Whichever of the two has more blocks: they are sorted, and the first one's arenas stay the first. */
static void test_two(void **state)
{
	const size_t many[] = { 3, 100000 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct census c = make("a", 0x10000000, many[i], 32),
			      more = make("b", i ? 0x8000 : 0x20000000, many[!i], 48);

		c.mmapped = (struct census_sum){ 2, 20 };
		more.mmapped = (struct census_sum){ 1, 10 };
		c.mmapped_claimed = 20;
		more.mmapped_claimed = i ? 10 : UINT64_MAX;
		more.differing = 1;
		assert_int_equal(census_join(&c, &more), 0);
		expect_sorted(&c, 100003);
		assert_string_equal(c.layout, "a 1; b 1");
		assert_true(census_lists(&c, "a") && census_lists(&c, "b") && !census_lists(&c, "c"));
		assert_int_equal(c.narenas, 2);
		assert_int_equal(c.arenas[0].at, 0x10000000);
		assert_string_equal(c.arenas[census_area_at(&c, i ? 0x8000 : 0x20000000)->arena].allocator, "b");
		assert_string_equal(c.arenas[census_area_at(&c, 0x10000000)->arena].allocator, "a");
		assert_int_equal(c.mmapped.bytes, 30);
		assert_true(c.mmapped_claimed == (i ? 30 : UINT64_MAX));
		assert_false(census_adds_up(&c));
		c.differing = 0;
		assert_true(census_adds_up(&c));
		census_fini(&c);
	}
}

/* Of blocks that lie in one another, and of areas, the first stays, and that counts as a guess. */
static void test_overlap(void **state)
{
	struct census c = make("a", 0x10000, 10, 16), more = make("b", 0x10088, 10, 16);

	(void)state;
	assert_int_equal(census_join(&c, &more), 0);
	expect_sorted(&c, 10 + 8);
	assert_int_equal(c.nareas, 2);
	assert_int_equal(c.areas[1].lo, c.areas[0].hi);
	assert_int_equal(c.unsure, 1);
	assert_false(census_adds_up(&c));
	census_fini(&c);
}

/* What is known counts; why the other one cannot be read stays, why it was not found does not. */
static void test_one(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct census known = make("a", 0x10000, 10, 16), none = unknown("no b", "b is odd");
		struct census *c = i ? &known : &none, *more = i ? &none : &known;

		assert_int_equal(census_join(c, more), 0);
		expect_sorted(c, 10);
		assert_true(c->known && census_adds_up(c));
		assert_string_equal(c->unread, "b is odd");
		assert_string_equal(c->problem.what, "");
		assert_false(more->known);
		census_fini(c);
	}
}

static void test_none(void **state)
{
	struct census c = unknown("no a", ""), more = unknown("no b", "b is odd");

	(void)state;
	assert_int_equal(census_join(&c, &more), 0);
	assert_false(c.known);
	assert_string_equal(c.problem.what, "no a");
	assert_int_equal(c.nproblems, 1);
	assert_string_equal(c.unread, "b is odd");
	census_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
