/* SPDX-License-Identifier: MIT */
#include "tests/simulate/spots.h"

#include <math.h>
#include <string.h>

#include "base/random.h"
#include "tests/simulate/clock.h"

static uint64_t state;

void spots_seed(uint64_t seed)
{
	state = seed * 0x9e3779b97f4a7c15ull | 1;
	for (int i = 0; i < 8; i++)
		(void)random_below(&state, 2);
}

double spots_uniform(void)
{
	return ((double)random_below(&state, 1ull << 52) + 0.5) / (double)(1ull << 52);
}

double spots_exponential(double mean)
{
	return -mean * log(spots_uniform());
}

uint32_t spots_below(uint32_t n)
{
	return (uint32_t)random_below(&state, n);
}

/* --- the processes --- */

/* As tests/victims/sampled: most of what a service allocates is freed at once; three spots leak. */
#define SERVICE(times) \
	{ "short_line", AT_RANDOM, SHORT, 30000 * (times), 2e-5, .bytes = 128, .alike = true }, \
	{ "short_word", AT_RANDOM, SHORT, 25000 * (times), 5e-4, .bytes = 32 }, \
	{ "short_number", AT_RANDOM, SHORT, 18000 * (times), 1e-3, .bytes = 48, .alike = true }, \
	{ "short_list", AT_RANDOM, SHORT, 10000 * (times), 2e-3, .bytes = 80 }, \
	{ "short_quote", AT_RANDOM, SHORT, 7000 * (times), 1e-4, .bytes = 48 }, \
	{ "short_name", AT_RANDOM, SHORT, 10000 * (times), 3e-3, .bytes = 32, .alike = true }, \
	{ "short_path", AT_RANDOM, SHORT, 7000 * (times), 2e-5, .bytes = 112 }, \
	{ "short_value", AT_RANDOM, SHORT, 5000 * (times), 2e-3, .bytes = 208 }, \
	{ "short_error", AT_RANDOM, SHORT, 170 * (times), 1e-3, .bytes = 176, .alike = true }, \
	{ "short_node", AT_RANDOM, SHORT, 5000 * (times), 1e-2, .bytes = 64 }, \
	{ "short_leaf", AT_RANDOM, SHORT, 3400 * (times), 1e-2, .bytes = 64 }, \
	{ "short_root", AT_RANDOM, SHORT, 500 * (times), 2e-2, .bytes = 80, .alike = true }, \
	{ "short_event", AT_RANDOM, SHORT, 5000 * (times), 5e-4, .bytes = 112 }, \
	{ "short_timer", AT_RANDOM, SHORT, 1700 * (times), 5e-2, .bytes = 96 }, \
	{ "short_signal", AT_RANDOM, SHORT, 170 * (times), 1e-3, .bytes = 96, .alike = true }, \
	{ "short_close", AT_RANDOM, SHORT, 700 * (times), 1e-2, .bytes = 80 }, \
	{ "short_small", AT_RANDOM, SHORT, 3400 * (times), 1e-3, .bytes = 272 }, \
	{ "short_page", AT_RANDOM, SHORT, 700 * (times), 2e-3, .bytes = 4112 }, \
	{ "short_large", AT_RANDOM, SHORT, 170 * (times), 1e-2, .bytes = 16016 }, \
	{ "short_query", AT_RANDOM, SHORT, 2000 * (times), 0.2, .bytes = 144 }, \
	{ "short_plan", AT_RANDOM, SHORT, 2000 * (times), 0.2, .bytes = 96, .alike = true }, \
	{ "short_row", AT_RANDOM, SHORT, 4200 * (times), 1e-3, .bytes = 160 }, \
	{ "short_cell", AT_RANDOM, SHORT, 6800 * (times), 1e-3, .bytes = 48 }, \
	{ "cache_session", EVENLY, CACHED, 500, 1, .bytes = 256 }, \
	{ "cache_page", EVENLY, CACHED, 100, 5, .bytes = 608, .alike = true }, \
	{ "cache_host", EVENLY, CACHED, 20, 5, .bytes = 112 }, \
	{ "table_entry", EVENLY, TABLE, 400, 0, .bytes = 96, .until_s = 5 }, \
	{ "request_part", EVENLY, REQUEST, 200, 2, .bytes = 144 }, \
	{ "leak_fast", EVENLY, LEAKS, 100, 0, .bytes = 64 }, \
	{ "leak_middle", EVENLY, LEAKS, 10, 0, .bytes = 176, .alike = true }, \
	{ "leak_slow", AT_RANDOM, LEAKS, 1, 0, .bytes = 1008 }

static const struct spot service[] = { SERVICE(1) };
static const struct spot quiet[] = { SERVICE(0.1) };

/* Found in services: one call in so many forgets its block; the others free theirs soon. */
static const struct spot seldom[] = {
	SERVICE(0.05),
	{ "leaks_tenth", AT_RANDOM, SHORT, 200, 1e-2, .leaks = 0.1, .bytes = 80 },
	{ "leaks_hundredth", AT_RANDOM, SHORT, 1000, 1e-3, .leaks = 0.01, .bytes = 208 },
};

static const struct spot bunches[] = {
	SERVICE(0.05),
	{ "bunch_short", IN_BUNCHES, SHORT, 60, 1e-2, .bytes = 128, .bunch = 300, .bunch_s = 5e-3 },
	{ "bunch_leak", IN_BUNCHES, LEAKS, 60, 0, .bytes = 192, .bunch = 300, .bunch_s = 5e-3 },
	{ "pair_leak", IN_BUNCHES, LEAKS, 4, 0, .bytes = 320, .bunch = 2, .bunch_s = 1e-4 },
};

static const struct spot lockstep[] = {
	{ "lockstep", IN_LOCKSTEP, SHORT, 32 * 125, 1e-3, .bytes = 128 },
	{ "short_word", AT_RANDOM, SHORT, 2000, 5e-4, .bytes = 32 },
	{ "leak_fast", EVENLY, LEAKS, 100, 0, .bytes = 64 },
};

/* Nothing happens for half a minute, then all of it. */
static const struct spot late[] = {
	{ "short_word", AT_RANDOM, SHORT, 20000, 5e-4, .bytes = 32, .from_s = 30 },
	{ "short_line", AT_RANDOM, SHORT, 20000, 2e-5, .bytes = 128, .alike = true, .from_s = 30 },
	{ "cache_session", EVENLY, CACHED, 500, 1, .bytes = 256, .from_s = 30 },
	{ "leak_fast", EVENLY, LEAKS, 100, 0, .bytes = 64, .from_s = 30 },
	{ "leak_middle", EVENLY, LEAKS, 10, 0, .bytes = 176, .alike = true, .from_s = 30 },
};

/* Caches of every age up to a third of a watch of two minutes, and requests. */
static const struct spot caches[] = {
	SERVICE(0.05),
	{ "cache_100ms", AT_RANDOM, CACHED, 300, 0.1, .bytes = 224 },
	{ "cache_300ms", AT_RANDOM, CACHED, 300, 0.3, .bytes = 240, .alike = true },
	{ "cache_3s", AT_RANDOM, CACHED, 100, 3, .bytes = 288 },
	{ "cache_10s", AT_RANDOM, CACHED, 50, 10, .bytes = 304, .alike = true },
	{ "cache_20s", AT_RANDOM, CACHED, 30, 20, .bytes = 336 },
	{ "cache_40s", AT_RANDOM, CACHED, 10, 40, .bytes = 352 },
	{ "request_10s", AT_RANDOM, REQUEST, 100, 10, .bytes = 368 },
};

/* Blocks that go at once, at addresses that others get soon, whose blocks look the same. */
static const struct spot alike[] = {
	{ "same_a", AT_RANDOM, SHORT, 9000, 2e-5, .bytes = 64, .alike = true },
	{ "same_b", AT_RANDOM, SHORT, 9000, 1e-4, .bytes = 64, .alike = true },
	{ "same_c", AT_RANDOM, SHORT, 3000, 1e-3, .bytes = 64, .alike = true },
	{ "same_d", AT_RANDOM, SHORT, 900, 1e-2, .bytes = 64, .alike = true },
	{ "other_a", AT_RANDOM, SHORT, 9000, 5e-4, .bytes = 128, .alike = true },
	{ "other_b", AT_RANDOM, SHORT, 900, 2e-3, .bytes = 128, .alike = true },
	{ "own_a", AT_RANDOM, SHORT, 9000, 1e-3, .bytes = 192, .alike = true },
	{ "own_b", AT_RANDOM, SHORT, 900, 1e-3, .bytes = 256, .alike = true },
	{ "own_c", AT_RANDOM, SHORT, 90, 1e-3, .bytes = 320, .alike = true },
	{ "leak_alike", AT_RANDOM, LEAKS, 10, 0, .bytes = 64, .alike = true },
};

/*
 * As jq does with an error whose message it forgets: a key lives for the time of one record, and its address goes to
 * the message, which leaks.
 */
static const struct spot handed[] = {
	{ "record", AT_RANDOM, SHORT, 5000, 1e-4, .bytes = 96 },
	{ "key", AT_RANDOM, SHORT, 1000, 1e-4, .bytes = 64, .heir = "leak_message", .inherits = 0.8 },
	{ "key_alike", AT_RANDOM, SHORT, 1000, 1e-4, .bytes = 128, .alike = true, .heir = "leak_alike",
	  .inherits = 0.5 },
	{ "key_seldom", AT_RANDOM, SHORT, 50, 1e-4, .bytes = 192, .heir = "leak_seldom", .inherits = 0.45 },
	{ "number", AT_RANDOM, SHORT, 5000, 2e-5, .bytes = 48 },
	{ "cache_session", EVENLY, CACHED, 200, 1, .bytes = 256 },
	{ "leak_message", AT_RANDOM, LEAKS, 800, 0, .bytes = 64 },
	{ "leak_alike", AT_RANDOM, LEAKS, 500, 0, .bytes = 128, .alike = true },
	{ "leak_seldom", AT_RANDOM, LEAKS, 25, 0, .bytes = 192 },
	{ "leak_slow", AT_RANDOM, LEAKS, 2, 0, .bytes = 1008 },
};

#define OF(list) list, sizeof(list) / sizeof(list[0])

static const struct scenario scenarios[] = {
	{ "service", "180,000 allocations a second at 31 places, three of which leak, by a clock", 1, 0.6, false, 2,
	  OF(service) },
	{ "hot", "the same by one thread without a pause", 1, 1, true, 2, OF(service) },
	{ "threads", "the same by eight threads without a pause", 8, 2, true, 2, OF(service) },
	{ "quiet", "a tenth of that", 1, 0.1, false, 3, OF(quiet) },
	{ "seldom", "one call in ten, and in a hundred, forgets its block", 2, 0.2, false, 2, OF(seldom) },
	{ "bunches", "300 blocks within 5 ms, each five seconds on average", 2, 0.2, false, 1, OF(bunches) },
	{ "lockstep", "32 threads that allocate together", 32, 0.5, false, 1, OF(lockstep) },
	{ "late", "idle for 30 s, then hot", 1, 0.3, false, 2, OF(late) },
	{ "caches", "caches of 0.1 to 40 s", 2, 0.2, false, 2, OF(caches) },
	{ "alike", "blocks that go at once, and begin as those of others do", 1, 0.5, false, 2, OF(alike) },
	{ "handed", "freed addresses go to a leak at once", 1, 1, true, 1, OF(handed) },
};

const struct scenario *scenario_at(size_t i)
{
	return i < sizeof(scenarios) / sizeof(scenarios[0]) ? &scenarios[i] : NULL;
}

const struct scenario *scenario_find(const char *name)
{
	for (size_t i = 0; scenario_at(i); i++)
		if (!strcmp(scenario_at(i)->name, name))
			return scenario_at(i);
	return NULL;
}

/* --- when they allocate --- */

void spot_begin(const struct scenario *s, const struct spot *p, struct spot_state *out)
{
	const unsigned together = p->when == IN_LOCKSTEP ? s->threads : 1;

	*out = (struct spot_state){ .together = together };
	out->rate = p->rate * pow(s->vary, 2 * spots_uniform() - 1) / together;
	out->phase_ns = (uint64_t)(spots_uniform() * 1e9 / out->rate);
}

static uint64_t ns_of(double s)
{
	return (uint64_t)(s * 1e9);
}

/* The bunch that is under way at @t_ns, or the next one; its allocations come at equal distances. */
static uint64_t next_of_bunches(const struct spot *p, struct spot_state *its, uint64_t t_ns)
{
	const uint64_t length = ns_of(p->bunch_s), step = length / p->bunch;
	const double gap_s = p->bunch / its->rate;

	if (!its->bunch_ns)
		its->bunch_ns = 1 + ns_of(spots_exponential(gap_s));
	while (its->bunch_ns + (p->bunch - 1) * step < t_ns)
		its->bunch_ns += length + ns_of(spots_exponential(gap_s));
	if (t_ns <= its->bunch_ns)
		return its->bunch_ns;
	return its->bunch_ns + (t_ns - its->bunch_ns + step - 1) / step * step;
}

uint64_t spot_next_ns(const struct spot *p, struct spot_state *its, uint64_t t_ns)
{
	uint64_t from = ns_of(p->from_s), next, gap;

	t_ns = t_ns > from ? t_ns : from;
	switch (p->when) {
	case EVENLY:
		gap = ns_of(1 / its->rate);
		next = t_ns < its->phase_ns ? its->phase_ns
					    : its->phase_ns + (t_ns - its->phase_ns + gap - 1) / gap * gap;
		break;
	case IN_BUNCHES:
		next = next_of_bunches(p, its, t_ns);
		break;
	default:
		next = t_ns + ns_of(spots_exponential(1 / its->rate));
	}
	return p->until_s > 0 && next > ns_of(p->until_s) ? UINT64_MAX : next;
}

/* --- and what becomes of the blocks --- */

uint64_t spot_freed_ns(const struct spot *p, uint64_t t_ns)
{
	const uint64_t period = ns_of(p->life_s);

	switch (p->life) {
	case LEAKS:
	case TABLE:
		return UINT64_MAX;
	case CACHED:
		return t_ns + period;
	case REQUEST:
		return (t_ns / period + 1) * period;
	default:
		return spots_uniform() < p->leaks ? UINT64_MAX : t_ns + ns_of(spots_exponential(p->life_s));
	}
}

double spot_rate(const struct spot *p, const struct spot_state *its, double seconds)
{
	const double until_s = p->until_s > 0 && p->until_s < seconds ? p->until_s : seconds;

	return until_s > p->from_s ? its->rate * its->together * (until_s - p->from_s) / seconds : 0;
}
