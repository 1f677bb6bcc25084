/* SPDX-License-Identifier: MIT */
/*
 * sampling_sites: the addresses where calls of allocators return, each with a trap of its own, which is
 * planted in rounds (keeper/budget/site_stats.h).
 *
 *	takes	the caller uses the block itself
 *	inner	it lies in a wrapper whose callers are watched; or it is where malloc itself returns (an exit).
 *		Sampled now and then, for callers that were not found: a call through a pointer, generated
 *		code. Their blocks are counted here. An exit is hit many times in a row: a window
 *		(sampling_again.h)
 *	trial	behind a call of a function of which it is not known yet whether it is a wrapper
 *
 * A site stays when its module is unloaded, without a trap: its stacks are reported at the end, and the
 * module may be loaded again.
 */
#ifndef MM_SAMPLING_SITES_H
#define MM_SAMPLING_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/control/planting.h"
#include "attach/keeper/budget/site_stats.h"
#include "attach/sampling/sampling_spans.h"
#include "attach/sampling/sampling_targets.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

#define SAMPLING_SPARE 128u		/* site numbers reserved for callers that are found later */

#define SAMPLING_QUOTA 4u
#define SAMPLING_PERIOD_MS 1000u
#define SAMPLING_RARELY_MS 60000u
#define SAMPLING_INNER_MS 5000u
#define SAMPLING_WINDOW 64u		/* hits of an exit, one after the other */
#define SAMPLING_WINDOW_MS 2000u
/* the period of a trap that is not needed any more: a trap is never forgotten while its module is loaded */
#define SAMPLING_RESTING_MS 86400000u

enum sampling_role { SAMPLING_TAKES, SAMPLING_INNER, SAMPLING_TRIAL };

struct sampling_site {
	taddr addr;			/* where the call returns; at run time, as all addresses here */
	taddr function;			/* the one around it; 0: not known */
	struct module *module;
	uint32_t number;		/* of its trap; SAMPLING_NONE: it has none now */
	uint32_t target;		/* what is called */
	enum sampling_role role;
	bool joined;			/* as in struct callsite */
	uint32_t delta;			/* where its trap looks for the chunk's header (plan_behind) */
	uint32_t quota, period_ms;	/* as its meter has them, */
	bool ahead;			/* and this, too */
	/* to be added to the sums of its meter: those of traps that it had before */
	struct site_stats_sums before;
	struct sampling_spans exposed;	/* exposure in us, by when it was at the earliest */
	uint64_t exposed_us;		/* how much of its exposure is noted in `exposed` */
	uint64_t records;		/* hits that reached us: more than a meter counts (site_stats.h) */
	uint64_t passes;		/* the same, also of calls that have failed */
	uint64_t unknown;		/* inner: of these, by callers that have no trap */
	uint32_t nstacks;		/* stacks that lead to it */
	bool has_caller;		/* one of these shows the caller of the function around it; */
	bool is_cut;			/* one ends before that, as no more of it was copied */
	/* sampling_rounds */
	uint64_t gone, gone_then;	/* known to be freed: until now; when its period was last doubled */
	uint8_t doubled;		/* number of times that it was */
	uint32_t old;			/* tracked blocks that are live and no longer young */
	bool candidate;
	/*
	 * for sampling_rounds: the sums when the last ten seconds or more began, and when the ten before
	 * these did
	 */
	struct site_stats_sums recent[2];
	/* as a candidate: hits a second while its trap is planted; */
	double rate;
	/* and if every call is seen; infinite: not known */
	double needs;
	bool bunched;			/* its hits come in bunches */
	/* sampling_parents */
	taddr caller;			/* of the function around it: the first that was seen, */
	bool callers;			/* and there are others */
	uint8_t tries;
};

struct sampling_sites {
	struct sampling_site *all;
	size_t n, room;
	uint32_t of_number[SHARED_SITES];
	struct addrmap by_addr;		/* -> index */
	struct planting *planting;
	struct sampling_targets *targets;
	uint64_t noted_ns;		/* age of the run at the last sampling_sites_note_exposed */
	uint64_t untrapped;		/* calls behind which no trap can be planted */
	uint64_t unfitting;		/* calls for which there was no number left */
	uint64_t unsure;		/* places that look like a call, and may be none */
	uint64_t joined;
};

void sampling_sites_init(struct sampling_sites *s, struct planting *planting,
			 struct sampling_targets *targets);
void sampling_sites_fini(struct sampling_sites *s);

/* Search @m for calls of the targets from number @first on, and plan traps behind them. 0 or -ENOMEM. */
must_check int sampling_sites_find(struct sampling_sites *s, struct module *m, uint32_t first);

/*
 * A trial site behind the call that returns to @addr, as a stack has shown it: does the caller get blocks of
 * target @target? Its index in @i. 0; -EILSEQ, -ENOENT: there can be no trap; -ENOSPC, -ENOMEM.
 */
must_check int sampling_sites_try(struct sampling_sites *s, taddr addr, uint32_t target, uint32_t *i);

/*
 * A site where target @target itself returns, as @trap is planned in @m (file addresses). 0; -ENOSPC,
 * -ENOMEM.
 */
must_check int sampling_sites_add_exit(struct sampling_sites *s, struct module *m, const struct site *trap,
				       uint32_t target);

/* The trap with number @number is gone with its module. */
void sampling_sites_gone(struct sampling_sites *s, uint32_t number);

/* The site whose trap has this number, or NULL. */
struct sampling_site *sampling_sites_at(const struct sampling_sites *s, uint32_t number);

/* The index of the site at @addr, or SAMPLING_NONE. */
uint32_t sampling_sites_find_at(const struct sampling_sites *s, taddr addr);

/* All sites in the function at @function (run time) are its inner ones from now on. */
void sampling_sites_inner(struct sampling_sites *s, taddr function);

/* Does malloc itself return there? */
static inline bool sampling_sites_is_exit(const struct sampling_site *site)
{
	return site->role == SAMPLING_INNER && !site->function;
}

/* Its trap is new, or has a new role: as often as such ones are sampled at first. */
void sampling_sites_begin(struct sampling_sites *s, struct sampling_site *site);

/* Are blocks tracked that are seen there? */
bool sampling_sites_tracks(const struct sampling_site *site);

void sampling_sites_meter(struct sampling_sites *s, struct sampling_site *site, uint32_t quota,
			  uint32_t period_ms);

/* Hold threads at the next @hits hits of the site, each until we have answered. */
void sampling_sites_hold(struct sampling_sites *s, const struct sampling_site *site, uint32_t hits);

/* Hits a second from @before to @to. */
double sampling_sites_rate(const struct site_stats_sums *before, const struct site_stats_sums *to);

/* What was counted there since the beginning. */
void sampling_sites_sums(const struct sampling_sites *s, const struct sampling_site *site,
			 struct site_stats_sums *out);

/*
 * The run is @age_ns old: note the exposure of all traps. To be called now and then: the more often, the more
 * exactly is known when it was.
 */
void sampling_sites_note_exposed(struct sampling_sites *s, uint64_t age_ns);

#endif
