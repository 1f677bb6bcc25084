/* SPDX-License-Identifier: MIT */
/*
 * sampling_sites: the places where calls of allocators return to, each with a trap of its own that is metered (keeper/budget/meter.h).
 *
 *	takes	what comes out of it is a block that somebody wants
 *	inner	it lies in a function that passes its blocks on, and its callers are watched; or it is where malloc itself returns. Looked at now
 *		and then, for callers that nobody found: a call through a pointer, code that was generated. Their blocks are taken here
 *	trial	behind a call of a function of which it is not known yet whether it passes on
 *
 * A site stays when its module goes, without a trap: its stacks are told of at the end, and it may come back.
 */
#ifndef MM_SAMPLING_SITES_H
#define MM_SAMPLING_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/control/planting.h"
#include "attach/keeper/budget/meter.h"
#include "attach/sampling/sampling_spans.h"
#include "attach/sampling/sampling_targets.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

#define SAMPLING_SPARE 128u		/* numbers of traps that are kept for callers which are found later */

#define SAMPLING_QUOTA 4u
#define SAMPLING_PERIOD_MS 1000u
#define SAMPLING_RARELY_MS 60000u
#define SAMPLING_INNER_MS 5000u
#define SAMPLING_RESTING_MS 86400000u	/* what is not wanted any more: a trap that is known is never forgotten while its module is there */

enum sampling_role { SAMPLING_TAKES, SAMPLING_INNER, SAMPLING_TRIAL };

struct sampling_site {
	taddr addr;			/* where the call returns to; at run time, as are all */
	taddr function;			/* the one around it; 0: not known */
	struct module *module;
	uint32_t number;		/* of its trap; SAMPLING_NONE: it has none now */
	uint32_t target;		/* what is called */
	enum sampling_role role;
	bool joined;			/* as in struct callsite */
	uint32_t delta;			/* where its trap looks for the chunk's header (plan_behind) */
	uint32_t quota, period_ms;	/* as its meter has them, */
	bool ahead;			/* and this, too */
	struct meter_sums before;	/* to be added to what its meter says: of traps that it had before */
	struct sampling_spans exposed;	/* when the trap has stood, in us: not later than that */
	uint64_t exposed_us;		/* of that so much is known */
	uint64_t records;		/* hits that came to us: more than a meter counts (meter.h) */
	uint64_t unknown;		/* inner: of them, by callers that have no trap */
	uint32_t nstacks;		/* that lead to it */
	bool has_caller;		/* one of them shows who called the function around it; */
	bool is_cut;			/* one ends before that, as no more of it was copied */
	/* sampling_rounds */
	uint64_t gone, gone_then;	/* blocks: until now, and when its period was last doubled */
	uint8_t doubled;		/* so often */
	uint32_t old;			/* followed blocks that are there and not young any more */
	bool candidate;
	struct meter_sums lately[2];	/* sampling_rounds: what was counted when the last ten seconds or more began; and those before */
	double needs;			/* as a candidate: hits a second that all its calls would take; infinite: nobody knows */
	bool bunched;			/* they come in bunches */
	/* sampling_parents */
	taddr caller;			/* of the function around it: the first that was seen, */
	bool callers;			/* and there are others */
	uint8_t tries;
	struct meter_sums then;		/* when a trial began to compare */
};

struct sampling_sites {
	struct sampling_site *all;
	size_t n, room;
	uint32_t of_number[SHARED_SITES];
	struct addrmap by_addr;		/* -> index */
	struct planting *planting;
	struct sampling_targets *targets;
	uint64_t noted_ns;		/* how old the run was when sampling_sites_note_exposed looked last */
	uint64_t untrapped;		/* calls behind which no trap can stand */
	uint64_t unfitting;		/* for which there was no number left */
	uint64_t unsure;		/* what looks like a call, and may be none */
	uint64_t joined;
};

void sampling_sites_init(struct sampling_sites *s, struct planting *planting, struct sampling_targets *targets);
void sampling_sites_fini(struct sampling_sites *s);

/* Look through @m for calls of the targets from number @first on, and plan traps behind them. 0 or -ENOMEM. */
must_check int sampling_sites_find(struct sampling_sites *s, struct module *m, uint32_t first);

/*
 * A trap behind the call that returns to @addr, which was seen, to try out whether what it gets is of target @target. Its index in @i. 0;
 * -EILSEQ, -ENOENT: there can be none; -ENOSPC, -ENOMEM.
 */
must_check int sampling_sites_try(struct sampling_sites *s, taddr addr, uint32_t target, uint32_t *i);

/* A trap where target @target itself returns, as @trap is planned in @m (file addresses). 0; -ENOSPC, -ENOMEM. */
must_check int sampling_sites_add_exit(struct sampling_sites *s, struct module *m, const struct site *trap, uint32_t target);

/* The trap with number @number goes with its module. */
void sampling_sites_gone(struct sampling_sites *s, uint32_t number);

/* The site whose trap has this number, or NULL. */
struct sampling_site *sampling_sites_at(const struct sampling_sites *s, uint32_t number);

/* The index of the site at @addr, or SAMPLING_NONE. */
uint32_t sampling_sites_find_at(const struct sampling_sites *s, taddr addr);

/* All sites in the function at @function (run time) are its inner ones from now on. */
void sampling_sites_inner(struct sampling_sites *s, taddr function);

/* Are blocks followed that are seen there? */
bool sampling_sites_follows(const struct sampling_site *site);

void sampling_sites_meter(struct sampling_sites *s, struct sampling_site *site, uint32_t quota, uint32_t period_ms);

/* The next thread that is hit there waits until we have seen it; or (@next false) does so no more. */
void sampling_sites_hold(struct sampling_sites *s, const struct sampling_site *site, bool next);

/* Hits a second from @before to @to. */
double sampling_sites_rate(const struct meter_sums *before, const struct meter_sums *to);

/* What was counted there since the beginning. */
void sampling_sites_sums(const struct sampling_sites *s, const struct sampling_site *site, struct meter_sums *out);

/* The run is @age_ns old: note for how long the traps have stood. Now and then: the more often, the more is known. */
void sampling_sites_note_exposed(struct sampling_sites *s, uint64_t age_ns);

#endif
