/* SPDX-License-Identifier: MIT */
/*
 * block_poll: tracks blocks that were seen when they were allocated, by looking at them from outside now and
 * then. No thread is stopped, and there is no trap at free.
 *
 *	add ──▶ looked at after 1.7 ms ──▶ 3 ──▶ 4.5 ──▶ 6.7 ──▶ 10 ──▶ 17 ──▶ 30 ──▶ 45 ──▶ ... ──▶ every 30 s
 *	                │                     │
 *	                │                     └─ both words changed: doubtful ──▶ some more looks ──▶ unknown
 *	                │                                                                │
 *	                └─ freed, which is certain ──▶ gone  ◀──── seen to be freed ─────┘
 *
 * What a look reads, and what it means, is up to the block's allocator (block_heap.h): with glibc's malloc
 * the words around the block's head and its first words, of many blocks in one process_vm_readv. Only
 * resident pages are read (/proc/PID/pagemap): a page that free has returned to the kernel would be created
 * again by our reading, and one that was swapped out would be fetched. If the page of its head was
 * returned, the block is gone. If it is swapped out, there is no look this time.
 *
 * GONE: a change that only the allocator makes, or the address was allocated again. SAME: in use, of the same
 * size, and at least one of words 0 and 1 is unchanged since the look before. Whether that word tells blocks
 * of this stack apart is learned (attach/sampling/blocks/block_identity.h); if it does not (a type's pointer,
 * a count of 1), the block is `alike`, and may have been freed and allocated again between two looks without
 * our noticing. It then helps to know each address that is allocated (block_poll_taken): a site whose trap is
 * always planted sees all of its own. Both words changed: another block has the address, or this one was
 * written to. Most of these are later seen to be freed, and then the block that was there before is gone,
 * too.
 *
 * At most BLOCK_POLL_MAX blocks, which then take 14 MB. Not thread-safe; over() must not call back.
 */
#ifndef MM_BLOCK_POLL_H
#define MM_BLOCK_POLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/sampling/blocks/block_heap.h"
#include "base/cleanup.h"
#include "base/taddr.h"
#include "base/verdict.h"

#define BLOCK_POLL_MAX 100000u
#define BLOCK_POLL_FIRST_NS 1700000u		/* age of a block at its first look */
#define BLOCK_POLL_LONGEST_NS 30000000000u	/* between two looks */

enum fate { FATE_SAME, FATE_GONE, FATE_UNKNOWN };

/* A block that is or was tracked. */
struct tracked {
	taddr addr;
	uint64_t bytes;			/* with the allocator's own */
	uint64_t birth_ns;
	/* when it was last known to be live: its birth, or the last look at which it was the same */
	uint64_t seen_ns;
	uint64_t ended_ns;		/* when it was first seen to be gone or doubtful; 0: it is live */
	uint32_t stack;
	uint32_t looks;			/* how often it was the same */
	/* at one of these looks, only words were the same that do not tell blocks of this stack apart */
	bool alike;
	bool doubtful;			/* it may be another block */
	bool searched, lost;		/* block_poll_judge */
	bool unsure;			/* it seems lost */
};

struct block_poll_sums {
	uint64_t added, gone, unknown,
		dropped; /* added: the sum of the other three and of those still tracked */
	/* what showed it */
	uint64_t gone_by[BLOCK_SIGNS], gone_taken;
	uint64_t looks;			/* at a block */
	uint64_t alike;			/* of these: only words that do not tell blocks apart were the same */
	uint64_t swapped;		/* of these: the page is not in memory, so nothing was read */
	uint64_t calls;			/* of process_vm_readv */
	uint64_t busy_ns;		/* our own CPU time */
};

struct block_poll;

typedef void block_poll_over(void *ctx, const struct tracked *b, enum fate fate, uint64_t now_ns);

/*
 * @pid: the target, whose memory we may read. @over is called when a block's fate is known, and at
 * block_poll_end() for what is left. 0, -ENOMEM, -EPERM, -ESRCH.
 */
must_check int block_poll_new(pid_t pid, block_poll_over *over, void *ctx, struct block_poll **out);
void block_poll_free(struct block_poll *f);	/* does not call over(); NULL is fine */

/*
 * Track the block that its heap has described as @birth (if its words were not read, a block of glibc's
 * that is freed before its first look is seldom known to be gone). @birth_ns, as all times here:
 * CLOCK_MONOTONIC.
 *
 * If a block at that address is tracked already, it is gone (over() is called). 0; -ENOSPC: BLOCK_POLL_MAX;
 * -EINVAL: it is too large; -ENOMEM.
 */
must_check int block_poll_add(struct block_poll *f, const struct block_birth *birth, uint32_t stack,
			      uint64_t birth_ns);

/*
 * @addr was just allocated, and is not to be tracked: a block tracked there is gone. To be called for each
 * hit whose block is not tracked. true: there was one.
 */
bool block_poll_taken(struct block_poll *f, taddr addr, uint64_t now_ns);

/* Stop tracking it, as its fate does not matter. false: it was not tracked. @out may be NULL. */
bool block_poll_drop(struct block_poll *f, taddr addr, struct tracked *out);

/*
 * What the search in a copy says of the block at @addr, if one is tracked there, and was when the copy was made.
 * What is lost is so for ever. That something points to a block holds at that moment: in a copy on the way it
 * counts only if the block is not so young that it may just be on its way. over() gets what became known, if it
 * is still the same block.
 */
struct block_judged {
	enum verdict verdict;		/* VERDICT_UNKNOWN: nothing points to it, but not all was seen that may */
	uint64_t at_ns;			/* when the copy was made */
	bool last;			/* at the end of the watch */
};

void block_poll_judge(struct block_poll *f, taddr addr, const struct block_judged *its);

/* A copy in which all was seen follows: what earlier ones have shown does not count any more. */
void block_poll_judge_anew(struct block_poll *f);

size_t block_poll_count(const struct block_poll *f);

/* The @i-th of block_poll_count() blocks: in no order, and after each change in another one. */
void block_poll_get(const struct block_poll *f, size_t i, struct tracked *out);

/* When a look is due next; UINT64_MAX: none. */
uint64_t block_poll_next_ns(const struct block_poll *f);

/* Look at all that are due. */
void block_poll(struct block_poll *f, uint64_t now_ns);

/*
 * Look at all blocks once more, and report their fate. A block that could not be looked at is reported as
 * FATE_SAME with its old seen_ns.
 */
void block_poll_end(struct block_poll *f, uint64_t now_ns);

/* The target has ended, or may not be read any more: nothing is looked at from now on. */
bool block_poll_lost(const struct block_poll *f);

const struct block_poll_sums *block_poll_sums(const struct block_poll *f);

#endif
