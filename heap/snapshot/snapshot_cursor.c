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
