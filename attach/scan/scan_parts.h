/* SPDX-License-Identifier: MIT */
/* scan_parts: what the files of `mmattach scan` share; only for them. */
#ifndef MM_SCAN_PARTS_H
#define MM_SCAN_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/options/options.h"
#include "attach/reporting/reporting.h"
#include "attach/scan/scan_watched.h"
#include "attach/target/modules.h"
#include "attach/target/target.h"
#include "heap/classify/classify.h"
#include "heap/census.h"
#include "heap/reach/reach.h"
#include "heap/snapshot/backing.h"
#include "heap/snapshot/core.h"
#include "heap/snapshot/snapshot.h"
#include "report/model/scan.h"

/* One scan; what is not known yet is zero. */
struct scan {
	const struct options *opt;
	struct reporting reporting;
	struct target_info target;	/* of a process */
	struct modules *modules;	/* of a process: its files, opened while it existed; NULL: a core */
	struct core_info core;
	struct snapshot snapshot;
	struct backing backing;		/* the files of the mappings */
	struct census census;
	struct scan_watched watched;	/* --with-trace */
	const struct block *blocks;	/* those with verdicts and reported: of the census or the trace */
	size_t nblocks;
	struct classify *classes;	/* NULL: not looked for yet */
	uint32_t *class_of;		/* of each block; a class without a name is CLASS_NONE */
	struct reach reach;		/* if there are verdicts */
	struct scan_report report;
};

/* The input of the flood. */
static inline struct reach_input scan_reach_input(const struct scan *sc)
{
	return (struct reach_input){
		.snapshot = &sc->snapshot, .census = sc->census.known ? &sc->census : NULL,
		.blocks = sc->blocks,
		.nblocks = sc->nblocks, .heuristics = REACH_ALL | REACH_OURS,
	};
}

static inline enum verdict scan_verdict(const struct scan *sc, size_t block)
{
	return sc->report.summary.run.verdicts.known ? sc->reach.verdict[block] : VERDICT_UNKNOWN;
}

#endif
