/* SPDX-License-Identifier: MIT */
/* jemalloc: see jemalloc.h. What all its parts call, and that calls none of them. */
#include "heap/jemalloc/jemalloc.h"

#include <stdarg.h>

void jemalloc_problem(struct jemalloc *j, taddr at, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	census_problem(j->c, at, what, args);
	va_end(args);
}
