/* SPDX-License-Identifier: MIT */
/*
 * selftest_calls: the child of a self-test (uprobe_selftest.h). Two of its threads, on one processor, call two
 * functions that are probed, and number their calls.
 *
 *	selftest_opens		probed at its entry and its exit, as malloc is: returns its first argument
 *	selftest_brief		probed at its entry, as free is
 *
 * One thread calls without a pause. The other is woken every 100 us, where a hit takes long less often, with a
 * real-time priority if that is allowed: so the first one is preempted anywhere, in a program at a probe, too, where kernel code
 * is preempted at all.
 */
#ifndef MM_SELFTEST_CALLS_H
#define MM_SELFTEST_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

#define SELFTEST_THREADS 2u
#define SELFTEST_AHEAD 1024u		/* calls that may be made before their records are read */

/* Shared by the child and its parent. */
struct selftest_page {
	_Atomic uint32_t go, stop;	/* set by the parent */
	_Atomic uint64_t read;		/* by the parent: calls of which all records were read */
	_Atomic uint32_t ended;		/* threads that make no more calls */
	_Atomic uint32_t tids[SELFTEST_THREADS];
	_Atomic uint64_t made[SELFTEST_THREADS];	/* the last call's number; the first is 1 */
	_Atomic uint32_t error;		/* errno of the second thread's start, after which the child ends */
	_Atomic uint64_t brief_ns, opens_ns;	/* what a call of each cost its thread; 0: not known yet */
};

/* The numbers of calls are arguments, the word at @mark is selftest_mark() of that number. */
uint64_t selftest_opens(uint64_t number, const uint64_t *mark);
void selftest_brief(uint64_t number);
extern const char selftest_opens_exit[];	/* where it returns */

uint64_t selftest_mark(uint64_t number);

/* Start the child, which waits for go. It has none of our file descriptors, and ends with us. -errno or its id. */
must_check pid_t selftest_fork(struct selftest_page *page);

#endif
