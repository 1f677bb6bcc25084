/* SPDX-License-Identifier: MIT */
/*
 * busy: a child that sleeps, one that computes, one that does both; and the pause that is expected of each.
 */
#include "attach/snapshot/busy.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/keeper/shared/shared.h"

#define LOOKS 200

static void nap(long ns)
{
	nanosleep(&(struct timespec){ 0, ns }, NULL);
}

static pid_t child(void (*body)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			body();
	}
	return pid;
}

static struct busy look_at(pid_t pid)
{
	struct busy b = { 0 };

	for (int i = 0; i < LOOKS; i++) {
		busy_sample(&b, pid);
		nap(500000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return b;
}

static void sleep_long(void)
{
	pause();
}

static void compute(void)
{
	__asm__ volatile("" : : : "memory");
}

static void both(void)
{
	for (volatile int i = 0; i < 1000000; i++)
		;
	nap(1000000);
}

static void one_that_sleeps(void **state)
{
	pid_t pid = child(sleep_long);
	struct busy b = { 0 };

	(void)state;
	/* until it sleeps */
	nap(50000000);
	b = look_at(pid);
	assert_int_equal(b.own, 0);
	assert_false(b.sleeps);
	b.machine = 0;
	assert_int_equal(busy_stop_ns(&b, 2), 0);
}

static void one_that_computes(void **state)
{
	struct busy b = look_at(child(compute));

	(void)state;
	assert_int_equal(b.own, 1);
	assert_true(b.machine >= 1);
	assert_false(b.sleeps);
	assert_true(busy_stop_ns(&b, 2) > PAUSING_RUNS_NS);
}

static void one_that_does_both(void **state)
{
	struct busy b = look_at(child(both));

	(void)state;
	assert_int_equal(b.own, 1);
	assert_true(b.sleeps);
	assert_true(busy_stop_ns(&b, 2) > PAUSING_MET_NS);
}

/* More runnable threads make the pause longer, more processors shorter; and there is an upper limit. */
static void what_is_expected(void **state)
{
	struct busy few = { .machine = 4 }, many = { .machine = 40 }, hundreds = { .machine = 4000 };

	(void)state;
	assert_true(busy_stop_ns(&few, 2) < busy_stop_ns(&many, 2));
	assert_true(busy_stop_ns(&many, 64) < busy_stop_ns(&many, 2));
	assert_true(busy_stop_ns(&hundreds, 2) <= 100000000);
	assert_true(busy_stop_ns(&few, 0) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_sleeps),
		cmocka_unit_test(one_that_computes),
		cmocka_unit_test(one_that_does_both),
		cmocka_unit_test(what_is_expected),
	};

	return cmocka_run_group_tests_name("busy", tests, NULL, NULL);
}
