/* SPDX-License-Identifier: MIT */
/*
 * sampling: a watch that costs no more than its budget (--budget), and still finds what leaks.
 *
 *	modules ──▶ sampling_targets, callsites ──▶ sampling_sites	a trap behind each allocator call
 *	keeper/budget/trap_rounds plants and lifts them in rounds; a hit comes through the ring
 *	hit ──▶ stack (backtrace) ──▶ sampling_stacks ──▶ block_poll: tracks the block until its fate is known
 *	     ├▶ sampling_again: where malloc itself returns, which addresses are given out again soon
 *	     └▶ sampling_parents: is the function around the site a wrapper? Then its callers become sites
 *	every second ──▶ sampling_rounds: how much of the budget each site gets
 *	every ten ──▶ sampling_facts: what an estimate needs
 *
 * For recorder, ledger and report a tracked block is a block like any other: allocated when it was seen,
 * freed when it is known to be gone, and forgotten (MMT_FORGET) when its fate cannot be known any more, or
 * when it makes room for another block.
 *
 * While a thread is held, the target loses time, which the budget pays for: so nothing is planned meanwhile.
 * A new module is searched after the thread in the dynamic linker has resumed.
 */
#ifndef MM_SAMPLING_H
#define MM_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/taddr.h"
#include "base/verdict.h"

struct fact_losing;
struct fact_loss;
struct planting;
struct record_hit;
struct tally;

struct block_judged;
struct sampling;

/*
 * All arguments stay the caller's. @tally: walks stacks, records the facts, and has the counters. 0 or
 * -errno; sampling_free in any case.
 */
must_check int sampling_new(pid_t pid, struct planting *planting, struct tally *tally, uint32_t budget_ppm,
			    struct sampling **out);
void sampling_free(struct sampling *s);

/* The watch begins. */
void sampling_begin(struct sampling *s, uint64_t now_ns);

/* A trap was hit. */
void sampling_hit(struct sampling *s, const struct record_hit *hit);

void sampling_thread_end(struct sampling *s, uint32_t tid);

/* Does what is due by now. Returns when something is due next (CLOCK_MONOTONIC). */
uint64_t sampling_poll(struct sampling *s, uint64_t now_ns);

/* Records all numbers as they are now, for a report. */
void sampling_record(struct sampling *s, uint64_t now_ns);

/* In a copy it was looked whether something points to the block at @addr (block_poll_judge). */
void sampling_judge(struct sampling *s, taddr addr, const struct block_judged *its);
void sampling_judge_anew(struct sampling *s);

/*
 * The process loses blocks of these sizes (usable bytes), as a copy of it has shown: sites that allocate such blocks
 * are watched as closely as the budget allows.
 */
void sampling_lost_sizes(struct sampling *s, const uint64_t *sizes, size_t n);

/*
 * There are probes of the kernel's at malloc itself, or there are none (any more). While there are, the return address
 * at the top of the stack is the kernel's where malloc returns: such a hit does not show the caller.
 */
void sampling_probed(struct sampling *s, bool there, uint64_t now_ns);

/* From now on only @ppm of the time are for samples. */
void sampling_share(struct sampling *s, uint32_t ppm);

/* The number of the stack under which blocks of stack @number are counted, that is as seen where malloc returns. */
uint32_t sampling_known_as(const struct sampling *s, uint32_t number);

/* What the kernel's probes have seen of stack @number, whose blocks are of family @family. 0 or -ENOMEM. */
must_check int sampling_losing(struct sampling *s, uint32_t family, uint32_t number, const struct fact_losing *its);

/* What the whole process has lost, for the report. */
void sampling_loss(struct sampling *s, const struct fact_loss *loss);

/* The watch is over: one last look at all blocks, and the numbers for the last time. */
void sampling_end(struct sampling *s, uint64_t now_ns);

#endif
