/* SPDX-License-Identifier: MIT */
/*
 * sampling_parts: what the parts of a sampled watch share (sampling.h).
 *
 *	sampling.c		from its beginning to its end, and what is due as time goes on
 *	sampling_modules.c	a module comes: what of it is watched
 *	sampling_hits.c		a trap was hit: whose block that is, and whether it is followed
 */
#ifndef MM_SAMPLING_PARTS_H
#define MM_SAMPLING_PARTS_H

#include "attach/sampling/blocks/following.h"
#include "attach/sampling/sampling.h"
#include "attach/sampling/sampling_parents.h"
#include "attach/sampling/sampling_rounds.h"
#include "attach/sampling/sampling_sites.h"
#include "attach/sampling/sampling_stacks.h"

struct sampling {
	pid_t pid;
	struct planting *planting;
	struct tally *tally;
	struct recorder *recorder;
	struct following *following;
	struct sampling_targets targets;
	struct sampling_sites sites;
	struct sampling_stacks stacks;
	struct sampling_parents parents;
	struct sampling_rounds rounds;
	uint32_t *probes;		/* of each rule; NO_PROBE: its function was not found */
	uint64_t next_tick_ns, next_decide_ns, next_tell_ns;
};

/* What planting asks when modules come and go. */
struct planting_own sampling_modules_own(struct sampling *s);

/* Targets from number @first on are new: their callers, in all modules that were looked through before. 0 or -ENOMEM. */
must_check int sampling_modules_find_callers(struct sampling *s, uint32_t first);

#endif
