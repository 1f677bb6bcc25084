/* SPDX-License-Identifier: MIT */
/* verdict_list: see verdict_list.h. Varints, as in a trace (trace/wire.h). */
#include "report/ledger/verdict_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trace/wire.h"

#define MOST_BYTES (4 * WIRE_VARINT_MAX + 1)	/* of a block */

void verdict_list_fini(struct verdict_list *j)
{
	free(j->bytes);
	*j = (struct verdict_list){ 0 };
}

int verdict_list_add(struct verdict_list *j, const struct verdict_block *b)
{
	struct sink s;

	if (grow_for(&j->bytes, j->n + MOST_BYTES, &j->size, 1) < 0)
		return -ENOMEM;
	s = (struct sink){ j->bytes + j->n, j->bytes + j->size, false };
	sink_varint(&s, (uint64_t)b->family << 3 | b->verdict);
	sink_address(&s, j->last, b->addr);
	sink_varint(&s, b->with_blocks);
	sink_varint(&s, b->with_bytes);
	j->n = (size_t)(s.at - j->bytes);
	j->last = b->addr;
	j->count++;
	return 0;
}

bool verdict_list_next(const struct verdict_list *j, struct verdict_place *place, struct verdict_block *out)
{
	struct cursor c = { j->bytes + place->at, j->bytes + j->n, false };
	uint64_t head;

	if (place->at == j->n)
		return false;
	head = cursor_varint(&c);
	out->family = (uint32_t)(head >> 3);
	out->verdict = head & 7;
	out->addr = cursor_address(&c, place->before);
	out->with_blocks = cursor_varint(&c);
	out->with_bytes = cursor_varint(&c);
	place->at = (size_t)(c.at - j->bytes);
	place->before = out->addr;
	return true;
}
