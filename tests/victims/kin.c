/* SPDX-License-Identifier: MIT */
/*
 * kin: children of fork that are harder to follow than those of births. Each does one thing on the kernel's
 * side of being a process, allocates before and after it, and ends with LEAF if all was as it should be.
 *
 *	KIND N	N children of that kind, one after the other: {"bad": those that ended in another way, or
 *		whose parent saw other than it should}
 *	end	{}
 *
 * The kind "rights" executes a copy of this program that is set-uid root, beside it: kin.suid.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim.h"

#define LEAF 3
#define TOGETHER 4
#define ACROSS_NS 700000000u	/* over the time at which its watch begins */

extern char **environ;

static uint64_t rng = 88172645463325252ull;

static bool work(void)
{
	bool ok = true;

	for (int i = 0; i < 10; i++)
		ok &= victim_malloc_free(&rng);
	return ok;
}

static bool ends_with(pid_t pid, int expected)
{
	int status;
	pid_t got;

	do
		got = waitpid(pid, &status, __WALL);
	while (got < 0 && errno == EINTR);
	return pid > 0 && got == pid && status == expected;
}

static bool is_leaf(pid_t pid)
{
	return ends_with(pid, LEAF << 8);
}

_Noreturn static void leaf(bool ok)
{
	_exit(ok && work() ? LEAF : 1);
}

_Noreturn static void execute(void)
{
	execl("/proc/self/exe", "kin", "leaf", (char *)NULL);
	_exit(9);
}

static pid_t child(void (*body)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		if (!work())
			_exit(1);
		body();
		leaf(true);
	}
	return pid;
}

/* --- stopped --- */

static void stops(void)
{
	raise(SIGSTOP);
}

/* The parent sees it stop and go on, as it would of any child. */
static bool stopped(void)
{
	pid_t pid = child(stops);
	int status;

	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP)
		return false;
	usleep(rng % 3000);
	kill(pid, SIGCONT);
	return is_leaf(pid);
}

/* --- exec --- */

static void *execute_elsewhere(void *arg)
{
	(void)arg;
	execute();
}

static void executes_in_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, execute_elsewhere, NULL);
	for (;;)
		work();
}

static bool threadexec(void)
{
	return is_leaf(child(executes_in_thread));
}

static void spawns(void)
{
	char *const argv[] = { (char *)"kin", (char *)"leaf", NULL };
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) || !is_leaf(pid))
		_exit(1);
	pid = vfork();
	if (pid == 0)
		execute();
	if (!is_leaf(pid))
		_exit(1);
}

static bool spawn(void)
{
	return is_leaf(child(spawns));
}

/* --- other parents --- */

static int daemon_pipe[2];

static void forks_twice(void)
{
	if (fork() == 0) {
		char c = work() && setsid() > 0 && work() ? 'y' : 'n';

		usleep(rng % 2000);
		c = work() ? c : 'n';
		(void)!write(daemon_pipe[1], &c, 1);
		_exit(0);
	}
}

static bool daemonize(void)
{
	char c = 'n';

	return is_leaf(child(forks_twice)) && read(daemon_pipe[0], &c, 1) == 1 && c == 'y';
}

static void clones_beside(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		leaf(work());
}

/* The child's own child is our child. */
static bool cloneparent(void)
{
	int status;

	return is_leaf(child(clones_beside)) && wait(&status) > 0 && status == LEAF << 8;
}

static void in_namespace(void)
{
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) == 0 && !is_leaf(child(forks_twice)))
		_exit(1);
	/* it was the first process of the namespace: its child is killed with it, or has written */
}

static bool namespace(void)
{
	char c;
	bool ok = is_leaf(child(in_namespace));

	fcntl(daemon_pipe[0], F_SETFL, O_NONBLOCK);
	while (read(daemon_pipe[0], &c, 1) == 1)
		ok &= c == 'y';
	fcntl(daemon_pipe[0], F_SETFL, 0);
	return ok;
}

/* --- rights --- */

static void drops(void)
{
	if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
		_exit(1);
	if (!work() || prctl(PR_SET_DUMPABLE, 0) || !is_leaf(child(spawns)))
		_exit(1);
}

static bool setuid_(void)
{
	return is_leaf(child(drops));
}

/* The same program, set-uid root: it has that user's rights. */
static char rights_path[4096];

static void executes_rights(void)
{
	execl(rights_path, "kin", "rights", (char *)NULL);
	_exit(9);
}

static bool rights(void)
{
	return is_leaf(child(executes_rights));
}

/* --- many --- */

static void nothing(void)
{
}

static void *fork_one(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)is_leaf(child(nothing));
}

static bool together(void)
{
	pthread_t t[TOGETHER];
	bool ok = true;

	for (int i = 0; i < TOGETHER; i++)
		pthread_create(&t[i], NULL, fork_one, NULL);
	for (int i = 0; i < TOGETHER; i++) {
		void *result;

		pthread_join(t[i], &result);
		ok &= result != NULL;
	}
	return ok;
}

static void forks_all_the_time(void)
{
	const uint64_t until = now_ns() + ACROSS_NS;

	while (now_ns() < until)
		if (!together() || !is_leaf(child(nothing)))
			_exit(1);
}

static bool across(void)
{
	return is_leaf(child(forks_all_the_time));
}

/* Sleeps through the begin of its watch: its calls return when they should. */
static void sleeps(void)
{
	struct timespec t = { 0, ACROSS_NS };
	struct pollfd none = { .fd = -1 };

	if (nanosleep(&t, NULL) || !work() || poll(&none, 1, 50))
		_exit(1);
}

static bool asleep(void)
{
	return is_leaf(child(sleeps));
}

/* --- signals --- */

static volatile sig_atomic_t trapped;

static void on_trap(int sig)
{
	(void)sig;
	trapped++;
}

static void handles_sigtrap(void)
{
	signal(SIGTRAP, on_trap);
	for (int i = 0; i < 20; i++) {
		raise(SIGTRAP);
		__asm__ volatile("int3");
		if (!work())
			_exit(1);
	}
	if (trapped != 40)
		_exit(1);
}

static bool sigtrap(void)
{
	return is_leaf(child(handles_sigtrap));
}

static void kills_itself(void)
{
	raise(SIGTERM);
}

static bool killed(void)
{
	return ends_with(child(kills_itself), SIGTERM);
}

static const struct kind {
	const char *name;
	bool (*one)(void);
} kinds[] = {
	{ "stopped", stopped }, { "threadexec", threadexec }, { "spawn", spawn }, { "daemonize", daemonize },
	{ "cloneparent", cloneparent }, { "namespace", namespace }, { "setuid", setuid_ },
	{ "together", together }, { "across", across }, { "asleep", asleep }, { "sigtrap", sigtrap },
	{ "killed", killed }, { "rights", rights },
};

static void serve(const char *order)
{
	char name[ORDER_MAX];
	unsigned n, bad = 0;

	if (sscanf(order, "%127s %u", name, &n) != 2)
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (unsigned k = 0; k < n && !strcmp(name, kinds[i].name); k++)
			bad += !kinds[i].one();
	printf("{\"bad\": %u}\n", bad);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[ORDER_MAX];
	const char *order;

	if (argc == 2 && !strcmp(argv[1], "rights"))
		return geteuid() == 0 ? LEAF : 1;
	snprintf(rights_path, sizeof(rights_path), "%s.suid", argv[0]);
	if (argc == 2)
		return work() ? LEAF : 1;
	if (pipe(daemon_pipe) < 0)
		victim_die("pipe");
	victim_ready();
	while (strcmp(order = victim_order(line), "end") != 0)
		serve(order);
	printf("{}\n");
	fflush(stdout);
	return 0;
}
