/* SPDX-License-Identifier: MIT */
/*
 * scan: the live memory of a process at one moment, as plain data: all that the report of a scan says, and
 * nothing about how it was found. attach/scan/ fills it, out_scan_*.c print it.
 *
 * It is a summary (report/model/summary.h) whose groups were not watched when they were allocated: blocks of
 * one C++ class, or of about one size, with one verdict; or, if there is a trace of a watch, of one stack.
 * The pause, verdicts and doubts are in the summary (run.verdicts), as in a watch. The allocator's own
 * accounts are beside it, so that lost memory can be distinguished from memory that is merely free.
 *
 * Strings live in the summary's pool. Out of memory is sticky there: fill everything, then call scan_error.
 */
#ifndef MM_SCAN_H
#define MM_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/taddr.h"
#include "base/verdict.h"
#include "report/model/scan_python.h"
#include "report/model/summary.h"

struct scan_memory {
	uint64_t copied;		/* bytes: of a core, those that are in it */
	uint64_t swapped, missing;	/* private writable memory that could not be read */
};

/* Sums of one arena; bytes are those of chunks, with the allocator's headers. */
struct scan_arena {
	taddr at;
	const char *allocator;		/* "glibc"; a constant */
	uint64_t system_bytes;		/* what the arena's own record says it has obtained from the system */
	uint64_t walked_bytes;		/* what was found in it */
	struct summary_sum used, fast, tcache, bins;
	uint64_t top_bytes, other_bytes;
};

struct scan_heap {
	bool known;			/* an allocator was found whose layout is known */
	const char *layout;		/* which one; if it is not known, why */
	const char *listed;		/* whose blocks are listed: "glibc's malloc"; set if known */
	/* "jemalloc (libjemalloc.so.2)", instead of these or beside them: its blocks are not listed. NULL: none */
	const char *other;
	bool adds_up;			/* its own figures and ours agree */
	struct scan_arena *arenas;
	size_t narenas;
	struct summary_sum mmapped;
	uint64_t mmapped_claimed;	/* the allocator's own figure; UINT64_MAX: it was not found */
	uint64_t foreign_bytes, unseen_bytes;
};

/*
 * What the blocks that were live at the end of a watch (--with-trace) are now. The same address and size do
 * not prove that it is the same block: it may have been freed, and allocated again by other code.
 */
struct scan_trace {
	bool there;
	/* No blocks could be listed: those of the report are the trace's; there is nothing to count. */
	bool instead;
	bool timed;			/* seconds is known */
	double seconds;			/* from the end of the watch to the scan */
	uint64_t live;			/* at its end */
	uint64_t same;			/* blocks in use with the address and the size of one of these */
	/* Of them, lost already when the watch ended: nothing could have freed these since. */
	uint64_t certain;
	uint64_t resized;		/* in use with the address of one, but of another size */
};

/* Where the heap is corrupt. */
struct scan_problem {
	taddr at;
	const char *what;
};

/* --- pointers to an address --- */

/* A block that is pointed to, or that contains a pointer. */
struct scan_block {
	taddr addr;
	uint64_t size;
	enum verdict verdict;
	/* Its class; what allocated it (--with-trace); of a watch, its group, "[3] cache_insert"; or NULL. */
	const char *label;
};

enum scan_place {
	SCAN_IN_BLOCK, SCAN_IN_REGISTER, SCAN_ON_STACK, SCAN_IN_DATA, SCAN_IN_TLS, SCAN_IN_ALLOCATOR
};

struct scan_pointer {
	enum scan_place place;
	taddr at;			/* where it is; 0 in a register */
	taddr value;
	struct scan_block block;	/* SCAN_IN_BLOCK: the one that contains it */
	pid_t tid;			/* of registers, stacks, TLS; 0: not known */
	const char *reg;
	bool sp_known;
	int64_t from_sp;		/* on a stack: at - sp */
	const char *module;		/* SCAN_IN_DATA: path of the file; NULL: memory of no file */
	uint64_t offset;		/* in the module: as in its ELF file */
	const char *symbol;		/* the variable there; NULL: not known */
	uint64_t symbol_offset;
};

/* The first path found from a root to the block, backwards: each link is pointed to by the next one. */
struct scan_chain {
	struct scan_pointer *links;	/* the first points at the block in question */
	size_t n;
	/* The last link is in no block: it is a root, and makes all of them reachable. */
	bool root;
	/* No root: only links of the chain point at the last block. */
	bool ring;
};

struct scan_answer {
	taddr addr;			/* the address that was asked for */
	bool in_block;
	struct scan_block block;
	const char *where;		/* if it is in no block: what it is in; NULL: nothing */
	struct scan_pointer *pointers;	/* those to the beginning of the block first */
	size_t n, total;		/* listed, found */
	struct scan_chain chain;
};

struct scan_report {
	struct summary summary;
	const char *core;		/* the file; NULL: a process */
	/* Of a process: more than one if the first census was not consistent. */
	uint32_t pauses;
	struct scan_memory memory;
	struct scan_heap heap;
	struct scan_trace trace;
	struct scan_python python;
	struct scan_problem *problems;
	size_t nproblems;
	uint64_t more_problems;		/* that are not listed */
	struct scan_answer *answers;
	size_t nanswers;
};

void scan_init(struct scan_report *r);
void scan_fini(struct scan_report *r);
int scan_error(const struct scan_report *r);

/* The texts are copied. */
void scan_add_problem(struct scan_report *r, taddr at, const char *what);
void scan_add_arena(struct scan_report *r, const struct scan_arena *arena);
/* A type of Python to be filled, or NULL if out of memory. */
struct scan_python_type *scan_add_python_type(struct scan_report *r);
/* An answer to be filled, or NULL if out of memory. Its lists are from malloc, and become the report's. */
struct scan_answer *scan_add_answer(struct scan_report *r);

/*
 * Sort groups in the order of the report: lost ones first, then by bytes with what is lost with them. The
 * same order for the same data.
 */
void scan_sort(struct scan_report *r);

/* What the allocator has, what it has allocated, and what is free. */
struct scan_account {
	uint64_t system, used, tops, other;	/* bytes; used: with the mmapped ones */
	struct summary_sum free;			/* bins, fastbins, tcaches */
};
void scan_account(const struct scan_heap *heap, struct scan_account *out);

/* Are no blocks listed because of the allocator? Not if memory is missing in a core: that may be why. */
bool scan_allocator_is_other(const struct scan_report *r);

/* "block", "register", ...: as in the JSON report. */
const char *scan_place_name(enum scan_place place);

#endif
