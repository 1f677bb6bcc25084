/* SPDX-License-Identifier: MIT */
/*
 * stacks: each distinct call stack, stored once, and known by a number.
 *
 *	hash of all pcs ──▶ number          for a stack that was seen lately: one look
 *	number ──▶ node ──▶ caller ──▶ ...  a trie, the outermost frame at its root
 *	node ──▶ frame                      a pc, and the module it was in then
 *
 * The trie is touched for new stacks only: walking it leaf first costs more than
 * the unwinding, once it is large. What is looked up by pc alone holds as long as
 * nothing is unmapped (stacks_modules_changed); numbers hold for ever, and a
 * frame of a module that was unloaded stays a frame of that module.
 */
#ifndef MM_STACKS_H
#define MM_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "attach/modules.h"
#include "attach/unwind/unwind.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

#define STACKS_NO_MODULE UINT32_MAX

struct stacks_frame {
	taddr pc;		/* as unwound, UNWIND_EXACT and all */
	uint32_t module;	/* number in modules, or STACKS_NO_MODULE */
};

struct stacks_node {
	uint32_t caller;	/* node; 0: none */
	uint32_t frame;
};

struct stacks_entry {
	uint32_t node;		/* of the leaf; 0: no frame at all */
	uint16_t depth;
	uint8_t end;		/* enum unwind_end */
};

struct stacks {
	const struct modules *modules;
	struct stacks_frame *frames;
	struct stacks_node *nodes;	/* the first is no node */
	struct stacks_entry *all;
	size_t nframes, frames_size, nnodes, nodes_size, n, size;
	struct addrmap by_hash;		/* -> number; forgotten when modules change */
	struct addrmap by_pc;		/* -> frame; likewise */
	struct addrmap by_place;	/* pc and module -> frame */
	struct addrmap by_caller;	/* caller and frame -> node */
	struct addrmap by_leaf;		/* node and end -> number */
};

/* @ms stays the caller's, and is the one that knows what is mapped at a pc when that is first seen. */
void stacks_init(struct stacks *s, const struct modules *ms);
void stacks_fini(struct stacks *s);

/* The number of the stack @frames[0..n), leaf first. 0 or -ENOMEM. */
must_check int stacks_intern(struct stacks *s, const taddr *frames, uint32_t n, enum unwind_end end, uint32_t *number);

/* Something was mapped or unmapped: the same pc may be another place now. */
void stacks_modules_changed(struct stacks *s);

/* The frames of stack @number, leaf first, at most @max of them; how many there are. */
uint32_t stacks_frames(const struct stacks *s, uint32_t number, uint32_t *frames, uint32_t max);

size_t stacks_memory(const struct stacks *s);

#endif
