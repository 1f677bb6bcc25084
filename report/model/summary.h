/* SPDX-License-Identifier: MIT */
/*
 * summary: what a run found, as plain data: all that a report says, and nothing
 * about how it was found. attach/ fills it, out_*.c print it, so both can be
 * tested alone.
 *
 * The adders copy what they are given. Strings are kept once each, in a pool
 * of the summary: ten thousand stacks that run through main() hold one
 * "main". Want of memory is sticky: fill everything, then ask summary_error.
 *
 * Numbers may be set directly. Strings may be NULL where they are not known.
 */
#ifndef MM_SUMMARY_H
#define MM_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/taddr.h"
#include "base/texts.h"
#include "base/verdict.h"
#include "report/ledger/memories.h"
#include "report/model/growth.h"
#include "report/model/stack.h"
#include "report/sampling/estimate.h"
#include "report/sampling/survival.h"

struct summary_sum {
	uint64_t blocks, bytes;
};

/* What was watched together, and what it came to; in the order of the run. */
struct summary_family {
	const char *name;
	const char *noun;		/* what one is called: "block", "descriptor", "object" */
	bool refs;			/* objects with references; else blocks */
	bool ranges;			/* blocks that are ranges of addresses, of which parts may be released */
	uint64_t taken, dropped;	/* allocations and releases of known blocks; references */
	uint64_t kept;			/* blocks; objects whose references do not come to nothing */
	uint64_t bytes;			/* of blocks */
	uint64_t older;			/* of objects: they were there before */
	int64_t net;			/* references on the others */
};

/* What blocks that nobody saw being taken have in common (a scan's, report/model/scan.h). */
struct summary_kind {
	const char *label;		/* "Session", "24 bytes"; NULL: not such a group */
	const char *class_name;		/* the C++ class whose vtable they begin with; NULL: they are grouped by size */
	const char *module;		/* path of the file where that is; NULL: not known */
	uint64_t size_low, size_high;	/* of the blocks that are there */
	const char *content;		/* what they hold, as it seems; NULL: nothing can be said */
	uint64_t indirect_blocks, indirect_bytes;	/* of lost ones, a watch's too: what is lost with them, in groups of its own */
};

/*
 * Of a group in a sampled run: what is estimated from the hits that were seen and the blocks that were followed, with 95 % intervals
 * (report/model/sampled.h). The group's blocks and bytes are those that are followed and still there.
 */
struct summary_sample {
	uint64_t seen, late_seen;	/* allocations; of these, in the last fifth of the run */
	double bytes_each;		/* of one, as the allocator has rounded it */
	bool standing;			/* by now none of its allocations goes unseen, but when the budget is used up */
	struct estimate allocs;		/* a minute */
	struct estimate kept_blocks, kept_bytes;	/* likewise: what stays of them. Not known whether it does: 0, and only the high end says something */
	struct estimate may_keep_blocks, may_keep_bytes;	/* the same; not known whether it stays: as if what was still there did */
	double sees;			/* the part of all allocations there that was seen */
	enum survival_doubt doubt;	/* what was followed looks as if it stays, but that cannot be said, for this reason */
	struct survival survival;
	struct survival_step steps[SURVIVAL_STEPS];
};

/* Of a group of lost blocks: so much of another group, indirectly lost, is lost with them. */
struct summary_hang {
	size_t serial;			/* of the other group */
	uint64_t blocks, bytes;
};

/* One stack, one tag, one family, one verdict; or one kind and one verdict. */
struct summary_group {
	const char *family;
	const char *tag;		/* what the program itself calls it; NULL: nothing */
	uint64_t blocks, bytes;		/* kept at the end */
	uint64_t bytes_direct;		/* of bytes: in blocks that no other lost block holds: none of indirectly lost ones, else all */
	uint64_t allocs, frees;		/* over the run, at the stack: the same in all groups of it */
	uint64_t bytes_taken, bytes_returned;	/* of ranges, over the run: as allocs and frees */
	double oldest_s, youngest_s;	/* ages of the kept blocks at the end */
	enum verdict verdict;
	bool split;			/* the stack's calls are those of another group too, which has another verdict */
	struct growth growth;
	struct growth_point *series;	/* bytes held, the last point at the run's end */
	size_t npoints;
	struct stack_view stack;
	taddr *samples;			/* some of the kept blocks */
	size_t nsamples;
	struct summary_kind kind;
	struct summary_hang *hangs;	/* most bytes first */
	size_t nhangs;
	bool held;			/* it is among the `hangs` of another group */
	struct summary_sample *sampled;	/* NULL: the run is not, or nothing is known */
	size_t serial;			/* how many were added before it: stays with it when the summary is sorted */
};

/* What one place did to the objects of a group: references taken, or dropped. */
struct summary_use {
	uint32_t place;			/* its number in the family: the same in all groups */
	uint64_t count;			/* on all objects of the group */
	double per_object;
	uint64_t taken_in_all;		/* references taken here on any object, over the run */
	uint64_t kept;			/* of these, on objects that are still held */
	uint64_t several;		/* objects of the family with two references too many or more, on which it took */
	uint64_t as_many;		/* of these: it took just as many as are too many */
	const char *module;		/* whose place it is (report/refs/refowners.h); NULL: not known */
	uint64_t module_taken, module_dropped;	/* by all places of that, on all objects of the group */
	struct stack_view stack;	/* borrowed, many groups have the same: summary_keep_stack */
};

/* An object of a group: for each use of the group, those that took and then those that dropped, how often. */
struct summary_object {
	taddr addr;
	double age_s;
	uint64_t *counts;
};

/*
 * Objects of one family that were taken at the same places, dropped at the same places, and have the same net count.
 * Those without a count of their own (`counted`) that were there before us have a net count that is relative: so many
 * more, or fewer, than before.
 */
struct summary_refs {
	const char *family, *noun;
	uint64_t objects;
	int64_t net;			/* of each */
	bool older;			/* they were there before the watch */
	bool counted;			/* the objects' own count says so */
	uint32_t signature;		/* the same for groups that differ in their net count only; 0: nothing is said */
	double oldest_s, youngest_s;	/* since the first reference that was seen */
	struct growth growth;		/* of references of the first place of `taken`; the rate is this group's part */
	struct growth_point *series;	/* the same: references of there that were held, of all groups */
	size_t npoints;
	taddr *samples;			/* the oldest ones */
	size_t nsamples;
	struct summary_use *taken;	/* most suspect first: summary_sort_uses */
	struct summary_use *dropped;	/* most of them first */
	size_t ntaken, ndropped;
	struct summary_object *all;	/* by address; none if nobody asked for them (--per-object, lookup.h) */
	size_t nall;
};

/* Blocks that were released twice, by the same code each time. */
struct summary_twice {
	const char *family;
	uint64_t count;
	taddr sample;			/* the first of them */
	double time_s;			/* of that */
	struct stack_view second, first, alloc;	/* depth 0: not known (--free-stacks) */
};

/* A suppression that was used. */
struct summary_suppression {
	const char *name;		/* of the entry, or the pattern */
	const char *where;		/* "file:line" */
	uint64_t groups, blocks, bytes;
};

/* What is kept, but not among the groups. */
struct summary_hidden {
	uint64_t groups, blocks, bytes;
	uint64_t ref_groups, objects;
};

struct summary_probe {
	const char *family;
	const char *rule;	/* "alloc malloc size=arg1" */
	const char *module;	/* path; NULL: the function was not found */
	uint64_t hits;
	const char *note;	/* why it is not watched; NULL if it is */
};

struct summary_lost {
	const char *reason;	/* "ring full" */
	uint64_t count;
};

/* A time in which nothing was seen. */
struct summary_gap {
	double start_s, seconds;	/* since the start of the run */
	const char *why;
};

/* What a sampled run has promised to cost, what it did cost, and how much of the program that sufficed for. */
struct summary_budget {
	bool told;
	double promise, worst;		/* share of the time; of any ten seconds */
	double spent_s, wall_s;		/* threads stood still, summed over them; in so long */
	uint64_t closed;		/* times that it was used up; so long nothing was seen: */
	double closed_s;
	uint64_t sites, hit, settled, candidates, unfound;	/* as in struct fact_budget */
};

/* How it was found out which blocks are still reached. */
struct summary_verdicts {
	bool told;			/* somebody looked, or there is a reason why nobody did */
	bool taken;			/* there are verdicts */
	bool census;			/* all blocks of the heap took part; else those that were watched */
	const char *why_not;		/* NULL if they are taken */
	const char *allocator;		/* what the census knows of it; NULL: nothing */
	double expected_s, pause_s;
	uint64_t bytes;			/* copied in the pause */
	uint32_t threads, not_stopped;
	struct summary_sum all[VERDICT_COUNT];		/* blocks of the whole process */
	struct summary_sum watched[VERDICT_COUNT];	/* of these, the watched ones that are kept, hidden or not */
	const char **doubts;		/* why verdicts may be weaker than they look, a sentence each */
	size_t ndoubts;
};

struct summary_target {
	pid_t pid;
	const char *comm, *exe;
	const char **cmdline;
	size_t nargs;
};

struct summary_run {
	int64_t start_ns;	/* wall clock, since 1970 */
	double seconds;
	const char *frontend;	/* "ptrace", "gdb" */
	const char *mode;	/* "exact", "sampled" */
	double duty;		/* share of the time in which traps stood: 1 when exact; sampled: the mean over sites that were hit */
	uint64_t events;
	uint64_t stacks_cut;	/* stacks longer than what was copied of them */
	uint64_t stacks_lost;	/* stacks with an outermost frame whose caller nothing tells */
	uint64_t ring_waits;	/* times that a thread had to wait because events were not read fast enough */
	uint64_t left_out;	/* ranges of memory that others took than those who were to be watched */
	double stopped_seconds;	/* how long its threads stood still because of us, summed over them; see summary_stops_known; */
	double thread_seconds;	/* of all the time that they had, added up: 0: not known */
	uint64_t hitting;	/* threads that called what is watched; */
	double hitting_seconds, hitting_stopped;	/* of their time since, they stood so long */
	struct summary_lost *lost;
	size_t nlost;
	struct summary_probe *probes;
	size_t nprobes;
	struct summary_gap *gaps;
	size_t ngaps;
	struct summary_verdicts verdicts;
	struct summary_budget budget;
};

/* What a process had of memory, as the kernel says. */
struct summary_memory {
	pid_t pid;
	const char *name;
	struct memory_point points[MEMORY_POINTS];
	size_t npoints;			/* one at least */
};

struct summary_totals {
	uint64_t allocs, frees;
	uint64_t unmatched_frees;	/* of blocks older than the run: no error */
	uint64_t double_frees;
	uint64_t live_blocks, live_bytes;
};

struct lookup;

struct summary {
	struct summary_target target;
	struct summary_run run;
	struct summary_totals totals;
	struct summary_family *families;
	size_t nfamilies;
	struct summary_group *groups;
	size_t ngroups;
	size_t *index_of;		/* by serial number of a group; of summary_sort */
	struct summary_refs *refs;
	size_t nrefs;
	bool per_object;		/* the objects themselves were asked for */
	bool scanned;			/* groups are those of a scan: their kind is known, how they came about is not */
	const struct lookup *lookup;	/* what was asked of single blocks (report/query/lookup.h), its owner's; NULL: nothing */
	uint32_t round;			/* of the interim reports, from 0; the last report has the next one */
	struct summary_twice *twice;
	size_t ntwice;
	struct summary_suppression *suppressions;
	size_t nsuppressions;
	struct summary_hidden suppressed;	/* by suppressions */
	struct summary_hidden filtered;		/* by --older-than, --min-bytes, --show, --focus, --ignore */
	struct summary_memory *memories;	/* of the process, and of its children */
	size_t nmemories;
	const char *runtime;		/* what runs it, with a heap of its own; NULL: nothing that is known */
	const char **notes;		/* what else the reader must know, a sentence each */
	size_t nnotes;
	struct summary_frame **stacks;	/* of summary_keep_stack */
	size_t nstacks;
	struct texts strings;		/* the pool */
	int err;
};

void summary_init(struct summary *s);	/* all numbers 0, but duty 1; "ptrace", "exact" */
void summary_fini(struct summary *s);

/* 0, or -ENOMEM: something is missing, do not print it as if it were whole. */
int summary_error(const struct summary *s);

/* @text kept in the pool, NULL for NULL and on want of memory; lives as long as @s. */
const char *summary_string(struct summary *s, const char *text);

void summary_set_target(struct summary *s, pid_t pid, const char *comm, const char *exe);
void summary_add_arg(struct summary *s, const char *arg);
void summary_add_lost(struct summary *s, const char *reason, uint64_t count);	/* adds up; 0 is no loss */
void summary_add_probe(struct summary *s, const struct summary_probe *probe);
void summary_add_gap(struct summary *s, double start_s, double seconds, const char *why);
void summary_add_doubt(struct summary *s, const char *text);
void summary_note(struct summary *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The family's name must be set. */
void summary_add_family(struct summary *s, const struct summary_family *family);

/* A copy whose frames live as long as @s; without frames if there are none, and on want of memory. */
struct stack_view summary_keep_stack(struct summary *s, const struct stack_view *stack);

/* @group with its stack, series and samples, which stay the caller's. */
/* @g is a group of @s. Sorted by who calls. */
void summary_add_hang(struct summary *s, struct summary_group *g, const struct summary_hang *hang);
void summary_add_group(struct summary *s, const struct summary_group *group);
void summary_add_refs(struct summary *s, const struct summary_refs *refs);	/* likewise; the frames of its uses must outlive @s */
void summary_add_twice(struct summary *s, const struct summary_twice *twice);	/* likewise */
void summary_add_suppression(struct summary *s, const struct summary_suppression *used);

/*
 * Families in their order; of each the groups by section (summary_section): what is lost and what is kept by verdict (summary_rank), then
 * by bytes with what is lost with them, most first; what grows by its speed. So it is the order of the table. Of a sampled run by what becomes of their
 * blocks (what stays is first), then by estimated kept bytes a minute. Groups of objects: those born while we watched by
 * their number, then older ones with a count of their own, then older ones without. The same order for the same data.
 * Call it before printing.
 */
void summary_sort(struct summary *s);

/* In which part of a report a group stands, in their order; sampled runs have others. */
enum summary_section {
	SUMMARY_LOST,		/* nothing leads to it any more; possibly lost, and grows */
	SUMMARY_GROWING,	/* or perhaps growing */
	SUMMARY_KEPT,
	SUMMARY_HELD,		/* indirectly lost: told with the groups that it hangs on */
};

enum summary_section summary_section(const struct summary *s, const struct summary_group *g);

/* The index of the group with this serial number, when @s is sorted. */
size_t summary_index(const struct summary *s, size_t serial);

/* Definitely lost ones come first, then those that may be, then what is lost with others, then the rest. */
int summary_rank(enum verdict v);
/* Is it lost, or may it be? */
bool summary_is_lost(enum verdict v);
/* A lost group's bytes, and those that are lost with it. */
uint64_t summary_weight(const struct summary_group *g);

/* Was only a part of it seen? */
bool summary_is_sampled(const struct summary_run *run);
/* Is it, or may it be, a leak: is there something to report? Not what is reached; of a sampled run only what stays. */
bool summary_group_suspect(const struct summary_group *g);

/* The family called @name; one without numbers, of blocks, if there is none. */
const struct summary_family *summary_family(const struct summary *s, const char *name);

/* Is it known for how long the target was stopped? gdb, where it was the tracer, does not say. */
bool summary_stops_known(const struct summary_run *run);

/* Its net count only says how many more, or fewer, than before. */
bool summary_refs_relative(const struct summary_refs *r);
/* Is there any reference that may be too many, or was dropped once too often? Not if older ones went. */
bool summary_refs_suspect(const struct summary_refs *r);
/* The order of summary_sort begins with it: what is no leak comes last. */
int summary_refs_rank(const struct summary_refs *r);
/* How much of what was taken there is on objects that are still held: 0 to 1. */
double summary_use_share(const struct summary_use *u);
/* How much of what its module took on the group's objects was not dropped by that module: 1 for one that never drops. */
double summary_use_module_share(const struct summary_use *u);
/* It took as many as are too many on most of the objects with several: nobody else's number would follow that. */
bool summary_use_follows(const struct summary_use *u);
/* Most suspect first, as `taken` is to be: summary_refs.c. Of places that took nothing, those first that dropped most. */
void summary_sort_uses(struct summary_use *uses, size_t n);
/* Of sorted places: how many have as large a share as the first, or nearly; 0 if there are none. */
size_t summary_near_uses(const struct summary_use *uses, size_t n);
/* How many of these nothing tells from the first. */
size_t summary_like_uses(const struct summary_use *uses, size_t n);

uint64_t summary_lost_total(const struct summary *s);

/* --- memory (summary_memory.c) --- */

void summary_add_memory(struct summary *s, const struct memory_process *p);
const struct summary_memory *summary_memory_of_target(const struct summary *s);	/* NULL: it is not known */

/* The last: what was resident; and what of the process's own (anonymous, shared, swapped) there is more than at first. */
uint64_t summary_memory_rss(const struct summary_memory *m);
int64_t summary_memory_growth(const struct summary_memory *m);

/* It was not there any more when the watched process was looked at last. */
bool summary_memory_ended(const struct summary *s, const struct summary_memory *m);

/* What watched blocks that are kept explain of that; of a sampled run, as is estimated, with what may be kept. */
uint64_t summary_memory_explained(const struct summary *s);

#endif
