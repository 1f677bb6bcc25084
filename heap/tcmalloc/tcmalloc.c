/* SPDX-License-Identifier: MIT */
/* tcmalloc: see tcmalloc.h. Functions that all its parts call, and that call none of them. */
#include "heap/tcmalloc/tcmalloc.h"

#include <stdarg.h>

#include "base/addr_search.h"

void tcmalloc_problem(struct tcmalloc *g, taddr at, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	census_problem(g->c, at, what, args);
	va_end(args);
}

/* Lists lead from one block to another one of the same span, mostly. */
static const struct tcmalloc_span *span_over(struct tcmalloc *g, taddr at)
{
	const struct tcmalloc_span *p = g->nspans ? &g->spans[g->last] : NULL;
	size_t n;

	if (p && at - p->lo < p->bytes)
		return p;
	n = ADDR_SEARCH(g->spans, g->nspans, lo, at);
	p = n ? &g->spans[n - 1] : NULL;
	if (!p || at - p->lo >= p->bytes)
		return NULL;
	g->last = n - 1;
	return p;
}

const struct tcmalloc_span *tcmalloc_block_at(struct tcmalloc *g, taddr at, uint64_t *i)
{
	const struct tcmalloc_span *p = span_over(g, at);
	const uint64_t size = !p ? 0 : p->class ? g->classes[p->class].size : p->bytes;

	if (!p || p->place || (at - p->lo) % size || (at - p->lo) / size >= p->blocks)
		return NULL;
	*i = (at - p->lo) / size;
	return p;
}
