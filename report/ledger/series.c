/* SPDX-License-Identifier: MIT */
/* series: see series.h. */
#include "report/ledger/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void series_init(struct series *s)
{
	*s = (struct series){ 0 };
}

void series_fini(struct series *s)
{
	free(s->points);
	series_init(s);
}

/* Spans that are over at @now_us, of the first length doubled @doublings times. */
static uint64_t spans(uint64_t now_us, uint32_t doublings)
{
	return (now_us >> doublings) / MMT_SERIES_FIRST_US;
}

static uint32_t doublings_at(uint64_t now_us, uint32_t doublings)
{
	while (spans(now_us, doublings) > MMT_SERIES_POINTS)
		doublings++;
	return doublings;
}

/*
 * The value of span @i if the spans of the @n @points are doubled @more times; false: the points do not reach
 * so far.
 */
static bool coarse_point(const uint64_t *points, uint32_t n, uint32_t more, uint32_t i, uint64_t *out)
{
	uint64_t end = ((uint64_t)i + 1) << more;

	if (more >= 32 || end > n)
		return false;
	*out = points ? points[end - 1] : 0;
	return true;
}

static int make_room(struct series *s)
{
	if (!s->points)
		s->points = calloc(MMT_SERIES_POINTS, sizeof(*s->points));
	return s->points ? 0 : -ENOMEM;
}

int series_advance(struct series *s, uint64_t now_us, uint64_t bytes)
{
	uint32_t doublings, n;

	if (spans(now_us, s->doublings) <= s->n)
		return 0;
	doublings = doublings_at(now_us, s->doublings);
	n = (uint32_t)spans(now_us, doublings);
	if (bytes && make_room(s) < 0)
		return -ENOMEM;
	/* from the front: a point is copied from a higher index to a lower one, or to the same */
	for (uint32_t i = 0; s->points && i < n; i++)
		if (!coarse_point(s->points, s->n, doublings - s->doublings, i, &s->points[i]))
			s->points[i] = bytes;
	s->n = n;
	s->doublings = doublings;
	return 0;
}

/* Lengthen the spans to FIRST << @doublings. */
static void coarsen(struct series *s, uint32_t doublings)
{
	uint32_t more = doublings - s->doublings, n = more < 32 ? s->n >> more : 0;

	for (uint32_t i = 0; s->points && i < n; i++)
		coarse_point(s->points, s->n, more, i, &s->points[i]);
	for (uint32_t i = n; s->points && i < s->n; i++)
		s->points[i] = 0;
	s->n = n;
	s->doublings = doublings;
}

static int doublings_of(uint64_t span_us, uint32_t *out)
{
	for (*out = 0; *out < 48; ++*out)
		if (span_us == (uint64_t)MMT_SERIES_FIRST_US << *out)
			return 0;
	return -EINVAL;
}

int series_add(struct series *s, uint64_t span_us, const uint64_t *points, uint32_t n)
{
	uint32_t doublings, more, i;
	uint64_t point;

	if (n > MMT_SERIES_POINTS || doublings_of(span_us, &doublings) < 0)
		return -EINVAL;
	if (make_room(s) < 0)
		return -ENOMEM;
	if (doublings > s->doublings)
		coarsen(s, doublings);
	more = s->doublings - doublings;
	for (i = 0; coarse_point(points, n, more, i, &point); i++)
		s->points[i] += point;
	if (i > s->n)
		s->n = i;
	return 0;
}

uint64_t series_span(uint64_t now_us)
{
	return (uint64_t)MMT_SERIES_FIRST_US << doublings_at(now_us, 0);
}

uint64_t series_span_us(const struct series *s)
{
	return (uint64_t)MMT_SERIES_FIRST_US << s->doublings;
}

uint64_t series_point(const struct series *s, uint32_t i)
{
	return s->points ? s->points[i] : 0;
}
