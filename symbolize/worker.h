/* SPDX-License-Identifier: MIT */
/*
 * worker: the helper process that reads one file. It has nothing but that file, the target's root
 * directory and a pipe; it dies with its parent, and has limits (symbolize/jail.h).
 */
#ifndef MM_WORKER_H
#define MM_WORKER_H

#include <sys/types.h>

#include "base/cleanup.h"
#include "symbolize/names.h"

/* The request. The new process reads the arrays as they are when worker_start is called. */
struct worker_job {
	const struct names_file *file;
	const struct names_options *opt;
	const taddr *addrs;
	size_t n;
	bool dwarf;
};

struct worker {
	pid_t pid;
	int fd;		/* its answers (symbolize/answer.h) */
};

/* How it ended. */
enum worker_end { WORKER_WELL, WORKER_REFUSED, WORKER_NO_MEMORY, WORKER_NO_TIME, WORKER_CRASHED };

/* 0 or -errno of pipe and fork. */
must_check int worker_start(const struct worker_job *job, struct worker *out);

/* Kill the worker if it is still alive, and wait for it. */
enum worker_end worker_stop(struct worker *w);

#endif
