/* SPDX-License-Identifier: MIT */
/* musl: see musl.h. Functions that all its parts call, and that call none of them. */
#include "heap/musl/musl.h"

#include <stdarg.h>

void musl_problem(struct musl *g, taddr at, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	census_problem(g->c, at, what, args);
	va_end(args);
}
