/* SPDX-License-Identifier: MIT */
/*
 * forkexec: forks, and executes another program at once, so that the target has already executed another
 * program while its child is still starting.
 *
 * This process is the parent that reports; "ready PID" names the target. The order "go" starts it: {"target":
 * its wait status, "child": the child's}. The target runs with a real-time priority that its child does not
 * inherit (where that is allowed), so that the exec is well ahead of the child's first instruction.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "victim.h"

static void target(int go)
{
	struct sched_param priority = { .sched_priority = 1 };
	uint64_t rng = 3;
	char byte;

	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	if (read(go, &byte, 1) != 1)
		_exit(4);
	(void)!nice(19);
	/* if this is not allowed, the race is rare, not absent */
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &priority);
	victim_malloc_free(&rng);
	if (fork() == 0) {
		for (int i = 0; i < 1000; i++)
			victim_malloc_free(&rng);
		_exit(0);
	}
	execl("/bin/true", "true", NULL);
	_exit(5);
}

int main(void)
{
	int go[2], status, of_target = -1, of_child = -1;
	char line[ORDER_MAX];
	pid_t pid, ended;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe(go) < 0)
		victim_die("pipe");
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		target(go[0]);
	}
	while (strcmp(victim_order(line), "go") != 0 && strcmp(line, "end") != 0)
		;
	if (write(go[1], "x", 1) != 1)
		victim_die("write");
	while ((ended = wait(&status)) > 0)
		*(ended == pid ? &of_target : &of_child) = status;
	printf("{\"target\": %d, \"child\": %d}\n", of_target, of_child);
	return 0;
}
