/* SPDX-License-Identifier: MIT */
/*
 * wait_stops: how a thread has stopped is as waitpid says it, and a stop that a crash has left between the kernel and
 * the table is entered.
 */
#include "attach/keeper/wait_stops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/keeper/state.h"

static struct keeper *keeper;

static void *room(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static int setup(void **state)
{
	(void)state;
	keeper = room(sizeof(*keeper));
	keeper->shared = room(sizeof(*keeper->shared));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	munmap(keeper->shared, sizeof(*keeper->shared));
	munmap(keeper, sizeof(*keeper));
	return 0;
}

/* A child that is in the table: it waits for a signal. */
static struct tracee *begin(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return threads_add(&keeper->threads, pid);
}

static int status_when_asked(struct tracee *t)
{
	while (!wait_stops_ask(keeper, t->tid))
		usleep(100);
	assert_int_equal(keeper->taken.si_pid, 0);
	assert_int_equal(t->state, TRACEE_STOPPED);
	return t->status;
}

static void a_stop_and_an_end(void **state)
{
	struct tracee *t = begin();
	const pid_t pid = t->tid;

	(void)state;
	assert_false(wait_stops_ask(keeper, pid));
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	assert_int_equal(status_when_asked(t), PTRACE_EVENT_STOP << 16 | SIGTRAP << 8 | 0x7f);
	assert_int_equal(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	kill(pid, SIGUSR2);
	assert_int_equal(status_when_asked(t), SIGUSR2 << 8 | 0x7f);
	assert_int_equal(ptrace(PTRACE_CONT, pid, 0, SIGUSR2), 0);
	assert_int_equal(status_when_asked(t), SIGUSR2);
}

static void an_exit(void **state)
{
	const pid_t pid = fork();
	struct tracee *t;

	(void)state;
	if (pid == 0)
		_exit(7);
	t = threads_add(&keeper->threads, pid);
	assert_int_equal(status_when_asked(t), 7 << 8);
	assert_false(wait_stops_ask(keeper, pid));
}

static void what_a_crash_left_over(void **state)
{
	struct tracee *t;

	(void)state;
	wait_stops_left_over(keeper);
	assert_int_equal(keeper->nqueue, 0);
	keeper->taken.si_pid = 4321;
	keeper->taken.si_code = CLD_TRAPPED;
	keeper->taken.si_status = PTRACE_EVENT_STOP << 8 | SIGTRAP;
	wait_stops_left_over(keeper);
	t = threads_find(&keeper->threads, 4321);
	assert_non_null(t);
	assert_int_equal(t->state, TRACEE_STOPPED);
	assert_false(t->known);
	assert_int_equal(t->status, PTRACE_EVENT_STOP << 16 | SIGTRAP << 8 | 0x7f);
	wait_stops_left_over(keeper);
	assert_int_equal(keeper->nqueue, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_stop_and_an_end, setup, teardown),
		cmocka_unit_test_setup_teardown(an_exit, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_crash_left_over, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
