/* SPDX-License-Identifier: MIT */
/* census_order: whatever was listed, its readers get it sorted and without overlaps. */
#include "heap/census_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap/census_blocks.h"

static void add(struct census *c, taddr addr, uint64_t size)
{
	assert_true(census_blocks_add(c, addr, size));
}

static void test_blocks(void **state)
{
	struct census c;

	(void)state;
	census_init(&c);
	assert_true(census_blocks_reserve(&c, 8));
	add(&c, 0x3000, 0x10);
	add(&c, 0x1000, 0x10);
	add(&c, 0x1008, 0x10);
	add(&c, 0x2000, 0x10);
	add(&c, 0x2000, 0x40);
	add(&c, 0x4000, 0);
	add(&c, 0x4000, 0);
	assert_int_equal(census_order(&c), 0x1008);
	assert_int_equal(c.nblocks, 4);
	assert_int_equal(c.blocks[0].addr, 0x1000);
	assert_int_equal(c.blocks[1].size, 0x40);
	assert_int_equal(c.blocks[2].addr, 0x3000);
	assert_int_equal(c.blocks[3].addr, 0x4000);
	census_fini(&c);
}

static void test_areas(void **state)
{
	struct census c;

	(void)state;
	census_init(&c);
	c.areas = calloc(3, sizeof(*c.areas));
	assert_non_null(c.areas);
	c.nareas = 3;
	c.areas[0] = (struct census_area){ 0x5000, 0x6000, 0 };
	c.areas[1] = (struct census_area){ 0x1000, 0x3000, 0 };
	c.areas[2] = (struct census_area){ 0x2000, 0x4000, 0 };
	assert_int_equal(census_order(&c), 0x2000);
	assert_int_equal(c.nareas, 2);
	assert_int_equal(c.areas[1].lo, 0x5000);
	census_fini(&c);
}

static void test_in_order(void **state)
{
	struct census c;

	(void)state;
	census_init(&c);
	assert_int_equal(census_order(&c), 0);
	assert_true(census_blocks_reserve(&c, 8));
	add(&c, 0x1000, 0x10);
	add(&c, 0x1010, 0x10);
	assert_int_equal(census_order(&c), 0);
	assert_int_equal(c.nblocks, 2);
	census_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_areas),
		cmocka_unit_test(test_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
