/* SPDX-License-Identifier: MIT */
#include "heap/jemalloc/jemalloc_sizes.h"

#define TINY 5u			/* the first ones are irregular */

uint64_t jemalloc_size(unsigned index)
{
	static const uint64_t tiny[TINY] = { 8, 16, 32, 48, 64 };

	if (index < TINY)
		return tiny[index];
	if (index >= JEMALLOC_SIZES)
		return 0;
	/* group 0 has 64 + 16, ..., 128; the steps of each group are twice those of the one before */
	const unsigned group = (index - TINY) / 4, step = (index - TINY) % 4 + 1;

	return (UINT64_C(64) << group) + ((uint64_t)step << (4 + group));
}
