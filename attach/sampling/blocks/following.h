/* SPDX-License-Identifier: MIT */
/*
 * following: tracks blocks of glibc's malloc that were seen when they were allocated, by looking at them from
 * outside now and then. No thread is stopped, and there is no trap at free.
 *
 *	add ──▶ looked at after 2 ms ──▶ 3 ──▶ 5 ──▶ ... each age 1.6 times the one before ──▶ ... every 30 s
 *	                │                     │
 *	                │                     └─ both words changed: doubtful ──▶ some more looks ──▶ unknown
 *	                │                                                                │
 *	                └─ freed, which is certain ──▶ gone  ◀──── seen to be freed ─────┘
 *
 * A look reads the words around the block's head and its first words (heap/glibc/chunkstate.h says what they
 * mean), of many blocks in one process_vm_readv. Only resident pages are read (/proc/PID/pagemap): a page
 * that free has returned to the kernel would be created again by our reading, and one that was swapped out
 * would be fetched. If the page of its head was returned, the block is gone. If it is swapped out, there is
 * no look this time.
 *
 * GONE: a change that only the allocator makes, or the address was allocated again. SAME: in use, of the same
 * size, and at least one of words 0 and 1 is unchanged since the look before. Whether that word tells blocks
 * of this stack apart is learned (attach/sampling/blocks/alikeness.h); if it does not (a type's pointer, a
 * count of 1), the block is `alike`, and may have been freed and allocated again between two looks without
 * our noticing. It then helps to know each address that is allocated (following_taken): a site whose trap is
 * always planted sees all of its own. Both words changed: another block has the address, or this one was
 * written to. Most of these are later seen to be freed, and then the block that was there before is gone,
 * too.
 *
 * At most FOLLOWING_MAX blocks, which then take 14 MB. Not thread-safe; over() must not call back.
 */
#ifndef MM_FOLLOWING_H
#define MM_FOLLOWING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/taddr.h"

#define FOLLOWING_MAX 100000u
#define FOLLOWING_FIRST_NS 2000000u		/* age of a block at its first look */
#define FOLLOWING_LONGEST_NS 30000000000u	/* between two looks */

enum fate { FATE_SAME, FATE_GONE, FATE_UNKNOWN };

/* A block that is or was tracked. */
struct followed {
	taddr addr;
	uint64_t chunk_size;		/* without flags */
	uint64_t birth_ns;
	/* when it was last known to be live: its birth, or the last look at which it was the same */
	uint64_t seen_ns;
	uint64_t ended_ns;		/* when it first was not: gone, or doubtful. 0: it is live */
	uint32_t stack;
	uint32_t looks;			/* how often it was the same */
	/* at one of these looks, only words that are alike in all blocks of this stack were the same */
	bool alike;
	bool doubtful;			/* it may be another block */
};

struct following_sums {
	uint64_t added, gone, unknown, dropped;	/* added: the other three and the tracked ones */
	/* what showed it */
	uint64_t gone_freed, gone_resized, gone_joined, gone_linked, gone_unmapped, gone_taken;
	uint64_t looks;			/* at a block */
	uint64_t alike;			/* of these: the same, but by words that are alike */
	uint64_t swapped;		/* of these: the page is not in memory, so nothing was read */
	uint64_t calls;			/* of process_vm_readv */
	uint64_t busy_ns;		/* our own CPU time */
};

struct following;

typedef void following_over(void *ctx, const struct followed *b, enum fate fate, uint64_t now_ns);

/*
 * @pid: the target, whose memory we may read. @tcache_key: glibc's, if known; 0: it is learned. @over is
 * called when a block's fate is known, and at following_end() for what is left. 0, -ENOMEM, -EPERM, -ESRCH.
 */
must_check int following_new(pid_t pid, uint64_t tcache_key, following_over *over, void *ctx, struct following **out);
void following_free(struct following *f);	/* does not call over(); NULL is fine */

/*
 * Track the block at @addr. @head: the word in front of it, as the hit has read it, with its flags. @words:
 * its first two words as the hit has read them, so that a look can show that free has overwritten them; NULL:
 * not read (then a block that is freed before its first look is seldom known to be gone). @birth_ns, as all
 * times here: CLOCK_MONOTONIC.
 *
 * If a block at that address is tracked already, it is gone (over() is called). 0; -ENOSPC: FOLLOWING_MAX;
 * -EINVAL: that is no chunk's head; -ENOMEM.
 */
must_check int following_add(struct following *f, taddr addr, uint64_t head, const uint64_t words[2], uint32_t stack, uint64_t birth_ns);

/*
 * @addr was just allocated, and is not to be tracked: a block tracked there is gone. To be called for each
 * hit whose block is not tracked. true: there was one.
 */
bool following_taken(struct following *f, taddr addr, uint64_t now_ns);

/* Stop tracking it, as its fate does not matter. false: it was not tracked. @out may be NULL. */
bool following_drop(struct following *f, taddr addr, struct followed *out);

size_t following_count(const struct following *f);

/* The @i-th of following_count() blocks: in no order, and after each change in another one. */
void following_get(const struct following *f, size_t i, struct followed *out);

/* When a look is due next; UINT64_MAX: none. */
uint64_t following_next_ns(const struct following *f);

/* Look at all that are due. */
void following_poll(struct following *f, uint64_t now_ns);

/*
 * Look at all blocks once more, and report their fate. A block that could not be looked at is reported as
 * FATE_SAME with its old seen_ns.
 */
void following_end(struct following *f, uint64_t now_ns);

/* The target has ended, or may not be read any more: nothing is looked at from now on. */
bool following_lost(const struct following *f);

const struct following_sums *following_sums(const struct following *f);

#endif
