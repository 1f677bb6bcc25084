/* SPDX-License-Identifier: MIT */
/* musl: see musl.h. Functions that all its parts call, and that call none of them. */
#include "heap/musl/musl.h"

#include <stdarg.h>
#include <stdio.h>

static void put_problem(struct musl *g, taddr at, const char *what, va_list args)
{
	if (g->c->nproblems++)
		return;
	g->c->problem.at = at;
	vsnprintf(g->c->problem.what, sizeof(g->c->problem.what), what, args);
}

void musl_problem(struct musl *g, taddr at, const char *what, ...)
{
	va_list args;

	va_start(args, what);
	put_problem(g, at, what, args);
	va_end(args);
}

void musl_doubt(struct musl *g, taddr at, const char *what, ...)
{
	va_list args;

	if (g->at_work) {
		g->c->unsure++;
		return;
	}
	va_start(args, what);
	put_problem(g, at, what, args);
	va_end(args);
}
