/* SPDX-License-Identifier: MIT */
/*
 * memory_growth: by how much the watched process grew, as the kernel reports it, and whether what is live explains
 * that.
 */
#ifndef MM_MEMORY_GROWTH_H
#define MM_MEMORY_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "report/model/summary.h"

#define MEMORY_GROWTH_MUCH (1u << 20)	/* growth that is worth a sentence */

/* Of the process that is watched: without the pages of its code that were copied for traps. */
int64_t memory_growth_of(const struct summary *s, const struct summary_memory *m);

/*
 * Is so much growth unexplained that it is worth a sentence? Neither blocks of other processes nor objects with
 * references explain any. @m: of the process; NULL: it is not known.
 */
bool memory_growth_unexplained(const struct summary *s, const struct summary_memory *m);

#endif
