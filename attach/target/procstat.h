/* SPDX-License-Identifier: MIT */
/* procstat: /proc/PID/stat, a small file that has what tells a process from a later one with the same number. */
#ifndef MM_PROCSTAT_H
#define MM_PROCSTAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

#define PROCSTAT_COMM 64

struct procstat {
	char comm[PROCSTAT_COMM];
	char state;		/* as in ps */
	pid_t parent, session;
	bool kernel_thread;
	uint64_t start_ns;	/* CLOCK_BOOTTIME, in steps of 10 ms */
	/* where its stack begins: as in what it has forked; another one after an exec; 0: we may not trace it */
	uint64_t stack_start;
};

/* @proc is the folder /proc, open. 0; -ESRCH it has ended; or another -errno. */
must_check int procstat_read(int proc, pid_t pid, struct procstat *out);

/* When process @pid was started; 0: there is none. */
uint64_t procstat_start_ns(pid_t pid);

#endif
