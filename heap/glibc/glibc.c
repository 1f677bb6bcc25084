/* SPDX-License-Identifier: MIT */
/* glibc: see glibc.h. Functions that all its parts call, and that call none of them. */
#include "heap/glibc/glibc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

void glibc_registers(const struct snapshot_thread *t, uint64_t out[GLIBC_REGS])
{
	const struct user_regs_struct *r = &t->regs;
	const uint64_t all[GLIBC_REGS] = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->r8,
					   r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };

	if (t->known)
		memcpy(out, all, sizeof(all));
	else
		memset(out, 0, sizeof(all));
}
