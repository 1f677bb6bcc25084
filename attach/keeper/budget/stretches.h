/* SPDX-License-Identifier: MIT */
/*
 * stretches: the exposure intervals of metered traps, from planting to lifting: what the clocks show
 * meanwhile, and what is added to the site's meter (meter.h, pace.h).
 */
#ifndef MM_STRETCHES_H
#define MM_STRETCHES_H

#include <stdbool.h>
#include <stdint.h>

struct keeper;

/* The trap of site @i is planted from now on. */
void stretches_begin(struct keeper *k, uint32_t i);

/* It was hit by the thread that is served. */
void stretches_hit(struct keeper *k, uint32_t i);

/*
 * It is not planted any more; or its next interval begins. @full: by the last hit of its quota, so that both
 * clocks (calm.h) are stopped.
 */
void stretches_end(struct keeper *k, uint32_t i, bool full);

#endif
