/* SPDX-License-Identifier: MIT */
/*
 * minheap: a heap of numbers in an array of the caller's, with the first in order at its beginning.
 *
 *	add	items[n++] = x, minheap_settle(n - 1)
 *	remove	items[place] = items[--n], minheap_settle(place); nothing if it was the last in the array
 *	change	the key of an item is different now: minheap_settle(place)
 */
#ifndef MM_MINHEAP_H
#define MM_MINHEAP_H

#include <stdbool.h>
#include <stdint.h>

struct minheap {
	uint32_t *items;
	uint32_t n;
	bool (*before)(const void *ctx, uint32_t a, uint32_t b);
	/* @item is at @place now; NULL: places are not tracked */
	void (*moved)(void *ctx, uint32_t item, uint32_t place);
	void *ctx;
};

/* All items but items[@place] are in order; move that one to where it belongs. */
void minheap_settle(const struct minheap *h, uint32_t place);

#endif
