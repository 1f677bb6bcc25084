/* SPDX-License-Identifier: MIT */
/*
 * series: the live bytes of a place over time: at most MMT_SERIES_POINTS points for a run of any length.
 *
 *	point i = bytes live at the end of span i (times (i + 1) * span_us)
 *
 * At most MMT_SERIES_POINTS points. If time goes beyond them, spans are doubled, and the later of two points
 * remains. The length of a span depends only on the time (series_span), so the points of all series of a run
 * are at the same times, and the same events give the same series, however they are read. Nothing is
 * allocated for a place that never had live bytes at the end of a span.
 */
#ifndef MM_SERIES_H
#define MM_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "trace/format.h"

struct series {
	uint64_t *points;	/* MMT_SERIES_POINTS of them, or NULL: all are 0 */
	uint32_t n;		/* spans that are over */
	uint32_t doublings;	/* span = MMT_SERIES_FIRST_US << doublings */
};

void series_init(struct series *s);
void series_fini(struct series *s);

/*
 * It is @now_us, and @bytes were live since the last call: the spans that ended meanwhile get that value.
 * Call it before the bytes change, and before reading. @now_us never goes back (if it does, nothing happens).
 * 0 or -ENOMEM.
 */
must_check int series_advance(struct series *s, uint64_t now_us, uint64_t bytes);

/*
 * Add @n points of @span_us each, for a part of the run that was counted elsewhere. The span must be the
 * first span doubled some times (else -EINVAL). 0 or -ENOMEM.
 */
must_check int series_add(struct series *s, uint64_t span_us, const uint64_t *points, uint32_t n);

/* The length of spans at @now_us. */
uint64_t series_span(uint64_t now_us);

uint64_t series_span_us(const struct series *s);
uint64_t series_point(const struct series *s, uint32_t i);	/* i < n */

#endif
