/* SPDX-License-Identifier: MIT */
/*
 * sampling_parts: what the parts of a sampled watch share (sampling.h).
 *
 *	sampling.c	from beginning to end: what is watched in a module, and what is due as time passes
 *	sampling_hits.c	a trap was hit: which block that is, and whether it is tracked
 */
#ifndef MM_SAMPLING_PARTS_H
#define MM_SAMPLING_PARTS_H

#include "attach/sampling/blocks/block_poll.h"
#include "attach/sampling/sampling.h"
#include "attach/sampling/sampling_again.h"
#include "attach/sampling/sampling_heaps.h"
#include "attach/sampling/sampling_parents.h"
#include "attach/sampling/sampling_rounds.h"
#include "attach/sampling/sampling_sites.h"
#include "attach/sampling/sampling_stacks.h"
#include "trace/fact.h"

struct sampling {
	pid_t pid;
	struct planting *planting;
	struct tally *tally;
	struct recorder *recorder;
	struct sampling_heaps heaps;
	struct block_poll *poll;
	struct sampling_targets targets;
	struct sampling_sites sites;
	struct sampling_stacks stacks;
	struct sampling_again again;
	struct sampling_parents parents;
	struct sampling_rounds rounds;
	struct fact_loss loss;		/* of the whole process; not known before the end */
	/* sampling_probed: now; since when, until when at the latest; when that was looked at */
	bool probed;
	uint64_t probed_ns[2], looked_ns;
	uint32_t *probes;		/* of each rule; NO_PROBE: its function was not found */
	uint64_t next_tick_ns, next_decide_ns, next_record_ns;
};

/*
 * The caller of the function around the site, or of malloc where that itself returns, in the stack with this
 * number; 0: the stack does not show it, or it executes a script, whose line is there instead.
 */
taddr sampling_caller(const struct sampling *s, const struct sampling_site *site, uint32_t number);

/* For a wrapper or malloc itself: is there a trap at @caller, not on trial? Then the block is seen there. */
bool sampling_sees_caller(const struct sampling *s, taddr caller);

#endif
