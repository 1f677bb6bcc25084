/* SPDX-License-Identifier: MIT */
/* stack: a stack as a report shows it: its frames by name, leaf first, and how it ends at its outer side. */
#ifndef MM_STACK_H
#define MM_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/taddr.h"

struct summary_frame {
	taddr pc;		/* as unwound: the return address */
	bool exact;		/* pc is the instruction itself: a signal interrupted it there */
	const char *module;	/* path of the file */
	const char *build_id;	/* hexadecimal */
	uint64_t offset;	/* of pc in the module, as in its ELF file */
	const char *function;	/* readable */
	const char *linkage;	/* as the linker knows it; NULL: the same, or not known */
	const char *file;	/* source */
	int line;		/* 0: not known */
	bool inlined;		/* has no frame of its own; the one below it in the list does */
	bool wrapper;		/* by the run's rules it only forwards allocations */
};

/* A frame of a script: of no module, and yet it has a source file. Its pc is no address. */
static inline bool summary_frame_is_script(const struct summary_frame *f)
{
	return !f->module && f->file;
}

/* How a stack ends at its outer side; the names are those of the JSON report. */
#define SUMMARY_STACK_ENDS(X)                                                                                \
	X(WHOLE, whole, "")                                                                                  \
	X(CUT, cut, "the stack goes on: more of it was not copied (--stack-bytes)")                          \
	X(LOST, lost, "the stack goes on: the caller is not known")                                          \
	X(DEEP, deep, "the stack goes on (--depth)")                                                         \
	X(ELSEWHERE, elsewhere,                                                                              \
	  "the stack goes on in other memory, which was not copied (--unwinder dwfl sees it)")

enum summary_stack_end {
#define X(upper, lower, text) STACK_##upper,
	SUMMARY_STACK_ENDS(X)
#undef X
	STACK_END_COUNT
};

/* The owner of one says whether the frames are its own, or borrowed. */
struct stack_view {
	struct summary_frame *frames;	/* leaf first */
	size_t depth;
	enum summary_stack_end end;
	/* Frames at the front that are the allocator's and not printed; less than depth, or 0. */
	size_t wrappers;
};

const char *summary_stack_end_name(enum summary_stack_end end);
const char *summary_stack_end_text(enum summary_stack_end end);	/* a sentence; "" for a whole stack */

/*
 * By addresses, the leaf's first; of two that begin alike the shorter comes first. For an order that is the
 * same for the same data.
 */
int stack_compare(const struct stack_view *a, const struct stack_view *b);

/* What distinguishes a stack from others whose rows would look the same (report/names/apart.h). */
enum apart_by { APART_NOTHING, APART_WRAPPER, APART_LINE, APART_CALLER };

struct apart {
	enum apart_by by;
	size_t frame;		/* of by: an index into the whole stack */
	bool arguments;		/* in addition to by, or alone */
};

#endif
