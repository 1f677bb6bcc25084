/* SPDX-License-Identifier: MIT */
#include "heap/snapshot/snapshot_cursor.h"

bool snapshot_cursor_turn(struct snapshot_cursor *v, taddr at)
{
	size_t i = snapshot_piece_from(v->s, at);
	const struct snapshot_piece *p = i < v->s->npieces ? &v->s->pieces[i] : NULL;

	if (!p || p->lo > at || p->lo + p->size - at < sizeof(uint64_t))
		return false;
	v->lo = p->lo;
	v->room = p->size - sizeof(uint64_t) + 1;
	v->bytes = p->bytes;
	return true;
}

const uint8_t *snapshot_next_bytes(const struct snapshot *s, taddr *at, taddr end, uint64_t *n, bool *hole)
{
	while (*at < end) {
		const uint8_t *bytes = snapshot_bytes(s, *at, n);
		enum snapshot_kind kind;

		if (bytes && *n >= sizeof(uint64_t)) {
			*n = (*n < end - *at ? *n : end - *at) & ~UINT64_C(7);
			return bytes;
		}
		kind = snapshot_extent(s, *at, n);
		if (kind == SNAPSHOT_NOTHING)
			return NULL;
		*hole |= kind == SNAPSHOT_MISSING;
		*at += *n > 8 ? *n & ~UINT64_C(7) : 8;
	}
	return NULL;
}
