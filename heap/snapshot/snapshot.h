/* SPDX-License-Identifier: MIT */
/*
 * snapshot: a process as it was at one moment: its mappings, those of its bytes that we have, its threads'
 * registers. Where it came from, a copy made in a pause (attach/snapshot/mirror.h) or a core file (heap/snapshot/core.h), is
 * nothing to those who read it: the census and the flood see only this.
 *
 * Not all of the memory is here. What a place that is not here held is told by snapshot_kind_at: a page that never
 * was touched holds zeros, one that is swapped out or missing from a cut core holds nobody knows what, one of a
 * file's mapping that nobody has written holds what the file has (snapshot_back gives it).
 *
 * Filled by one, in any order, then snapshot_seal, then read by many: nothing changes any more, and several threads
 * may read at once.
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

/* Bytes that we have. Pieces never overlap; sealed, they are sorted, and neighbours in both address and memory are one. */
struct snapshot_piece {
	taddr lo;
	uint64_t size;
	const uint8_t *bytes;		/* the owner's (snapshot_own), aligned as lo is, to 8 at least */
};

struct snapshot_thread {
	pid_t tid;
	bool known;			/* regs were read while it stood; else only sp is, if it is not 0 */
	bool running;			/* it could not be stopped: it ran, or might have run, while the bytes were copied */
	bool in_call;			/* it has called something that counts no more: nothing below sp is in use */
	taddr sp;
	struct user_regs_struct regs;	/* fs_base: its TLS */
	const uint8_t *vectors;		/* more registers, as the kernel's XSTATE has them; NULL: not known. Owned as pieces are */
	size_t nvectors;
};

/* What is at a place whose bytes are no piece. */
enum snapshot_kind {
	SNAPSHOT_HERE,			/* bytes we have */
	SNAPSHOT_ZERO,			/* private memory that was never touched */
	SNAPSHOT_FILE,			/* a file's, unchanged; and nobody has given it */
	SNAPSHOT_MISSING,		/* not copied: swapped out, cut off, refused, shared; said in `missing` or on purpose */
	SNAPSHOT_NOTHING,		/* no mapping */
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
	uint64_t missing;		/* bytes of private writable memory that are not here for another reason: cut core, refused, vanished */
	uint64_t left_out;		/* bytes of shared memory that are in memory, and not here: too many */
	struct snapshot_range {		/* those, sorted when sealed */
		taddr lo, hi;
	} *holes;
	size_t nholes, hole_room;
	struct snapshot_owned {		/* memory that the snapshot frees */
		void *memory;
		size_t size;		/* mapped; 0: malloc's */
		bool file;		/* mapped from a file (heap/snapshot/filemap.h) */
	} *owned;
	size_t nowned, owned_room;
	struct snapshot_piece *backing;	/* files' bytes behind mappings that nobody has written: used where no piece is */
	size_t nbacking, backing_room;
	bool sealed;
};

void snapshot_init(struct snapshot *s);
void snapshot_fini(struct snapshot *s);

/* --- filling --- */

/* @memory is the snapshot's from now on: unmapped (@size) or freed (@size 0) with it. On -ENOMEM it still is the caller's. */
must_check int snapshot_own(struct snapshot *s, void *memory, size_t size);

/* The same for what filemap_open gave. */
must_check int snapshot_own_file(struct snapshot *s, void *memory, size_t size);

/* The @size bytes at @lo are those at @bytes, which live as long as @s. Empty ones are no piece. 0 or -ENOMEM. */
must_check int snapshot_add_piece(struct snapshot *s, taddr lo, uint64_t size, const void *bytes);

/* The same for an unchanged mapping of a file. */
must_check int snapshot_back(struct snapshot *s, taddr lo, uint64_t size, const void *bytes);

/* [lo, hi) has contents that we do not have; counted in s->swapped or s->missing by the caller. */
must_check int snapshot_add_hole(struct snapshot *s, taddr lo, taddr hi);

must_check int snapshot_add_thread(struct snapshot *s, const struct snapshot_thread *t);

/*
 * Sorted, joined. 0; -EINVAL if pieces overlap, or one goes beyond the last address; -ENOMEM. More may be added to one that
 * is sealed, by a caller who is alone with it: then it is to be sealed again before anybody reads.
 */
must_check int snapshot_seal(struct snapshot *s);

/* --- reading --- */

/* A piece is what was there; without one a hole is missing, whatever stands behind the mapping; then a backing counts, then the mapping. */
enum snapshot_kind snapshot_kind_at(const struct snapshot *s, taddr at);

/* The same, and for how many bytes from @at on it is so (at least; SNAPSHOT_NOTHING: 0). */
enum snapshot_kind snapshot_stretch(const struct snapshot *s, taddr at, uint64_t *n);

/*
 * The bytes from @at on that lie together, and how many, in @n: a pointer into the snapshot, of a piece or of a backing;
 * NULL, @n 0, if there are none at @at. Aligned as @at is, up to 8.
 * What was never touched is no such bytes: snapshot_read gives zeros for it.
 */
const uint8_t *snapshot_bytes(const struct snapshot *s, taddr at, uint64_t *n);

/* @n bytes at @at, from pieces, untouched pages (zeros) and backing. 0, or -EFAULT: some of them are not known. */
must_check int snapshot_read(const struct snapshot *s, taddr at, void *out, size_t n);
must_check int snapshot_word(const struct snapshot *s, taddr at, uint64_t *out);

/*
 * A file that pieces lie in has become shorter, or unreadable, since it was opened: zeros were read in place of the rest. To be
 * asked when all is done: what was found is then worth nothing.
 */
bool snapshot_damaged(const struct snapshot *s);

/* Sort @n ranges, and make one of those that overlap or touch: searches by ends and beginnings find the right one then. How many are left. */
size_t snapshot_join(struct snapshot_range *all, size_t n);

/* The number of the first piece that ends behind @at: npieces if there is none. */
size_t snapshot_piece_from(const struct snapshot *s, taddr at);

#endif
