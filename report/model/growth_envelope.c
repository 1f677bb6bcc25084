/* SPDX-License-Identifier: MIT */
#include "report/model/growth_envelope.h"

uint64_t envelope_last(const struct growth_envelope *c)
{
	return growth_sum(&c->p[c->n - 1]);
}

double envelope_new(const struct growth_envelope *c)
{
	const double more = (double)envelope_last(c) - (double)c->p[0].older;

	return more > 0 ? more : 0;
}

uint64_t envelope_top(const struct growth_envelope *c, double seconds)
{
	uint64_t most = c->base;

	for (size_t i = 0; i < c->n && c->p[i].seconds <= seconds; i++)
		if (growth_sum(&c->p[i]) > most)
			most = growth_sum(&c->p[i]);
	return most;
}

uint64_t envelope_floor(const struct growth_envelope *c, size_t i)
{
	uint64_t least = envelope_last(c);

	for (; i < c->n; i++)
		if (growth_sum(&c->p[i]) < least)
			least = growth_sum(&c->p[i]);
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
	double from = i ? c->p[i - 1].seconds : c->start, held = (double)(i ? growth_sum(&c->p[i - 1]) : c->base);
	double span = c->p[i].seconds - from;

	return span > 0 ? held + ((double)growth_sum(&c->p[i]) - held) * (seconds - from) / span : held;
}

double envelope_above(const struct growth_envelope *c, double bytes)
{
	size_t i = c->n;

	while (i > 0 && (double)growth_sum(&c->p[i - 1]) >= bytes)
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
	uint64_t next = i + 1 < c->n ? growth_sum(&c->p[i + 1]) : growth_sum(&c->p[i]);

	return next < growth_sum(&c->p[i]) ? next : growth_sum(&c->p[i]);
}

double envelope_breath(const struct growth_envelope *c)
{
	uint64_t most = 0, deepest = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (growth_sum(&c->p[i]) > most)
			most = growth_sum(&c->p[i]);
		if (most - growth_sum(&c->p[i]) > deepest)
			deepest = most - growth_sum(&c->p[i]);
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
