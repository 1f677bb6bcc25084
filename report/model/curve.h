/* SPDX-License-Identifier: MIT */
/*
 * curve: what was held at a place, over a part of a run, as growth looks at it.
 *
 * Two curves that only rise lie around that of the bytes:
 *
 *	top	the most that was held until then
 *	floor	the least that was held from then on: what was there then or later and has not gone
 *
 * A cache that turns over, or that is filled and flushed, goes up and down between them; only what raises both has
 * grown.
 */
#ifndef MM_CURVE_H
#define MM_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/model/growth.h"

struct curve {
	const struct growth_point *p;
	size_t n;
	double start, end;	/* seconds */
	uint64_t base;		/* bytes at the start */
	double chance;		/* bytes that may come and go by chance, where blocks are released as well */
};

/* Bytes at the end. */
uint64_t curve_last(const struct curve *c);

/* Most bytes of the points until @seconds. */
uint64_t curve_top(const struct curve *c, double seconds);

/* Fewest bytes of the points from number @i on. */
uint64_t curve_floor(const struct curve *c, size_t i);

/* The first point behind @seconds, at most the last. */
size_t curve_point(const struct curve *c, double seconds);

/* Of a point that is the end of its span: at @seconds, as if bytes came evenly within spans. */
double curve_bytes(const struct curve *c, double seconds);

/* When the floor came above @bytes and stayed there. */
double curve_above(const struct curve *c, double bytes);

/* The end of the point before that: until then it was less. */
double curve_below(const struct curve *c, double bytes);

/* The time from which on there is only @part of the run left. */
double curve_later(const struct curve *c, double part);

/* What was added since @seconds to both the floor and the top. */
double curve_added(const struct curve *c, double seconds);

/* What was held at the ends of both this span and the next: a block that is there for a moment is no height to fall from. */
uint64_t curve_held(const struct curve *c, size_t i);

/* How far it went down at most, from what it had come to. */
double curve_breath(const struct curve *c);

/*
 * Step after step, in both halves of the run, and never down again: so chance does not play. What is there
 * for a moment when a span ends does not count.
 */
bool curve_only_rises(const struct curve *c);

#endif
