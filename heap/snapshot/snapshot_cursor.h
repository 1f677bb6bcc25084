/* SPDX-License-Identifier: MIT */
/*
 * snapshot_cursor: reads words of a snapshot one after the other. It remembers the piece of the last one: a
 * walk over a heap finds nearly all of its words there. Each reader has a cursor of its own.
 */
#ifndef MM_SNAPSHOT_CURSOR_H
#define MM_SNAPSHOT_CURSOR_H

#include <stdbool.h>
#include <string.h>

#include "heap/snapshot/snapshot.h"

struct snapshot_cursor {
	const struct snapshot *s;
	taddr lo;
	uint64_t room;		/* words may begin at lo + 0 .. room - 1 */
	const uint8_t *bytes;
};

static inline struct snapshot_cursor snapshot_cursor_of(const struct snapshot *s)
{
	return (struct snapshot_cursor){ s, 0, 0, NULL };
}

/* Move to the piece that contains the whole word at @at. false: none does. */
bool snapshot_cursor_turn(struct snapshot_cursor *v, taddr at);

/* The word at @at, of any alignment. false: not known. */
static inline bool snapshot_cursor_word(struct snapshot_cursor *v, taddr at, uint64_t *out)
{
	if (at - v->lo >= v->room && !snapshot_cursor_turn(v, at))
		return snapshot_word(v->s, at, out) == 0;
	memcpy(out, v->bytes + (at - v->lo), sizeof(*out));
	return true;
}

/*
 * From @at on, and before @end: the next bytes that the snapshot has, and that are not zero for certain; whole
 * words of them. @at is moved there; it and @end are multiples of 8. NULL: there are no more. *@hole becomes true
 * if some that were skipped are not known.
 */
const uint8_t *snapshot_next_bytes(const struct snapshot *s, taddr *at, taddr end, uint64_t *n, bool *hole);

/* The word at @at will be read soon. */
static inline void snapshot_cursor_prefetch(const struct snapshot_cursor *v, taddr at)
{
	if (at - v->lo < v->room)
		__builtin_prefetch(v->bytes + (at - v->lo));
}

#endif
