/* SPDX-License-Identifier: MIT */
/*
 * site_stats: how much is seen at one site of a watch with a budget (trap_rounds.h).
 *
 *	the controller sets	quota hits a round, a round about every period_ms
 *	the keeper reports	the exposure of the trap, and how often it was hit meanwhile
 *
 * The sums over exposure intervals give a rate and its uncertainty (the ratio of hits to exposure, and how
 * the intervals scatter around it). An interval (a span, in names) is the time from planting the trap to
 * lifting it, at most SITE_STATS_SPAN_NS: then the next one begins. It ends when the quota is reached, at
 * that very hit; with the round; or when there is nothing left to spend.
 *
 * Hits and exposure are those of an undisturbed target. If the quota is reached within milliseconds, exposure
 * is not for how long the trap was planted, but the time that an undisturbed target would need to get as far
 * (exposure.h); and hits while another thread was stopped because of us are not counted. So a thread that is
 * stopped at each allocation is not taken for a slow one. Every hit that is served has its record, even if it
 * is not counted here.
 *
 * Not to count these hits is right if threads reach the site independently. If threads wait for each other
 * and then take the same path, all reach it at once, and one is counted: so the number of hits that were not
 * counted is stored, too (report/sampling/estimate.c).
 */
#ifndef MM_SITE_STATS_H
#define MM_SITE_STATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* longest interval: then sums of squared us fit into 64 bits for a hundred days */
#define SITE_STATS_SPAN_NS 2000000000ull
/* a trap that is lifted within its round because many threads hit it is planted again after at least this */
#define SITE_STATS_AWAY_NS 10000000ull

/* In shared memory, one for each site number. */
struct site_stats {
	/* the controller's, set at any time. Read when a round begins: */
	_Atomic uint32_t quota;		/* hits a round, then lifted until the next; 0: no limit */
	/*
	 * read when a round begins or is over, or the site is planted again: time from the beginning of one
	 * round to that of the next, about; 0: no rounds, always planted
	 */
	_Atomic uint32_t period_ms;
	/*
	 * read when a round is due, and then twice a second as long as it waits: rounds begin when they are
	 * due; 0: and paid for (round_queue.h)
	 */
	_Atomic uint32_t ahead;
	/*
	 * read at each hit: so many hits from now on are held until the controller answers, each if the budget
	 * allows (cost.h); the keeper counts down
	 */
	_Atomic uint32_t hold;
	/* the keeper's */
	_Atomic uint32_t version;	/* odd while it writes */
	_Atomic uint64_t rounds;	/* intervals that are over */
	_Atomic uint64_t full;		/* ended by the quota */
	_Atomic uint64_t hits, exposed_us;
	_Atomic uint64_t hits2, hits_exposed, exposed2;	/* of h*h, h*e, e*e over intervals, e in µs */
	_Atomic uint64_t missed;	/* hits not counted, as another thread was stopped; */
	_Atomic uint64_t stood_us;	/* for how long a thread was stopped, in intervals with hits */
};

struct site_stats_sums {
	uint64_t rounds, full;
	uint64_t hits, exposed_us;
	uint64_t hits2, hits_exposed, exposed2;
	uint64_t missed, stood_us;
};

/* For the controller: all values as of one moment. */
void site_stats_read(const struct site_stats *m, struct site_stats_sums *out);

/* Add @more to @to; subtract the earlier @less from @from. */
void site_stats_sum(struct site_stats_sums *to, const struct site_stats_sums *more);
void site_stats_subtract(struct site_stats_sums *from, const struct site_stats_sums *less);

struct site_stats_span {
	uint64_t hits, exposed_us;
	bool full;			/* ended by the quota */
	uint64_t missed, stood_us;	/* hits not counted; how long a thread was stopped, if it was hit */
};

/* For the keeper: an interval is over. */
void site_stats_add(struct site_stats *m, const struct site_stats_span *its);

/* For the keeper: a hit after its interval was over: it is not counted. */
void site_stats_miss(struct site_stats *m);

/* For the keeper: the number belongs to another site from now on; what the controller has set stays. */
void site_stats_clear(struct site_stats *m);

#endif
