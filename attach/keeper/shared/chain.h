/* SPDX-License-Identifier: MIT */
/*
 * chain: the frames that an interpreter in the target keeps in memory, from the innermost one outward,
 * linked or in an array. They change as soon as the thread runs on, so they are read at the hit. The
 * controller says where they are (attach/stacks/python, ruby); what is read is plain words: nothing here
 * knows what an interpreter is.
 *
 *	*(fs_base + slot) ──▶ the thread's state:   *(state + owner) must be fs_base, or is not looked at
 *	*(state + head)   ──▶ the first link, or a word away from it (head_of)
 *	link ──▶ its words code, at and kind, then *(link + next) ──▶ the next link, 0: the end
 *
 * In an array (stride not 0) the next link is that many bytes behind, and there is no word next. The memory
 * of the array is given by two words of the state: where it begins, and how many words it has; its last link
 * ends there. The kind of a link is not in it, but at the address that is its word aside; and 16 bytes before
 * that is the code of a link whose own is 0.
 */
#ifndef MM_CHAIN_H
#define MM_CHAIN_H

#include <stdint.h>

#define CHAIN_MAX 256u		/* links that are read at most */
#define CHAIN_LINK_MOST 128u	/* bytes of a link that are looked at */
#define CHAIN_DIRECT 0xffffu	/* of head_of: there is no word in between; of owner: no check */

/* Offsets in bytes. */
struct chain_plan {
	int32_t slot;
	uint16_t owner, head, head_of;
	uint16_t next, code, at, kind;
	uint16_t link_bytes;
	uint16_t stride, array, aside;	/* stride 0: there is no array */
};

/* 24 bytes of a link; where it is has 48 bits, the upper 16 are what is at its kind. */
struct chain_link {
	uint64_t where, code, at;
};

static inline uint64_t chain_link_addr(const struct chain_link *l)
{
	return l->where & 0xffffffffffffull;
}

static inline uint16_t chain_link_kind(const struct chain_link *l)
{
	return (uint16_t)(l->where >> 48);
}

enum chain_end {
	CHAIN_NONE,		/* not asked for, or the thread has no state */
	CHAIN_WHOLE,		/* up to the last link */
	CHAIN_CUT,		/* there are more than CHAIN_MAX */
	CHAIN_LOST,		/* it leads to memory that is not there */
};

#endif
