/* SPDX-License-Identifier: MIT */
/*
 * fdetable: where the functions that can be unwound begin and end, from the sorted table in .eh_frame_hdr.
 *
 * It is used for symbols without a size (hand-written assembly), as such a symbol must not name the code of another
 * function; and where it matters if an exception stops at a function. Only the form that all linkers write is read
 * (four-byte offsets from the table itself).
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

/*
 * How the FDE of the function at @addr is augmented, by its CIE: "zR", or "zPLR" if it may have an LSDA, which makes
 * the unwinder of an exception stop there. "": no FDE covers it. NULL: not known. The elf's.
 */
const char *fdetable_augmentation(const struct fdetable *t, taddr addr);

#endif
