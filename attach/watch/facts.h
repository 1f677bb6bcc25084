/* SPDX-License-Identifier: MIT */
/*
 * facts: what only the watch knows about itself, as facts: which process and which functions were watched,
 * which records were lost and why, how it ended. Facts are written when the watch begins, every quarter of a
 * second, and at the end; one that has not changed is not written again.
 */
#ifndef MM_FACTS_H
#define MM_FACTS_H

#include <stdbool.h>
#include <stdint.h>

struct modules;
struct recorder;
struct ruleset;
struct scope;
struct target_info;
struct watch;

struct facts_start {
	uint64_t start_ns;
	int64_t wall_ns;		/* since 1970 */
	const char *frontend;		/* "ptrace", "uprobe", "gdb" */
	bool budget;			/* only a part of the calls is seen, and the rest estimated */
	uint64_t sample_bytes;		/* --sample; 0: none */
	const char *engine, *other;	/* as in struct fact_run */
};

/* The run begins now. @set: what is watched. */
void facts_begin(struct recorder *r, const struct target_info *target, const struct ruleset *set,
		 const struct facts_start *start);

/* Note for the reader that only what some threads, or some modules' code, allocate is counted. */
void facts_scope(struct recorder *r, const struct scope *scope);

/*
 * Which allocator the target's modules call, if it is not the C library's own: to be called while the target lives,
 * and has loaded them.
 */
void facts_allocator(struct recorder *r, const struct modules *ms, uint64_t now_ns);

/* The language runtime that runs in it; true: there is one. @last: also one that may run. */
bool facts_runtime(struct recorder *r, const struct modules *ms, const struct target_info *target, bool last,
		   uint64_t now_ns);

/* The numbers at @now_ns (CLOCK_MONOTONIC). */
void facts_progress(struct recorder *r, const struct watch *w, uint64_t now_ns);

/* The same for the last time, and what else a reader of the trace needs. */
void facts_end(struct recorder *r, const struct watch *w, uint64_t end_ns);

/* The very last fact: the run is complete. */
void facts_close(struct recorder *r, uint64_t end_ns);

/* Log what the user asked for by name and was never found. */
void facts_log_missing(const struct watch *w);

#endif
