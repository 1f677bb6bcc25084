/* SPDX-License-Identifier: MIT */
/*
 * snapshot: a process at one moment: its mappings, those of its bytes that we have, its threads' registers.
 * Its readers, as the census and the flood, need not know where it came from: a copy made in a pause
 * (attach/snapshot/copy_plan.h) or a core file (heap/snapshot/core.h).
 *
 * Not all of the memory is here. snapshot_kind_at says what a part that is not here contained: a page that
 * was never touched has zeros; the contents of one that was swapped out, or is missing from a truncated core,
 * are unknown; an unwritten page of a file's mapping has the contents of the file (snapshot_back adds them).
 *
 * One thread fills it, in any order, and calls snapshot_seal. From then on nothing changes, and several
 * threads may read at once.
 */
#ifndef MM_SNAPSHOT_H
#define MM_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "base/cleanup.h"
#include "base/procmaps.h"
#include "base/taddr.h"

#define SNAPSHOT_PAGE 4096u

/*
 * Bytes that we have. Pieces never overlap; when sealed, they are sorted, and neighbours in both address and
 * memory are joined.
 */
struct snapshot_piece {
	taddr lo;
	uint64_t size;
	const uint8_t *bytes;		/* in memory of snapshot_own, aligned as lo is, to 8 at least */
};

struct snapshot_thread {
	pid_t tid;
	bool known;			/* regs were read while it was stopped; else only sp is known, or 0 */
	bool running;			/* not stopped: it may have run while the bytes were copied */
	bool in_call;			/* at a call (exit) that does not count: nothing below sp is in use */
	taddr sp;
	struct user_regs_struct regs;	/* fs_base: its TLS */
	const uint8_t *vectors;		/* more registers (XSTATE) in owned memory; NULL: not known */
	size_t nvectors;
};

/* The contents of an address that is in no piece. */
enum snapshot_kind {
	SNAPSHOT_HERE,			/* bytes we have */
	SNAPSHOT_ZERO,			/* private memory that was never touched */
	SNAPSHOT_FILE,			/* a file's, unchanged; and no backing was added */
	/* not copied: swapped out, cut off, refused, shared; counted in `missing`, or intended */
	SNAPSHOT_MISSING,
	SNAPSHOT_NOTHING,		/* no mapping */
};

/*
 * Where pages come from that no piece has, as they are asked for: the memory of a process that runs on, so what
 * is read may contradict itself. Not for several threads. `page` returns the SNAPSHOT_PAGE bytes at @at, which
 * live as long as the source; NULL: they are not in memory, or it has read enough.
 */
struct snapshot_source {
	const uint8_t *(*page)(struct snapshot_source *source, taddr at);
};

struct snapshot {
	pid_t pid;
	char comm[16];
	bool live;			/* copied from a process; else a core file's */
	struct procmaps maps;		/* sorted */
	struct snapshot_piece *pieces;
	size_t npieces, piece_room;
	struct snapshot_thread *threads;
	size_t nthreads, thread_room;
	uint64_t bytes;			/* of all pieces */
	uint64_t swapped;		/* bytes of private memory that were swapped out, and so not read */
	/* bytes of private writable memory not here for another reason: truncated core, refused, vanished */
	uint64_t missing;
	uint64_t left_out;		/* bytes of resident shared memory that are not here: too many */
	struct snapshot_range {		/* ranges of unknown contents, sorted when sealed */
		taddr lo, hi;
	} *holes;
	size_t nholes, hole_room;
	struct snapshot_owned {		/* memory that the snapshot frees */
		void *memory;
		size_t size;		/* mapped; 0: malloc's */
		bool file;		/* mapped from a file (heap/snapshot/filemap.h) */
	} *owned;
	size_t nowned, owned_room;
	struct snapshot_piece *backing;	/* files behind unwritten mappings: used where there is no piece */
	size_t nbacking, backing_room;
	struct snapshot_source *source;	/* NULL: there is none; the caller's */
	bool sealed;
};

void snapshot_init(struct snapshot *s);
void snapshot_fini(struct snapshot *s);

/* --- filling --- */

/*
 * @memory now belongs to the snapshot: it is unmapped (@size) or freed (@size 0) with it. On -ENOMEM the
 * caller still owns it.
 */
must_check int snapshot_own(struct snapshot *s, void *memory, size_t size);

/* The same for memory that filemap_open returned. */
must_check int snapshot_own_file(struct snapshot *s, void *memory, size_t size);

/*
 * The @size bytes at @lo are those at @bytes, which live as long as @s. If @size is 0, nothing is added. 0 or
 * -ENOMEM.
 */
must_check int snapshot_add_piece(struct snapshot *s, taddr lo, uint64_t size, const void *bytes);

/* The same for an unchanged mapping of a file. */
must_check int snapshot_back(struct snapshot *s, taddr lo, uint64_t size, const void *bytes);

/* [lo, hi) has contents that we do not have; the caller counts them in s->swapped or s->missing. */
must_check int snapshot_add_hole(struct snapshot *s, taddr lo, taddr hi);

must_check int snapshot_add_thread(struct snapshot *s, const struct snapshot_thread *t);

/*
 * Sort and join. 0; -EINVAL if pieces overlap, or one extends beyond the last address; -ENOMEM. A caller that
 * is the only user may add more to a sealed snapshot, and must seal it again before it is read.
 */
must_check int snapshot_seal(struct snapshot *s);

/* --- reading --- */

/*
 * What counts, in this order: a piece; a hole, which is missing, whatever is behind the mapping; a backing;
 * the mapping.
 */
enum snapshot_kind snapshot_kind_at(const struct snapshot *s, taddr at);

/* The same, and in @n for how many bytes from @at on it holds (at least; SNAPSHOT_NOTHING: 0). */
enum snapshot_kind snapshot_extent(const struct snapshot *s, taddr at, uint64_t *n);

/*
 * The bytes from @at on that are contiguous, and their number in @n: a pointer into the snapshot, of a piece
 * or of a backing; NULL and @n 0 if there are none at @at. Aligned as @at is, up to 8. Untouched memory has
 * no such bytes: snapshot_read returns zeros for it.
 */
const uint8_t *snapshot_bytes(const struct snapshot *s, taddr at, uint64_t *n);

/*
 * @n bytes at @at, from pieces, untouched pages (zeros) and backing. 0, or -EFAULT if some of them are
 * unknown.
 */
must_check int snapshot_read(const struct snapshot *s, taddr at, void *out, size_t n);
must_check int snapshot_word(const struct snapshot *s, taddr at, uint64_t *out);

/*
 * A file that has pieces was truncated, or became unreadable, after it was opened: zeros were read in place
 * of the rest. Ask this when all is done: if it is true, the results are worthless.
 */
bool snapshot_damaged(const struct snapshot *s);

/*
 * Sort @n ranges, and join those that overlap or touch, so that searches by ends and by beginnings find the
 * same one. Returns how many are left.
 */
size_t snapshot_join(struct snapshot_range *all, size_t n);

/* The index of the first piece that ends after @at, or npieces. */
size_t snapshot_piece_from(const struct snapshot *s, taddr at);

#endif
