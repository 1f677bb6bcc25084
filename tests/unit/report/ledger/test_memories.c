/* SPDX-License-Identifier: MIT */
#include "report/ledger/memories.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static struct memories all;

static int teardown(void **state)
{
	(void)state;
	memories_fini(&all);
	return 0;
}

static void add(struct memories *m, int32_t pid, uint64_t at_us)
{
	const struct memory_point p = { .at_us = at_us, .anonymous = at_us + 7 };

	assert_int_equal(memories_add(m, pid, "name", &p), 0);
}

/* However many points are added: the first and the last are kept, and some in between, evenly. */
static void many_points(void **state)
{
	const struct memory_process *p;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		add(&all, 1, 10 + 1000000 * i);
	p = memories_of(&all, 1);
	assert_non_null(p);
	assert_true(p->npoints > MEMORY_POINTS / 2 && p->npoints <= MEMORY_POINTS);
	assert_int_equal(p->points[0].at_us, 10);
	assert_int_equal(p->points[p->npoints - 1].at_us, 10 + 99999000000);
	for (uint32_t i = 1; i < p->npoints; i++)
		assert_true(p->points[i].at_us > p->points[i - 1].at_us &&
			    p->points[i].at_us - p->points[i - 1].at_us < 100000000000 / 20);
}

/* Repeated facts, as at the head of a piece, change nothing; nor does the order of the processes. */
static void repeated_facts(void **state)
{
	struct memories again = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		add(&all, 1 + (int32_t)(i % 3), 10 + i * i * 1000);
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < all.n; i++)
			for (uint32_t n = 0; n < all.all[i].npoints; n++)
				assert_int_equal(memories_add(&again, all.all[i].pid, "name",
							      &all.all[i].points[n]),
						 0);
	assert_int_equal(again.n, all.n);
	for (size_t i = 0; i < all.n; i++) {
		assert_int_equal(again.all[i].npoints, all.all[i].npoints);
		assert_memory_equal(again.all[i].points, all.all[i].points,
				    all.all[i].npoints * sizeof(struct memory_point));
	}
	memories_fini(&again);
}

static void at_the_end_of_time(void **state)
{
	(void)state;
	add(&all, 1, 0);
	for (unsigned i = 0; i < 64; i++)
		add(&all, 1, UINT64_MAX - 64 + i);
	assert_int_equal(memories_of(&all, 1)->npoints, 2);
}

static void too_many_processes(void **state)
{
	const struct memory_point p = { .at_us = 1 };

	(void)state;
	for (int32_t pid = 0; pid < (int32_t)MEMORY_PROCESSES; pid++)
		add(&all, pid, 1);
	assert_int_equal(memories_add(&all, -1, NULL, &p), 0);
	assert_int_equal(all.n, MEMORY_PROCESSES);
	assert_null(memories_of(&all, -1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(many_points, teardown),
		cmocka_unit_test_teardown(repeated_facts, teardown),
		cmocka_unit_test_teardown(at_the_end_of_time, teardown),
		cmocka_unit_test_teardown(too_many_processes, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
