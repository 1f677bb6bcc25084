/* SPDX-License-Identifier: MIT */
/* plansite: what the planning files share to fill in one plan and its sites. */
#ifndef MM_PLANSITE_H
#define MM_PLANSITE_H

#include "attach/probes/plan.h"

/* Set the reason why it is planned so, or not at all; for the user. */
__attribute__((format(printf, 2, 3)))
void give_reason(struct plan *p, const char *format, ...);

/* Add to @s what a hit must read from the target's memory for @p's rule. */
void add_loads(const struct plan *p, const struct plan_options *opt, struct site *s);

/*
 * true if @p is a function of glibc's heap, whose blocks have their size in the word before them. Decided by
 * its name: libc.so.6 has many functions that allocate something else (open, mmap, pthread_create), and so
 * has a program that is statically linked with glibc.
 */
bool reads_chunk(const struct plan *p, const struct plan_options *opt);

#endif
