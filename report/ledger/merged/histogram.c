/* SPDX-License-Identifier: MIT */
/* histogram: see histogram.h. */
#include "report/ledger/merged/histogram.h"

void histogram_add(struct histogram *h, uint64_t value, uint64_t blocks, uint64_t bytes)
{
	const unsigned bin = value ? 64 - (unsigned)__builtin_clzll(value) : 0;

	h->bins[bin].blocks += blocks;
	h->bins[bin].bytes += bytes;
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	for (unsigned i = 0; i < HISTOGRAM_BINS; i++) {
		to->bins[i].blocks += from->bins[i].blocks;
		to->bins[i].bytes += from->bins[i].bytes;
	}
}

uint64_t histogram_from(unsigned bin)
{
	return bin ? UINT64_C(1) << (bin - 1) : 0;
}
