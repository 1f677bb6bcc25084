/* SPDX-License-Identifier: MIT */
/*
 * spawn: start mode. The program is our child (it gets our terminal and process group, and we exit with its
 * status), but the keeper's tracee: before exec it names the keeper as its tracer (necessary for an ordinary
 * user under yama) and waits until it is seized, so that it is watched from its first instruction.
 */
#ifndef MM_SPAWN_H
#define MM_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct spawn {
	pid_t pid;
	int go;		/* written to when it may exec */
	int failed;	/* delivers the errno of a failed exec; a successful exec closes it */
};

/* The original settings of what we have changed in our own process, and the program must not inherit. */
struct spawn_before {
	sigset_t mask;
	struct sigaction pipe;	/* of SIGPIPE */
	struct sigaction xfsz;	/* of SIGXFSZ */
	struct rlimit files;	/* openfiles.h */
};

/* Fork a child for @argv, to be traced by @tracer. It waits. 0 or -errno. */
must_check int spawn_start(struct spawn *s, char **argv, pid_t tracer, const struct spawn_before *before);

/* It is seized: let it exec. */
must_check int spawn_go(struct spawn *s);

/* After its end or exec: the errno with which exec failed, 0 if it did not. */
int spawn_exec_error(struct spawn *s);

/* Instead of spawn_go: the child ends without an exec. */
void spawn_cancel(struct spawn *s);

/* Has it not ended yet? */
bool spawn_runs(const struct spawn *s);

/*
 * Wait for its end. Returns the exit status as a shell has it: its own, or 128 + signal. A second SIGTERM or
 * SIGINT to us ends the waiting.
 */
int spawn_wait(struct spawn *s);

#endif
