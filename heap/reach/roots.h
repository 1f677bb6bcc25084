/* SPDX-License-Identifier: MIT */
/*
 * roots: the memory from which the flood starts, range by range.
 *
 * That is all memory of the snapshot that can be written to, without heaps, blocks, memory that does not
 * count (`quiet`), the allocator's own structs, and dead stack; then the parts of heaps that are roots all
 * the same: the loader's own blocks, and what is around given blocks inside of larger ones (nodes.h). If the
 * census could not see all of the heaps, their gaps are roots: they are not known to be free.
 */
#ifndef MM_ROOTS_H
#define MM_ROOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "heap/reach/nodes.h"
#include "heap/reach/reach.h"
#include "heap/threadstacks.h"

#define ROOT_MAX (1u << 20)	/* bytes of a range */

struct root {
	taddr at;
	uint64_t size;
	const uint8_t *bytes;		/* in the snapshot; both at and size are multiples of 8 */
	bool code;			/* addresses are at any byte of it (root_is_code) */
	size_t behind;			/* of code: so many bytes more can be read, seven at most */
	bool own;			/* the loader's or the allocator's block */
};

struct roots {
	const struct snapshot *s;
	const struct nodes *nodes;
	struct snapshot_range *cuts;	/* sorted, no two overlap: no roots */
	size_t ncuts;
	struct snapshot_range *inner;	/* the same without the heaps: for the extra ones */
	size_t ninner;
	struct snapshot_range *extra;	/* sorted: roots within the cuts */
	size_t nextra;
	/* position of roots_next */
	size_t piece, cut, node, in_extra;
	taddr at;
	bool extras;
};

/* All of the arguments must stay unchanged while @r is used. 0 or -ENOMEM. */
must_check int roots_init(struct roots *r, const struct reach_input *in, const struct nodes *nodes,
			  const struct threadstacks *stacks);
void roots_fini(struct roots *r);

/* The next range; false: there are no more. Not thread-safe. */
bool roots_next(struct roots *r, struct root *out);

/* Start again with the first range. */
void roots_rewind(struct roots *r);

/* Is the word at @at, which is in a piece and in no block, a root? @own as in struct root. */
bool roots_hold(const struct roots *r, taddr at, bool *own);

/* May this mapping, which contains a piece, have pointers that count? NULL: no mapping is known. */
bool root_mapping(const struct mapping *m);

/*
 * Code that was made at run time, as by a compiler of Java or JavaScript: an address may be a part of an instruction,
 * at any byte, and nowhere else. A few tens of megabytes of it cost as many milliseconds.
 */
bool root_is_code(const struct mapping *m);

/* The general registers of @t that valgrind takes for roots, and their names. */
#define ROOT_REGISTERS 16
void root_registers(const struct snapshot_thread *t, uint64_t out[ROOT_REGISTERS]);
extern const char *const root_register_names[ROOT_REGISTERS];

#endif
