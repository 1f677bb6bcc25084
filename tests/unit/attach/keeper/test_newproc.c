/* SPDX-License-Identifier: MIT */
/*
 * newproc: another process in the target's memory execs while one of its threads steps over a trap in place:
 * the trap is lifted for that step, and no other thread would plant it again. The memory that it leaves is
 * the test's own; the exec is real.
 */
#include "attach/keeper/newproc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "attach/keeper/traps/step.h"
#include "tests/unit/traced_child.h"

#define TRAP_AT 1

/*
 * A guest that is stopped at its exec: the trap is planted, and the guest is in the middle of a step over it.
 */
static struct tracee *at_exec(void)
{
	struct site s = child_site(TRAP_AT);
	pid_t child = child_start(child_execs);
	struct tracee *t;
	int status;

	child_keeper(getpid());
	t = child_entry(child);
	t->guest = true;
	keeper->others = 1;
	assert_int_equal(trap_plant(&keeper->traps, keeper->mem, 0, &s), 0);
	assert_int_equal(trap_step_begin(&keeper->traps, keeper->mem, 0), 0);
	t->in_place = true;
	t->stepping = 0;
	board->go = 1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(event_decode(status).what, HAPPENED_EXEC);
	t->state = TRACEE_STOPPED;
	t->status = status;
	assert_int_equal(page[TRAP_AT], code[TRAP_AT]);
	return t;
}

static void assert_let_go(pid_t child)
{
	assert_int_equal(child_verdict(), 0);
	assert_null(threads_find(&keeper->threads, child));
	assert_int_equal(keeper->others, 0);
}

static int end(void **state)
{
	(void)state;
	assert_int_equal(trap_lift_all(&keeper->traps, keeper->mem), 0);
	child_no_keeper();
	assert_memory_equal(page, code, sizeof(code));
	return 0;
}

static void the_trap_stands_again(void **state)
{
	struct tracee *t = at_exec();
	pid_t child = t->tid;

	(void)state;
	newproc_exec(keeper, t);
	assert_int_equal(page[TRAP_AT], INT3);
	assert_int_equal(keeper->traps.all[0].steppers, 0);
	assert_let_go(child);
}

static void not_under_another_who_steps(void **state)
{
	struct tracee *t = at_exec(), *other = child_entry(getpid());
	pid_t child = t->tid;

	(void)state;
	assert_int_equal(trap_step_begin(&keeper->traps, keeper->mem, 0), 0);
	other->in_place = true;
	other->stepping = 0;
	newproc_exec(keeper, t);
	assert_int_equal(page[TRAP_AT], code[TRAP_AT]);
	step_end_in_place(keeper, other);
	assert_int_equal(page[TRAP_AT], INT3);
	assert_let_go(child);
}

static void not_when_we_leave(void **state)
{
	struct tracee *t = at_exec();
	pid_t child = t->tid;

	(void)state;
	trap_freeze(&keeper->traps);
	newproc_exec(keeper, t);
	assert_int_equal(page[TRAP_AT], code[TRAP_AT]);
	assert_let_go(child);
}

/* Resume each stop until it execs; any other thread that stops meanwhile is one of its own. */
static struct tracee *until_exec(pid_t child)
{
	for (;;) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);
		struct tracee *t;

		assert_true(tid > 0);
		if (!WIFSTOPPED(status))
			continue;
		t = child_entry(tid);
		t->guest = true;
		t->state = TRACEE_STOPPED;
		if (event_decode(status).what == HAPPENED_EXEC)
			return t;
		/* it execs once this thread is in the table */
		if (tid != child)
			board->go = 2;
		assert_int_equal(tracee_cont(t, 0), 0);
	}
}

/*
 * A thread that is not the first execs: it gets the first one's number, and the kernel never reports the end
 * of its own number.
 */
static void another_of_its_threads(void **state)
{
	pid_t child = child_start(child_with_a_thread_that_execs);
	struct site s = child_site(TRAP_AT);
	struct tracee *t;

	(void)state;
	child_keeper(getpid());
	board->go = 1;
	t = until_exec(child);
	assert_int_equal(t->tid, child);
	assert_int_equal(keeper->threads.used, 2);
	keeper->others = 2;
	assert_int_equal(trap_plant(&keeper->traps, keeper->mem, 0, &s), 0);
	for (struct tracee *one = threads_first(&keeper->threads); one;
	     one = threads_next(&keeper->threads, one)) {
		assert_int_equal(trap_step_begin(&keeper->traps, keeper->mem, 0), 0);
		one->in_place = true;
		one->stepping = 0;
	}
	newproc_exec(keeper, t);
	assert_int_equal(keeper->threads.used, 0);
	assert_int_equal(page[TRAP_AT], INT3);
	assert_let_go(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(the_trap_stands_again, end),
		cmocka_unit_test_teardown(not_under_another_who_steps, end),
		cmocka_unit_test_teardown(not_when_we_leave, end),
		cmocka_unit_test_teardown(another_of_its_threads, end),
	};

	return cmocka_run_group_tests(tests, child_prepare, NULL);
}
