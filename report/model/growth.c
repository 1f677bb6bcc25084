/* SPDX-License-Identifier: MIT */
/*
 * growth: see growth.h, and growth_envelope.h for what it looks at. All shares are combined with lower
 * bounds: a few per cent up and down are normal in programs.
 */
#include "report/model/growth.h"

#include <math.h>

#include "report/model/growth_envelope.h"

#define LAST_PART (1 / 3.)	/* of the run: what counts as "now" */
#define HARDLY 0.04		/* of the live bytes: if less is added in the last part, it is not growth */
#define FALLEN 0.7		/* of the maximum: below that, it has fallen */
#define RISEN 1.5		/* times the maximum before a flush: what came after it is not the same again */
#define TOO_LATE 0.15		/* of the run: growth that came only in this last part cannot be classified */
#define AT_ONCE 0.1		/* of the run */
#define MIN_SECONDS 1.
#define MIN_POINTS 8
#define MIN_BLOCKS 4		/* live blocks; with fewer, growth may be chance */

/* Since when the bytes are about what they are at the end. */
static double level_since(const struct growth_envelope *c)
{
	double now = (double)envelope_last(c), swing = 1.1 * envelope_breath(c),
	       slack = 0.01 * envelope_new(c);

	if (swing > slack && swing < 0.4 * now && !envelope_only_rises(c))
		slack = swing;
	return envelope_above(c, now - slack);
}

/* The longest time, until @seconds, in which the floor did not rise, between two rises. */
static double longest_rest(const struct growth_envelope *c, double seconds)
{
	double rose = -1, longest = 0, step = 0.01 * envelope_new(c);
	uint64_t at = c->base < envelope_floor(c, 0) ? c->base : envelope_floor(c, 0);

	for (size_t i = 0; i < c->n && c->p[i].seconds <= seconds; i++) {
		uint64_t least = envelope_floor(c, i);

		if ((double)(least - at) < step)
			continue;
		if (rose >= 0 && c->p[i].seconds - rose > longest)
			longest = c->p[i].seconds - rose;
		rose = c->p[i].seconds;
		at = least;
	}
	return longest;
}

/* The floor has rested for longer than ever before: so this is no leak that comes in steps. */
static bool has_come_to_rest(const struct growth_envelope *c, double since)
{
	return c->end - since >= TOO_LATE * (c->end - c->start) &&
	       c->end - since > 2.5 * longest_rest(c, since);
}

/*
 * It grows by little, but without pause: in the last half the floor rose in most spans, and in the last
 * quarter not much less than in the one before. Even if this is hardly anything compared to what was live at
 * the start, it may be a leak.
 */
static bool creeps(const struct growth_envelope *c)
{
	size_t half = envelope_point(c, envelope_later(c, 0.5)), rises = 0;
	double before = (double)envelope_floor(c, envelope_point(c, envelope_later(c, 0.25))) -
			(double)envelope_floor(c, half);
	double last = (double)envelope_last(c) -
		      (double)envelope_floor(c, envelope_point(c, envelope_later(c, 0.25)));

	for (size_t i = half; i + 1 < c->n; i++)
		rises += envelope_floor(c, i + 1) > envelope_floor(c, i);
	return rises * 10 >= (c->n - half) * 6 && last >= before / 2 &&
	       before + last >= 0.001 * (double)envelope_last(c) &&
	       envelope_added(c, envelope_later(c, 0.5)) > 0;
}

/* --- the shapes --- */

static double per_minute(double bytes, double seconds)
{
	return seconds > 0 ? bytes * 60 / seconds : 0;
}

static bool judge_once(const struct growth_envelope *c, struct growth *out)
{
	double now = (double)envelope_last(c), from = envelope_below(c, 0.05 * now),
	       to = envelope_above(c, 0.95 * now);
	double run = c->end - c->start, few = 3.01 * (c->p[0].seconds - c->start);

	/* what replaces older blocks came when these went, not at the start */
	if ((double)c->p[0].older > 0.05 * now)
		return false;
	if (to - from > (AT_ONCE * run > few ? AT_ONCE * run : few) || c->end - to < TOO_LATE * run)
		return false;
	if ((double)envelope_top(c, c->end) > 1.05 * now || creeps(c))
		return false;
	out->shape = GROWTH_ONCE;
	out->since_s = to;
	return true;
}

/* What was live after a tenth of the run is not counted as growth: programs load things as they start. */
static double fair_share(const struct growth_envelope *c)
{
	double gained = (double)envelope_last(c) - envelope_bytes(c, envelope_later(c, 1 - AT_ONCE));

	return gained * LAST_PART / (1 - AT_ONCE);
}

/* The largest rise of the floor within one span of the last part. */
static double largest_jump(const struct growth_envelope *c)
{
	uint64_t largest = 0;

	for (size_t i = envelope_point(c, envelope_later(c, LAST_PART)); i + 1 < c->n; i++) {
		uint64_t jump = envelope_floor(c, i + 1) - envelope_floor(c, i);

		if (jump > largest)
			largest = jump;
	}
	return (double)largest;
}

/*
 * If blocks are allocated and freed, some more may be live by chance; or one large block, if the part before
 * added much less.
 */
static bool may_be_chance(const struct growth_envelope *c, double added)
{
	size_t before = envelope_point(c, envelope_later(c, 2 * LAST_PART)),
	       now = envelope_point(c, envelope_later(c, LAST_PART));

	if (!(c->chance > 0))
		return false;
	if (added < c->chance)
		return true;
	return largest_jump(c) > 0.5 * added &&
	       (double)(envelope_floor(c, now) - envelope_floor(c, before)) < 0.5 * added;
}

/* Compared to the live bytes, to the ups and downs before, and to chance. */
static bool is_hardly_anything(const struct growth_envelope *c, double added)
{
	if (added < HARDLY * envelope_new(c))
		return true;
	return !envelope_only_rises(c) && (added < 1.5 * envelope_breath(c) || may_be_chance(c, added));
}

/* It is too early for a conclusion; the rate is that over all of the run. */
static void judge_unknown(const struct growth_envelope *c, struct growth *out)
{
	*out = (struct growth){
		.shape = GROWTH_UNKNOWN,
		.bytes_per_minute = c->end < MIN_SECONDS ? 0 : per_minute(envelope_new(c), c->end),
	};
}

/*
 * It rose until the end, if only by what may be chance: that is neither level nor enough to be called growth.
 */
static bool rose_to_the_end(const struct growth_envelope *c, double since)
{
	return since > envelope_later(c, TOO_LATE);
}

/* Falls of at least @by within a span that ends at one of the points from number @from to before @to. */
static size_t falls_between(const struct growth_envelope *c, size_t from, size_t to, double by)
{
	size_t falls = 0;

	for (size_t i = from ? from : 1; i < to; i++)
		falls += (double)growth_sum(&c->p[i - 1]) - (double)growth_sum(&c->p[i]) >= by;
	return falls;
}

/* The largest rise within one span: a peak may have been missed by that much. */
static double largest_rise(const struct growth_envelope *c)
{
	double largest = 0;

	for (size_t i = 1; i < c->n; i++)
		largest = fmax(largest, (double)growth_sum(&c->p[i]) - (double)growth_sum(&c->p[i - 1]));
	return largest;
}

struct bounds {
	double least, most;
};

static struct bounds bounds_between(const struct growth_envelope *c, size_t from, size_t to)
{
	struct bounds b = { INFINITY, 0 };

	for (size_t i = from; i < to; i++) {
		b.least = fmin(b.least, (double)growth_sum(&c->p[i]));
		b.most = fmax(b.most, (double)growth_sum(&c->p[i]));
	}
	return b;
}

/*
 * It is filled and emptied again and again, between the same bounds in both halves of the run: that it
 * happens to be filled when the run ends means nothing. For example, the sessions of a server that removes
 * expired ones every few seconds.
 */
static bool swings(const struct growth_envelope *c, double *since)
{
	size_t half = envelope_point(c, envelope_later(c, 0.5)), first = 0;
	double height = envelope_breath(c), slack = fmin(largest_rise(c), height / 2);
	struct bounds before, now = bounds_between(c, half, c->n);
	size_t falls_before, falls_now;

	while (first < half && (double)growth_sum(&c->p[first]) < now.most - slack)
		first++;
	before = bounds_between(c, first, half);
	falls_before = falls_between(c, first, half, height / 2);
	falls_now = falls_between(c, half, c->n, height / 2);
	if (!falls_before || !falls_now || falls_before + falls_now < 3)
		return false;
	*since = c->p[first].seconds;
	return now.most < before.most + slack && now.least < before.least + slack;
}

static void judge_rising(const struct growth_envelope *c, struct growth *out)
{
	double from = envelope_later(c, LAST_PART), since = level_since(c), added = envelope_added(c, from);
	bool hardly = is_hardly_anything(c, added);

	if (!creeps(c) && hardly && rose_to_the_end(c, since) && !swings(c, &since)) {
		judge_unknown(c, out);
		return;
	}
	if (!creeps(c) && (hardly || has_come_to_rest(c, since))) {
		out->shape = GROWTH_LEVEL;
		out->since_s = since;
		return;
	}
	out->shape = added >= fair_share(c) / 2 ? GROWTH_GROWS : GROWTH_SLOWS;
	out->bytes_per_minute = per_minute((double)envelope_last(c) - envelope_bytes(c, from), c->end - from);
}

static uint64_t most_held_on(const struct growth_envelope *c)
{
	uint64_t most = c->base;

	for (size_t i = 0; i < c->n; i++)
		if (envelope_held(c, i) > most)
			most = envelope_held(c, i);
	return most;
}

static void judge_falling(const struct growth_envelope *c, struct growth *out)
{
	uint64_t most = envelope_top(c, c->end);
	double peak = c->start;
	size_t i = 0;

	/* the maximum may be what it began with: then the flush began before */
	while (i < c->n && growth_sum(&c->p[i]) != most)
		i++;
	if (i < c->n)
		peak = c->p[i].seconds;
	*out = (struct growth){
		.shape = GROWTH_FALLS,
		.bytes_per_minute = per_minute((double)envelope_last(c) - (double)most, c->end - peak),
	};
}

/*
 * The last point at which the bytes had fallen to less than half of their maximum since the flush before;
 * c->n: never.
 */
static size_t last_flush(const struct growth_envelope *c)
{
	uint64_t most = c->base;
	size_t flush = c->n;

	for (size_t i = 0; i < c->n; i++) {
		if (growth_sum(&c->p[i]) >= most / 2 + most % 2) {
			most = growth_sum(&c->p[i]) > most ? growth_sum(&c->p[i]) : most;
			continue;
		}
		most = growth_sum(&c->p[i]);
		flush = i;
	}
	return flush;
}

static void judge(const struct growth_envelope *c, struct growth *out)
{
	double now = (double)envelope_last(c);

	if (now < FALLEN * (double)most_held_on(c))
		judge_falling(c, out);
	else if (envelope_below(c, 0.05 * now) > envelope_later(c, TOO_LATE))
		judge_unknown(c, out);
	else if (!judge_once(c, out))
		judge_rising(c, out);
}

/*
 * A flush in the first third of the run belongs to the start, and only what came after it is classified. A
 * later one means that the memory is freed again and again: it falls, unless clearly more came after
 * it than there ever was.
 */
static void judge_from_flush(const struct growth_envelope *c, size_t flush, struct growth *out)
{
	const double before = (double)envelope_top(c, c->p[flush].seconds);
	const struct growth_envelope rest = {
		&c->p[flush + 1], c->n - flush - 1, c->p[flush].seconds, c->end, growth_sum(&c->p[flush]), c->chance,
	};

	if (rest.start <= c->start + (c->end - c->start) * LAST_PART && rest.n >= MIN_POINTS)
		judge(&rest, out);
	else if ((double)envelope_last(c) > RISEN * before)
		judge_unknown(c, out);
	else
		judge_falling(c, out);
}

/* How much may be live by chance, if @kept blocks of @bytes stayed, and others of their size came and went. */
static double chance_of(uint64_t kept, double bytes, double turnover)
{
	return kept ? 2 * sqrt(fmin(turnover, (double)kept)) * bytes / (double)kept : 0;
}

static void classify(const struct growth_envelope *c, double seconds, struct growth *out)
{
	const size_t flush = last_flush(c);

	if (seconds < MIN_SECONDS || c->n < MIN_POINTS)
		judge_unknown(c, out);
	else if (flush < c->n)
		judge_from_flush(c, flush, out);
	else
		judge(c, out);
}

/* What came for older blocks, over the last part. */
static double replaced(const struct growth_point *points, size_t n)
{
	const double end = points[n - 1].seconds, from = end * (1 - LAST_PART);
	size_t i = 0;

	while (i + 1 < n && points[i].seconds < from)
		i++;
	return per_minute((double)points[i].older - (double)points[n - 1].older, end - points[i].seconds);
}

void growth_classify(const struct growth_point *points, size_t n, double seconds, uint64_t allocs,
		  uint64_t frees, struct growth *out)
{
	struct growth_envelope c = { points, n, 0, n ? points[n - 1].seconds : 0, n ? points[0].older : 0, 0 };
	const double bytes = n ? (double)points[n - 1].bytes : 0, older = (double)c.base;
	uint64_t kept = allocs > frees ? allocs - frees : 0;
	double older_blocks = bytes > 0 ? older * (double)kept / bytes : 0;

	*out = (struct growth){ .shape = GROWTH_UNKNOWN };
	if (!n || !envelope_top(&c, c.end))
		return;
	c.chance = chance_of(kept, bytes, (double)frees + older_blocks);
	classify(&c, seconds, out);
	if (growth_rises(out) && (double)kept - older_blocks < MIN_BLOCKS)
		judge_unknown(&c, out);
	if (older > 0)
		out->replaced_per_minute = replaced(points, n);
	out->mostly_replaces = older > bytes / 2;
}

void growth_see_ages(struct growth *g, double seconds, uint64_t frees, uint64_t blocks, double youngest_s)
{
	const double last = seconds - youngest_s;	/* when the youngest one was allocated */

	if (g->shape == GROWTH_ONCE && frees > blocks && youngest_s < (seconds - g->since_s) / 2)
		g->shape = GROWTH_LEVEL;
	else if (g->shape == GROWTH_ONCE && blocks && last < g->since_s)
		g->since_s = last;
	else if (g->shape == GROWTH_LEVEL && blocks && !frees && !growth_only_replaces(g))
		g->since_s = last;
}

bool growth_rises(const struct growth *g)
{
	return g->shape == GROWTH_GROWS || g->shape == GROWTH_SLOWS;
}

bool growth_only_replaces(const struct growth *g)
{
	return g->shape == GROWTH_LEVEL && g->replaced_per_minute > 0 && g->mostly_replaces;
}

bool growth_goes_on(const struct growth *g)
{
	return growth_rises(g) || g->shape == GROWTH_UNKNOWN;
}

const char *growth_name(enum growth_shape shape)
{
	static const char *const names[] = {
#define X(upper, lower) #lower,
		GROWTH_SHAPES(X)
#undef X
	};

	return names[shape];
}
