/* SPDX-License-Identifier: MIT */
/*
 * jailed: work on untrusted data in a process of its own. It has a copy of our memory, and can only compute
 * and answer: no files, no other process, limited memory and time (symbolize/jail.h). It dies with us.
 */
#ifndef MM_JAILED_H
#define MM_JAILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct jailed {
	pid_t pid;
	int fd;			/* its output */
	uint64_t deadline_ns;	/* CLOCK_MONOTONIC */
};

/*
 * Run @work there; it writes to @out and returns when it is done. It may use @memory_bytes more than we have.
 * 0 or -errno of pipe and fork.
 */
must_check int jailed_start(void (*work)(void *ctx, int out), void *ctx, uint64_t memory_bytes,
			    unsigned seconds, struct jailed *out);

/* The next @n bytes of its answer. false: it ended before, or took too long. */
bool jailed_read(struct jailed *j, void *buf, size_t n);

/* Kill the process, if it is still alive, and wait for it. */
void jailed_stop(struct jailed *j);

#endif
