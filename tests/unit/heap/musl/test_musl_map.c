/* SPDX-License-Identifier: MIT */
/* The head before a block, its group and its meta: also if they are what they cannot be. */
#include "heap/musl/musl_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define GROUP 0x7f0000001000ull
#define AT (GROUP + 16 + 2 * 48)	/* the block of slot 2, of 48 bytes each */

static uint64_t head(unsigned index, unsigned offset)
{
	return (uint64_t)index << 40 | (uint64_t)offset << 48;
}

static struct musl_place place(taddr at, uint64_t head, taddr mem, unsigned last, unsigned class, uint64_t pages)
{
	const uint64_t meta[MUSL_META_WORDS] = { 0, 0, mem, 0, last | 1u << 5 | class << 6 | pages << 12 };

	return musl_map_place(at, head, GROUP, meta);
}

static void the_way(void **state)
{
	(void)state;
	assert_int_equal(musl_map_group(AT, head(2, 6)), GROUP);
	assert_int_equal(musl_map_group(AT + 8, head(2, 6)), 0);
	/* freed; a group's head; before all memory */
	assert_int_equal(musl_map_group(AT, head(255, 0)), 0);
	assert_int_equal(musl_map_group(AT, head(6 << 5 | 2, 6)), 0);
	assert_int_equal(musl_map_group(0x60, head(2, 6)), 0);
	/* the group is further away than 16 bits can say */
	assert_int_equal(musl_map_group(GROUP + 0x200010, UINT64_C(1) << 32 | 0x20000), GROUP);
	assert_int_equal(musl_map_group(AT, head(2, 6) | UINT64_C(1) << 32), 0);
	assert_int_equal(musl_map_secret(0x5018 + 3 * 40), 0x5000);
	assert_int_equal(musl_map_secret(0x5018 + 39), 0);
	assert_int_equal(musl_map_secret(0x5008), 0);
}

static void a_block(void **state)
{
	struct musl_place p = place(AT, head(2, 6), GROUP, 9, 2, 0);

	(void)state;
	assert_int_equal(p.bytes, 48);
	assert_int_equal(p.usable, 44);
	assert_int_equal(place(AT, head(3 << 5 | 2, 6), GROUP, 9, 2, 0).usable, 41);
	/* one that begins later in its slot */
	assert_int_equal(place(AT + 16, head(2, 7), GROUP, 9, 2, 0).usable, 28);
	/* a mapping of its own */
	p = place(GROUP + 16, head(0, 0), GROUP, 0, 63, 5);
	assert_int_equal(p.bytes, 5 * 4096 - 16);
}

static void no_block(void **state)
{
	(void)state;
	/* another group's meta; no such slot; no such class; not in its slot */
	assert_int_equal(place(AT, head(2, 6), GROUP + 16, 9, 2, 0).bytes, 0);
	assert_int_equal(place(AT, head(2, 6), GROUP, 1, 2, 0).bytes, 0);
	assert_int_equal(place(AT, head(2, 6), GROUP, 9, 50, 0).bytes, 0);
	assert_int_equal(place(AT, head(3, 6), GROUP, 9, 2, 0).bytes, 0);
	assert_int_equal(place(AT, head(1, 6), GROUP, 9, 2, 0).bytes, 0);
}

static void heads(void **state)
{
	(void)state;
	/* the four bytes before the head are the slot's before */
	assert_int_equal(musl_map_head(head(2, 6) | 77), musl_map_head(head(2, 6)));
	assert_true(musl_map_is_freed(musl_map_head(head(255, 0))));
	assert_false(musl_map_is_freed(musl_map_head(head(2, 6))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_way), cmocka_unit_test(a_block), cmocka_unit_test(no_block), cmocka_unit_test(heads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
