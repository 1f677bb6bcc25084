/* SPDX-License-Identifier: MIT */
/*
 * jailed: a piece of work on data of others in a process of its own, which sees our memory as it was, and can do nothing but compute
 * and answer: no files, no other process, so much memory and time (symbolize/jail.h). It dies with us.
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
	int fd;			/* what it writes */
	uint64_t deadline_ns;	/* CLOCK_MONOTONIC */
};

/* There: @work, which writes to @out and returns when it is done. Memory beyond what we have: @memory_bytes. 0 or -errno of pipe and fork. */
must_check int jailed_start(void (*work)(void *ctx, int out), void *ctx, uint64_t memory_bytes, unsigned seconds, struct jailed *out);

/* The next @n bytes of its answer. false: it ended before, or took too long. */
bool jailed_read(struct jailed *j, void *buf, size_t n);

/* Kill it, if it still lives, and wait for it. */
void jailed_stop(struct jailed *j);

#endif
