/* SPDX-License-Identifier: MIT */
/*
 * fact: one thing that a run says: an event, or information about it. A trace
 * is a list of facts; so is what a live watch tells its ledger. Whoever applies the same facts
 * gets the same report.
 *
 * Strings and arrays are borrowed: valid as long as whoever made the fact says (a reader: during the call).
 * Numbers of stacks, frames, ... are the run's own, and hold in all its pieces.
 */
#ifndef MM_FACT_H
#define MM_FACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/taddr.h"
#include "trace/format.h"

#define FACT_NONE 0		/* of fields "number + 1 or 0" */

struct fact_name {
	const char *function;	/* readable; NULL: not known */
	const char *linkage;	/* as the linker knows it; NULL: the same, or not known */
	const char *file;	/* of the source */
	uint32_t line;		/* 0: not known */
	bool inlined;
};

/* Of an object's references: how many a stack has taken, and dropped. */
struct fact_use {
	uint32_t stack;
	uint64_t taken, dropped;
};

/* A block that was judged, and what is lost with it: only of one that is lost definitely or possibly. */
struct fact_judged {
	taddr addr;
	uint64_t with_blocks, with_bytes;
};

struct fact_sum {
	uint64_t blocks, bytes;
};

/* MMT_VERDICTS: a look at the whole process, and how it went. */
struct fact_look {
	uint32_t number;	/* of the run's looks, from 1: told again, it is the same one */
	bool taken;		/* else nothing was judged, and `why_not` says why */
	bool census;
	const char *why_not;
	const char *allocator;	/* what the census knows of it; NULL: nothing */
	uint64_t expected_ns, had_ns;	/* of the pause */
	uint64_t bytes;		/* copied in it */
	uint32_t threads, not_stopped;
	uint64_t judged;	/* so many blocks are told of by MMT_JUDGED, */
	uint64_t passed;	/* but for so many, which are not held any more: a shrunken trace leaves them out */
	const struct fact_sum *sums;	/* by verdict: of all blocks of the process that are known */
	uint32_t nsums;
	const char *const *doubts;	/* sentences */
	uint32_t ndoubts;
};

/* Blocks that were followed, by a step of their age (MMT_SAMPLE_STEPS). */
struct fact_step {
	uint64_t at_risk;	/* were there at its beginning */
	uint64_t gone;		/* went in it */
	uint64_t unknown;	/* nothing more can be told of them since somewhere in it */
};

/*
 * MMT_SAMPLE: of a stack in a sampled run, until now: told again, it takes the place of what was said before. A stack's blocks come
 * from a site, the call that is trapped, by turns: the trap stands for a round, until so many hits have come (its quota), and
 * is away for a while. Several stacks may lead to one site.
 */
struct fact_sample {
	uint64_t seen;		/* hits with this stack */
	uint64_t late_seen;	/* of these, in the last fifth of the run */
	uint64_t chunk_bytes;	/* of the blocks of `seen`, as the allocator has rounded them */
	uint64_t site_seen;	/* from here on of its site: hits with any stack, counted as `seen` is; */
	uint64_t site_hits;	/* and in rounds that are over, where nothing disturbed: hits, */
	uint64_t rounds, full;	/* rounds; of these, ended by the quota, */
	uint64_t exposed_us;	/* how long the trap stood, */
	uint64_t hits2, hits_exposed, exposed2;	/* and sums over the rounds: h*h, h*e, e*e, with e in µs */
	bool standing;		/* it is trapped always by now */
	uint32_t nsteps;
	struct fact_step steps[MMT_SAMPLE_STEPS];
	uint64_t late_exposed_us;	/* of its site: for how long the trap stood in the last fifth of the run, at least */
	uint64_t missed, stood_us;	/* hits that are not among those, as they came while a thread stood at a trap; and for how long one stood */
};

/* MMT_BUDGET: of a sampled run, until now; likewise. */
struct fact_budget {
	uint64_t promise_ppm;	/* of the time: 1 % is 10000 */
	uint64_t spent_us;	/* threads stood still for us, summed over them, */
	uint64_t wall_us;	/* in so long */
	uint64_t worst_ppm;	/* of any ten seconds */
	uint64_t closed, closed_us;	/* so often, and for so long, all traps were away, since the budget was used up or nobody read */
	uint64_t sites;		/* calls of allocators that were found in the code; */
	uint64_t sites_hit;	/* of these so many were hit at all, */
	uint64_t sites_settled;	/* so many are looked at rarely, since all their blocks go, */
	uint64_t candidates;	/* and so many may leak */
	uint64_t unfound;	/* calls that cannot be trapped */
};

/* MMT_MEMORY: what a process had at a moment, in bytes, as the kernel counts it. */
struct memory_point {
	uint64_t at_us;		/* since the run's start */
	uint64_t anonymous, file, shared;	/* resident */
	uint64_t swapped;
	uint64_t heap;		/* size of malloc's: [heap], and those of other threads; 0: not asked */
};

/* MMT_RUN: what is not known is 0 or NULL. */
struct fact_run {
	uint8_t id[16];
	uint32_t piece, last;	/* 0: it is in one piece */
	int64_t start_ns;
	const char *frontend, *mode, *writer;
};

struct fact {
	uint32_t kind;		/* MMT_ALLOC ... below MMT_INFO: an event; else MMT_INFO */
	uint32_t info;		/* MMT_RUN ...; for MMT_INFO only */
	uint64_t time_us;	/* since the run's start */
	union {
		/* ALLOC HELD FREE FREE_AT OLD TWICE FORGET ASIDE ASIDE_FREED ASIDE_BACK */
		struct {
			taddr addr;
			uint64_t size;		/* ALLOC, HELD; TWICE: how many more like it */
			uint64_t birth_us;	/* HELD */
			uint64_t key;		/* ASIDE... */
			uint32_t stack;		/* ALLOC, HELD, FREE_AT: the number; else number + 1 or FACT_NONE */
			uint32_t first, alloc;	/* TWICE: number + 1 or FACT_NONE */
		} block;
		/* REF UNREF BORN COUNTED */
		struct {
			taddr addr;
			uint32_t stack;
			uint64_t by;		/* so many references at once */
			uint64_t count;		/* what the object says it has then: + 1, or FACT_NONE; COUNTED: as it is */
		} ref;
		/* OBJECT */
		struct {
			taddr addr;
			uint64_t birth_us;
			int64_t net;
			bool older, counted;
			const struct fact_use *uses;
			uint32_t nuses;
		} object;
		uint32_t family;		/* MMT_FAMILY */
		struct fact_run run;
		struct {
			int32_t pid;
			const char *comm, *exe;
			const char *const *argv;
			uint32_t argc;
		} target;
		struct { uint32_t number; const char *name, *noun; bool refs, ranges; } family_name;	/* noun NULL: the usual one */
		struct {
			uint32_t number;
			uint32_t file;		/* the same for all modules of one file */
			taddr bias, lo, hi;
			const char *path;
			const char *build_id;	/* hexadecimal; "" if there is none */
		} module;
		struct { uint32_t number, module; taddr pc; bool exact, skip; } frame;	/* module + 1 or FACT_NONE */
		struct { uint32_t number, caller, frame; } node;	/* numbers from 1; caller 0: none */
		struct { uint32_t number, node, end, tag; } stack;	/* end: MMT_END_WHOLE ...; tag + 1 or FACT_NONE */
		struct { uint32_t number; const char *text; } tag;
		const char *skip;	/* a function */
		struct { uint32_t frame; const struct fact_name *all; uint32_t n; } names;
		struct { uint32_t number, family; const char *rule, *module, *note; } probe;	/* NULL as in summary_probe */
		struct { uint32_t probe; uint64_t hits; } hits;
		struct { const char *reason; uint64_t count; } lost;
		struct { uint32_t which; uint64_t value; } count;
		struct { uint64_t start_us, length_us; const char *why; } gap;
		const char *note;
		struct {
			uint32_t stack;
			uint64_t allocs, frees;
			uint64_t span_us;	/* of a point of the series; its first is at the end of the first span */
			const uint64_t *points;
			uint32_t npoints;
			uint64_t bytes;		/* of all allocations */
		} place;
		struct { uint64_t old, twice; } totals;
		const struct fact_look *look;
		struct { uint32_t verdict; const struct fact_judged *all; uint32_t n; } judged;
		struct { uint32_t stack; const struct fact_sample *its; } sample;
		const struct fact_budget *budget;
		struct { int32_t pid; const char *name; struct memory_point point; } memory;
		const char *runtime;
	};
};

#endif
