/* SPDX-License-Identifier: MIT */
/*
 * summary: what a run found, as plain data: all that a report says, and nothing about how it was found.
 * attach/ fills it, out_*.c print it, so both can be tested alone.
 *
 * The adders copy what they are given. Strings are stored once each, in a pool of the summary: ten thousand
 * stacks that run through main() share one "main". Out of memory is sticky: fill everything, then call
 * summary_error.
 *
 * Numbers may be set directly. Strings may be NULL if they are not known.
 */
#ifndef MM_SUMMARY_H
#define MM_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/intern.h"
#include "base/taddr.h"
#include "base/verdict.h"
#include "report/ledger/merged/histogram.h"
#include "report/ledger/memories.h"
#include "report/model/growth.h"
#include "report/model/stack.h"
#include "report/sampling/byte_sample.h"
#include "report/sampling/estimate.h"
#include "report/sampling/survival.h"
#include "trace/fact.h"

struct summary_sum {
	uint64_t blocks, bytes;
};

/* A family, and its totals; families are in the order of the run. */
struct summary_family {
	const char *name;
	const char *noun;		/* what one is called: "block", "descriptor", "object" */
	bool refs;			/* objects with references; else blocks */
	bool ranges;			/* blocks that are ranges of addresses, parts of which may be freed */
	uint64_t acquired, released;	/* allocations and frees of known blocks; references */
	uint64_t live;			/* live blocks; objects whose net count is not 0 */
	uint64_t bytes;			/* of blocks */
	uint64_t older;			/* objects that existed before the watch */
	int64_t net;			/* of references, on the others */
};

/* What blocks whose allocation was not seen have in common (in a scan, report/model/scan.h). */
struct summary_kind {
	const char *label;		/* "Session", "24 bytes"; NULL: not such a group */
	const char *class_name;		/* C++ class whose vtable they begin with; NULL: grouped by size */
	const char *module;		/* path of the file where that is; NULL: not known */
	uint64_t size_low, size_high;	/* of the group's blocks */
	const char *content;		/* what they seem to contain; NULL: not known */
	/* Of lost blocks, also in a watch: what is lost with them, in groups of its own. */
	uint64_t indirect_blocks, indirect_bytes;
};

/*
 * A group in a sampled run: estimates from the hits that were seen and the blocks that were tracked, with
 * 95 % confidence intervals (report/model/sampled.h). The group's blocks and bytes are those that are tracked
 * and still live.
 */
struct summary_sample {
	uint64_t seen, late_seen;	/* allocations; of these, late in the run */
	double bytes_each;		/* of one, usable */
	/* By now all of its allocations are seen, except if the budget is used up. */
	bool standing;
	struct estimate allocs;		/* per minute */
	/*
	 * Likewise: what stays live of them. If it is not known whether any does: 0, and only the high end
	 * means something.
	 */
	struct estimate kept_blocks, kept_bytes;
	/*
	 * The same, except that if it is not known whether they stay live, those still live count as if they
	 * did.
	 */
	struct estimate may_keep_blocks, may_keep_bytes;
	double sees;			/* the part of all allocations there that was seen */
	/* The tracked blocks seem to stay live, but that is uncertain, for this reason. */
	enum survival_doubt doubt;
	struct survival survival;
	struct survival_step steps[SURVIVAL_STEPS];
	uint64_t searched, lost;	/* as in struct fact_sample */
	bool by_lost;			/* that they stay is known by that alone */
	/*
	 * blocks that the kernel's probes have seen being allocated there; of these, lost ones; and that they stay is
	 * known by that, and how many
	 */
	uint64_t probed, probed_lost;
	bool by_probes;
};

/* How many of a stack's blocks another stack has freed. */
struct summary_freed {
	uint64_t blocks, bytes;
	struct stack_view stack;	/* borrowed: summary_keep_stack */
};

/* For a group of lost blocks: how much of another group, which is indirectly lost, is lost with it. */
struct summary_hang {
	size_t serial;			/* of the other group */
	uint64_t blocks, bytes;
};

/* One of the processes of a merged trace (`mmattach merge`), with strings of the summary. */
struct summary_process {
	struct fact_process its;	/* sums NULL */
	struct summary_sum sums[VERDICT_COUNT];
};

/* What one process has of a group. */
struct summary_share {
	uint32_t process;		/* index in summary.processes */
	uint64_t bytes;			/* live; in a sampled run, those estimated to stay live per minute */
};

/* In a sample by bytes (run.sample_bytes): between what the true numbers of live blocks and bytes are, 95 %. */
struct summary_bounds {
	double blocks_low, blocks_high, bytes_low, bytes_high;
};

/* One stack, one tag, one family, one verdict; or one kind and one verdict. */
struct summary_group {
	const char *family;
	const char *tag;		/* what the program itself calls it; NULL: nothing */
	uint64_t blocks, bytes;		/* live at the end */
	/* Of bytes: in blocks to which no other lost block points: 0 in indirectly lost groups, else all. */
	uint64_t bytes_direct;
	uint64_t allocs, frees;		/* over the run, of the stack: the same in all its groups */
	uint64_t bytes_taken, bytes_returned;	/* of ranges, over the run: as allocs and frees */
	double oldest_s, youngest_s;	/* ages of the live blocks at the end */
	enum verdict verdict;
	/* The stack's calls are also those of another group, with another verdict: */
	bool split;
	size_t split_from;		/* the serial number of the first one */
	/*
	 * Only in what by_stack.h makes of a summary: the group's own blocks, by verdict; and what is lost with
	 * it but is in no group (hidden, or its allocation was not seen): kind.indirect_* is without that.
	 * There split_from is the next group of the stack, after the last one the first.
	 */
	struct summary_sum parts[VERDICT_COUNT], uncounted;
	/* Only in rows (report/names/rows.h): the n of its [n]; and what tells its name from those of other rows. */
	size_t number;
	struct apart apart;
	struct growth growth;
	struct growth_point *series;	/* live bytes, the last point at the run's end */
	size_t npoints;
	struct stack_view stack;
	taddr *samples;			/* some of the live blocks */
	size_t nsamples;
	struct summary_kind kind;
	struct summary_hang *hangs;	/* most bytes first */
	size_t nhangs;
	bool held;			/* it is among the `hangs` of another group */
	/*
	 * By which stacks its stack's blocks were freed, most first (--free-stacks); they are in `frees`. In a
	 * run that does not record it there are none.
	 */
	struct summary_freed *freed;
	size_t nfreed;
	struct summary_sample *sampled;	/* NULL: the run is not sampled, or nothing is known */
	struct byte_sample sample_of;	/* in a sample by bytes: how sure `blocks` and `bytes` are (summary_bounds_of) */
	struct summary_share *shares;	/* in a merged trace: by process, each once */
	size_t nshares;
	size_t serial;			/* how many were added before it; sorting does not change it */
};

/* What one call site did to the objects of a group: references acquired, or released. */
struct summary_use {
	uint32_t site;			/* number of the call site in the family: the same in all groups */
	uint64_t count;			/* on all objects of the group */
	double per_object;
	uint64_t acquired_in_all;		/* references acquired here on any object, over the run */
	uint64_t outstanding;			/* of these, on objects that still exist */
	/* Objects of the family with two or more surplus references, of which it acquired some. */
	uint64_t several;
	uint64_t as_many;		/* of these: it acquired just as many as are surplus */
	const char *module;		/* that of the call site (report/refs/refowners.h); NULL: not known */
	/* by all its call sites, on all objects of the group */
	uint64_t module_acquired, module_released;
	struct stack_view stack;	/* borrowed, since many groups have the same: summary_keep_stack */
};

/*
 * An object of a group: a count for each use of the group, first those that acquired, then those that
 * released.
 */
struct summary_object {
	taddr addr;
	double age_s;
	uint64_t *counts;
};

/*
 * Objects of one family whose references were acquired at the same call sites and released at the same call
 * sites, and that have the same net count. Objects without a count of their own (`counted`) that existed
 * before the watch have a relative net count: so many more, or fewer, than before.
 */
struct summary_refs {
	const char *family, *noun;
	uint64_t objects;
	int64_t net;			/* of each */
	bool older;			/* they were there before the watch */
	bool counted;			/* the objects' own count says so */
	/* The same for groups that differ only in their net count; 0: not known. */
	uint32_t signature;
	double oldest_s, youngest_s;	/* since the first reference that was seen */
	/* Of references of the first call site of `taken`; the rate is this group's part. */
	struct growth growth;
	struct growth_point *series;	/* likewise: its references on existing objects, of all groups */
	size_t npoints;
	taddr *samples;			/* the oldest ones */
	size_t nsamples;
	struct summary_use *acquired;	/* most suspect first: summary_sort_uses */
	struct summary_use *released;	/* highest count first */
	size_t nacquired, nreleased;
	struct summary_object *all;	/* by address; only if they were asked for (--per-object, lookup.h) */
	size_t nall;
};

/* Blocks that were freed twice, by the same code each time. */
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

/* Live memory that is not among the groups. */
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

/* The cost that a sampled run promised, the cost that it had, and how much of the program that covered. */
struct summary_budget {
	bool told;
	double promise, worst;		/* share of the time; of any ten seconds */
	double spent_s, wall_s;		/* time for which threads were stopped, summed over them; wall time */
	uint64_t closed;		/* how often the budget was used up, */
	double closed_s;		/* and for how long nothing was seen then */
	uint64_t sites, hit, settled, candidates, unfound;	/* as in struct fact_budget */
	/* What the process has lost in so much time, and before; 0 s: not known. */
	double loss_s;
	struct summary_sum loss, loss_before;
};

/* The verdicts of a run, and how they were found. */
struct summary_verdicts {
	bool wanted;			/* verdicts were wanted: there are some, or a reason why not */
	bool known;			/* there are verdicts */
	bool census;			/* all blocks of the heap were included; else only the watched ones */
	const char *why_not;		/* NULL if there are verdicts */
	const char *allocator;		/* what the census knows of it; NULL: nothing */
	double expected_s, pause_s;
	uint64_t bytes;			/* copied in the pause */
	uint32_t threads, not_stopped;
	struct summary_sum all[VERDICT_COUNT];		/* blocks of the whole process */
	/* Of these, the watched ones that are live, hidden or not. */
	struct summary_sum watched[VERDICT_COUNT];
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
	const char *host;		/* the name of the machine; NULL: not known */
	const char *frontend;	/* "ptrace", "uprobe", "gdb" */
	const char *mode;	/* "exact", "sampled", "sampled-bytes" */
	const char *engine;	/* that was asked for: "ptrace", "uprobe", "auto"; NULL: none, or not known */
	const char *other;	/* why it could not be by the other engine; NULL: it could, as far as is known */
	uint64_t sample_bytes;	/* one byte in so many was sampled, and numbers are estimates; 0: no such run */
	/*
	 * Share of the time in which traps were planted: 1 if exact; sampled: the mean over sites that were
	 * hit.
	 */
	double duty;
	uint64_t events;
	uint64_t stacks_cut;	/* stacks longer than what was copied of them */
	uint64_t stacks_lost;	/* stacks whose outermost frame has an unknown caller */
	uint64_t ring_waits;	/* times that a thread had to wait because events were not read fast enough */
	uint64_t left_out;	/* ranges of memory allocated outside the selected scope */
	/* How long we stopped its threads, summed over them; see summary_stops_known. */
	double stopped_seconds;
	double thread_seconds;	/* all the time of its threads, summed over them; 0: not known */
	uint64_t hitting;	/* threads that called a watched function; */
	double hitting_seconds, hitting_stopped;	/* their time since then; of it, stopped */
	/*
	 * Of the thread that was stopped longest: its time since its first call; of it, stopped. With the kernel's
	 * probes no thread is stopped: it is what the probes took at least, and probed_seconds that of all threads.
	 */
	double worst_seconds, worst_stopped;
	double probed_seconds;
	/* bytes of code that the kernel has copied since traps were written there: no growth of the program */
	uint64_t code_copied;
	struct summary_lost *lost;
	size_t nlost;
	struct summary_probe *probes;
	size_t nprobes;
	struct summary_gap *gaps;
	size_t ngaps;
	struct summary_verdicts verdicts;
	struct summary_budget budget;
};

/* The memory of a process, as the kernel reports it. */
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
	uint64_t older_blocks, older_bytes;	/* of unmatched_frees, those whose size is known */
};

struct lookup;

struct summary {
	struct summary_target target;
	struct summary_run run;
	struct summary_totals totals;
	struct histogram sizes, ages;	/* of live blocks of memory, also those that a filter hides */
	struct summary_family *families;
	size_t nfamilies;
	struct summary_group *groups;
	size_t ngroups;
	size_t *index_of;		/* by serial number of a group; of summary_sort */
	struct summary_refs *refs;
	size_t nrefs;
	bool color;			/* a report for people is for a terminal, and has colors */
	unsigned columns;		/* of that terminal; 0: it is for none, or for a wider one */
	bool per_object;		/* the objects themselves were asked for */
	bool scanned;			/* groups are those of a scan: only their kind is known */
	/* What was asked about single blocks (report/query/lookup.h), owned by the caller; NULL: nothing. */
	const struct lookup *lookup;
	/* Of the interim reports, from 0; the last report has the next number. */
	uint32_t round;
	const char *interim;		/* of an interim report: that it is one; NULL: the watch is over */
	struct summary_twice *twice;
	size_t ntwice;
	struct summary_suppression *suppressions;
	size_t nsuppressions;
	struct summary_hidden suppressed;	/* by suppressions */
	const char *filters;	/* the options that hide groups: "--focus x, --min-bytes 4 KiB"; NULL: none */
	struct summary_hidden filtered;		/* by --older-than, --min-bytes, --show, --focus, --ignore */
	struct summary_memory *memories;	/* of the process, and of its children */
	size_t nmemories;
	struct summary_process *processes;	/* of a merged trace; else none */
	size_t nprocesses;
	bool by_process;		/* the table is to be of them, and not of groups */
	const char *runtime;		/* the language runtime with a heap of its own; NULL: none is known */
	const char **notes;		/* what else the reader must know, a sentence each */
	size_t nnotes;
	struct summary_frame **stacks;	/* of summary_keep_stack */
	size_t nstacks;
	struct intern strings;		/* the pool */
	int err;
};

void summary_init(struct summary *s);	/* all numbers 0, but duty 1; "ptrace", "exact" */
void summary_fini(struct summary *s);

/* 0, or -ENOMEM: something is missing; do not print it as if it were complete. */
int summary_error(const struct summary *s);

/* A copy of @text in the pool, which lives as long as @s; NULL for NULL, and if out of memory. */
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

/* A copy whose frames live as long as @s; without frames if there are none, or if out of memory. */
struct stack_view summary_keep_stack(struct summary *s, const struct stack_view *stack);

/* @g is a group of @s. The caller sorts the list. */
void summary_add_hang(struct summary *s, struct summary_group *g, const struct summary_hang *hang);
/* @g is a group of @s; copies the list, whose stacks @s keeps already. 0 or -ENOMEM. */
must_check int summary_set_freed(struct summary *s, struct summary_group *g, const struct summary_freed *list,
				 size_t n);
/* Copies @group with its stack, series and samples, which stay the caller's. */
void summary_add_group(struct summary *s, const struct summary_group *group);
/* Likewise; the frames of its uses must outlive @s. */
void summary_add_refs(struct summary *s, const struct summary_refs *refs);
void summary_add_twice(struct summary *s, const struct summary_twice *twice);	/* likewise */
void summary_add_process(struct summary *s, const struct summary_process *process);
void summary_add_suppression(struct summary *s, const struct summary_suppression *used);

/*
 * Families in their order; of each the groups by section (summary_section): what is lost and what is live by
 * verdict (summary_rank), then by bytes with what is lost with them, most first; what grows by its speed. So
 * it is the order of the table. Of a sampled run by what becomes of their blocks (what stays is first), then
 * by estimated kept bytes a minute. Groups of objects by summary_refs_order: so it is the order of their
 * tables, too. The same order for the same data. Call it before printing.
 */
void summary_sort(struct summary *s);

/*
 * The sections of a report, in their order (number, name in JSON); sampled runs have others.
 *
 *	lost		no pointer leads to it any more; or possibly lost, and growing
 *	growing		or perhaps growing
 *	live
 *	indirect	indirectly lost: reported with the groups with which it is lost
 */
#define SUMMARY_SECTIONS(X) X(LOST, lost) X(GROWING, growing) X(KEPT, live) X(HELD, indirect)

enum summary_section {
#define X(upper, lower) SUMMARY_##upper,
	SUMMARY_SECTIONS(X)
#undef X
};

const char *summary_section_name(enum summary_section section);

enum summary_section summary_section(const struct summary *s, const struct summary_group *g);

/*
 * In what by_stack.h makes: a group that grows, of the same stack as the lost group @g, which does not. Blocks
 * may be found lost only long after they are, so the leak may go on in that one. NULL: none.
 */
const struct summary_group *summary_grows_instead(const struct summary *s, const struct summary_group *g);

/* It came for older blocks of its sizes, and without verdicts that may be chance, beside a leak. */
bool summary_may_leak(const struct summary *s, const struct growth *g);

/* The index of the group with this serial number, when @s is sorted. */
size_t summary_index(const struct summary *s, size_t serial);

/* Definitely lost ones come first, then possibly lost, then indirectly lost, then the rest. */
int summary_rank(enum verdict v);
enum verdict summary_verdict_at(int rank);	/* from 0 to VERDICT_COUNT - 1 */
/* Is it lost, or may it be? */
bool summary_is_lost(enum verdict v);

/* How many older blocks were freed whose size is not known. */
uint64_t summary_older_unknown(const struct summary_totals *t);
/* A lost group's bytes, and those that are lost with it. */
uint64_t summary_weight(const struct summary_group *g);

/* Of a group in a sample by bytes. */
struct summary_bounds summary_bounds_of(const struct summary_group *g);
/*
 * Of such a group with @calls allocations and frees: may what was added in the second half of the run be due to which
 * blocks were chosen?
 */
bool summary_grows_by_chance(const struct summary_group *g, uint64_t calls);

/* Is it a sampled run, so that only a part was seen? */
bool summary_is_sampled(const struct summary_run *run);
/*
 * Is it a leak, or may it be one, so that it is to be reported? Not if it is reachable; in a sampled run only
 * if it stays live.
 */
bool summary_group_suspect(const struct summary_group *g);

/* The family called @name; one without numbers, of blocks, if there is none. */
const struct summary_family *summary_family(const struct summary *s, const char *name);

/* Is it known for how long the target was stopped? gdb, where it was the tracer, does not say. */
bool summary_stops_known(const struct summary_run *run);

/* The net count only says how many more, or fewer, than before. */
bool summary_refs_relative(const struct summary_refs *r);
/*
 * May any reference be surplus, or have been released once too often? Not if only older ones were released.
 */
bool summary_refs_suspect(const struct summary_refs *r);
/*
 * Those born while we watched come first, then older ones with a count of their own, then older ones without:
 * what is no leak is last.
 */
int summary_refs_rank(const struct summary_refs *r);
/* In which part of a table: SUMMARY_GROWING, or perhaps growing; or SUMMARY_KEPT. */
enum summary_section summary_refs_section(const struct summary *s, const struct summary_refs *r);
/* Which comes first: growing ones, the fastest first; then by rank and number. 0: both are equal in this. */
int summary_refs_order(const struct summary *s, const struct summary_refs *a, const struct summary_refs *b);
/* How much of what was acquired there is on objects that still exist: 0 to 1. */
double summary_use_share(const struct summary_use *u);
/*
 * The share of the references that its module acquired on the group's objects and did not release: 1 if it
 * never releases.
 */
double summary_use_module_share(const struct summary_use *u);
/*
 * On most of the objects with several surplus references, it acquired as many: no other call site's number
 * would match.
 */
bool summary_use_follows(const struct summary_use *u);
/*
 * Most suspect first, as `taken` must be: summary_refs.c. Of call sites that acquired nothing, those that
 * released most come first.
 */
void summary_sort_uses(struct summary_use *uses, size_t n);
/* Of sorted call sites: how many have as large a share as the first, or nearly; 0 if there are none. */
size_t summary_near_uses(const struct summary_use *uses, size_t n);
/* How many of these cannot be distinguished from the first. */
size_t summary_like_uses(const struct summary_use *uses, size_t n);
/* How many of the acquiring call sites stand out; these come first. 0: none does. */
size_t summary_suspects(const struct summary_refs *r);

uint64_t summary_lost_total(const struct summary *s);

/* --- several processes (summary_processes.c) --- */

/* Is it of a merged trace? */
bool summary_is_merged(const struct summary *s);
/* How many processes have numbers: of the others there is no trace. */
size_t summary_processes_seen(const struct summary *s);
/* The share with the most bytes, of several the first one; NULL: there is none. */
const struct summary_share *summary_worst_share(const struct summary_group *g);
/*
 * Add @more, which is sorted as to->shares is. 0 or -ENOMEM. The list was allocated by this function, or is
 * empty.
 */
must_check int summary_merge_shares(struct summary_group *to, const struct summary_share *more, size_t n);
/* Bytes that are lost, definitely, possibly or indirectly; all that are live, if there are no verdicts. */
uint64_t summary_process_suspect(const struct summary_process *p);
/* Indices of the processes, the worst first, in room for s->nprocesses. Those without numbers come last. */
void summary_sort_processes(const struct summary *s, uint32_t *out);

/* --- memory (summary_memory.c) --- */

void summary_add_memory(struct summary *s, const struct memory_process *p);
const struct summary_memory *summary_memory_of_target(const struct summary *s);	/* NULL: it is not known */

/*
 * At the last point: the resident memory; and how much more of the process's own (anonymous, shared, swapped)
 * there is than at the first.
 */
uint64_t summary_memory_rss(const struct summary_memory *m);
int64_t summary_memory_growth(const struct summary_memory *m);

/* The process no longer existed when the watched process was last looked at. */
bool summary_memory_ended(const struct summary *s, const struct summary_memory *m);

/* How much of that live watched blocks explain; in a sampled run as estimated, with what may stay live. */
uint64_t summary_memory_explained(const struct summary *s);

/* Which part of a processor's time the process used in the watch: more than 1 with several threads; -1: not known. */
double summary_busy(const struct summary *s);

#endif
