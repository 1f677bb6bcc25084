/* SPDX-License-Identifier: MIT */
/*
 * iseqs: what the frames of a Ruby execute, and the places in scripts that it is: sequences of instructions
 * (Ruby's word for them is iseq), and methods that are written in C, which are where they are called from.
 *
 * Both are objects that can be freed, and others made at their addresses. So what is known of an address is
 * compared with what is there when it is seen again after ISEQS_TRUSTED_NS.
 */
#ifndef MM_RUBY_ISEQS_H
#define MM_RUBY_ISEQS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/stacks/ruby/rbruntime.h"
#include "attach/stacks/scripts/script_places.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

#define ISEQS_TRUSTED_NS 20000000u

struct iseq;

struct iseqs {
	const struct rb_runtime *runtime;
	int mem;
	struct iseq *all;
	size_t n, size;
	struct addrmap by_addr;		/* -> index in all */
	struct addrmap by_position;	/* iseq and word -> place */
	struct script_places *places;
	uint64_t gone;			/* frames of what could not be read any more */
};

/* @rt, @places and @mem stay the caller's. */
void iseqs_init(struct iseqs *q, const struct rb_runtime *rt, struct script_places *places, int mem);
void iseqs_fini(struct iseqs *q);

/* Forget what is at addresses, but not the places: the process runs another program. */
void iseqs_forget(struct iseqs *q);

/* The place of the frame that executes @iseq up to instruction @pc, at time @now_ns. 0 or -ENOMEM. */
must_check int iseqs_place(struct iseqs *q, taddr iseq, taddr pc, uint64_t now_ns, uint32_t *place);

/* Is it a method, and not a block that is written in C, which has no name? */
bool iseqs_is_method(struct iseqs *q, taddr method);

/* That of method @method, written in C, that was called from @caller. 0 or -ENOMEM. */
must_check int iseqs_method(struct iseqs *q, taddr method, uint32_t caller, uint64_t now_ns, uint32_t *place);

#endif
