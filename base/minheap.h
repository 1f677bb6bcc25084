/* SPDX-License-Identifier: MIT */
/*
 * minheap: numbers in an array that is the caller's, the first to come at its beginning.
 *
 *	add	items[n++] = x, minheap_settle(n - 1)
 *	remove	items[place] = items[--n], minheap_settle(place); nothing if it was the last in the array
 *	change	what decides the order is another now: minheap_settle(place)
 */
#ifndef MM_MINHEAP_H
#define MM_MINHEAP_H

#include <stdbool.h>
#include <stdint.h>

struct minheap {
	uint32_t *items;
	uint32_t n;
	bool (*before)(const void *ctx, uint32_t a, uint32_t b);
	void (*moved)(void *ctx, uint32_t item, uint32_t place);	/* it stands there now; NULL: it is not asked where one stands */
	void *ctx;
};

/* Of all but items[@place] each is where it belongs; move that one to where it does. */
void minheap_settle(const struct minheap *h, uint32_t place);

#endif
