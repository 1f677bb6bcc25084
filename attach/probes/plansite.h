/* SPDX-License-Identifier: MIT */
/* plansite: what plan.c and plansite.c share of filling in one site. */
#ifndef MM_PLANSITE_H
#define MM_PLANSITE_H

#include "attach/probes/plan.h"

/* What is read from the target's memory for @p's rule. */
void add_loads(const struct plan *p, const struct plan_options *opt, struct site *s);

/*
 * @p is a function of glibc's heap, whose blocks have their size in the word before them. By its name: libc.so.6 has many
 * functions that give out something else (open, mmap, pthread_create), and so has a program that glibc is linked into.
 */
bool reads_chunk(const struct plan *p, const struct plan_options *opt);

#endif
