/* SPDX-License-Identifier: MIT */
/* What a pause costs threads that sleep when it begins (attach/snapshot/awake.h). */
#include "attach/snapshot/awake.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MS 1000000ull
#define S 1000000000ull

static void see(struct awake *a, const struct awake_thread *threads, size_t n, uint64_t now_ns)
{
	struct awake_thread *copy = calloc(n + 1, sizeof(*copy));

	assert_non_null(copy);
	memcpy(copy, threads, n * sizeof(*copy));
	assert_int_equal(awake_see(a, copy, n, now_ns), 0);
}

/* One that runs all the time, one that is woken ten times a second for a millisecond, and eight that sleep. */
static void as_it_went_on_it_goes_on(void **state)
{
	struct awake_thread all[10];
	struct awake a;

	(void)state;
	awake_init(&a);
	for (int i = 0; i < 10; i++)
		all[i] = (struct awake_thread){ .tid = 100 - i, .ran_ns = 7 * S, .times = 70 };
	assert_int_equal(awake_part(&a, 10 * MS), AWAKE_ALL);
	see(&a, all, 10, 5 * S);
	assert_int_equal(awake_part(&a, 10 * MS), AWAKE_ALL);
	all[0].ran_ns += 2 * S;
	all[1].ran_ns += 20 * MS;
	all[1].times += 20;
	see(&a, all, 10, 7 * S);
	/* 1 + 0.01 + 10 * 0.01 / 2 = 1.06 threads of ten */
	assert_in_range(awake_part(&a, 10 * MS), 105900, 106100);
	/* a long one keeps both from all of it */
	assert_in_range(awake_part(&a, S), 199900, 200000);
	awake_fini(&a);
}

/* Threads that are new began after the last look; it never costs less than one thread's pause. */
static void new_and_idle_threads(void **state)
{
	struct awake_thread all[4] = { { 1, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 }, { 4, S, 1 } };
	struct awake a;

	(void)state;
	awake_init(&a);
	see(&a, all, 3, 5 * S);
	see(&a, all, 3, 6 * S);
	assert_int_equal(awake_part(&a, 10 * MS), AWAKE_ALL / 3);
	see(&a, all + 1, 3, 7 * S);
	assert_in_range(awake_part(&a, MS), AWAKE_ALL / 3, AWAKE_ALL / 3 + 1000);
	see(&a, all, 0, 8 * S);
	assert_int_equal(awake_part(&a, MS), AWAKE_ALL);
	awake_fini(&a);
}

static void *sleeps(void *barrier)
{
	pthread_barrier_wait(barrier);
	pause();
	return NULL;
}

/* Of ourselves: seven threads that sleep, and one that works. */
static void of_a_process(void **state)
{
	struct awake a;
	pthread_t thread;
	struct timespec t;
	pthread_barrier_t barrier;
	uint64_t begin_ns;

	(void)state;
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 8), 0);
	for (int i = 0; i < 7; i++)
		assert_int_equal(pthread_create(&thread, NULL, sleeps, &barrier), 0);
	/* one that has not run yet is not known */
	pthread_barrier_wait(&barrier);
	awake_init(&a);
	clock_gettime(CLOCK_MONOTONIC, &t);
	begin_ns = (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec;
	assert_int_equal(awake_look(&a, getpid(), begin_ns), 0);
	assert_int_equal(a.n, 8);
	/* too soon */
	assert_int_equal(awake_look(&a, getpid(), begin_ns + MS), 0);
	assert_int_equal(a.at_ns, begin_ns);
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while ((uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec < begin_ns + 400 * MS);
	assert_int_equal(awake_look(&a, getpid(), (uint64_t)t.tv_sec * S + (uint64_t)t.tv_nsec), 0);
	assert_in_range(awake_part(&a, MS), AWAKE_ALL / 8, AWAKE_ALL / 4);
	assert_int_equal(awake_look(&a, 999999999, begin_ns + 10 * S) < 0, 1);
	awake_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_it_went_on_it_goes_on),
		cmocka_unit_test(new_and_idle_threads),
		cmocka_unit_test(of_a_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
