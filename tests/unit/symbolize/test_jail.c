/* SPDX-License-Identifier: MIT */
/* jail: what a process can no longer do, and what it still can. Each try runs in a process of its own. */
#include "symbolize/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

/* The status of a process that runs @try, which returns 0 if all is as it should be. */
static int run(int (*try)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(try());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int try_nothing_else(void)
{
	jail_close();
	if (open("/dev/null", O_RDONLY) >= 0 || dup(0) >= 0)
		return 1;
	if (kill(getppid(), 0) == 0 || errno != EPERM)
		return 2;
	if (fork() != -1 || errno != EPERM)
		return 3;
	if (execl("/bin/true", "true", (char *)NULL) != -1 || errno != EPERM)
		return 4;
	return socket(AF_UNIX, SOCK_STREAM, 0) == -1 ? 0 : 5;
}

static int try_work(void)
{
	int fds[2];
	char byte = 'x', *large;

	if (pipe(fds))
		return 1;
	jail_close();
	large = malloc(8u << 20);
	if (!large)
		return 2;
	memset(large, 1, 8u << 20);
	free(large);
	if (write(fds[1], &byte, 1) != 1 || read(fds[0], &byte, 1) != 1)
		return 3;
	return close(fds[0]) || close(fds[1]) ? 4 : 0;
}

static int try_limits(void)
{
	struct rlimit core, cpu;

	if (jail_limit(64u << 20, 5) || getrlimit(RLIMIT_CORE, &core) || getrlimit(RLIMIT_CPU, &cpu))
		return 1;
	if (core.rlim_cur || cpu.rlim_cur != 5)
		return 2;
	return 0;
}

#ifndef __SANITIZE_ADDRESS__	/* it needs its shadow memory */
static int try_memory(void)
{
	void *volatile some, *volatile more;

	if (jail_limit(64u << 20, 5))
		return 1;
	some = malloc(32u << 20);
	more = malloc(64u << 20);
	return some && !more ? 0 : 2;
}

static void memory(void **state)
{
	(void)state;
	assert_int_equal(run(try_memory), 0);
}
#endif

static void nothing_else(void **state)
{
	(void)state;
	assert_int_equal(run(try_nothing_else), 0);
}

static void work(void **state)
{
	(void)state;
	assert_int_equal(run(try_work), 0);
}

static void limits(void **state)
{
	(void)state;
	assert_int_equal(run(try_limits), 0);
}

static int try_cpu(void)
{
	volatile unsigned long n = 0;

	if (jail_limit(64u << 20, 1))
		return 1;
	jail_close();
	for (;;)
		n++;
}

static void cpu(void **state)
{
	int status = run(try_cpu);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_else),
		cmocka_unit_test(work),
		cmocka_unit_test(limits),
		cmocka_unit_test(cpu),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(memory),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
