/* SPDX-License-Identifier: MIT */
/*
 * refused_returns: what is in it was refused, however many there are; that one is not in it any more costs a
 * question, that one is which was not refused would cost a call's end.
 */
#include "attach/keeper/shared/refused_returns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct refused_returns refused;

static int setup(void **state)
{
	(void)state;
	memset(&refused, 0, sizeof(refused));
	return 0;
}

/* Call sites as a compiler makes them. */
static taddr site(uint32_t i)
{
	return 0x7f1200000000ull + 37 * i;
}

static uint32_t count_of(uint32_t n)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < n; i++)
		known += refused_returns_has(&refused, site(i));
	return known;
}

static void those_that_were_refused(void **state)
{
	const uint32_t n = REFUSED_RETURNS / 4;

	(void)state;
	assert_false(refused_returns_has(&refused, site(0)));
	for (uint32_t i = 0; i < n; i++)
		refused_returns_add(&refused, site(i));
	assert_true(count_of(n) > n - n / 50);
	for (uint32_t i = n; i < 20 * n; i++)
		assert_false(refused_returns_has(&refused, site(i)));
	assert_false(refused_returns_has(&refused, site(0) + 1));
}

static void until_they_are_forgotten(void **state)
{
	(void)state;
	refused_returns_forget(&refused);
	for (uint32_t i = 0; i < 100; i++)
		refused_returns_add(&refused, site(i));
	refused_returns_forget(&refused);
	assert_int_equal(count_of(100), 0);
	refused_returns_add(&refused, site(3));
	assert_true(refused_returns_has(&refused, site(3)));
	assert_int_equal(count_of(100), 1);
}

/* The last one is always known, and the others are not mixed up. */
static void more_than_there_is_room_for(void **state)
{
	const uint32_t n = 5 * REFUSED_RETURNS;

	(void)state;
	for (uint32_t i = 0; i < n; i++) {
		refused_returns_add(&refused, site(i));
		assert_true(refused_returns_has(&refused, site(i)));
	}
	assert_in_range(count_of(n), REFUSED_RETURNS / 2, REFUSED_RETURNS);
	for (uint32_t i = n; i < 2 * n; i++)
		assert_false(refused_returns_has(&refused, site(i)));
}

static void one_twice_and_none(void **state)
{
	(void)state;
	refused_returns_add(&refused, site(1));
	refused_returns_add(&refused, site(1));
	refused_returns_add(&refused, 0);
	assert_int_equal(count_of(10), 1);
	refused_returns_forget(&refused);
	assert_int_equal(count_of(10), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(those_that_were_refused, setup),
		cmocka_unit_test_setup(until_they_are_forgotten, setup),
		cmocka_unit_test_setup(more_than_there_is_room_for, setup),
		cmocka_unit_test_setup(one_twice_and_none, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
