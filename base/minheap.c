/* SPDX-License-Identifier: MIT */
#include "base/minheap.h"

#include <stddef.h>

static void put(const struct minheap *h, uint32_t place, uint32_t item)
{
	h->items[place] = item;
	if (h->moved)
		h->moved(h->ctx, item, place);
}

void minheap_settle(const struct minheap *h, uint32_t place)
{
	const uint32_t item = h->items[place];

	for (; place && h->before(h->ctx, item, h->items[(place - 1) / 2]); place = (place - 1) / 2)
		put(h, place, h->items[(place - 1) / 2]);
	for (uint32_t child; (child = 2 * place + 1) < h->n; place = child) {
		child += child + 1 < h->n && h->before(h->ctx, h->items[child + 1], h->items[child]);
		if (!h->before(h->ctx, h->items[child], item))
			break;
		put(h, place, h->items[child]);
	}
	put(h, place, item);
}
