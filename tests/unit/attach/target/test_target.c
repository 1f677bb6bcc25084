/* SPDX-License-Identifier: MIT */
/* target: what /proc reports about children made for it: threads, names, signals, a tracer, a zombie. */
#include "attach/target/target.h"
#include "attach/target/target_find.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* A child that runs @prepare, writes a word (the result of @prepare) and waits to be killed. */
static pid_t spawn(long (*prepare)(void), long *word)
{
	int pipefd[2];
	pid_t pid;

	assert_int_equal(pipe(pipefd), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		long w;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		w = prepare();
		if (write(pipefd[1], &w, sizeof(w)) != sizeof(w))
			_exit(1);
		for (;;)
			pause();
	}
	close(pipefd[1]);
	assert_int_equal(read(pipefd[0], word, sizeof(*word)), sizeof(*word));
	close(pipefd[0]);
	return pid;
}

/* The process ends only when the threads that we trace have been waited for. */
static void end(pid_t pid)
{
	pid_t ended;

	kill(pid, SIGKILL);
	do
		ended = waitpid(-1, NULL, __WALL);
	while (ended > 0 && ended != pid);
	assert_int_equal(ended, pid);
}

static void test_ourselves(void **state)
{
	struct target_info t;

	(void)state;
	assert_int_equal(target_read(getpid(), &t), 0);
	assert_int_equal(t.pid, getpid());
	assert_int_equal(t.asked, getpid());
	assert_string_equal(t.comm, "test_target");
	assert_non_null(strstr(t.exe, "/test_target"));
	assert_true(t.argc >= 1);
	assert_null(t.argv[t.argc]);
	assert_int_equal(t.uid, getuid());
	assert_int_equal(t.euid, geteuid());
	assert_int_equal(t.state, 'R');
	assert_int_equal(t.threads, 1);
	assert_int_equal(t.bits, 64);
	assert_int_equal(t.tracer_pid, 0);
	assert_false(t.kernel_thread || t.not_dumpable || t.other_user_ns || t.sigtrap_ignored ||
		     t.sigtrap_caught);
	target_fini(&t);
}

static void on_trap(int sig)
{
	(void)sig;
}

static long ignore_trap(void)
{
	signal(SIGTRAP, SIG_IGN);
	return 0;
}

static long catch_trap(void)
{
	signal(SIGTRAP, on_trap);
	return 0;
}

static void test_signal_dispositions(void **state)
{
	struct target_info t;
	long word;
	pid_t pid = spawn(ignore_trap, &word);

	(void)state;
	assert_int_equal(target_read(pid, &t), 0);
	assert_true(t.sigtrap_ignored);
	assert_false(t.sigtrap_caught);
	target_fini(&t);
	end(pid);
	pid = spawn(catch_trap, &word);
	assert_int_equal(target_read(pid, &t), 0);
	assert_false(t.sigtrap_ignored);
	assert_true(t.sigtrap_caught);
	target_fini(&t);
	end(pid);
}

static void *idle_thread(void *tid)
{
	__atomic_store_n((long *)tid, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return NULL;
}

static long start_thread(void)
{
	static long tid;
	pthread_t thread;

	if (pthread_create(&thread, NULL, idle_thread, &tid))
		return -1;
	while (!__atomic_load_n(&tid, __ATOMIC_SEQ_CST))
		sched_yield();
	return tid;
}

static void test_thread_id_leads_to_its_process(void **state)
{
	struct target_info t;
	long tid;
	pid_t pid = spawn(start_thread, &tid);

	(void)state;
	assert_true(tid > 0 && tid != pid);
	assert_int_equal(target_read((pid_t)tid, &t), 0);
	assert_int_equal(t.pid, pid);
	assert_int_equal(t.asked, tid);
	assert_int_equal(t.threads, 2);
	target_fini(&t);
	end(pid);
}

/* Only a thread that is not the leader is traced: it must be found all the same. */
static void test_tracer_of_one_thread(void **state)
{
	struct target_info t;
	long tid;
	pid_t pid = spawn(start_thread, &tid);
	long err = ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, NULL);

	(void)state;
	if (err)
		end(pid);
	assert_int_equal(err, 0);
	assert_int_equal(target_read(pid, &t), 0);
	assert_int_equal(t.tracer_pid, getpid());
	assert_string_equal(t.tracer_comm, "test_target");
	target_fini(&t);
	end(pid);
}

static long undump(void)
{
	prctl(PR_SET_DUMPABLE, 0);
	return setresuid(1, 1, 1);
}

static void test_not_dumpable(void **state)
{
	struct target_info t;
	long failed;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = spawn(undump, &failed);
	assert_int_equal(failed, 0);
	assert_int_equal(target_read(pid, &t), 0);
	assert_true(t.not_dumpable);
	assert_int_equal(t.uid, 1);
	target_fini(&t);
	end(pid);
}

/* As nginx (zeros) and PostgreSQL (spaces) leave the rest of a longer command line. */
static void title(const char *form, const char *expected)
{
	char script[512];
	struct target_info t;
	int go[2];
	char c;
	pid_t pid;

	snprintf(script, sizeof(script),
		 "exec perl -e '$0 = sprintf(\"%s\"); $| = 1; print \"r\"; sleep 100' "
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		 form);
	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (pid == 0) {
		dup2(go[1], 1);
		execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(1);
	}
	close(go[1]);
	assert_int_equal(read(go[0], &c, 1), 1);
	close(go[0]);
	assert_int_equal(target_read(pid, &t), 0);
	assert_int_equal(t.argc, 1);
	assert_string_equal(t.argv[0], expected);
	target_fini(&t);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_titles(void **state)
{
	(void)state;
	title("svc: worker", "svc: worker");
	title("svc: worker%s\", \" \" x 9 . \"", "svc: worker");
}

static void test_zombie(void **state)
{
	struct target_info t;
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(target_read(pid, &t), 0);
	assert_int_equal(t.state, 'Z');
	assert_int_equal(t.argc, 0);
	assert_int_equal(t.bits, 0);
	target_fini(&t);
	waitpid(pid, NULL, 0);
	assert_int_equal(target_read(pid, &t), -ESRCH);
}

static void test_kernel_thread(void **state)
{
	struct target_info t;
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	/* kthreadd is 2, but in a container 2 may be any process. */
	if (target_read(2, &t))
		skip();
	if (strcmp(t.comm, "kthreadd")) {
		target_fini(&t);
		skip();
	}
	assert_true(t.kernel_thread);
	target_format_cmdline(&t, &sb);
	assert_string_equal(strbuf_str(&sb), "[kthreadd]");
	strbuf_fini(&sb);
	target_fini(&t);
}

static long hostile_name(void)
{
	prctl(PR_SET_NAME, "x\nUid:\t7\t7) Z");
	return 0;
}

static void test_hostile_name(void **state)
{
	struct target_info t;
	long word;
	pid_t pid = spawn(hostile_name, &word);

	(void)state;
	assert_int_equal(target_read(pid, &t), 0);
	assert_string_equal(t.comm, "x\nUid:\t7\t7) Z");
	assert_int_equal(t.uid, getuid());
	assert_false(t.kernel_thread);
	target_fini(&t);
	end(pid);
}

static long unique_name(void)
{
	prctl(PR_SET_NAME, "mm-test-find me");
	return 0;
}

static void test_find(void **state)
{
	struct strbuf listing = STRBUF_INIT;
	char expected[64];
	long word;
	pid_t found = 0;
	pid_t first = spawn(unique_name, &word);
	pid_t second;

	(void)state;
	assert_int_equal(target_find("mm-test-find me", &found, &listing), 0);
	assert_int_equal(found, first);
	assert_string_equal(strbuf_str(&listing), "");
	second = spawn(unique_name, &word);
	assert_int_equal(target_find("mm-test-find me", &found, &listing), -EEXIST);
	assert_non_null(strstr(strbuf_str(&listing), "PID   PARENT         RSS  COMMAND\n"));
	snprintf(expected, sizeof(expected), "%7d  %7d  ", (int)first, (int)getpid());
	assert_non_null(strstr(strbuf_str(&listing), expected));
	assert_non_null(strstr(strbuf_str(&listing), "iB  "));
	snprintf(expected, sizeof(expected), "%7d  %7d  ", (int)second, (int)getpid());
	assert_non_null(strstr(strbuf_str(&listing), expected));
	assert_non_null(strstr(strbuf_str(&listing), "test_target"));
	end(first);
	assert_int_equal(target_find("mm-test-find me", &found, &listing), 0);
	assert_int_equal(found, second);
	end(second);
	assert_int_equal(target_find("mm-test-find me", &found, &listing), -ENOENT);
	strbuf_fini(&listing);
}

/* By the executable's name we are one of two, and are not counted. */
static void test_find_never_ourselves(void **state)
{
	struct strbuf listing = STRBUF_INIT;
	pid_t found = 0;
	int alone = target_find("test_target", &found, &listing);
	long word;
	pid_t pid;

	(void)state;
	/* Another run of this test may be under way. */
	if (alone != -ENOENT) {
		strbuf_fini(&listing);
		skip();
	}
	pid = spawn(unique_name, &word);
	assert_int_equal(target_find("test_target", &found, &listing), 0);
	assert_int_equal(found, pid);
	end(pid);
	strbuf_fini(&listing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ourselves),
		cmocka_unit_test(test_signal_dispositions),
		cmocka_unit_test(test_thread_id_leads_to_its_process),
		cmocka_unit_test(test_tracer_of_one_thread),
		cmocka_unit_test(test_not_dumpable),
		cmocka_unit_test(test_titles), cmocka_unit_test(test_zombie),
		cmocka_unit_test(test_kernel_thread),
		cmocka_unit_test(test_hostile_name),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_find_never_ourselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
