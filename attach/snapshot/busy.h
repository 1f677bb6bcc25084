/* SPDX-License-Identifier: MIT */
/*
 * busy: how long it takes, beyond the cost of each thread, until all threads of a process are stopped. That
 * depends on what else wants to run.
 *
 *	asleep		interrupted at once; but to stop it must run, and waits for a processor behind all
 *			threads that run
 *	running		it may be in the middle of moving bytes, so it is checked only when the others are
 *			stopped (keeper/pause/pausing.h): for PAUSING_RUNS_NS if it does nothing else, for
 *			up to PAUSING_MET_NS if it sleeps in between
 *
 * What runs changes from millisecond to millisecond: so a few samples are taken, and the highest count is
 * used. On two processors, 30 threads that computed, slept shortly or sent messages made a pause of 8 ms one
 * of 32 to 124.
 */
#ifndef MM_BUSY_H
#define MM_BUSY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BUSY_KNOWN 32

/* A thread that was seen running: how often it had slept at the first time, and the last sample it ran at. */
struct busy_thread {
	pid_t tid;
	uint64_t sleeps;
	uint32_t sample;
};

struct busy {
	uint32_t machine;	/* threads that ran or wanted to, of all processes except our own */
	uint32_t own;		/* of these, the threads of the process */
	bool sleeps;		/* some of those sleep in between */
	uint32_t samples;
	struct busy_thread known[BUSY_KNOWN];
	uint32_t nknown;
};

/* Take one more sample of @pid, while none of its threads is stopped. */
void busy_sample(struct busy *b, pid_t pid);

/* The time to expect from these samples, on so many processors. */
uint64_t busy_stop_ns(const struct busy *b, unsigned processors);

#endif
