/* SPDX-License-Identifier: MIT */
/*
 * busy: how long it takes, beyond what each thread costs, until all threads of a process stand: that depends on what else wants to run.
 *
 *	asleep		interrupted at once; but to stop it must run, and waits for a processor behind all that run
 *	running		it may be in the middle of moving bytes, so it is asked only when the others stand (keeper/pause/pausing.h): for PAUSING_RUNS_NS if it
 *			does nothing else, for up to PAUSING_MET_NS if it sleeps between
 *
 * Looked at a few times, for what runs changes from millisecond to millisecond; the most that was seen counts. On two processors 30 threads that
 * computed, napped or talked made a pause of 8 ms one of 32 to 124.
 */
#ifndef MM_BUSY_H
#define MM_BUSY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BUSY_KNOWN 32

/* A thread that was seen to run, how often it had slept by then, and at which look. */
struct busy_thread {
	pid_t tid;
	uint64_t sleeps;
	uint32_t look;
};

struct busy {
	uint32_t machine;	/* threads that ran or wanted to, of all processes but for ourselves */
	uint32_t own;		/* of these, the process's */
	bool sleeps;		/* some of those sleep between */
	uint32_t looks;
	struct busy_thread known[BUSY_KNOWN];
	uint32_t nknown;
};

/* Look at @pid once more, while nothing of it stands. */
void busy_look(struct busy *b, pid_t pid);

/* What is to be expected of it on so many processors. */
uint64_t busy_stop_ns(const struct busy *b, unsigned processors);

#endif
