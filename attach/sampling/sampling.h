/* SPDX-License-Identifier: MIT */
/*
 * sampling: a watch that costs no more than was promised (--budget), and finds what leaks all the same.
 *
 *	modules ──▶ sampling_targets, callsites ──▶ sampling_sites	a trap behind each call of an allocator, none in it
 *	keeper/metering lifts and plants them by turns; a hit comes through the ring
 *	hit ──▶ which stack (backtrace) ──▶ sampling_stacks ──▶ following: looked at from outside, until it is known what became of the block
 *	     └▶ sampling_parents: is what the function around it takes passed on? Then its callers become sites
 *	every second ──▶ sampling_rounds: which sites are looked at how much
 *	every ten ──▶ sampling_facts: what an estimate needs
 *
 * To recorder, ledger and report a followed block is a block like any: given out when it was seen, released when it is known to have gone, and forgotten
 * (MMT_FORGET) when it cannot be told any more, or makes room for another one.
 *
 * The time of a thread that waits is the target's, and the budget pays for it: so nothing is planned while one does. A module that comes is looked
 * through when the linker has gone on.
 */
#ifndef MM_SAMPLING_H
#define MM_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"

struct planting;
struct record_hit;
struct tally;

struct sampling;

/* All stay the caller's. @tally: who walks stacks, where the facts go, and what is counted. 0, -ENOTSUP (said) or -errno. */
must_check int sampling_new(pid_t pid, struct planting *planting, struct tally *tally, uint32_t budget_ppm, struct sampling **out);
void sampling_free(struct sampling *s);

/* The watch begins. */
void sampling_begin(struct sampling *s, uint64_t now_ns);

/* A trap was hit. */
void sampling_hit(struct sampling *s, const struct record_hit *hit);

void sampling_thread_end(struct sampling *s, uint32_t tid);

/* What is due by now is done. When something is due next (CLOCK_MONOTONIC). */
uint64_t sampling_poll(struct sampling *s, uint64_t now_ns);

/* All numbers as they stand now, for a report. */
void sampling_tell(struct sampling *s, uint64_t now_ns);

/* The watch is over: one last look at all blocks, and the numbers for the last time. */
void sampling_end(struct sampling *s, uint64_t now_ns);

#endif
