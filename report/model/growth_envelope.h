/* SPDX-License-Identifier: MIT */
/*
 * growth_envelope: the live bytes of a stack over a part of a run, and the two curves between which they lie.
 * For growth.c.
 *
 * Two curves that never fall enclose that of the bytes:
 *
 *	top	the most that was live until then
 *	floor	the least that was live from then on: it was there then or later, and stayed
 *
 * A cache that turns over, or that is filled and flushed, goes up and down between them; only memory that
 * raises both has grown.
 */
#ifndef MM_GROWTH_ENVELOPE_H
#define MM_GROWTH_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/growth.h"

struct growth_envelope {
	const struct growth_point *p;
	size_t n;
	double start, end;	/* seconds */
	uint64_t base;		/* bytes at the start; all bytes are sums (growth_sum) */
	double chance;		/* bytes that may come and go by chance, if blocks are also freed */
};

/* Bytes at the end. */
uint64_t envelope_last(const struct growth_envelope *c);

/* Of these, what is more than older blocks that were there at the start: those are only replaced. */
double envelope_new(const struct growth_envelope *c);

/* Most bytes of the points until @seconds. */
uint64_t envelope_top(const struct growth_envelope *c, double seconds);

/* Fewest bytes of the points from number @i on. */
uint64_t envelope_floor(const struct growth_envelope *c, size_t i);

/* The first point after @seconds, at most the last. */
size_t envelope_point(const struct growth_envelope *c, double seconds);

/* The bytes at @seconds, as if they came evenly within spans; a point is the end of its span. */
double envelope_bytes(const struct growth_envelope *c, double seconds);

/* When the floor reached @bytes. */
double envelope_above(const struct growth_envelope *c, double bytes);

/* The time of the last point before that: until then the floor was lower. */
double envelope_below(const struct growth_envelope *c, double bytes);

/* The time at which only @part of the run is left. */
double envelope_later(const struct growth_envelope *c, double part);

/* The bytes added since @seconds to both the floor and the top. */
double envelope_added(const struct growth_envelope *c, double seconds);

/*
 * The bytes live at the ends of both this span and the next: a block that lives only for a moment is not a
 * peak to fall from.
 */
uint64_t envelope_held(const struct growth_envelope *c, size_t i);

/* The deepest fall below an earlier maximum. */
double envelope_breath(const struct growth_envelope *c);

/*
 * It rises step by step, in both halves of the run, and never falls: chance does not do that. Bytes that are
 * live only for a moment at the end of a span do not count.
 */
bool envelope_only_rises(const struct growth_envelope *c);

#endif
