/* SPDX-License-Identifier: MIT */
#include "tests/simulate/clock.h"

#include <time.h>

uint64_t clock_now_ns, clock_cpu_ns;

/* The clock of a process has a negative number (cost.c). */
int clock_gettime(clockid_t id, struct timespec *t)
{
	const uint64_t ns = id < 0 ? clock_cpu_ns : clock_now_ns;

	t->tv_sec = (time_t)(ns / SECOND);
	t->tv_nsec = (long)(ns % SECOND);
	return 0;
}
