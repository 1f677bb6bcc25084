/* SPDX-License-Identifier: MIT */
/*
 * briefly: children that live for a while, each with 50 blocks of 1234 bytes that it does not free.
 *
 *	child MS N		N children by fork, each of which lives for MS milliseconds
 *	grandchild MS N		children that end after 30 ms, of each of which a child does that: nothing in
 *				/proc shows then whose it was
 *
 * Answer, when all have ended: {"ok": 1}
 */
#include <sys/wait.h>

#include "victim.h"

#define BLOCKS 50

static __attribute__((noinline)) void allocate(void)
{
	for (int i = 0; i < BLOCKS; i++) {
		char *p = malloc(1234);

		escape(p);
	}
}

static void sleep_ms(int ms)
{
	const struct timespec span = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&span, NULL);
}

static void live(int ms)
{
	allocate();
	sleep_ms(ms);
	_exit(0);
}

static void make(int ms, int grand)
{
	const pid_t pid = fork();

	if (pid < 0)
		victim_die("fork");
	if (pid)
		return;
	if (!grand || fork() == 0)
		live(ms);
	sleep_ms(30);
	_exit(0);
}

/* Grandchildren are not ours to wait for: the last of them closes the pipe. */
static void make_all(int ms, int n, int grand)
{
	int ends[2];
	char c;

	if (pipe(ends))
		victim_die("pipe");
	while (n-- > 0)
		make(ms, grand);
	close(ends[1]);
	while (read(ends[0], &c, 1) > 0)
		;
	close(ends[0]);
	while (wait(NULL) > 0)
		;
	printf("{\"ok\": 1}\n");
}

int main(void)
{
	char line[ORDER_MAX];

	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		char name[ORDER_MAX];
		int ms, n;

		if (sscanf(line, "%127s %d %d", name, &ms, &n) == 3)
			make_all(ms, n, strcmp(name, "grandchild") == 0);
		fflush(stdout);
	}
	printf("{\"ok\": 1}\n");
	return 0;
}
