/* SPDX-License-Identifier: MIT */
/*
 * awake: what a pause costs the threads of a process that sleep when it begins. A thread that sleeps in a system call
 * loses nothing by it, unless it would be woken meanwhile, or run for some other reason: and of a service of a
 * hundred threads nearly all sleep. So it is looked from time to time how long each thread has run, and how
 * often it was woken; as it went on until now, it will go on:
 *
 *	works		so large a part of the time it runs; of a pause as well
 *	wakes		so often a second it begins to run; in a pause it then waits for its end, half of it on average
 *
 * No thread is kept from more than the whole pause. Of what has not been looked at twice all is counted.
 */
#ifndef MM_AWAKE_H
#define MM_AWAKE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

#define AWAKE_ALL 1000000u	/* in millionths: the whole pause */

struct awake_thread {
	pid_t tid;
	uint64_t ran_ns, times;		/* so far */
};

struct awake {
	struct awake_thread *last;	/* at at_ns, by tid */
	size_t n;
	uint64_t at_ns;			/* 0: not looked yet */
	/* of each of these threads, since they were looked at before; NULL: that is not known */
	struct awake_rate {
		double works, wakes;	/* part of the time; a second */
	} *rates;
};

void awake_init(struct awake *a);
void awake_fini(struct awake *a);

/* Look at the threads of @pid, if it is some time since the last look. 0 or -errno. */
must_check int awake_look(struct awake *a, pid_t pid, uint64_t now_ns);

/* The same with what was seen; @threads, of malloc, becomes its. 0 or -ENOMEM. */
must_check int awake_see(struct awake *a, struct awake_thread *threads, size_t n, uint64_t now_ns);

/* What a pause of @pause_ns costs a sleeping thread, on average, in millionths of it; at least one thread's all. */
uint32_t awake_part(const struct awake *a, uint64_t pause_ns);

#endif
