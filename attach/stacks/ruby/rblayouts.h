/* SPDX-License-Identifier: MIT */
/*
 * rblayouts: where Ruby has what is read of it, by version: offsets in its structures, as its own headers
 * give them for x86-64. They may differ between any two minor versions, so a version that is not in the table
 * is not read.
 */
#ifndef MM_RUBY_LAYOUTS_H
#define MM_RUBY_LAYOUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/chain.h"

/* The low bits of an object's flags: its type; for an internal object also which kind. */
#define RB_TYPE 0x1fu
#define RB_STRING 0x05u
#define RB_ARRAY 0x07u
#define RB_INTERNAL 0x1au
#define RB_INTERNAL_TYPE 0xf01fu
#define RB_ISEQ (RB_INTERNAL | 7u << 12)
#define RB_METHOD (RB_INTERNAL | 6u << 12)
#define RB_OUTSIDE 0x2000u	/* a string's text is not in the object */
#define RB_INSIDE 0x2000u	/* an array's elements are in the object */

/* The kind of a link. */
#define RB_FINISH 0x20u		/* a call of the evaluation loop executes this frame and those inside it */
#define RB_OF_C 0x80u		/* not of the script */

/* In the body of a sequence of instructions. */
struct rb_layout_body {
	uint16_t path, label, lines, nlines, index, size;	/* size: up to where it is read */
};

struct rb_layout {
	uint16_t version;		/* 0x0301: 3.1 */
	struct chain_plan chain;	/* all but the slot */
	/* in a thread: 0, or where what has the id begins; and the id in that */
	uint16_t native, thread_id;
	uint16_t execution;		/* in a thread: what a fiber of it executes */
	struct rb_layout_body body;
	bool long_length;		/* a string in its object has a word for its length */
};

/* NULL: not known. */
const struct rb_layout *rb_layouts_find(uint16_t version);

#endif
