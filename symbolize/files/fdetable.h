/* SPDX-License-Identifier: MIT */
/*
 * fdetable: where the functions that can be unwound begin and end, from the sorted table in .eh_frame_hdr.
 *
 * It is used only for symbols without a size (hand-written assembly): such a symbol must not name the code of
 * another function. Only the form that all linkers write is read (four-byte offsets from the table itself).
 * Lookups work in place, without allocation.
 */
#ifndef MM_FDETABLE_H
#define MM_FDETABLE_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/taddr.h"

struct fdetable {
	const uint8_t *entries;	/* eight bytes each: where the function begins, where its FDE is */
	size_t n;
	taddr base;		/* of .eh_frame_hdr: entries are relative to it */
	const uint8_t *frames;	/* .eh_frame */
	size_t frames_size;
	taddr frames_addr;
};

/* A file without the table, or with another form of it, gives an empty table. Valid as long as @elf. */
void fdetable_init(struct fdetable *t, Elf *elf);

/*
 * true if both addresses lie in the same function, or both in no function and none begins between them (@lo
 * <= @hi).
 */
bool fdetable_same(const struct fdetable *t, taddr lo, taddr hi);

#endif
