/* SPDX-License-Identifier: MIT */
/* parts: see parts.h. */
#include "report/ledger/merged/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trace/wire.h"

void parts_fini(struct parts *p)
{
	free(p->bytes);
	*p = (struct parts){ 0 };
}

int parts_add(struct parts *p, uint32_t process, uint64_t bytes)
{
	struct sink s;

	if (grow_for(&p->bytes, p->n + 2 * WIRE_VARINT_MAX, &p->size, 1) < 0)
		return -ENOMEM;
	s = (struct sink){ p->bytes + p->n, p->bytes + p->size, false };
	sink_varint(&s, wire_zigzag((int64_t)process - p->last));
	sink_varint(&s, bytes);
	p->n = (size_t)(s.at - p->bytes);
	p->last = process;
	p->count++;
	return 0;
}

bool parts_next(const struct parts *p, struct parts_place *place, struct fact_part *out)
{
	struct cursor c = { p->bytes + place->at, p->bytes + p->n, false };

	if (place->at == p->n)
		return false;
	place->before += (uint32_t)wire_unzigzag(cursor_varint(&c));
	*out = (struct fact_part){ place->before, cursor_varint(&c) };
	place->at = (size_t)(c.at - p->bytes);
	return true;
}
