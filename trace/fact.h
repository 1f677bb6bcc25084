/* SPDX-License-Identifier: MIT */
/*
 * fact: one statement about a run: an event, or information. A trace is a list of facts; so is what a live
 * watch sends to its ledger. The same facts give the same report.
 *
 * Strings and arrays are borrowed: valid as long as the producer of the fact says (a reader: during the
 * call). Numbers of stacks, frames, ... are the run's own, and hold in all its pieces.
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

/* How many references to an object a stack has acquired and released. */
struct fact_use {
	uint32_t stack;
	uint64_t acquired, released;
};

/*
 * A block with a verdict, and what is lost with it: only for one that is lost definitely or possibly
 * (indirectly: see MMT_JUDGED).
 */
struct fact_judged {
	taddr addr;
	uint64_t with_blocks, with_bytes;
};

struct fact_sum {
	uint64_t blocks, bytes;
};

/* MMT_VERDICTS: a snapshot for verdicts, and how it went. */
struct fact_verdicts {
	/*
	 * number of the snapshot in the run, from 1: a fact with the same number again is about the same one
	 */
	uint32_t number;
	bool known;		/* else there are no verdicts, and `why_not` says why */
	bool census;
	const char *why_not;
	const char *allocator;	/* what the census knows of it; NULL: nothing */
	uint64_t expected_ns, had_ns;	/* of the pause */
	uint64_t bytes;		/* copied in it */
	uint32_t threads, not_stopped;
	uint64_t judged;	/* how many blocks are reported by MMT_JUDGED, */
	/* of these: blocks that are not live any more, which a shrunken trace leaves out */
	uint64_t passed;
	const struct fact_sum *sums;	/* by verdict: of all blocks of the process that are known */
	uint32_t nsums;
	const char *const *doubts;	/* sentences */
	uint32_t ndoubts;
};

/* Tracked blocks, by a step of their age (MMT_SAMPLE_STEPS). */
struct fact_step {
	uint64_t at_risk;	/* live at its beginning */
	uint64_t gone;		/* freed in it */
	uint64_t unknown;	/* not known any more from some time in it on */
};

/*
 * Of a stack in a sampled run: its blocks that the kernel's probes have seen being allocated (attach/loss/loss_probes.h),
 * and what it has lost of what the whole process has lost (struct fact_loss), by that. All 0: nothing was seen.
 */
struct fact_losing {
	uint64_t seen, lost;		/* blocks; of these, found lost in a copy, and lost still at the end */
	uint64_t over_us;		/* in so much time it has lost */
	uint64_t blocks, least, most;	/* about so many, with the 95 % interval; 0: too few were found to tell */
	uint64_t bytes;			/* of `blocks` */
};

/*
 * MMT_SAMPLE: of a stack in a sampled run, until now: a later fact replaces an earlier one. A stack's blocks
 * come from a site, the call that is trapped in rounds: the trap is planted for a round, until it was hit as
 * often as its quota, and is then lifted for a while. Several stacks may lead to one site.
 */
struct fact_sample {
	uint64_t seen;		/* hits with this stack */
	uint64_t late_seen;	/* of these, late in the run: its last fifth, or its last half */
	uint64_t usable_bytes;	/* of the blocks of `seen`: what they can hold, as malloc_usable_size says */
	uint64_t site_seen;	/* from here on of its site: hits with any stack, counted as `seen` is; */
	uint64_t site_hits;	/* and of rounds that are over, undisturbed: hits, */
	uint64_t rounds, full;	/* rounds; of these, ended by the quota, */
	uint64_t exposed_us;	/* how long the trap was planted, */
	uint64_t hits2, hits_exposed, exposed2;	/* and sums over the rounds: h*h, h*e, e*e, with e in µs */
	bool standing;		/* its trap is planted all the time by now */
	uint32_t nsteps;
	struct fact_step steps[MMT_SAMPLE_STEPS];
	/* of its site: how long the trap was planted as late, at least; 0 if a pause then says nothing */
	uint64_t late_exposed_us;
	/*
	 * hits that are not among those, as a thread was stopped at a trap then; and how long one was stopped
	 */
	uint64_t missed, stood_us;
	uint32_t process;	/* of a merged run: one more than the number of its process; else 0 */
	/*
	 * tracked blocks that were live at the end and were looked for in a copy of the memory; of these: nothing
	 * points to them, or only lost blocks do
	 */
	uint64_t searched, lost;
	struct fact_losing losing;
};

/*
 * What the whole process has lost in a sampled run, whether it was seen being allocated or not: from two copies of its
 * memory, this long apart; 0: not known. `before`: what was lost already in the earlier one.
 */
struct fact_loss {
	uint64_t over_us, blocks, bytes, before_blocks, before_bytes;
};

/* MMT_BUDGET: of a sampled run, until now; likewise. */
struct fact_budget {
	uint64_t promise_ppm;	/* of the time: 1 % is 10000 */
	uint64_t spent_us;	/* how long we have stopped threads, summed over them, */
	uint64_t wall_us;	/* in this much time */
	uint64_t worst_ppm;	/* the worst of any ten seconds */
	/*
	 * how often, and how long, all traps were lifted, as the budget was used up or the ring was not read
	 */
	uint64_t closed, closed_us;
	uint64_t sites;		/* calls of allocators that were found in the code; */
	uint64_t sites_hit;	/* of these: hit at all, */
	uint64_t sites_settled;	/* sampled rarely, since all their blocks are freed, */
	uint64_t candidates;	/* and that may leak */
	uint64_t unfound;	/* calls that cannot be trapped */
	struct fact_loss loss;
};

/*
 * The numbers of struct fact_process, in their order in a trace: allocations, frees; live blocks and bytes;
 * events, lost ones; how long threads were stopped, and their time; gaps; resident memory at the end, and how
 * much of the process's own (anonymous, shared, swapped) there was at the start and at the end.
 */
#define FACT_PROCESS_NUMBERS(X)							\
	X(run_us) X(allocs) X(frees) X(live_blocks) X(live_bytes) X(events) X(lost)	\
	X(stopped_us) X(thread_us) X(gaps) X(gaps_us) X(resident) X(own_first) X(own_last)

/* MMT_PROCESS: one of the processes of a merged trace. What is not known is 0 or NULL. */
struct fact_process {
	uint32_t number;
	int32_t pid;
	uint8_t run_id[16];
	int64_t start_ns;
	bool ended, judged, absent;
	/* labels: "host=a1,pod=x"; how: how the target ended, or (absent) why there is nothing */
	const char *comm, *exe, *host, *labels, *frontend, *mode, *how;
#define X(name) uint64_t name;
	FACT_PROCESS_NUMBERS(X)
#undef X
	const struct fact_sum *sums;	/* by verdict: live blocks */
	uint32_t nsums;
};

/* What one process has of a group. */
struct fact_part {
	uint32_t process;		/* its number */
	uint64_t bytes;
};

/*
 * MMT_MERGED: the live blocks of a stack that have a verdict, in all processes; facts about the same stack and
 * verdict add up. Of objects: references acquired there on objects that exist, and nothing else.
 */
struct fact_merged {
	uint32_t verdict;
	uint64_t blocks, bytes;
	uint64_t indirect_blocks, indirect_bytes;	/* lost with them */
	uint64_t oldest_us, youngest_us;		/* ages at the end of the block's own run */
	uint64_t seen, seen_bytes;			/* in a sample by bytes: as in struct byte_sample, */
	uint64_t blocks_variance, bytes_variance;	/* these as the bits of a double */
	/* bytes of these blocks that were allocated by the end of each span, as the points of a place */
	uint64_t span_us;
	const uint64_t *points;
	uint32_t npoints;
	const struct fact_part *parts;			/* each process once */
	uint32_t nparts;
};

/* MMT_MEMORY: what a process has at a moment, as the kernel counts it: memory in bytes; threads, open descriptors. */
struct memory_point {
	uint64_t at_us;		/* since the run's start */
	uint64_t anonymous, file, shared;	/* resident */
	uint64_t swapped;
	uint64_t heap;		/* size of malloc's: [heap], and those of other threads; 0: not read */
	uint64_t mapped;	/* size of all mappings; 0: not read, as the next three */
	uint64_t threads, descriptors;	/* how many it has */
	uint64_t busy_us;	/* processor time until then, of all threads */
};

/* MMT_RUN: what is not known is 0 or NULL. */
struct fact_run {
	uint8_t id[16];
	uint32_t piece, last;	/* 0: it is in one piece */
	int64_t start_ns;
	const char *frontend, *mode, *writer, *host;
	const char *engine;	/* that was asked for: "ptrace", "uprobe", "auto" */
	const char *other;	/* why it could not be by the other engine */
	uint64_t sample_bytes;	/* one byte in so many was sampled (report/sampling/byte_sample.h); 0: all are seen */
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
			/* ALLOC, HELD, FREE_AT: the number; else number + 1 or FACT_NONE */
			uint32_t stack;
			uint32_t first, alloc;	/* TWICE: number + 1 or FACT_NONE */
		} block;
		/* REF UNREF BORN COUNTED */
		struct {
			taddr addr;
			uint32_t stack;
			uint64_t by;		/* how many references at once */
			/* the object's own count then: + 1, or FACT_NONE; COUNTED: as it is */
			uint64_t count;
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
		/* noun NULL: the usual one */
		struct { uint32_t number; const char *name, *noun; bool refs, ranges; } family_name;
		struct {
			uint32_t number;
			uint32_t file;		/* the same for all modules of one file */
			taddr bias, lo, hi;
			const char *path;
			const char *build_id;	/* hexadecimal; "" if there is none */
		} module;
		/* module + 1 or FACT_NONE */
		struct { uint32_t number, module; taddr pc; bool exact, skip; } frame;
		struct { uint32_t number, caller, frame; } node;	/* numbers from 1; caller 0: none */
		/* end: MMT_END_WHOLE ...; tag + 1 or FACT_NONE */
		struct { uint32_t number, node, end, tag; } stack;
		struct { uint32_t number; const char *text; } tag;
		const char *skip;	/* a function */
		struct { uint32_t frame; const struct fact_name *all; uint32_t n; } names;
		/* NULL as in summary_probe */
		struct { uint32_t number, family; const char *rule, *module, *note; } probe;
		struct { uint32_t probe; uint64_t hits; } hits;
		struct { const char *reason; uint64_t count; } lost;
		struct { uint32_t which; uint64_t value; } count;
		struct { uint64_t start_us, length_us; const char *why; } gap;
		const char *note;
		struct {
			uint32_t stack;
			uint64_t allocs, frees;
			/* of a point of the series; its first is at the end of the first span */
			uint64_t span_us;
			const uint64_t *points;
			uint32_t npoints;
			uint64_t bytes;		/* of all allocations */
			uint64_t size;		/* OLDER: of a block; its bytes are those that were freed */
		} place;			/* PLACE, OLDER */
		struct { uint64_t old, twice; } totals;
		const struct fact_verdicts *look;
		struct { uint32_t verdict; const struct fact_judged *all; uint32_t n; } judged;
		struct { uint32_t stack; const struct fact_sample *its; } sample;
		const struct fact_budget *budget;
		struct { int32_t pid; const char *name; struct memory_point point; } memory;
		const char *runtime;
		const struct fact_process *process;
		struct { uint32_t stack; const struct fact_merged *its; } merged;
		struct { uint32_t which, n; const struct fact_sum *all; } bins;
		struct { const char *note; uint64_t processes; } said;
		struct { uint32_t family, verdict, on, stack; uint64_t blocks, bytes; } hang;
	};
};

#endif
