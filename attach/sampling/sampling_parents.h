/* SPDX-License-Identifier: MIT */
/*
 * sampling_parents: functions that pass on what they take, found out by watching them.
 *
 *	main ──▶ site_a ──▶ xmalloc ──▶ malloc
 *	              A ◀─────┘    S ◀────┘
 *
 * At S all callers of xmalloc are one site, and the rare one that leaks is lost among the others. So it is tried out whether xmalloc passes
 * on what it gets. A thread that is hit at S is held for a moment (cost.h), until a trap stands at A, the return address that its stack
 * shows. When then at A, in this thread, the block just seen at S comes out (or a place so many bytes inside of it: a wrapper that keeps a
 * header in front), several times and never anything else, the function around S passes on.
 *
 * Unless it gives out what it has had for long, too. So threads are held at A, and the stack below what is in use there must show that
 * malloc was called from S just before; or where that was written over, xmalloc must not return more often than it is given something. Then
 * A and all its other callers become sites. S is looked at now and then from then on, for callers that nobody found: a call through a
 * pointer may reach another function the next time, so that there is no trap behind it.
 *
 * It is tried only where it pays: the function is called directly, by several callers, or is hot and these have some. And seldom: a thread
 * that is held is paid for by the budget.
 */
#ifndef MM_SAMPLING_PARENTS_H
#define MM_SAMPLING_PARENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/shared/event.h"
#include "attach/sampling/sampling_sites.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

#define SAMPLING_TRIALS 16u
#define SAMPLING_OUTER 4u
#define SAMPLING_CALLERS 16u

/* One function that is tried. */
struct sampling_trial {
	taddr function;		/* 0: this place is free */
	uint32_t inner;		/* the site in it that began it */
	uint32_t outer[SAMPLING_OUTER];	/* those at its callers that were tried */
	uint32_t nouter;
	uint32_t delta;		/* what came out lies so far inside of the block */
	uint32_t same, other;	/* what came out was that; was something else */
	uint64_t hits;		/* at sites in it, meanwhile; */
	struct { taddr addr; uint64_t hits; } callers[SAMPLING_CALLERS]; /* by its callers, the first that were seen */
	int64_t depth;		/* how far below its caller's stack the word lies that says from where it was given something; 0: not the same each time */
	bool checking;		/* it was the block often enough: is it always given one? */
	uint32_t fresh, unclear; /* it had been, as that word says; that word says something else */
	uint64_t until_ns;
};

/* What a thread was given when it was held. */
struct sampling_last {
	taddr block, sp, function;
	uint64_t size, time_ns;
};

struct sampling_parents {
	struct sampling_sites *sites;
	struct sampling_trial trials[SAMPLING_TRIALS];
	uint32_t next;		/* the trial whose turn it is to have a thread held */
	uint64_t next_hold_ns, held_ns;	/* when the next is; what all have cost until now */
	uint32_t budget_ppm;
	struct addrmap last;	/* tid -> struct sampling_last */
	uint32_t passing;	/* functions that were found to pass on */
	uint32_t no_room;	/* and those for which there was none */
};

void sampling_parents_init(struct sampling_parents *p, struct sampling_sites *sites, uint32_t budget_ppm);
void sampling_parents_fini(struct sampling_parents *p);

/* Site @i gave out a block, and the function around it was called from @caller (0: not known). */
void sampling_parents_saw(struct sampling_parents *p, uint32_t i, taddr caller, uint64_t now_ns);

/* The same, and the thread is held, at @hit: @block, of @size bytes, is what it was given. When this returns it may go on. 0 or -ENOMEM. */
must_check int sampling_parents_held(struct sampling_parents *p, uint32_t i, const struct record_hit *hit, taddr block, uint64_t size, taddr caller);

/* Site @i, which is tried, was hit. The thread may be held. */
void sampling_parents_came(struct sampling_parents *p, uint32_t i, const struct record_hit *hit);

/*
 * Is something decided? Then @function passes on, and @target is its number; sites in it are inner ones, and its callers are to be found in all modules.
 * To be called until it is false.
 */
bool sampling_parents_decide(struct sampling_parents *p, uint64_t now_ns, taddr *function, uint32_t *target);

/* Have the next thread held, if it is time for that. */
void sampling_parents_hold(struct sampling_parents *p, uint64_t now_ns);

/* When it will be; UINT64_MAX: nothing is tried out. */
uint64_t sampling_parents_next_ns(const struct sampling_parents *p);

void sampling_parents_thread_end(struct sampling_parents *p, uint32_t tid);

#endif
