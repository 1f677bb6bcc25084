/* SPDX-License-Identifier: MIT */
/*
 * procfs: what /proc reports of children of our own, each brought into the state in question. The test waits
 * for each state, with a limit; it takes none for granted.
 */
#include "attach/keeper/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define LIMIT_S 20

static time_t seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Wait until the thread's activity is @what; assert that it is in the end. */
static void becomes(pid_t pid, pid_t tid, enum activity what)
{
	time_t limit = seconds() + LIMIT_S;

	while (procfs_activity(pid, tid) != what && seconds() < limit)
		poll(NULL, 0, 1);
	assert_int_equal(procfs_activity(pid, tid), what);
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

/* --- activity --- */

_Noreturn static void sleep_for_good(void)
{
	for (;;)
		pause();
}

/* A child that sleeps, under a name of the caller's choice. */
static pid_t sleeper(const char *name)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (name)
			prctl(PR_SET_NAME, name);
		sleep_for_good();
	}
	return child;
}

static void asleep(void **state)
{
	pid_t child = sleeper(NULL);

	(void)state;
	becomes(child, child, ACTIVITY_ASLEEP);
	for (int i = 0; i < 100; i++)
		assert_int_equal(procfs_activity(child, child), ACTIVITY_ASLEEP);
	end(child);
}

/* Threads choose their names: what looks like a state in a name is none. */
static void names_do_not_mislead(void **state)
{
	static const char *const names[] = {
		") R 1 (x", "a) Z 1 1 1", ")", "(((((((((((((((", ")))))))))))))))", "x\n) R (", " ", "",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		pid_t child = sleeper(names[i]);

		becomes(child, child, ACTIVITY_ASLEEP);
		assert_int_equal(kill(child, SIGSTOP), 0);
		becomes(child, child, ACTIVITY_BUSY);
		end(child);
	}
}

static void running(void **state)
{
	static atomic_int *started;
	pid_t child;

	(void)state;
	started = mmap(NULL, sizeof(*started), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		*started = 1;
		for (volatile uint64_t n = 0;; n++)
			;
	}
	while (!*started)
		poll(NULL, 0, 1);
	/* on a processor or waiting for one, but never asleep */
	for (int i = 0; i < 300; i++)
		assert_int_equal(procfs_activity(child, child), ACTIVITY_BUSY);
	end(child);
	munmap(started, sizeof(*started));
}

static void stopped_is_busy(void **state)
{
	pid_t child = sleeper(NULL);

	(void)state;
	becomes(child, child, ACTIVITY_ASLEEP);
	assert_int_equal(kill(child, SIGSTOP), 0);
	becomes(child, child, ACTIVITY_BUSY);
	assert_int_equal(kill(child, SIGCONT), 0);
	becomes(child, child, ACTIVITY_ASLEEP);
	end(child);
}

static void zombie_and_gone(void **state)
{
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	becomes(child, child, ACTIVITY_GONE);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(procfs_activity(child, child), ACTIVITY_GONE);
	/* a process, but not a thread of this one */
	assert_int_equal(procfs_activity(getpid(), getppid()), ACTIVITY_GONE);
}

static int first_child(void *ctx, pid_t child)
{
	*(pid_t *)ctx = child;
	return 1;
}

/*
 * Asleep in the middle of vfork: the child runs in the parent's memory. The parent must not pass for a plain
 * sleeper.
 */
static void inside_vfork(void **state)
{
	time_t limit = seconds() + LIMIT_S;
	pid_t parent = fork(), child = 0;

	(void)state;
	if (parent == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (vfork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			sleep_for_good();
		}
		sleep_for_good();
	}
	while (procfs_each_child(parent, parent, first_child, &child) == 0 && seconds() < limit)
		poll(NULL, 0, 1);
	assert_int_not_equal(child, 0);
	becomes(child, child, ACTIVITY_ASLEEP);
	/* the parent may have been running just now; from here on it can only wait for the child */
	for (int i = 0; i < 200; i++)
		assert_int_equal(procfs_activity(parent, parent), ACTIVITY_BUSY);
	assert_int_equal(kill(child, SIGKILL), 0);
	becomes(parent, parent, ACTIVITY_ASLEEP);
	end(parent);
}

/* --- the ways into vfork --- */

_Noreturn static void by_vfork(void)
{
	if (vfork() == 0)
		sleep_for_good();
	sleep_for_good();
}

_Noreturn static void by_clone(void)
{
	if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL) == 0)
		sleep_for_good();
	sleep_for_good();
}

_Noreturn static void by_clone3(void)
{
	struct { uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls; } args = {
		.flags = CLONE_VFORK, .exit_signal = SIGCHLD,
	};

	if (syscall(SYS_clone3, &args, sizeof(args)) == 0)
		sleep_for_good();
	sleep_for_good();
}

_Noreturn static void by_fork(void)
{
	if (fork() == 0)
		sleep_for_good();
	sleep_for_good();
}

static void ways_into_vfork(void **state)
{
	static const struct { void (*way)(void); bool vfork;
	} cases[] = {
		{ by_vfork, true }, { by_clone, true },	       { by_clone3, true },
		{ by_fork, false }, { sleep_for_good, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		time_t limit = seconds() + LIMIT_S;
		pid_t parent = fork(), child = 0;
		int its;

		if (parent == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			cases[i].way();
		}
		its = procfs_open_mem(parent);
		assert_true(its >= 0);
		while (cases[i].way != sleep_for_good && seconds() < limit &&
		       procfs_each_child(parent, parent, first_child, &child) == 0)
			poll(NULL, 0, 1);
		if (child)
			becomes(child, child, ACTIVITY_ASLEEP);
		if (!cases[i].vfork)
			becomes(parent, parent, ACTIVITY_ASLEEP);
		while (procfs_in_vfork(parent, parent, its) != cases[i].vfork && seconds() < limit)
			poll(NULL, 0, 1);
		assert_int_equal(procfs_in_vfork(parent, parent, its), cases[i].vfork);
		if (child) {
			assert_false(procfs_in_vfork(child, child, its));
			/* and back out of it */
			assert_int_equal(kill(child, SIGKILL), 0);
			becomes(parent, parent, ACTIVITY_ASLEEP);
			assert_false(procfs_in_vfork(parent, parent, its));
		}
		close(its);
		end(parent);
	}
}

struct vforker {
	atomic_int tid;
	int child_waits[2];
};

static void *vfork_in_thread(void *arg)
{
	struct vforker *v = arg;

	v->tid = gettid();
	if (vfork() == 0) {
		char c;

		/* should the test fail, no process may remain that has its output open */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)!read(v->child_waits[0], &c, 1);
		_exit(0);
	}
	return NULL;
}

/* A thread that is not the leader, in its own process: the path has both numbers. */
static void a_thread_inside_vfork(void **state)
{
	struct vforker v = { 0 };
	time_t limit = seconds() + LIMIT_S;
	pthread_t thread;
	pid_t child = 0;

	(void)state;
	assert_int_equal(pipe2(v.child_waits, O_CLOEXEC), 0);
	assert_int_equal(pthread_create(&thread, NULL, vfork_in_thread, &v), 0);
	while ((!v.tid || procfs_each_child(getpid(), v.tid, first_child, &child) == 0) && seconds() < limit)
		poll(NULL, 0, 1);
	assert_int_not_equal(child, 0);
	becomes(child, child, ACTIVITY_ASLEEP);
	for (int i = 0; i < 200; i++)
		assert_int_equal(procfs_activity(getpid(), v.tid), ACTIVITY_BUSY);
	/* the child belongs to the thread, not to the leader */
	child = 0;
	assert_int_equal(procfs_each_child(getpid(), getpid(), first_child, &child), 0);
	assert_int_equal(write(v.child_waits[1], "x", 1), 1);
	pthread_join(thread, NULL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	close(v.child_waits[0]);
	close(v.child_waits[1]);
}

/* --- tasks --- */

#define THREADS 700	/* more than one read of the folder returns */

static pthread_barrier_t born, may_end;
static pid_t tids[THREADS];

static void *store_tid(void *arg)
{
	*(pid_t *)arg = gettid();
	pthread_barrier_wait(&born);
	pthread_barrier_wait(&may_end);
	return NULL;
}

struct list {
	pid_t found[2 * THREADS];
	int n, stop_at, answer;
};

static int note(void *ctx, pid_t tid)
{
	struct list *l = ctx;

	assert_true(l->n < 2 * THREADS);
	l->found[l->n++] = tid;
	return l->n == l->stop_at ? l->answer : 2;
}

static int by_number(const void *a, const void *b)
{
	return *(const pid_t *)a - *(const pid_t *)b;
}

static void each_task_once(void **state)
{
	static struct list l;
	static pthread_t threads[THREADS];
	pthread_attr_t small;
	pid_t self = getpid();

	(void)state;
	pthread_barrier_init(&born, NULL, THREADS + 1);
	pthread_barrier_init(&may_end, NULL, THREADS + 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], &small, store_tid, &tids[i]), 0);
	pthread_barrier_wait(&born);

	assert_int_equal(procfs_each_task(self, note, &l), 2 * (THREADS + 1));
	assert_int_equal(l.n, THREADS + 1);
	qsort(l.found, l.n, sizeof(pid_t), by_number);
	for (int i = 1; i < l.n; i++)
		assert_int_not_equal(l.found[i], l.found[i - 1]);
	for (int i = 0; i < THREADS; i++)
		assert_non_null(bsearch(&tids[i], l.found, l.n, sizeof(pid_t), by_number));
	assert_non_null(bsearch(&self, l.found, l.n, sizeof(pid_t), by_number));

	/* the first callback that fails ends it, in the first read and in a later one */
	for (int stop = 3; stop < THREADS; stop += THREADS - 10) {
		l = (struct list){ .stop_at = stop, .answer = -EPERM };
		assert_int_equal(procfs_each_task(self, note, &l), -EPERM);
		assert_int_equal(l.n, stop);
	}
	pthread_barrier_wait(&may_end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&born);
	pthread_barrier_destroy(&may_end);
	pthread_attr_destroy(&small);
}

/* No descriptor stays open, however it ends. */
static void nothing_left_open(void **state)
{
	struct list l = { .stop_at = 1, .answer = -1 };
	int before = dup(0), after;

	(void)state;
	close(before);
	for (int i = 0; i < 10; i++) {
		l.n = 0;
		procfs_each_task(getpid(), note, &l);
		procfs_each_child(getpid(), getpid(), note, &l);
		procfs_activity(getpid(), getpid());
		procfs_activity(getpid(), 1 << 30);
	}
	after = dup(0);
	close(after);
	assert_int_equal(after, before);
}

static void tasks_of_nobody(void **state)
{
	struct list l = { 0 };
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(procfs_each_task(child, note, &l), -ENOENT);
	assert_int_equal(procfs_each_child(child, child, note, &l), 0);
	assert_int_equal(l.n, 0);
}

/* --- children --- */

/* Children that live until the pipe is closed; the kernel appends the last ones at the end of its list. */
static void make_children(pid_t *children, int n, int *lifeline)
{
	int p[2];

	assert_int_equal(pipe(p), 0);
	for (int i = 0; i < n; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			char c;

			close(p[1]);
			(void)!read(p[0], &c, 1);
			_exit(0);
		}
	}
	close(p[0]);
	*lifeline = p[1];
}

static void end_children(int n, int lifeline)
{
	close(lifeline);
	for (int i = 0; i < n; i++)
		assert_true(waitpid(-1, NULL, 0) > 0);
}

static void each_child_in(int n)
{
	static pid_t children[2 * THREADS];
	static struct list l;
	int lifeline, seen;

	memset(&l, 0, sizeof(l));
	make_children(children, n, &lifeline);
	seen = procfs_each_child(getpid(), getpid(), note, &l);
	end_children(n, lifeline);
	/* in the order of birth: the youngest, which may be in vfork just now, comes last */
	assert_int_equal(l.n, n);
	assert_int_equal(seen, 2 * n);
	assert_memory_equal(l.found, children, n * sizeof(pid_t));
}

static void each_child(void **state)
{
	(void)state;
	each_child_in(0);
	each_child_in(1);
	each_child_in(5);
}

/* More of them than the kernel returns in one read (a page). */
static void each_of_many_children(void **state)
{
	(void)state;
	each_child_in(1200);
}

static void the_first_no_ends_it(void **state)
{
	pid_t children[5];
	struct list l = { .stop_at = 3, .answer = -ENOSPC };
	int lifeline, r;

	(void)state;
	make_children(children, 5, &lifeline);
	r = procfs_each_child(getpid(), getpid(), note, &l);
	end_children(5, lifeline);
	assert_int_equal(r, -ENOSPC);
	assert_int_equal(l.n, 3);
}

/* --- slices on a processor --- */

/* While a thread is stopped its numbers are complete; running again adds at least one slice. */
static void slices(void **state)
{
	struct procfs_slices first, later, now = { 0 };
	pid_t child = fork();
	time_t limit;
	int status, fd;

	(void)state;
	if (child == 0)
		for (raise(SIGSTOP);;)
			;
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	becomes(child, child, ACTIVITY_BUSY);
	poll(NULL, 0, 20);
	assert_true(procfs_slices(child, child, &first));
	poll(NULL, 0, 20);
	assert_true(procfs_slices(child, child, &later));
	assert_true(first.ran_ns > 0 && first.n > 0);
	assert_memory_equal(&first, &later, sizeof(first));
	kill(child, SIGCONT);
	for (limit = seconds() + LIMIT_S; now.ran_ns < first.ran_ns + 10000000 && seconds() < limit;
	     poll(NULL, 0, 1))
		assert_true(procfs_slices(child, child, &now));
	assert_true(now.ran_ns >= first.ran_ns + 10000000);
	assert_true(now.n > first.n);
	end(child);
	assert_false(procfs_slices(child, child, &now));
	assert_false(procfs_slices_at(-1, &now));
	fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	assert_true(procfs_slices_at(fd, &first));
	poll(NULL, 0, 1);
	/* read once more, from its beginning */
	assert_true(procfs_slices_at(fd, &later));
	assert_true(later.ran_ns >= first.ran_ns && later.n > first.n);
	close(fd);
}

/* --- memory --- */

static void memory(void **state)
{
	static volatile int word = 5;
	int fd = procfs_open_mem(getpid()), seven = 7, got = 0;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &got, sizeof(got), (off_t)(uintptr_t)&word), sizeof(got));
	assert_int_equal(got, 5);
	assert_int_equal(pwrite(fd, &seven, sizeof(seven), (off_t)(uintptr_t)&word), sizeof(seven));
	assert_int_equal(word, 7);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(procfs_open_mem(child), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asleep),
		cmocka_unit_test(names_do_not_mislead),
		cmocka_unit_test(running),
		cmocka_unit_test(stopped_is_busy),
		cmocka_unit_test(zombie_and_gone),
		cmocka_unit_test(inside_vfork),
		cmocka_unit_test(ways_into_vfork),
		cmocka_unit_test(a_thread_inside_vfork),
		cmocka_unit_test(each_task_once),
		cmocka_unit_test(nothing_left_open),
		cmocka_unit_test(tasks_of_nobody),
		cmocka_unit_test(each_child),
		cmocka_unit_test(each_of_many_children),
		cmocka_unit_test(the_first_no_ends_it),
		cmocka_unit_test(slices),
		cmocka_unit_test(memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
