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

#include "base/texts.h"
#include "base/taddr.h"
#include "report/growth.h"

/* Verdicts of a group; the names are those of the JSON report. */
#define SUMMARY_VERDICTS(X)		\
	X(UNKNOWN, unknown)		\
	X(DEFINITE, definite)		\
	X(INDIRECT, indirect)		\
	X(POSSIBLE, possible)		\
	X(REACHABLE, reachable)

enum summary_verdict {
#define X(upper, lower) VERDICT_##upper,
	SUMMARY_VERDICTS(X)
#undef X
	VERDICT_COUNT
};

struct summary_frame {
	taddr pc;		/* as unwound: the return address, but for the leaf */
	const char *module;	/* path of the file */
	const char *build_id;	/* hexadecimal */
	uint64_t offset;	/* of pc in the module, as in its ELF file */
	const char *function;	/* readable */
	const char *linkage;	/* as the linker knows it; NULL: the same, or not known */
	const char *file;	/* source */
	int line;		/* 0: not known */
	bool inlined;		/* has no frame of its own; the one below it in the list does */
};

/* How a stack ends at its outer side; the names are those of the JSON report. */
#define SUMMARY_STACK_ENDS(X)							\
	X(WHOLE, whole, "")							\
	X(CUT, cut, "the stack goes on: more of it was not copied (--stack-bytes)")	\
	X(LOST, lost, "the stack goes on: nothing tells who called this")	\
	X(DEEP, deep, "the stack goes on (--depth)")				\
	X(ELSEWHERE, elsewhere, "the stack goes on in other memory, which was not copied (--unwinder dwfl sees it)")

enum summary_stack_end {
#define X(upper, lower, text) STACK_##upper,
	SUMMARY_STACK_ENDS(X)
#undef X
	STACK_END_COUNT
};

struct summary_stack {
	struct summary_frame *frames;	/* leaf first */
	size_t depth;
	enum summary_stack_end end;
};

/* One stack, one family, one verdict. */
struct summary_group {
	const char *family;
	uint64_t blocks, bytes;		/* kept at the end */
	uint64_t bytes_direct;		/* of bytes: in blocks that no other kept block holds; all of them without verdicts */
	uint64_t allocs, frees;		/* over the run */
	double oldest_s, youngest_s;	/* ages of the kept blocks at the end */
	enum summary_verdict verdict;
	struct growth growth;
	struct growth_point *series;	/* bytes held, the last point at the run's end */
	size_t npoints;
	struct summary_frame *stack;	/* leaf first */
	size_t depth;
	size_t wrappers;		/* so many frames at the front are wrappers of the allocator, and not printed; less than depth, or 0 */
	enum summary_stack_end stack_end;
	taddr *samples;			/* some of the kept blocks */
	size_t nsamples;
};

/* Blocks that were released twice, by the same code each time. */
struct summary_twice {
	const char *family;
	uint64_t count;
	taddr sample;			/* the first of them */
	double time_s;			/* of that */
	struct summary_stack second, first, alloc;	/* depth 0: not known (--free-stacks) */
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
	double duty;		/* share of the time in which traps stood: 1 when exact */
	uint64_t events;
	uint64_t stacks_cut;	/* stacks longer than what was copied of them */
	uint64_t stacks_lost;	/* stacks with an outermost frame whose caller nothing tells */
	uint64_t ring_waits;	/* times that a thread had to wait because events were not read fast enough */
	double stopped_seconds;	/* how long its threads stood still because of us, summed over them */
	struct summary_lost *lost;
	size_t nlost;
	struct summary_probe *probes;
	size_t nprobes;
	struct summary_gap *gaps;
	size_t ngaps;
};

struct summary_totals {
	uint64_t allocs, frees;
	uint64_t unmatched_frees;	/* of blocks older than the run: no error */
	uint64_t double_frees;
	uint64_t live_blocks, live_bytes;
};

struct summary {
	struct summary_target target;
	struct summary_run run;
	struct summary_totals totals;
	struct summary_group *groups;
	size_t ngroups;
	struct summary_twice *twice;
	size_t ntwice;
	struct summary_suppression *suppressions;
	size_t nsuppressions;
	struct summary_hidden suppressed;	/* by suppressions */
	struct summary_hidden filtered;		/* by --older-than, --min-bytes, --focus, --ignore */
	const char **traces;		/* the files it was read from; none for a live watch */
	size_t ntraces;
	const char **notes;		/* what else the reader must know, a sentence each */
	size_t nnotes;
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
void summary_note(struct summary *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* @group with its stack, series and samples, which stay the caller's. */
void summary_add_group(struct summary *s, const struct summary_group *group);
void summary_add_twice(struct summary *s, const struct summary_twice *twice);	/* likewise */
void summary_add_suppression(struct summary *s, const struct summary_suppression *used);
void summary_add_trace(struct summary *s, const char *path);

/* Groups by bytes, most first; the same order for the same data. Call it before printing. */
void summary_sort(struct summary *s);

uint64_t summary_lost_total(const struct summary *s);
const char *summary_verdict_name(enum summary_verdict verdict);
const char *summary_stack_end_name(enum summary_stack_end end);
const char *summary_stack_end_text(enum summary_stack_end end);	/* a sentence; "" for a whole stack */

#endif
