/* SPDX-License-Identifier: MIT */
/* plansite: what those who plan share of filling in one plan and its sites. */
#ifndef MM_PLANSITE_H
#define MM_PLANSITE_H

#include "attach/probes/plan.h"

/* Why it is planned so, or not at all; for people. */
__attribute__((format(printf, 2, 3)))
void give_reason(struct plan *p, const char *format, ...);

/* What is read from the target's memory for @p's rule. */
void add_loads(const struct plan *p, const struct plan_options *opt, struct site *s);

/*
 * @p is a function of glibc's heap, whose blocks have their size in the word before them. By its name: libc.so.6 has many
 * functions that give out something else (open, mmap, pthread_create), and so has a program that glibc is linked into.
 */
bool reads_chunk(const struct plan *p, const struct plan_options *opt);

#endif
