/* SPDX-License-Identifier: MIT */
/*
 * leave: threads that are held when the keeper leaves, and one that is held only then: the controller will
 * not answer any more, and each thread goes on undisturbed. The process is a child of the test's own, with
 * its own copy of the page that the trap is in.
 */
#include "attach/keeper/hold.h"
#include "attach/keeper/leave.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "attach/keeper/wait_stops.h"
#include "tests/unit/traced_child.h"

#define EXITED(status) ((status) << 8)

/* The target of a keeper that watches, with a trap in it; allowed to run @body. */
static struct tracee *watched(int (*body)(void))
{
	struct site s = child_site(0);
	pid_t child = child_start(body);
	struct tracee *t;

	child_keeper(child);
	keeper->target = child;
	keeper->watching = true;
	t = child_entry(child);
	assert_int_equal(trap_plant(&keeper->traps, keeper->mem, 0, &s), 0);
	board->go = 1;
	return t;
}

/* Wait until it has stopped; its status is left to be collected. */
static void await_stop(pid_t child)
{
	siginfo_t si;

	assert_int_equal(waitid(P_PID, child, &si, WSTOPPED | WEXITED | WNOWAIT | __WALL), 0);
	assert_int_equal(si.si_code, CLD_TRAPPED);
}

/* Leave (again, which does no harm): all threads are detached, and nothing of ours is in their way. */
static void assert_left(int status)
{
	leave(keeper, LEFT_ASKED);
	assert_int_equal(keeper->held, 0);
	assert_int_equal(keeper->threads.used, 0);
	for (uint32_t i = 0; i < SHARED_THREADS; i++)
		assert_int_equal(keeper->shared->hold[i], 0);
	assert_int_equal(keeper->shared->end.unlifted, 0);
	assert_int_equal(keeper->shared->end.left, LEFT_ASKED);
	assert_int_equal(child_verdict(), status);
	child_no_keeper();
}

/* A thread at a trap, held for its stack to be walked. */
static void one_that_is_held(void **state)
{
	struct tracee *t = watched(child_calls);
	int status;

	(void)state;
	assert_int_equal(waitpid(t->tid, &status, __WALL), t->tid);
	t->status = status;
	hold_begin(keeper, t, true, true);
	assert_int_equal(keeper->held, 1);
	assert_left(EXITED(42));
}

/* A thread at a trap whose hit is not served yet. */
static void one_that_ran_into_a_trap(void **state)
{
	(void)state;
	await_stop(watched(child_calls)->tid);
	assert_left(EXITED(42));
}

/*
 * An exec that is seen only after the traps are lifted and all threads detached: it is held as any, and gets
 * no answer.
 */
static void a_hold_that_comes_late(void **state)
{
	(void)state;
	await_stop(watched(child_execs)->tid);
	leave(keeper, LEFT_ASKED);
	/* the controller gets a record, should it still read */
	assert_int_equal(ring_peek(&keeper->shared->ring)->kind, RECORD_EXEC);
	assert_left(EXITED(0));
}

/* The parent is stopped at its fork, and the child was not seen yet: it has our trap in its memory. */
static void a_copy_that_is_just_born(void **state)
{
	(void)state;
	await_stop(watched(child_forks)->tid);
	leave(keeper, LEFT_ASKED);
	assert_int_equal(keeper->shared->end.uncleaned, 0);
	assert_left(EXITED(42));
}

/* No more descriptors: the child's memory cannot be opened, and there will be no second try. */
static void a_copy_that_cannot_be_cleaned(void **state)
{
	struct rlimit files, none;

	(void)state;
	await_stop(watched(child_forks)->tid);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = (struct rlimit){ 0, files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	leave(keeper, LEFT_ASKED);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(keeper->shared->end.uncleaned, 1);
	assert_left(EXITED(7));
}

/*
 * Meanwhile the trap's module was unloaded in the target, and the code now there was refused. The copy goes
 * on from its trap.
 */
static void a_copy_at_what_is_refused_by_now(void **state)
{
	struct tracee *t = watched(child_calls);
	struct site other = child_site(0);

	(void)state;
	await_stop(t->tid);
	t->guest = t->unclean = true;
	keeper->others = 1;
	trap_forget(&keeper->traps, keeper->mem, 0, 1);
	other.bytes[1] ^= 1;
	assert_int_equal(trap_plant(&keeper->traps, keeper->mem, 1, &other), -EILSEQ);
	assert_left(EXITED(42));
}

/* The target has become a program whose memory we may not open; that does not matter for its copy. */
static void a_copy_when_the_target_cannot_be_opened(void **state)
{
	struct tracee *t = watched(child_calls);

	(void)state;
	await_stop(t->tid);
	t->guest = t->unclean = true;
	keeper->others = 1;
	close(keeper->mem);
	keeper->mem = -1;
	leave(keeper, LEFT_ASKED);
	assert_int_equal(keeper->shared->end.uncleaned, 0);
	assert_left(EXITED(42));
}

/* --- alone: the keeper goes on --- */

static void wait_ms(uint32_t ms)
{
	const struct timespec t = { 0, ms * 1000000 };

	nanosleep(&t, NULL);
}

/* As its rounds do. */
static void leave_alone_now(void)
{
	keeper->leave_reason = LEFT_ORPHAN;
	keeper->now_ns = keeper_clock_ns();
	leave_alone(keeper);
	for (int i = 0; i < 2000 && !keeper->gone; i++) {
		wait_ms(1);
		keeper->now_ns = keeper_clock_ns();
		wait_stops_everyone(keeper);
		leave_round(keeper);
	}
}

/* It is left while this process, its tracer, lives on. */
static void assert_left_alone(void)
{
	assert_true(keeper->gone);
	assert_int_equal(keeper->threads.used, 0);
	assert_int_equal(keeper->held, 0);
	assert_int_equal(keeper->shared->end.unlifted, 0);
	assert_int_equal(keeper->shared->end.left, LEFT_ORPHAN);
	assert_int_equal(keeper->shared->end.stays, 1);
	assert_int_equal(child_verdict(), EXITED(42));
	child_no_keeper();
}

/* The exit that would release it does not come, so it is interrupted; its call goes on. */
static void alone_one_that_sleeps(void **state)
{
	struct tracee *t = watched(child_sleeps);

	(void)state;
	while (board->go < 2)
		;
	while (procfs_waits(t->tid, t->tid) == WAITS_NOT)
		;
	leave_alone_now();
	assert_left_alone();
}

static void alone_one_that_runs(void **state)
{
	(void)state;
	(void)watched(child_runs);
	leave_alone_now();
	board->go = 2;
	assert_left_alone();
}

static void alone_one_that_ran_into_a_trap(void **state)
{
	(void)state;
	await_stop(watched(child_calls)->tid);
	leave_alone_now();
	assert_left_alone();
}

static void alone_one_that_is_held(void **state)
{
	struct tracee *t = watched(child_calls);
	int status;

	(void)state;
	assert_int_equal(waitpid(t->tid, &status, __WALL), t->tid);
	t->status = status;
	hold_begin(keeper, t, true, true);
	leave_alone_now();
	assert_left_alone();
}

/* Its copy is cleaned, too, though that stops only later. */
static void alone_one_that_forks(void **state)
{
	(void)state;
	await_stop(watched(child_forks)->tid);
	leave_alone_now();
	assert_left_alone();
}

/* Stopped by a signal: it stays so, and is not traced. */
static void alone_one_that_is_stopped(void **state)
{
	struct tracee *t = watched(child_runs);
	const pid_t child = t->tid;
	int status;

	(void)state;
	kill(child, SIGSTOP);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	assert_int_equal(tracee_cont(t, SIGSTOP), 0);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	assert_int_equal(event_decode(status).what, HAPPENED_GROUP_STOP);
	assert_int_equal(tracee_listen(t), 0);
	leave_alone_now();
	while (procfs_state(child, child) == 'R')
		;
	assert_int_equal(procfs_state(child, child), 'T');
	board->go = 2;
	kill(child, SIGCONT);
	assert_left_alone();
}

/* Its end was reported, and not taken notice of. Once it kept a keeper from ending. */
static void alone_one_that_is_gone(void **state)
{
	struct tracee *t = watched(child_runs);
	const pid_t child = t->tid;
	int status;

	(void)state;
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, __WALL), child);
	leave_alone_now();
	assert_true(keeper->gone);
	assert_int_equal(keeper->threads.used, 0);
	child_no_keeper();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_is_held),
		cmocka_unit_test(one_that_ran_into_a_trap),
		cmocka_unit_test(a_hold_that_comes_late),
		cmocka_unit_test(a_copy_that_is_just_born),
		cmocka_unit_test(a_copy_that_cannot_be_cleaned),
		cmocka_unit_test(a_copy_at_what_is_refused_by_now),
		cmocka_unit_test(a_copy_when_the_target_cannot_be_opened),
		cmocka_unit_test(alone_one_that_sleeps),
		cmocka_unit_test(alone_one_that_runs),
		cmocka_unit_test(alone_one_that_ran_into_a_trap),
		cmocka_unit_test(alone_one_that_is_held),
		cmocka_unit_test(alone_one_that_forks),
		cmocka_unit_test(alone_one_that_is_stopped),
		cmocka_unit_test(alone_one_that_is_gone),
	};

	return cmocka_run_group_tests(tests, child_prepare, NULL);
}
