/* SPDX-License-Identifier: MIT */
/*
 * stacks: each distinct call stack gets a number.
 *
 *	hash of all pcs ──▶ number          for a stack that was seen lately: one look
 *	number ──▶ what it is               trace/defs.h keeps that: frames, a trie, stacks
 *
 * The trie is touched for new stacks only: walking it leaf first costs more than
 * the unwinding, once it is large. What is looked up by pc alone holds as long as
 * nothing is unmapped (stacks_modules_changed); numbers hold for ever, and a
 * frame of a module that was unloaded stays a frame of that module.
 *
 * A module has the same number here as in modules; a frame, a node, a stack that of its index in defs (a node's is one more).
 */
#ifndef MM_STACKS_H
#define MM_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/stacks/unwind/unwind.h"
#include "attach/target/modules.h"
#include "base/addrmap.h"
#include "base/cleanup.h"
#include "trace/defs.h"

/* Does the code at @addr belong to a function whose frames are left out at the front of stacks? Asked once for each frame. */
typedef bool stacks_skipped(void *ctx, taddr addr);

struct stacks {
	const struct modules *modules;
	struct defs *defs;
	stacks_skipped *skipped;	/* NULL: none */
	void *skipped_ctx;
	struct addrmap by_hash;		/* -> number; forgotten when modules change */
	struct addrmap by_pc;		/* -> frame; likewise */
	struct addrmap by_place;	/* pc and module -> frame */
	struct addrmap by_caller;	/* caller and frame -> node */
	struct addrmap by_leaf;		/* node, end and tag -> number */
	struct addrmap by_text;		/* hash of a tag -> its number */
};

/* @ms and @defs stay the caller's; @ms knows what is mapped at a pc when that is first seen, @defs takes the definitions. */
void stacks_init(struct stacks *s, const struct modules *ms, struct defs *defs);
void stacks_fini(struct stacks *s);

/* The tag @text: number + 1. Of more different ones than can be told apart the rest are one. 0 or -ENOMEM. */
must_check int stacks_tag(struct stacks *s, const char *text, uint32_t *tag);

/* The number of the stack @frames[0..n), leaf first, with @tag (number + 1, or FACT_NONE). 0 or -ENOMEM. */
must_check int stacks_intern(struct stacks *s, const taddr *frames, uint32_t n, enum unwind_end end, uint32_t tag,
			     uint32_t *number);

/* Something was mapped or unmapped: the same pc may be another place now. */
void stacks_modules_changed(struct stacks *s);

/* Without defs. */
size_t stacks_memory(const struct stacks *s);

#endif
