/* SPDX-License-Identifier: MIT */
/* jemalloc: see jemalloc.h. What all its parts call, and that calls none of them. */
#include "heap/jemalloc/jemalloc.h"

#include <stdarg.h>
#include <stdio.h>

void jemalloc_problem(struct jemalloc *j, taddr at, const char *what, ...)
{
	va_list args;

	if (j->c->nproblems++)
		return;
	j->c->problem.at = at;
	va_start(args, what);
	vsnprintf(j->c->problem.what, sizeof(j->c->problem.what), what, args);
	va_end(args);
}
