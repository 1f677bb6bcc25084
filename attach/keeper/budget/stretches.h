/* SPDX-License-Identifier: MIT */
/*
 * stretches: from planting a metered trap to lifting it: what the clocks show meanwhile, and what goes to its meter for it (meter.h, pace.h).
 */
#ifndef MM_STRETCHES_H
#define MM_STRETCHES_H

#include <stdbool.h>
#include <stdint.h>

struct keeper;

/* The trap of site @i stands from now on. */
void stretches_begin(struct keeper *k, uint32_t i);

/* It was hit, by the thread that is served. */
void stretches_hit(struct keeper *k, uint32_t i);

/* It does not stand any more; or its next stretch begins. @full: at a hit, its quota's last, so that nobody works. */
void stretches_end(struct keeper *k, uint32_t i, bool full);

#endif
