/* SPDX-License-Identifier: MIT */
/*
 * merged: what a merged ledger has in place of live blocks: it is of several processes (`mmattach merge`),
 * each of which has addresses of its own.
 *
 *	group	= the live blocks of a stack that have a verdict, in all processes, and how much each of them
 *		  has
 *	process	= what is known of one of the processes, and its own totals
 *	bins	= live blocks of a family by size and by age
 *
 * Ages are those at the end of each process's own run; runs may differ in length. What was live at the end of
 * a run counts as live from then on.
 */
#ifndef MM_MERGED_H
#define MM_MERGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "base/verdict.h"
#include "report/ledger/merged/histogram.h"
#include "report/ledger/merged/parts.h"
#include "report/ledger/series.h"
#include "report/sampling/byte_sample.h"
#include "trace/fact.h"

#define MERGED_PROCESSES_MAX 1000000u
#define MERGED_NOTES_MAX 10000u		/* different ones */

struct merged_process {
	struct fact_process its;	/* strings in the ledger's pool; sums NULL */
	struct fact_sum sums[VERDICT_COUNT];
};

struct merged_group {
	uint32_t family, stack;		/* indices */
	enum verdict verdict;
	uint64_t blocks, bytes;		/* of objects, both: references acquired there on existing objects */
	uint64_t indirect_blocks, indirect_bytes;
	uint64_t oldest_us, youngest_us;	/* ages; no meaning if blocks is 0 */
	struct byte_sample sample_of;
	struct series births;		/* bytes of these blocks that were allocated until then */
	struct parts parts;		/* by index of the process */
};

/* How much of a group of indirectly lost blocks is lost with another group; both are indices. */
struct merged_hang {
	uint32_t root, group;
	uint64_t blocks, bytes;
};

struct merged_bins {
	struct histogram sizes, ages;
};

struct merged_note {
	const char *text;		/* in the ledger's pool */
	uint64_t processes;
};

struct merged {
	struct merged_process *processes;
	size_t nprocesses, processes_size;
	struct addrmap process_index;	/* number -> index */
	struct merged_group *groups;
	size_t ngroups, groups_size;
	struct addrmap group_index;	/* family, stack and verdict -> index */
	struct merged_hang *hangs;
	size_t nhangs, hangs_size;
	struct addrmap hang_index;	/* root and group -> index */
	struct merged_bins *bins;	/* by index of the family */
	size_t nbins;
	struct merged_note *notes;
	size_t nnotes;
	struct addrmap note_index;	/* text -> index */
};

void merged_init(struct merged *m);
void merged_fini(struct merged *m);
size_t merged_memory(const struct merged *m);

/* A new process, all zero but its number, which is its index. NULL: out of memory, or too many. */
must_check struct merged_process *merged_add_process(struct merged *m);

/*
 * The group, made if there is none, its series advanced to @now_us: call it before its bytes change. NULL:
 * out of memory.
 */
must_check struct merged_group *merged_group(struct merged *m, uint32_t family, uint32_t stack,
					     enum verdict verdict, uint64_t now_us);

/* Add what @from says: blocks, bytes, ages. Its series and its parts are the caller's to add. */
void merged_group_add(struct merged_group *to, const struct merged_group *from);

/* Add to what of @group is lost with @root. 0 or -ENOMEM. */
must_check int merged_add_hang(struct merged *m, const struct merged_hang *hang);

/* The bins of a family, made if there are none. NULL: out of memory. */
must_check struct merged_bins *merged_bins(struct merged *m, uint32_t family);

/* @text is in the ledger's pool. 0; -ENOMEM; -ENOSPC: there are too many. */
must_check int merged_say(struct merged *m, const char *text, uint64_t processes);

#endif
