/* SPDX-License-Identifier: MIT */
/*
 * processes: how much memory the watched process and its children use over time, and how many threads and open
 * descriptors they have: read from /proc once a second, and recorded as MMT_MEMORY.
 *
 * Children are not watched, but this shows if one of them grows. At most MEMORY_CHILDREN of them are read,
 * the first that are found; children of threads other than the first are searched only at the beginning and
 * at the end: in the lists of the threads, or if these are more than all processes of the machine, in theirs. A
 * child that is born during the watch is recorded from the second sample on: otherwise a process that forks for
 * each request would fill the trace.
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
		char name[PROCESS_NAME];	/* "": not read yet */
	} children[MEMORY_CHILDREN];
	size_t nchildren;
	unsigned threads;	/* how many it had at the last time */
	uint64_t next_ns;	/* CLOCK_MONOTONIC */
	bool begun;
	uint64_t code_copies;	/* at the first time: bytes (attach/events/code_copies.h) */
};

/*
 * Read and record the sizes if that is due, and at the first and the @last time in any case. Of processes
 * that are gone, the last values remain.
 */
void processes_sample(struct processes *p, struct recorder *r, uint64_t now_ns, bool last);

/*
 * Parse /proc/PID/status, and the size of malloc's heaps in @maps (NULL: not wanted). false: @status has no
 * sizes (a zombie). For the tests.
 */
bool processes_parse(const char *status, const char *maps, struct memory_point *out);
bool processes_is_child(const char *status, pid_t of);
unsigned processes_threads(const char *status);		/* 0: not known */
pid_t processes_parent(const char *stat);		/* of /proc/PID/stat; 0: not known */
uint64_t processes_busy_us(const char *stat);		/* processor time, of all threads; 0: not known */

#endif
