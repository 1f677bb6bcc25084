/* SPDX-License-Identifier: MIT */
/*
 * growth: classifies a series: does it grow, has it levelled off?
 *
 *	grows		the last part of the run added at least half of what its share would be
 *	slows		less than that
 *	levelled off	hardly anything was added since some time before the end (`since_s`)
 *	once		it came within a small part of the run, and stayed
 *	falls		clearly more was live before than at the end
 *	too short	too little time, or too few blocks, for a conclusion
 *
 * What replaces older blocks does not grow: as far as older blocks of the same sizes were freed at about the same time
 * (report/groups/replaced.h), these count as live until then. So a cache that was full before the watch is level, and
 * a leak beside it grows by what it leaks.
 */
#ifndef MM_GROWTH_H
#define MM_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* number, name in JSON and CSV; the words for a reader are in report/words/words.h */
#define GROWTH_SHAPES(X) X(UNKNOWN, unknown) X(GROWS, grows) X(SLOWS, slows) X(LEVEL, level) X(ONCE, once) X(FALLS, falls)

enum growth_shape {
#define X(upper, lower) GROWTH_##upper,
	GROWTH_SHAPES(X)
#undef X
	GROWTH_COUNT
};

struct growth_point {
	double seconds;
	uint64_t bytes;
	uint64_t older;			/* of older blocks that were replaced by these later */
};

struct growth {
	enum growth_shape shape;
	/* Now: over the last part of the run if it grows, else over all of it; 0 if level. */
	double bytes_per_minute;
	double since_s;			/* LEVEL, ONCE: since when */
	double replaced_per_minute;	/* what has come for older blocks, over the last part of the run */
	bool mostly_replaces;		/* more than half of what is live came for older blocks */
};

/*
 * @points in order of time, the last one at the run's end (@seconds); before the first there was nothing.
 * @allocs, @frees: the calls of the stack.
 */
void growth_classify(const struct growth_point *points, size_t n, double seconds, uint64_t allocs,
		  uint64_t frees, struct growth *out);

/*
 * What the age of the youngest live block shows, which is known more exactly than the points of the series. What
 * all came once is level if its blocks have been replaced since then, as those of a ring buffer are: more were
 * freed than are live, and the youngest of the live @blocks is not that old. If none was freed, nothing was added
 * since the youngest.
 */
void growth_see_ages(struct growth *g, double seconds, uint64_t frees, uint64_t blocks,
			 double youngest_s);

/* What is live at a point, with the older blocks that are going to be replaced. */
static inline uint64_t growth_sum(const struct growth_point *p)
{
	return p->bytes + p->older;
}

/* It does not grow, and hardly anything of it is new: it came for older blocks. */
bool growth_only_replaces(const struct growth *g);

/* It grows; growth_goes_on: or it is too early to say that it does not. */
bool growth_rises(const struct growth *g);
bool growth_goes_on(const struct growth *g);

const char *growth_name(enum growth_shape shape);

#endif
