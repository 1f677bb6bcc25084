/* SPDX-License-Identifier: MIT */
/*
 * exposure_spans: the exposure intervals of traps with rounds, from planting to lifting: what the clocks show
 * meanwhile (exposure.h), and what is added to the site's sums (site_stats.h).
 */
#ifndef MM_EXPOSURE_SPANS_H
#define MM_EXPOSURE_SPANS_H

#include <stdbool.h>
#include <stdint.h>

struct keeper;

/* The trap of site @i is planted from now on. */
void exposure_spans_begin(struct keeper *k, uint32_t i);

/* It was hit by the thread that is served. */
void exposure_spans_hit(struct keeper *k, uint32_t i);

/*
 * It is not planted any more; or its next interval begins. @full: by the last hit of its quota, so that both
 * clocks (quiet_clock.h) are stopped.
 */
void exposure_spans_end(struct keeper *k, uint32_t i, bool full);

#endif
