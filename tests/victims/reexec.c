/* SPDX-License-Identifier: MIT */
/*
 * reexec: a thread that is not the first executes the program anew, over and over, a few milliseconds after
 * each start, while others allocate and fork.
 *
 * "ready PID" is printed once. The program ends when stdin does: then no thread execs any more, and the last
 * line is {"execs": so many, "bad": children that ended badly}.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "victim.h"

#define LIFE_MS 10

static char **args;
static long execs, bad_before;
static _Atomic long bad;

static void *hot(void *arg)
{
	uint64_t rng = (uintptr_t)arg + 5;

	while (victim_malloc_free(&rng))
		;
	victim_die("damaged");
	return NULL;
}

static void *forker(void *arg)
{
	uint64_t rng = 9;

	for (;;) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(victim_malloc_free(&rng) ? 0 : 1);
		if (waitpid(pid, &status, 0) == pid && status != 0)
			bad++;
	}
	return arg;
}

/* Until stdin ends, or it is time for the next exec. */
static void *execer(void *arg)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	char count[24], wrong[24];

	if (poll(&in, 1, LIFE_MS) > 0) {
		printf("{\"execs\": %ld, \"bad\": %ld}\n", execs, bad_before + bad);
		fflush(stdout);
		_exit(0);
	}
	snprintf(count, sizeof(count), "%ld", execs + 1);
	snprintf(wrong, sizeof(wrong), "%ld", bad_before + bad);
	execl("/proc/thread-self/exe", args[0], count, wrong, (char *)NULL);
	victim_die("exec");
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	args = argv;
	execs = argc > 1 ? atol(argv[1]) : 0;
	bad_before = argc > 2 ? atol(argv[2]) : 0;
	if (!execs)
		victim_ready();
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&t, NULL, hot, (void *)i);
	pthread_create(&t, NULL, forker, NULL);
	pthread_create(&t, NULL, execer, NULL);
	pthread_exit(NULL);
}
