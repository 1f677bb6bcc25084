/* SPDX-License-Identifier: MIT */
/* glibc: see glibc.h. Functions that all its parts call, and that call none of them. */
#include "heap/glibc/glibc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void glibc_fini(struct glibc *g)
{
	for (size_t i = 0; i < g->nregions; i++) {
		free(g->regions[i].cached);
		free(g->regions[i].edges);
	}
	free(g->regions);
	free(g->orphans);
	free(g->late);
	free(g->arenas);
}

void glibc_problem(struct glibc *g, taddr at, const char *what, ...)
{
	va_list args;

	if (g->c->nproblems++)
		return;
	g->c->problem.at = at;
	va_start(args, what);
	vsnprintf(g->c->problem.what, sizeof(g->c->problem.what), what, args);
	va_end(args);
}
