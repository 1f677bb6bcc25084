/* SPDX-License-Identifier: MIT */
/*
 * addr_search: where an address belongs in a sorted array, by binary search.
 *
 *	ADDR_SEARCH(maps, n, lo, at)		how many of the n elements begin at or before @at: the last of
 *					them may contain it
 *	ADDR_SEARCH(maps, n, hi, at)		how many end at or before @at: the next one may contain it
 *
 * Written once, because such searches go wrong in the choice of < or <=, and of the neighbour that is meant.
 */
#ifndef MM_ADDR_SEARCH_H
#define MM_ADDR_SEARCH_H

#include <stddef.h>
#include <string.h>

#include "base/taddr.h"

/*
 * How many of the first @n elements of @all, sorted by member @member, have at most @at there. The member is
 * a taddr or uint64_t.
 */
#define ADDR_SEARCH(all, n, member, at)                                                                      \
	upto_count((all), (n), sizeof(*(all)),                                                               \
		   _Generic((all)->member, uint64_t                                                          \
			    : offsetof(__typeof__(*(all)), member)),                                         \
		   (at))

static inline size_t upto_count(const void *all, size_t n, size_t element, size_t offset, taddr at)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		taddr key;

		memcpy(&key, (const char *)all + mid * element + offset, sizeof(key));
		if (key <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

#endif
