/* SPDX-License-Identifier: MIT */
/*
 * growth: see growth.h. Two curves that only rise lie around that of the bytes:
 *
 *	top	the most that was held until then
 *	floor	the least that was held from then on: what was there then or later and has not gone
 *
 * A cache that turns over, or that is filled and flushed, goes up and down between them; only what raises both has
 * grown. With all shares there are lower bounds for what counts: a few per cent up and down is how programs breathe.
 */
#include "report/growth.h"

#include <math.h>
#include <stdbool.h>

#define LAST_PART (1 / 3.)	/* of the run: what counts as "now" */
#define HARDLY 0.04		/* of what is held: added in the last part, it is not growth */
#define FALLEN 0.7		/* of the most there was: less than that has fallen */
#define TOO_LATE 0.15		/* of the run: what came later than that cannot be judged */
#define AT_ONCE 0.1		/* of the run */
#define MIN_SECONDS 1.
#define MIN_POINTS 8
#define MIN_BLOCKS 4		/* kept, or growth may be chance */

struct curve {
	const struct growth_point *p;
	size_t n;
	double start, end;	/* seconds */
	uint64_t base;		/* bytes at the start */
	double chance;		/* bytes that may come and go by chance, where blocks are released as well */
};

static uint64_t last_bytes(const struct curve *c)
{
	return c->p[c->n - 1].bytes;
}

/* Most bytes of the points until @seconds. */
static uint64_t top(const struct curve *c, double seconds)
{
	uint64_t most = c->base;

	for (size_t i = 0; i < c->n && c->p[i].seconds <= seconds; i++)
		if (c->p[i].bytes > most)
			most = c->p[i].bytes;
	return most;
}

/* Fewest bytes of the points from number @i on. */
static uint64_t floor_from(const struct curve *c, size_t i)
{
	uint64_t least = last_bytes(c);

	for (; i < c->n; i++)
		if (c->p[i].bytes < least)
			least = c->p[i].bytes;
	return least;
}

/* The first point behind @seconds, at most the last. */
static size_t point_after(const struct curve *c, double seconds)
{
	size_t i = 0;

	while (i + 1 < c->n && c->p[i].seconds <= seconds)
		i++;
	return i;
}

/* Of a point that is the end of its span: at @seconds, as if bytes came evenly within spans. */
static double bytes_at(const struct curve *c, double seconds)
{
	size_t i = point_after(c, seconds);
	double from = i ? c->p[i - 1].seconds : c->start, held = (double)(i ? c->p[i - 1].bytes : c->base);
	double span = c->p[i].seconds - from;

	return span > 0 ? held + ((double)c->p[i].bytes - held) * (seconds - from) / span : held;
}

/* When the floor came above @bytes and stayed there. */
static double floor_above(const struct curve *c, double bytes)
{
	size_t i = c->n;

	while (i > 0 && (double)c->p[i - 1].bytes >= bytes)
		i--;
	return i < c->n ? c->p[i].seconds : c->end;
}

/* The end of the point before that: until then it was less. */
static double floor_below(const struct curve *c, double bytes)
{
	size_t i = 0;

	while (i < c->n && (double)floor_from(c, i) < bytes)
		i++;
	return i ? c->p[i - 1].seconds : c->start;
}

static double later_by(const struct curve *c, double part)
{
	return c->end - (c->end - c->start) * part;
}

/* What was added since @seconds to both the floor and the top. */
static double added_since(const struct curve *c, double seconds)
{
	double at_top = (double)(top(c, c->end) - top(c, seconds));
	double at_floor = (double)(last_bytes(c) - floor_from(c, point_after(c, seconds)));

	return at_top < at_floor ? at_top : at_floor;
}

/* What was held at the ends of both this span and the next: a block that is there for a moment is no height to fall from. */
static uint64_t held_on(const struct curve *c, size_t i)
{
	uint64_t next = i + 1 < c->n ? c->p[i + 1].bytes : c->p[i].bytes;

	return next < c->p[i].bytes ? next : c->p[i].bytes;
}

/* How far it went down at most, from what it had come to. */
static double breath(const struct curve *c)
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

/*
 * Step after step, in both halves of the run, and never down again: so chance does not play. What is there
 * for a moment when a span ends does not count.
 */
static bool only_rises(const struct curve *c)
{
	size_t half = point_after(c, later_by(c, 0.5)), rises[2] = { 0, 0 };

	for (size_t i = 0; i + 1 < c->n; i++) {
		if (held_on(c, i + 1) < held_on(c, i))
			return false;
		rises[i >= half] += held_on(c, i + 1) > held_on(c, i);
	}
	return rises[0] >= 3 && rises[1] >= 3;
}

/* Since when it is about what it is at the end. */
static double level_since(const struct curve *c)
{
	double now = (double)last_bytes(c), swing = 1.1 * breath(c), slack = 0.01 * now;

	if (swing > slack && swing < 0.4 * now && !only_rises(c))
		slack = swing;
	return floor_above(c, now - slack);
}

/* The longest time in which the floor stood still, between two times at which it rose, until @seconds. */
static double longest_rest(const struct curve *c, double seconds)
{
	double rose = -1, longest = 0, step = 0.01 * (double)last_bytes(c);
	uint64_t at = c->base < floor_from(c, 0) ? c->base : floor_from(c, 0);

	for (size_t i = 0; i < c->n && c->p[i].seconds <= seconds; i++) {
		uint64_t least = floor_from(c, i);

		if ((double)(least - at) < step)
			continue;
		if (rose >= 0 && c->p[i].seconds - rose > longest)
			longest = c->p[i].seconds - rose;
		rose = c->p[i].seconds;
		at = least;
	}
	return longest;
}

/* It rests for longer now than it has before: that is no leak that comes in steps. */
static bool has_come_to_rest(const struct curve *c, double since)
{
	return c->end - since >= TOO_LATE * (c->end - c->start) && c->end - since > 2.5 * longest_rest(c, since);
}

/*
 * A little, but without pause: in the last half the floor rose in most spans, and not much less in the last quarter than in
 * the one before. Beside what was there at the start that may be hardly anything, and a leak all the same.
 */
static bool creeps(const struct curve *c)
{
	size_t half = point_after(c, later_by(c, 0.5)), rises = 0;
	double before = (double)floor_from(c, point_after(c, later_by(c, 0.25))) - (double)floor_from(c, half);
	double last = (double)last_bytes(c) - (double)floor_from(c, point_after(c, later_by(c, 0.25)));

	for (size_t i = half; i + 1 < c->n; i++)
		rises += floor_from(c, i + 1) > floor_from(c, i);
	return rises * 10 >= (c->n - half) * 6 && last >= before / 2 && before + last >= 0.001 * (double)last_bytes(c) &&
	       added_since(c, later_by(c, 0.5)) > 0;
}

/* --- the shapes --- */

static double per_minute(double bytes, double seconds)
{
	return seconds > 0 ? bytes * 60 / seconds : 0;
}

static bool judge_once(const struct curve *c, struct growth *out)
{
	double now = (double)last_bytes(c), from = floor_below(c, 0.05 * now), to = floor_above(c, 0.95 * now);
	double run = c->end - c->start, few = 3.01 * (c->p[0].seconds - c->start);

	if (to - from > (AT_ONCE * run > few ? AT_ONCE * run : few) || c->end - to < TOO_LATE * run)
		return false;
	if ((double)top(c, c->end) > 1.05 * now || creeps(c))
		return false;
	out->shape = GROWTH_ONCE;
	out->since_s = to;
	return true;
}

/* What was there after a tenth of the run is not of its growth: programs load things as they start. */
static double fair_share(const struct curve *c)
{
	double gained = (double)last_bytes(c) - bytes_at(c, later_by(c, 1 - AT_ONCE));

	return gained * LAST_PART / (1 - AT_ONCE);
}

/* The most that came to the floor within one span of the last part. */
static double largest_jump(const struct curve *c)
{
	uint64_t largest = 0;

	for (size_t i = point_after(c, later_by(c, LAST_PART)); i + 1 < c->n; i++) {
		uint64_t jump = floor_from(c, i + 1) - floor_from(c, i);

		if (jump > largest)
			largest = jump;
	}
	return (double)largest;
}

/* Where blocks come and go, by chance some more may have come; or a large one, but not as much in the part before. */
static bool may_be_chance(const struct curve *c, double added)
{
	size_t before = point_after(c, later_by(c, 2 * LAST_PART)), now = point_after(c, later_by(c, LAST_PART));

	if (!(c->chance > 0))
		return false;
	if (added < c->chance)
		return true;
	return largest_jump(c) > 0.5 * added && (double)(floor_from(c, now) - floor_from(c, before)) < 0.5 * added;
}

/* Beside what is held, beside how it went up and down before, and beside what comes of itself. */
static bool is_hardly_anything(const struct curve *c, double added)
{
	if (added < HARDLY * (double)last_bytes(c))
		return true;
	return !only_rises(c) && (added < 1.5 * breath(c) || may_be_chance(c, added));
}

/* Nothing that can be said yet: then how much it is over all of the run. */
static void judge_unknown(const struct curve *c, struct growth *out)
{
	*out = (struct growth){
		.shape = GROWTH_UNKNOWN,
		.bytes_per_minute = c->end < MIN_SECONDS ? 0 : per_minute((double)last_bytes(c), c->end),
	};
}

/* It rose to the very end, if only by what may be chance: that is not level, and not enough to be called growth. */
static bool rose_to_the_end(const struct curve *c, double since)
{
	return since > later_by(c, TOO_LATE);
}

static void judge_rising(const struct curve *c, struct growth *out)
{
	double from = later_by(c, LAST_PART), since = level_since(c), added = added_since(c, from);
	bool hardly = is_hardly_anything(c, added);

	if (!creeps(c) && hardly && rose_to_the_end(c, since)) {
		judge_unknown(c, out);
		return;
	}
	if (!creeps(c) && (hardly || has_come_to_rest(c, since))) {
		out->shape = GROWTH_LEVEL;
		out->since_s = since;
		return;
	}
	out->shape = added >= fair_share(c) / 2 ? GROWTH_GROWS : GROWTH_SLOWS;
	out->bytes_per_minute = per_minute((double)last_bytes(c) - bytes_at(c, from), c->end - from);
}

static uint64_t most_held_on(const struct curve *c)
{
	uint64_t most = c->base;

	for (size_t i = 0; i < c->n; i++)
		if (held_on(c, i) > most)
			most = held_on(c, i);
	return most;
}

static void judge_falling(const struct curve *c, struct growth *out)
{
	uint64_t most = top(c, c->end);
	size_t peak = 0;

	while (c->p[peak].bytes != most)
		peak++;
	*out = (struct growth){
		.shape = GROWTH_FALLS,
		.bytes_per_minute = per_minute((double)last_bytes(c) - (double)most, c->end - c->p[peak].seconds),
	};
}

/* Where the last time lies at which it had gone down to less than half; c->n: it never did. */
static size_t last_flush(const struct curve *c)
{
	uint64_t most = c->base;
	size_t flush = c->n;

	for (size_t i = 0; i < c->n; i++) {
		if (c->p[i].bytes >= most / 2 + most % 2) {
			most = c->p[i].bytes > most ? c->p[i].bytes : most;
			continue;
		}
		most = c->p[i].bytes;
		flush = i;
	}
	return flush;
}

static void judge(const struct curve *c, struct growth *out)
{
	double now = (double)last_bytes(c);

	if (now < FALLEN * (double)most_held_on(c))
		judge_falling(c, out);
	else if (floor_below(c, 0.05 * now) > later_by(c, TOO_LATE))
		judge_unknown(c, out);
	else if (!judge_once(c, out))
		judge_rising(c, out);
}

/* What went as the run began was for the start; what has come since is judged. What is given back again and again falls. */
static void judge_from_flush(const struct curve *c, size_t flush, struct growth *out)
{
	const struct curve rest = {
		&c->p[flush + 1], c->n - flush - 1, c->p[flush].seconds, c->end, c->p[flush].bytes, c->chance,
	};

	if (rest.start > c->start + (c->end - c->start) * LAST_PART || rest.n < MIN_POINTS)
		judge_falling(c, out);
	else
		judge(&rest, out);
}

void growth_judge(const struct growth_point *points, size_t n, double seconds, uint64_t allocs, uint64_t frees,
		  struct growth *out)
{
	struct curve c = { points, n, 0, n ? points[n - 1].seconds : 0, 0, 0 };
	uint64_t kept = allocs > frees ? allocs - frees : 0;
	size_t flush;

	*out = (struct growth){ .shape = GROWTH_UNKNOWN };
	if (!n || !top(&c, c.end))
		return;
	if (kept)
		c.chance = 2 * sqrt((double)(frees < kept ? frees : kept)) * (double)last_bytes(&c) / (double)kept;
	flush = last_flush(&c);
	if (seconds < MIN_SECONDS || n < MIN_POINTS)
		judge_unknown(&c, out);
	else if (flush < n)
		judge_from_flush(&c, flush, out);
	else
		judge(&c, out);
	if ((out->shape == GROWTH_GROWS || out->shape == GROWTH_SLOWS) && kept < MIN_BLOCKS)
		judge_unknown(&c, out);
}

const char *growth_name(enum growth_shape shape)
{
	static const char *const names[] = {
#define X(upper, lower, text) #lower,
		GROWTH_SHAPES(X)
#undef X
	};

	return names[shape];
}

const char *growth_text(enum growth_shape shape)
{
	static const char *const texts[] = {
#define X(upper, lower, text) text,
		GROWTH_SHAPES(X)
#undef X
	};

	return texts[shape];
}
