/* SPDX-License-Identifier: MIT */
#include "report/model/growth_envelope.h"

uint64_t envelope_last(const struct growth_envelope *c)
{
	return c->p[c->n - 1].bytes;
}

uint64_t envelope_top(const struct growth_envelope *c, double seconds)
{
	uint64_t most = c->base;

	for (size_t i = 0; i < c->n && c->p[i].seconds <= seconds; i++)
		if (c->p[i].bytes > most)
			most = c->p[i].bytes;
	return most;
}

uint64_t envelope_floor(const struct growth_envelope *c, size_t i)
{
	uint64_t least = envelope_last(c);

	for (; i < c->n; i++)
		if (c->p[i].bytes < least)
			least = c->p[i].bytes;
	return least;
}

size_t envelope_point(const struct growth_envelope *c, double seconds)
{
	size_t i = 0;

	while (i + 1 < c->n && c->p[i].seconds <= seconds)
		i++;
	return i;
}

double envelope_bytes(const struct growth_envelope *c, double seconds)
{
	size_t i = envelope_point(c, seconds);
	double from = i ? c->p[i - 1].seconds : c->start, held = (double)(i ? c->p[i - 1].bytes : c->base);
	double span = c->p[i].seconds - from;

	return span > 0 ? held + ((double)c->p[i].bytes - held) * (seconds - from) / span : held;
}

double envelope_above(const struct growth_envelope *c, double bytes)
{
	size_t i = c->n;

	while (i > 0 && (double)c->p[i - 1].bytes >= bytes)
		i--;
	return i < c->n ? c->p[i].seconds : c->end;
}

double envelope_below(const struct growth_envelope *c, double bytes)
{
	size_t i = 0;

	while (i < c->n && (double)envelope_floor(c, i) < bytes)
		i++;
	return i ? c->p[i - 1].seconds : c->start;
}

double envelope_later(const struct growth_envelope *c, double part)
{
	return c->end - (c->end - c->start) * part;
}

double envelope_added(const struct growth_envelope *c, double seconds)
{
	double at_top = (double)(envelope_top(c, c->end) - envelope_top(c, seconds));
	double at_floor = (double)(envelope_last(c) - envelope_floor(c, envelope_point(c, seconds)));

	return at_top < at_floor ? at_top : at_floor;
}

uint64_t envelope_held(const struct growth_envelope *c, size_t i)
{
	uint64_t next = i + 1 < c->n ? c->p[i + 1].bytes : c->p[i].bytes;

	return next < c->p[i].bytes ? next : c->p[i].bytes;
}

double envelope_breath(const struct growth_envelope *c)
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

bool envelope_only_rises(const struct growth_envelope *c)
{
	size_t half = envelope_point(c, envelope_later(c, 0.5)), rises[2] = { 0, 0 };

	for (size_t i = 0; i + 1 < c->n; i++) {
		if (envelope_held(c, i + 1) < envelope_held(c, i))
			return false;
		rises[i >= half] += envelope_held(c, i + 1) > envelope_held(c, i);
	}
	return rises[0] >= 3 && rises[1] >= 3;
}
