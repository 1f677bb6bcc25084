/* SPDX-License-Identifier: MIT */
/*
 * spots: what the simulated process does: the sites at which it allocates, when it does so there, and how
 * long the blocks live.
 *
 *	when	at random (exponential gaps), evenly, in bunches, or by all threads at once (lockstep)
 *	life	a leak, for ever; a part of the calls leaks; short, exponential; a cache's, always as long; a
 *		request's, until the end of its period; a table's, for ever, but none is added after its end
 *
 * Only what happens while a trap is planted is ever asked for: so hours cost little.
 */
#ifndef SIMULATE_SPOTS_H
#define SIMULATE_SPOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum when { AT_RANDOM, EVENLY, IN_BUNCHES, IN_LOCKSTEP };
enum life { LEAKS, SHORT, CACHED, REQUEST, TABLE };

struct spot {
	const char *name;
	enum when when;
	enum life life;
	double rate;			/* a second, over a long time */
	double life_s;			/* mean, or exact (CACHED, REQUEST) */
	double leaks;			/* SHORT: so large a part of the calls leaks */
	unsigned bytes;			/* of a block, with the allocator's own */
	bool alike;			/* all of its blocks begin with the same two words */
	double from_s, until_s;		/* when it allocates, since the watch began; until 0: to the end */
	unsigned bunch;			/* allocations of a bunch; they come within bunch_s */
	double bunch_s;
	/* the spot of the same size that gets so large a part of the addresses that are freed here, at once */
	const char *heir;
	double inherits;
};

struct scenario {
	const char *name, *what;
	unsigned threads;
	double busy;			/* processors that it uses */
	/* threads run without pause: one that was stopped is late from then on, and what was due does not catch up */
	bool loops;
	double vary;			/* each rate is so many times higher or lower, at random */
	const struct spot *spots;
	size_t nspots;
};

const struct scenario *scenario_find(const char *name);
const struct scenario *scenario_at(size_t i);	/* NULL behind the last one */

/* The random numbers of a run. */
void spots_seed(uint64_t seed);
double spots_uniform(void);			/* 0 to 1, both excluded */
double spots_exponential(double mean);
uint32_t spots_below(uint32_t n);

/* Where a spot is in its bunches. */
struct spot_state {
	double rate;			/* in this run: how often a second one, or all, of its threads allocate there */
	unsigned together;		/* so many */
	uint64_t phase_ns;		/* EVENLY */
	uint64_t bunch_ns;		/* IN_BUNCHES: when the present or next one begins; 0: not known */
};

void spot_begin(const struct scenario *s, const struct spot *p, struct spot_state *state);

/* When it allocates next, at @t_ns or after; UINT64_MAX: never. Times are since the watch began. */
uint64_t spot_next_ns(const struct spot *p, struct spot_state *state, uint64_t t_ns);

/* When a block that it allocates at @t_ns is freed; UINT64_MAX: never. */
uint64_t spot_freed_ns(const struct spot *p, uint64_t t_ns);

/* How often it allocates a second, on average over a watch of @seconds. */
double spot_rate(const struct spot *p, const struct spot_state *state, double seconds);

#endif
