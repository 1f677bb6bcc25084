/* SPDX-License-Identifier: MIT */
/*
 * following: what becomes of blocks of glibc's that were seen when they were given out, by looking at them now and then from outside. Nobody
 * is stopped, free is not trapped.
 *
 *	add ──▶ looked at after 2 ms ──▶ 3 ──▶ 5 ──▶ ... each age 1.6 times the one before ──▶ ... every 30 s
 *	                │					    │ both words changed: doubtful ──▶ after some more looks told as unknown
 *	                └─ gone, which is certain: told		    ◀────────────────────┘ seen to go
 *
 * A look reads the words around the block's head and its first words (heap/glibc/chunkstate.h says what they tell), of many blocks in one
 * process_vm_readv. Only pages that are in memory are read (/proc/PID/pagemap): a page that free has given back to the kernel would be made again by our
 * reading, and one that was swapped out would be fetched. The page of its head given back: gone. Swapped out: no look this time.
 *
 * GONE is what only the allocator does, or that the address was given out again. SAME: in use, same size, and of words 0 and 1 one at least unchanged since the
 * look before. Whether that word tells blocks of this stack apart is learned (attach/sampling/blocks/alikeness.h); if it does not (a type's pointer, a count of 1) the
 * block is `alike`, and may have been given out again between two looks without our noticing. What helps then is to be told of each address that is
 * given out (following_taken): a site that stands always sees its own. Both words changed: another one has the place, or it was written
 * to. Most of those are seen to go later, and then what was there before has gone, too.
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

/* A block that is or was followed. */
struct followed {
	taddr addr;
	uint64_t chunk_size;		/* without flags */
	uint64_t birth_ns;
	uint64_t seen_ns;		/* when it was last known to be there: its birth, or the last look at which it was the same */
	uint64_t ended_ns;		/* when it first was not: had gone, or was doubtful. 0: it is there */
	uint32_t stack;
	uint32_t looks;			/* how often it was the same */
	bool alike;			/* at one of these looks only words that are alike in all blocks of this stack said so */
	bool doubtful;			/* it may be another one */
};

struct following_sums {
	uint64_t added, gone, unknown, dropped;	/* all four, and what is followed, add up */
	uint64_t gone_freed, gone_resized, gone_joined, gone_linked, gone_unmapped, gone_taken;	/* what told it */
	uint64_t looks;			/* at a block */
	uint64_t alike;			/* of them: the same, but by words that are alike */
	uint64_t swapped;		/* of them: the page is not in memory, so nothing was read */
	uint64_t calls;			/* of process_vm_readv */
	uint64_t busy_ns;		/* our own processor's time */
};

struct following;

typedef void following_over(void *ctx, const struct followed *b, enum fate fate, uint64_t now_ns);

/*
 * @pid: the target, whose memory we may read. @tcache_key: glibc's, if known; 0: it is learned. @over is called when a block's fate is known, and
 * at following_end() for what is left. 0, -ENOMEM, -EPERM, -ESRCH.
 */
must_check int following_new(pid_t pid, uint64_t tcache_key, following_over *over, void *ctx, struct following **out);
void following_free(struct following *f);	/* tells nothing; NULL is fine */

/*
 * Follow the block at @addr. @head: the word in front of it, as the hit has read it, flags and all. @words: its first two words as the hit has read
 * them, of which a look can then tell that free has written over them; NULL: not read (then a block that went before its first look is seldom known
 * to have gone). @birth_ns, as all times here: CLOCK_MONOTONIC.
 *
 * An address that is followed already: that one has gone (over() is called). 0; -ENOSPC: FOLLOWING_MAX; -EINVAL: that is no chunk's head; -ENOMEM.
 */
must_check int following_add(struct following *f, taddr addr, uint64_t head, const uint64_t words[2], uint32_t stack, uint64_t birth_ns);

/* @addr was just given out, and is not to be followed: whoever was followed there has gone. To be called for each hit that is not followed. true: one was. */
bool following_taken(struct following *f, taddr addr, uint64_t now_ns);

/* Follow it no more, as its fate does not matter. false: it was not followed. @out may be NULL. */
bool following_drop(struct following *f, taddr addr, struct followed *out);

size_t following_count(const struct following *f);

/* The @i-th of following_count() blocks: in no order, and another one after each change. */
void following_get(const struct following *f, size_t i, struct followed *out);

/* When a look is due next; UINT64_MAX: none. */
uint64_t following_next_ns(const struct following *f);

/* Look at all that are due. */
void following_poll(struct following *f, uint64_t now_ns);

/* Look at all once more, and tell their fate. What could not be looked at is told as FATE_SAME with its old seen_ns. */
void following_end(struct following *f, uint64_t now_ns);

/* The target has ended, or may not be read any more: nothing is looked at from now on. */
bool following_lost(const struct following *f);

const struct following_sums *following_sums(const struct following *f);

#endif
