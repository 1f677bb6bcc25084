/* SPDX-License-Identifier: MIT */
/* event: every possible wait status, those that the kernel really reports, and the layout of the records. */
#include "attach/keeper/shared/event.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bool forbidden;	/* ptrace is forbidden: the test can show nothing */

static void assert_means(int status, enum happening what, int sig)
{
	struct happening_info h = event_decode(status);

	if (h.what != what || h.sig != sig)
		fail_msg("status 0x%x: %s %d, not %s %d", (unsigned int)status, happening_name(h.what), h.sig,
			 happening_name(what), sig);
}

/* The kernel's numbers, written out: PTRACE_EVENT_FORK is 1, ... */
static enum happening of_event(int event, int sig)
{
	static const enum happening known[] = {
		[1] = HAPPENED_FORK, [2] = HAPPENED_VFORK, [3] = HAPPENED_CLONE, [4] = HAPPENED_EXEC,
		[5] = HAPPENED_VFORK_DONE, [6] = HAPPENED_ENDING, [7] = HAPPENED_OTHER /* seccomp */,
	};

	if (event == 128)
		return sig == 5 ? HAPPENED_STOP : HAPPENED_GROUP_STOP;
	return event < 8 ? known[event] : HAPPENED_OTHER;
}

static void every_status(void **state)
{
	(void)state;
	for (int code = 0; code < 256; code++)
		assert_means(code << 8, HAPPENED_EXIT, code);
	for (int sig = 1; sig <= 64; sig++) {
		assert_means(sig, HAPPENED_KILLED, sig);
		assert_means(sig | 0x80, HAPPENED_KILLED, sig); /* with a core */
		assert_means(0x7f | sig << 8, HAPPENED_SIGNAL, sig);
		for (int event = 1; event < 256; event++)
			assert_means(0x7f | sig << 8 | event << 16, of_event(event, sig), sig);
	}
	assert_means(0xffff, HAPPENED_OTHER, 0); /* continued: the keeper does not ask for it */
}

static void every_number_has_an_answer(void **state)
{
	(void)state;
	for (int status = 0; status < 1 << 24; status++) {
		struct happening_info h = event_decode(status);

		if (h.what > HAPPENED_OTHER || h.sig < 0 || h.sig > 255)
			fail_msg("status 0x%x: %d %d", (unsigned int)status, (int)h.what, h.sig);
	}
}

/* --- what the kernel reports --- */

static int thread_body(void *arg)
{
	(void)arg;
	return 0;
}

/*
 * Does everything once, in the order that next_is expects. Nothing here may fail silently: the order would
 * differ.
 */
static void do_everything(void)
{
	static char stack[65536];
	pid_t pid;

	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGSTOP);
	pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	pid = vfork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	pid = clone(thread_body, stack + sizeof(stack), CLONE_VM | CLONE_FS, NULL);
	waitpid(pid, NULL, __WALL);
	execl("/bin/sh", "sh", "-c", "kill -KILL $$", NULL);
	_exit(1);
}

static int next_status(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, __WALL), child);
	return status;
}

static void let_run(pid_t child, int sig)
{
	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, (long)sig), 0);
}

/* SIGCHLD of the child's own children comes in between, or is merged: pass it over. */
static void next_is(pid_t child, enum happening what, int sig)
{
	int status = next_status(child);

	while (what != HAPPENED_KILLED && event_decode(status).what == HAPPENED_SIGNAL &&
	       WSTOPSIG(status) == SIGCHLD) {
		let_run(child, 0);
		status = next_status(child);
	}
	assert_means(status, what, sig);
}

static void child_event(pid_t child, enum happening what)
{
	unsigned long newborn;

	next_is(child, what, SIGTRAP);
	assert_int_equal(ptrace(PTRACE_GETEVENTMSG, child, NULL, &newborn), 0);
	assert_means(next_status(newborn), HAPPENED_STOP, SIGTRAP);
	assert_int_equal(ptrace(PTRACE_DETACH, newborn, NULL, NULL), 0);
	let_run(child, 0);
}

static void as_the_kernel_reports(void **state)
{
	const long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC;
	int go[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(go), 0);
	child = fork();
	if (child == 0) {
		char c;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(go[0], &c, 1) != 1)
			_exit(2);
		do_everything();
	}
	if (ptrace(PTRACE_SEIZE, child, NULL, options) < 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		forbidden = true;
		skip();
	}
	assert_int_equal(write(go[1], "x", 1), 1);
	next_is(child, HAPPENED_SIGNAL, SIGUSR1);
	let_run(child, 0);
	next_is(child, HAPPENED_SIGNAL, SIGSTOP);
	let_run(child, SIGSTOP);
	next_is(child, HAPPENED_GROUP_STOP, SIGSTOP);
	assert_int_equal(ptrace(PTRACE_LISTEN, child, NULL, NULL), 0);
	kill(child, SIGCONT);
	next_is(child, HAPPENED_STOP, SIGTRAP);
	let_run(child, 0);
	next_is(child, HAPPENED_SIGNAL, SIGCONT);
	let_run(child, SIGCONT);
	child_event(child, HAPPENED_FORK);
	child_event(child, HAPPENED_VFORK);
	next_is(child, HAPPENED_VFORK_DONE, SIGTRAP);
	let_run(child, 0);
	child_event(child, HAPPENED_CLONE);
	next_is(child, HAPPENED_EXEC, SIGTRAP);
	let_run(child, 0);
	next_is(child, HAPPENED_KILLED, SIGKILL);
	close(go[0]);
	close(go[1]);
}

/* --- records --- */

static void records_are_whole_words(void **state)
{
	(void)state;
	/* the ring lays them end to end: a size that is not a multiple of 8 would misalign the next one */
	assert_int_equal(sizeof(struct record), 32);
	assert_int_equal(sizeof(struct record_hit) % 8, 0);
	assert_int_equal(offsetof(struct record_hit, head), 0);
	/* the slice is the last field, without a hole: size = sizeof + slice_len */
	assert_int_equal(offsetof(struct record_hit, slice), sizeof(struct record_hit));
	/* words and registers are read straight into the record */
	assert_int_equal(offsetof(struct record_hit, loads) % 8, 0);
	assert_int_equal(offsetof(struct record_hit, regs) % 8, 0);
	assert_true(sizeof(((struct record_hit *)0)->loads_read) * 8 >= SITE_LOADS);
}

static void flags_are_apart(void **state)
{
	(void)state;
	assert_int_equal(__builtin_popcount(RECORD_HELD | RECORD_OPENS | RECORD_CLOSES | RECORD_STATIC |
					    RECORD_CUT | RECORD_OUTSIDE),
			 6);
	assert_true((RECORD_HELD | RECORD_OPENS | RECORD_CLOSES | RECORD_STATIC | RECORD_CUT |
		     RECORD_OUTSIDE) <= UINT16_MAX);
}

static void everything_has_a_name(void **state)
{
	(void)state;
	for (int i = 0; i <= HAPPENED_OTHER; i++) {
		assert_non_null(happening_name(i));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(happening_name(i), happening_name(j));
	}
	for (int i = 0; i < TROUBLES_END; i++) {
		assert_true(strlen(trouble_text(i)) > 0);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(trouble_text(i), trouble_text(j));
	}
	/* the number comes from shared memory */
	assert_non_null(trouble_text(TROUBLES_END));
	assert_non_null(trouble_text(1000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_status),
		cmocka_unit_test(every_number_has_an_answer),
		cmocka_unit_test(as_the_kernel_reports),
		cmocka_unit_test(records_are_whole_words),
		cmocka_unit_test(flags_are_apart),
		cmocka_unit_test(everything_has_a_name),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	return failed || !forbidden ? failed : 77;
}
