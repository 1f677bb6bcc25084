/* SPDX-License-Identifier: MIT */
/*
 * stacks: each distinct call stack gets a number.
 *
 *	hash of all pcs ──▶ number          for a stack that was seen lately: one look-up
 *	number ──▶ what it is               trace/defs.h has that: frames, a trie, stacks
 *
 * The trie is used for new stacks only: once it is large, walking it costs more than the unwinding. A look-up
 * by pc alone is valid as long as nothing is unmapped (stacks_modules_changed); numbers are valid for ever,
 * and a frame of a module that was unloaded remains a frame of that module.
 *
 * A module has the same number here as in modules; the number of a frame or stack is its index in defs, that
 * of a node its index plus one.
 */
#ifndef MM_STACKS_H
#define MM_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/stacks/scripts/script_places.h"
#include "attach/stacks/unwind/unwind.h"
#include "attach/target/modules.h"
#include "base/addrmap.h"
#include "base/cleanup.h"
#include "trace/defs.h"

/*
 * Does the code at @addr belong to a function whose frames are left out at the front of stacks? Asked once
 * for each frame.
 */
typedef bool stacks_skipped(void *ctx, taddr addr);

struct stacks {
	const struct modules *modules;
	struct defs *defs;
	const struct script_places *places;	/* what frames of scripts are; NULL: there are none */
	stacks_skipped *skipped;	/* NULL: none */
	void *skipped_ctx;
	struct addrmap by_hash;		/* -> number; forgotten when modules change */
	struct addrmap by_pc;		/* -> frame; likewise */
	struct addrmap by_place;	/* pc and module -> frame */
	struct addrmap by_caller;	/* caller and frame -> node */
	struct addrmap by_leaf;		/* node, end and tag -> number */
	struct addrmap by_text;		/* hash of a tag -> its number */
};

/*
 * @ms and @defs stay the caller's. @ms must have what is mapped at a pc when that pc is first seen; @defs
 * receives the definitions. @places: those of frames with UNWIND_SCRIPT; NULL: there are none.
 */
void stacks_init(struct stacks *s, const struct modules *ms, struct defs *defs,
		 const struct script_places *places);
void stacks_fini(struct stacks *s);

/*
 * The tag @text: its number + 1. If there are too many different tags, all further ones share one. 0 or
 * -ENOMEM.
 */
must_check int stacks_tag(struct stacks *s, const char *text, uint32_t *tag);

/* The number of the stack @frames[0..n), leaf first, with @tag (number + 1, or FACT_NONE). 0 or -ENOMEM. */
must_check int stacks_intern(struct stacks *s, const taddr *frames, uint32_t n, enum unwind_end end,
			     uint32_t tag, uint32_t *number);

/* Something was mapped or unmapped: the same pc may be different code now. */
void stacks_modules_changed(struct stacks *s);

/* Memory in bytes, without defs. */
size_t stacks_memory(const struct stacks *s);

#endif
