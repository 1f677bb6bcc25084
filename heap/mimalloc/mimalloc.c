/* SPDX-License-Identifier: MIT */
/* mimalloc: see mimalloc.h. Functions that all its parts call, and that call none of them. */
#include "heap/mimalloc/mimalloc.h"

#include <stdarg.h>

#include "base/addr_search.h"

void mimalloc_problem(struct mimalloc *g, taddr at, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	census_problem(g->c, at, what, args);
	va_end(args);
}

struct mimalloc_page *mimalloc_page_of(struct mimalloc *g, taddr at, uint64_t *i)
{
	const size_t n = ADDR_SEARCH(g->pages, g->npages, start, at);
	struct mimalloc_page *p = n ? &g->pages[n - 1] : NULL;

	if (!p || (at - p->start) % p->block || (at - p->start) / p->block >= p->reserved)
		return NULL;
	*i = (at - p->start) / p->block;
	return p;
}
