/* SPDX-License-Identifier: MIT */
/*
 * jitcode: where a process has code that is of no file: what a JIT compiler has made.
 *
 * Known from /proc/PID/maps, read when somebody asks for an address that is in none of the places
 * known, but so seldom that reading costs no more than a hundredth of the time.
 */
#ifndef MM_UNWIND_JITCODE_H
#define MM_UNWIND_JITCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/taddr.h"

struct jitcode {
	pid_t pid;		/* 0: nothing is known, nor looked for */
	struct jit_range {
		taddr lo, hi;
	} *v;			/* by address */
	size_t n;
	uint64_t next_ns;	/* not read again before */
};

void jitcode_init(struct jitcode *j);
void jitcode_fini(struct jitcode *j);

/* Look at process @pid from now on. */
void jitcode_follow(struct jitcode *j, pid_t pid);

/* true if @addr is in executable memory of no file, as far as is known. */
bool jitcode_holds(struct jitcode *j, taddr addr);

#endif
