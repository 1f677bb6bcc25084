/* SPDX-License-Identifier: MIT */
/*
 * struct malloc_par, in the same mapping as main_arena, without a symbol: its words hold each other up: sums not above their maxima, a
 * beginning of the heap that is one.
 */
#include "heap/glibc/glibc.h"

static int32_t half(struct view *v, taddr at)
{
	uint64_t word;
	const bool high = at % 8;

	if (!view_word(v, at & ~7ull, &word))
		return -1;
	return (int32_t)(uint32_t)(high ? word >> 32 : word);
}

/* The words of struct malloc_par from mmapped_mem on, and the four ints before it, which newer versions have 4 bytes further up. */
static bool is_param(struct glibc *g, taddr at, struct glibc_param *out)
{
	uint64_t w[7];

	for (unsigned i = 0; i < 7; i++)
		if (!view_word(&g->view, at + 8 * i, &w[i]))
			return false;
	/* mmapped_mem, max_mmapped_mem, sbrk_base, tcache_bins, tcache_max_bytes, tcache_count, tcache_unsorted_limit */
	if (w[0] > w[1] || w[0] % GLIBC_ALIGN || w[1] % GLIBC_ALIGN || w[3] > 76 || !w[3] || w[4] < 24 || w[4] > 4u << 20 || w[5] > 65535)
		return false;
	if (w[2] ? !procmaps_find(&g->s->maps, w[2]) : g->arenas[0].system_mem != 0)
		return false;
	for (unsigned shift = 0; shift <= 4; shift += 4) {
		const int32_t n = half(&g->view, at - 16 - shift), most_allowed = half(&g->view, at - 12 - shift);
		const int32_t most = half(&g->view, at - 8 - shift), fixed = half(&g->view, at - 4 - shift);

		if (n < 0 || n > most || most_allowed < 0 || fixed < 0 || fixed > 1 || (n && !w[0]) || !most != !w[1])
			continue;
		/* in 2.43 each realloc of such a chunk leaves 16 bytes that nobody has */
		if (!n && w[0] > w[1] / 2)
			continue;
		*out = (struct glibc_param){ at, w[0], w[1], w[2], w[5], n };
		return true;
	}
	return false;
}

/* Where struct malloc_par is, if it is exactly one place. */
void glibc_find_param(struct glibc *g)
{
	struct glibc_param one;
	unsigned n = 0;

	for (taddr at = g->data_lo + 32; at + 56 <= g->data_hi; at += 8)
		if (is_param(g, at, &one) && !n++)
			g->param = one;
	if (n != 1)
		g->param = (struct glibc_param){ 0 };
}
