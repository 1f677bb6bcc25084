/* SPDX-License-Identifier: MIT */
/*
 * left_copies: in which processes it lifts. The target here is a child that forks no other one; its copies are
 * its siblings, whose stack begins where its own does. Each process has its number in `here`: so @mem shows
 * which one it is of.
 */
#include "attach/control/left_copies.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull
#define KEEPER 1000	/* its number; no process is asked */

static volatile pid_t here;
static struct slots *slots;
static pid_t target, copy;
static unsigned lifted;

/* A child that waits. It has a child of its own, whose number is in *@its, if that is asked for. */
static pid_t child(pid_t *its)
{
	pid_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ready[2];
	pid_t pid;

	assert_ptr_not_equal(shared, MAP_FAILED);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);	/* if a test fails */
		if (its && fork())
			pause();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		here = *shared = getpid();
		(void)!write(ready[1], "", 1);
		pause();
	}
	assert_int_equal(read(ready[0], &(char){ 0 }, 1), 1);
	if (its)
		*its = *shared;
	close(ready[0]);
	close(ready[1]);
	munmap(shared, sizeof(*shared));
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int setup(void **state)
{
	(void)state;
	slots = mmap(NULL, sizeof(*slots), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(slots, MAP_FAILED);
	target = child(NULL);
	copy = child(NULL);
	lifted = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	end(copy);
	end(target);
	munmap(slots, sizeof(*slots));
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void put(uint32_t i, enum slot_state state, pid_t keeper, pid_t pid)
{
	slots->all[i].pid = pid;
	slots->all[i].keeper = keeper;
	slots->all[i].born_ns = now_ns();
	atomic_store(&slots->all[i].state, state);
}

static void trace(pid_t pid)
{
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
}

/* @ctx: the process in which it is to lift. */
static void lift(void *ctx, int mem)
{
	pid_t pid = 0;

	assert_int_equal(pread(mem, &pid, sizeof(pid), (off_t)(uintptr_t)&here), sizeof(pid));
	assert_int_equal(pid, *(pid_t *)ctx);
	lifted++;
}

static unsigned lifts(pid_t in)
{
	lifted = 0;
	left_copies_each(slots, KEEPER, target, lift, &in);
	return lifted;
}

static void in_slots_of_the_keeper(void **state)
{
	(void)state;
	put(3, SLOT_OFFERED, KEEPER, copy);
	put(4, SLOT_OFFERED, KEEPER + 1, target);
	put(5, SLOT_ADOPTED, KEEPER, target);
	put(6, SLOT_TAKEN, KEEPER, target);
	assert_int_equal(lifts(copy), 1);
	put(3, SLOT_CLAIMED, KEEPER, copy);
	assert_int_equal(lifts(copy), 1);
}

/* The copy has ended, and its number is another one's, which is watched. */
static void not_where_another_tracer_is(void **state)
{
	(void)state;
	put(0, SLOT_OFFERED, KEEPER, copy);
	put(1, SLOT_CLAIMED, KEEPER, copy);
	trace(copy);
	assert_int_equal(lifts(copy), 0);
}

/* Or was started since the copy was seen. */
static void not_in_a_later_process(void **state)
{
	(void)state;
	put(0, SLOT_OFFERED, KEEPER, copy);
	slots->all[0].born_ns -= SECOND;
	assert_int_equal(lifts(copy), 0);
}

/* The target executes another program, so that its stack does not begin where that of the copy does. */
static void of_a_target_that_runs_another_program(void **state)
{
	pid_t other = fork();
	int status;

	(void)state;
	if (other == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execl("/bin/sleep", "sleep", "60", NULL);
		_exit(1);
	}
	/* it has executed it */
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_DETACH, other, NULL, NULL), 0);
	end(target);
	target = other;
	put(0, SLOT_OFFERED, KEEPER, copy);
	assert_int_equal(lifts(copy), 1);
}

/* The keeper and the target were killed: what the slots have may have traps all the same. */
static void of_a_target_that_has_ended(void **state)
{
	siginfo_t si;

	(void)state;
	kill(target, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)target, &si, WEXITED | WNOWAIT), 0);
	put(0, SLOT_OFFERED, KEEPER, copy);
	assert_int_equal(lifts(copy), 1);
	trace(copy);
	assert_int_equal(lifts(copy), 0);
}

static void in_what_it_has_forked(void **state)
{
	pid_t its;

	(void)state;
	end(target);
	target = child(&its);
	assert_true(lifts(its) > 0);
	trace(its);
	assert_int_equal(lifts(its), 0);
	end(its);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_slots_of_the_keeper, setup, teardown),
		cmocka_unit_test_setup_teardown(not_where_another_tracer_is, setup, teardown),
		cmocka_unit_test_setup_teardown(not_in_a_later_process, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_target_that_runs_another_program, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_target_that_has_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(in_what_it_has_forked, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
