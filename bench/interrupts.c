/* SPDX-License-Identifier: MIT */
/*
 * interrupts PID: the least cost of stopping all threads of a process and reading their registers:
 * PTRACE_INTERRUPT for each, wait for each, PTRACE_GETREGS, PTRACE_CONT. Prints nanoseconds for each line of
 * stdin; ends with it. System calls that the interrupts break off are not restarted: the target must tolerate
 * that.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#define MOST 4096

static pid_t tids[MOST];
static int ntids;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void seize(const char *pid)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (atoi(e->d_name) > 0 && ntids < MOST && ptrace(PTRACE_SEIZE, atoi(e->d_name), 0, 0) == 0)
			tids[ntids++] = atoi(e->d_name);
	if (d)
		closedir(d);
}

static int stop_and_go(void)
{
	struct user_regs_struct regs;
	int status;

	for (int i = 0; i < ntids; i++)
		if (ptrace(PTRACE_INTERRUPT, tids[i], 0, 0))
			return -errno;
	for (int i = 0; i < ntids; i++)
		if (waitpid(tids[i], &status, __WALL) != tids[i] || !WIFSTOPPED(status) ||
		    ptrace(PTRACE_GETREGS, tids[i], 0, &regs))
			return -errno;
	for (int i = 0; i < ntids; i++)
		if (ptrace(PTRACE_CONT, tids[i], 0, 0))
			return -errno;
	return 0;
}

int main(int argc, char **argv)
{
	char line[64];

	if (argc != 2)
		return 2;
	seize(argv[1]);
	printf("%d\n", ntids);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t start = now_ns();

		if (stop_and_go() < 0) {
			perror("interrupts");
			return 1;
		}
		printf("%llu\n", (unsigned long long)(now_ns() - start));
		fflush(stdout);
	}
	return 0;
}
