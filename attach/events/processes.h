/* SPDX-License-Identifier: MIT */
/*
 * processes: what the watched process, and the children that it has, take of memory in time: read from /proc once a second, recorded as MMT_MEMORY.
 *
 * Children are not watched: this is what shows that one of them grows. At most MEMORY_CHILDREN of them are looked at, the first that are seen; those of threads
 * other than the first are looked for at the beginning and at the end only. One that is born during the watch is recorded from the second look on: a process
 * that forks for each request would fill the trace.
 */
#ifndef MM_PROCESSES_H
#define MM_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "report/ledger/memories.h"

struct recorder;

#define PROCESS_NAME 120u

struct processes {
	pid_t pid;
	char name[PROCESS_NAME];
	struct process_child {
		pid_t pid;
		char name[PROCESS_NAME];	/* "": it was not read yet */
	} children[MEMORY_CHILDREN];
	size_t nchildren;
	uint64_t next_ns;	/* CLOCK_MONOTONIC */
	bool begun;
};

/* Look if it is time, or the first or the @last time. Processes that are gone keep what was last seen of them. */
void processes_look(struct processes *p, struct recorder *r, uint64_t now_ns, bool last);

/* What /proc/PID/status says, and the size of [heap] in @maps (NULL: not asked). false: it says nothing (a zombie). For the tests. */
bool processes_parse(const char *status, const char *maps, struct memory_point *out);
bool processes_is_child(const char *status, pid_t of);

#endif
