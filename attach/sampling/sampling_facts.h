/* SPDX-License-Identifier: MIT */
/*
 * sampling_facts: what a sampled watch records: events of the blocks that it tracks; the numbers of its
 * stacks and of its budget so far (MMT_SAMPLE, MMT_BUDGET); and what it could not see.
 */
#ifndef MM_SAMPLING_FACTS_H
#define MM_SAMPLING_FACTS_H

#include <stdint.h>

#include "attach/events/recorder.h"
#include "attach/keeper/shared/shared.h"
#include "attach/sampling/sampling_rounds.h"
#include "attach/sampling/sampling_sites.h"
#include "attach/sampling/sampling_stacks.h"

/* Record an event of a tracked block of that stack; or that the block at @addr is no longer tracked. */
void sampling_facts_block(struct recorder *r, const struct sampling_sites *sites,
			  const struct sampling_stack *stack, struct fact *f, uint64_t now_ns);
void sampling_facts_forget(struct recorder *r, const struct sampling_sites *sites,
			   const struct sampling_stack *stack, taddr addr, uint64_t now_ns);

/* Those that no trap has seen. Once. */
void sampling_facts_others(struct recorder *r, const struct sampling_stacks *stacks, uint64_t now_ns);

/*
 * Record the numbers of all stacks (@all), or of those that have changed by more than a little. Call
 * sampling_stacks_survey() just before.
 */
void sampling_facts_stacks(struct recorder *r, const struct sampling_sites *sites,
			   struct sampling_stacks *stacks, uint64_t now_ns, bool all);

void sampling_facts_budget(struct recorder *r, const struct sampling_sites *sites,
			   const struct sampling_rounds *rounds, const struct shared *shared,
			   const struct fact_loss *loss, uint64_t now_ns);

/* Record what could not be seen, for the reader of the report. At the end. */
void sampling_facts_notes(struct recorder *r, const struct sampling_sites *sites,
			  const struct sampling_stacks *stacks, const struct shared *shared, uint64_t now_ns);

#endif
