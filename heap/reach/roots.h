/* SPDX-License-Identifier: MIT */
/*
 * roots: the memory from which everything is reached, stretch by stretch.
 *
 * That is all memory of the snapshot that can be written to, less heaps, blocks, what is nobody's (`quiet`), the allocator's own
 * structs, and dead stack; then what lies in the heaps and is a root all the same: the loader's own blocks, and those that hold given
 * ones (nodes.h) around them. Where the census could not see all of the heaps, their gaps are roots: what lies there is not known to be free.
 */
#ifndef MM_ROOTS_H
#define MM_ROOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/reach/nodes.h"
#include "heap/reach/reach.h"
#include "heap/reach/threadstacks.h"

#define ROOT_MAX (1u << 20)	/* bytes of a stretch */

struct root {
	taddr at;
	uint64_t size;
	const uint8_t *bytes;		/* the snapshot's; both at and size are multiples of 8 */
	bool own;			/* the loader's or the allocator's block */
};

struct roots {
	const struct snapshot *s;
	const struct nodes *nodes;
	struct snapshot_range *cuts;	/* sorted, none overlaps: no roots */
	size_t ncuts;
	struct snapshot_range *inner;	/* the same without the heaps: within the extra ones */
	size_t ninner;
	struct snapshot_range *extra;	/* sorted: roots within the cuts */
	size_t nextra;
	/* where roots_next stands */
	size_t piece, cut, node, in_extra;
	taddr at;
	bool extras;
};

/* All of the arguments stay as they are while @r is used. 0 or -ENOMEM. */
must_check int roots_init(struct roots *r, const struct reach_input *in, const struct nodes *nodes, const struct threadstacks *stacks);
void roots_fini(struct roots *r);

/* The next stretch; false: there are no more. Not for several threads at once. */
bool roots_next(struct roots *r, struct root *out);

/* Begin with the first again. */
void roots_rewind(struct roots *r);

/* Is the word at @at, which is in a piece and no block's, a root? @own as in struct root. */
bool roots_hold(const struct roots *r, taddr at, bool *own);

/* May somebody's pointers lie in this mapping? (Of a piece; NULL: no mapping is known.) */
bool root_mapping(const struct mapping *m);

/* The general registers of @t that valgrind takes for roots, and their names. */
#define ROOT_REGISTERS 16
void root_registers(const struct snapshot_thread *t, uint64_t out[ROOT_REGISTERS]);
extern const char *const root_register_names[ROOT_REGISTERS];

#endif
