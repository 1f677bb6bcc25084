/* SPDX-License-Identifier: MIT */
/*
 * jitcode: where a process has code of no file: what a JIT compiler has made.
 *
 * Read from /proc/PID/maps when an address is looked up that is in none of the known ranges, but so seldom
 * that reading takes no more than a hundredth of the time.
 */
#ifndef MM_UNWIND_JITCODE_H
#define MM_UNWIND_JITCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/taddr.h"

struct jitcode {
	pid_t pid;		/* 0: nothing is known, and nothing is read */
	struct jit_range {
		taddr lo, hi;
	} *v;			/* by address */
	size_t n;
	uint64_t next_ns;	/* not read again before */
};

void jitcode_init(struct jitcode *j);
void jitcode_fini(struct jitcode *j);

/* Read the mappings of process @pid from now on. */
void jitcode_follow(struct jitcode *j, pid_t pid);

/* true if @addr is in executable memory of no file, as far as is known. */
bool jitcode_holds(struct jitcode *j, taddr addr);

#endif
