/* SPDX-License-Identifier: MIT */
/*
 * clock: the time of the simulation, and the CPU time that the simulated process has used. clock_gettime is
 * replaced for the whole program: all code of mmattach that asks for the time gets this one.
 */
#ifndef SIMULATE_CLOCK_H
#define SIMULATE_CLOCK_H

#include <stdint.h>

#define US 1000ull
#define MS 1000000ull
#define SECOND 1000000000ull

extern uint64_t clock_now_ns;		/* CLOCK_MONOTONIC */
extern uint64_t clock_cpu_ns;		/* of the simulated process */

#endif
