/* SPDX-License-Identifier: MIT */
/* headers: see headers.h. */
#include "heap/reach/headers.h"

#define LEAST 256	/* blocks; fewer may be chance */
#define PART 4		/* of all blocks, at least one of so many */

void headers_add(struct headers *to, const struct headers *more)
{
	for (size_t i = 0; i < HEADERS_SLOTS; i++)
		to->at[i] += more->at[i];
	to->elsewhere += more->elsewhere;
}

uint32_t headers_recognise(const struct headers *h, uint64_t nblocks)
{
	uint64_t all = h->elsewhere;
	size_t most = 0;

	for (size_t i = 0; i < HEADERS_SLOTS; i++) {
		all += h->at[i];
		if (h->at[i] > h->at[most])
			most = i;
	}
	if (h->at[most] < LEAST || h->at[most] <= all / 2 || h->at[most] < nblocks / PART)
		return 0;
	return (uint32_t)(most + 1) * 8;
}
