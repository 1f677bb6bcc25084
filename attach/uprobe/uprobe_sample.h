/* SPDX-License-Identifier: MIT */
/*
 * uprobe_sample: a sample by bytes (--sample), as BPF takes it (uprobe.bpf.c).
 *
 * Along the bytes that a thread allocates, points are chosen at random distances, one interval apart on average. A
 * call is recorded if there is a point in its block. The distances have an exponential distribution, so the thread
 * forgets where the last point was: whether a block is chosen depends on its own size alone
 * (report/sampling/byte_sample.h). Frees are recorded if their block is in the sample: BPF has a table of these.
 *
 * Decided at the entry, before anything is known of the result, so the size must be an argument, or the product of
 * two.
 */
#ifndef MM_UPROBE_SAMPLE_H
#define MM_UPROBE_SAMPLE_H

#include <stdint.h>

#include "attach/rules/rulefile.h"
#include "attach/uprobe/uprobe_hits.h"
#include "base/cleanup.h"

/* What BPF must know of a function that @r describes, but for calls_none. 0; -ENOTSUP: it cannot be sampled. */
must_check int uprobe_sample_choice(const struct rule *r, struct uprobe_choice *out);

/* Can all of them be sampled? 0; -EINVAL (logged). */
must_check int uprobe_sample_check(const struct ruleset *set);

/* The distances, whose mean is UPROBE_STEP_ONE. */
void uprobe_sample_distances(uint32_t out[UPROBE_STEPS]);

#endif
