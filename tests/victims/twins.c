/* SPDX-License-Identifier: MIT */
/*
 * twins: makes a child, or becomes another program, on order.
 *
 *	take N		N blocks of 100 bytes are allocated, and stay live
 *	give N		the last N are freed
 *	fork N		a child that allocates N blocks, frees two that its parent allocated, and ends:
 *			{"child": its pid}
 *	child		waits for it: {"status": its wait status}
 *	vfork		a child that executes true: {"status": its wait status}
 *	exec		this program anew: "ready PID" is printed again
 *	answer, if it has none of its own: {"held": how many}
 */
#include <sys/wait.h>

#include "victim.h"

#define MOST 4096
#define NOINLINE __attribute__((noinline, noclone))

static void *held[MOST];
static int nheld;
static char *const *args;
static pid_t child;

NOINLINE static void take(int n)
{
	while (n-- && nheld < MOST) {
		void *p = malloc(100);

		escape(p);
		held[nheld++] = p;
	}
}

NOINLINE static void give(int n)
{
	while (n-- && nheld)
		free(held[--nheld]);
}

NOINLINE static void child_works(int n)
{
	give(2);
	take(n);
	_exit(0);
}

static void answer_fork(int n)
{
	child = fork();
	if (child == 0)
		child_works(n);
	printf("{\"child\": %d}\n", (int)child);
}

static void answer_status(pid_t pid)
{
	int status = -1;

	if (pid < 0)
		victim_die("making a child");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	printf("{\"status\": %d}\n", status);
}

static pid_t make_vfork(void)
{
	static char *const argv[] = { (char *)"true", NULL };
	pid_t pid = vfork();

	if (pid == 0) {
		execv("/bin/true", argv);
		_exit(127);
	}
	return pid;
}

static void obey(const char *line)
{
	int n;

	if (sscanf(line, "fork %d", &n) == 1) {
		answer_fork(n);
	} else if (!strcmp(line, "child")) {
		answer_status(child);
	} else if (!strcmp(line, "vfork")) {
		answer_status(make_vfork());
	} else if (!strcmp(line, "exec")) {
		execv("/proc/self/exe", args);
		victim_die("execv");
	} else {
		if (sscanf(line, "take %d", &n) == 1)
			take(n);
		else if (sscanf(line, "give %d", &n) == 1)
			give(n);
		printf("{\"held\": %d}\n", nheld);
	}
}

int main(int argc, char **argv)
{
	static char in[4096], out[4096];
	char line[ORDER_MAX];

	(void)argc;
	args = argv;
	setvbuf(stdin, in, _IOFBF, sizeof(in));
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		obey(line);
		fflush(stdout);
	}
	printf("{\"held\": %d}\n", nheld);
	return 0;
}
