/* SPDX-License-Identifier: MIT */
#include "report/model/curve.h"

uint64_t curve_last(const struct curve *c)
{
	return c->p[c->n - 1].bytes;
}

uint64_t curve_top(const struct curve *c, double seconds)
{
	uint64_t most = c->base;

	for (size_t i = 0; i < c->n && c->p[i].seconds <= seconds; i++)
		if (c->p[i].bytes > most)
			most = c->p[i].bytes;
	return most;
}

uint64_t curve_floor(const struct curve *c, size_t i)
{
	uint64_t least = curve_last(c);

	for (; i < c->n; i++)
		if (c->p[i].bytes < least)
			least = c->p[i].bytes;
	return least;
}

size_t curve_point(const struct curve *c, double seconds)
{
	size_t i = 0;

	while (i + 1 < c->n && c->p[i].seconds <= seconds)
		i++;
	return i;
}

double curve_bytes(const struct curve *c, double seconds)
{
	size_t i = curve_point(c, seconds);
	double from = i ? c->p[i - 1].seconds : c->start, held = (double)(i ? c->p[i - 1].bytes : c->base);
	double span = c->p[i].seconds - from;

	return span > 0 ? held + ((double)c->p[i].bytes - held) * (seconds - from) / span : held;
}

double curve_above(const struct curve *c, double bytes)
{
	size_t i = c->n;

	while (i > 0 && (double)c->p[i - 1].bytes >= bytes)
		i--;
	return i < c->n ? c->p[i].seconds : c->end;
}

double curve_below(const struct curve *c, double bytes)
{
	size_t i = 0;

	while (i < c->n && (double)curve_floor(c, i) < bytes)
		i++;
	return i ? c->p[i - 1].seconds : c->start;
}

double curve_later(const struct curve *c, double part)
{
	return c->end - (c->end - c->start) * part;
}

double curve_added(const struct curve *c, double seconds)
{
	double at_top = (double)(curve_top(c, c->end) - curve_top(c, seconds));
	double at_floor = (double)(curve_last(c) - curve_floor(c, curve_point(c, seconds)));

	return at_top < at_floor ? at_top : at_floor;
}

uint64_t curve_held(const struct curve *c, size_t i)
{
	uint64_t next = i + 1 < c->n ? c->p[i + 1].bytes : c->p[i].bytes;

	return next < c->p[i].bytes ? next : c->p[i].bytes;
}

double curve_breath(const struct curve *c)
{
	uint64_t most = 0, deepest = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (c->p[i].bytes > most)
			most = c->p[i].bytes;
		if (most - c->p[i].bytes > deepest)
			deepest = most - c->p[i].bytes;
	}
	return (double)deepest;
}

bool curve_only_rises(const struct curve *c)
{
	size_t half = curve_point(c, curve_later(c, 0.5)), rises[2] = { 0, 0 };

	for (size_t i = 0; i + 1 < c->n; i++) {
		if (curve_held(c, i + 1) < curve_held(c, i))
			return false;
		rises[i >= half] += curve_held(c, i + 1) > curve_held(c, i);
	}
	return rises[0] >= 3 && rises[1] >= 3;
}
