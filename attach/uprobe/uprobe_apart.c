/* SPDX-License-Identifier: MIT */
#include "attach/uprobe/uprobe_apart.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

#define STACK (256u << 10)

struct work {
	void (*f)(void *arg);
	void *arg;
};

static int run(void *p)
{
	const struct work *w = p;

	/* out of our process group: a kill -9 of it is none of the child */
	setsid();
	w->f(w->arg);
	return 0;
}

void uprobe_apart(void (*f)(void *arg), void *arg)
{
	struct work w = { f, arg };
	cleanup_free char *stack = malloc(STACK);
	sigset_t all, before;
	pid_t child = -1;

	/* a handler of ours must not run in the child */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	if (stack)
		child = clone(run, stack + STACK, CLONE_VM | CLONE_VFORK | CLONE_FILES | CLONE_FS, &w);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (child < 0) {
		log_debug(TRAP, "no process to make probes in: %d", errno);
		f(arg);
		return;
	}
	while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
}
