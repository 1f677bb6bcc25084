/* SPDX-License-Identifier: MIT */
/*
 * ledger: what the facts of a run add up to: who holds what, how it came to
 * that, and what is known of the run itself. A live watch, a trace, a shrunken trace and an
 * import fill it in the same way, fact by fact, and every report is made from it.
 *
 *	book (one for each family) = live blocks or objects, and for each stack a place
 *	place = allocations, releases, blocks and bytes held, their series
 *
 * A family is one of blocks or one of objects with references, as its definition says; events of the other kind contradict
 * it. In one of objects a place is what a stack did: references taken (allocs), dropped (frees), and of those taken how many are on
 * objects that are there now (blocks and bytes alike). None of that is in the ledger's own totals: the book has them.
 *
 * The order of facts counts, their times only for ages and series. Where a fact names a stack that was never defined (the
 * definition was in a damaged part), it is booked under a stack without frames, and counted.
 *
 * A ledger of a later piece alone sees blocks released that were given out in an earlier one. It can keep these events
 * (`keep_orphans`) for whoever puts the pieces together (shrink); the totals count them as older than the watch. Events of objects that
 * may have been there in an earlier piece are kept and not booked: what they come to hangs on what was before.
 */
#ifndef MM_LEDGER_H
#define MM_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "report/ledger/judged.h"
#include "report/ledger/ledger_sample.h"
#include "report/ledger/live.h"
#include "report/ledger/memories.h"
#include "report/ledger/objects.h"
#include "report/ledger/series.h"
#include "trace/defs.h"
#include "trace/fact.h"

#define LEDGER_TWICE_MAX 1000	/* different ones that are kept */
#define LEDGER_LIST_MAX 10000	/* probes, reasons, gaps, notes */
#define LEDGER_FAMILIES_MAX 64

struct place {
	uint64_t allocs, frees;		/* of objects: references taken, dropped */
	uint64_t taken;			/* bytes that were ever allocated; not of objects */
	uint64_t blocks, bytes;		/* of objects: references taken that are on objects which are there; both the same */
	struct series series;
};

/* An event of a block, or an object, that was there before this ledger's first fact, if there was one: as it came. */
struct orphan {
	uint32_t kind;		/* MMT_FREE, FORGET, ASIDE, ASIDE_FREED, ASIDE_BACK; MMT_ALLOC: it lost its address; REF, UNREF, BORN, COUNTED */
	uint32_t family;	/* index */
	uint32_t stack;		/* of MMT_ALLOC, REF, UNREF, BORN: index */
	uint64_t time_us;
	taddr addr;		/* not of MMT_ASIDE_FREED, MMT_ASIDE_BACK */
	uint64_t key;		/* of MMT_ASIDE... */
	uint64_t by, count;	/* as in the fact */
};

struct ledger_book {
	struct live *live;
	struct objects *objects;	/* NULL: there was no event of one */
	uint64_t taken, dropped;	/* references, of all objects over the run */
	struct place *places;	/* by index of the stack; the last may be beyond nplaces: then all is 0 */
	size_t nplaces, places_size;
	struct addrmap gone;	/* addresses of which an orphan says that no older block or object is there any more */
};

/* What is put aside (MMT_ASIDE). */
struct ledger_aside {
	taddr addr;
	struct live_block block;
	uint32_t family;	/* index */
	bool held;		/* else no block was held there: @block is nothing */
	bool orphan;		/* it is among the orphans, and so must its end be */
};

/*
 * What does not fit together, counted. A shrunken trace says what it had counted (MMT_LOST, with these reasons), and that
 * adds up, as does LEDGER_DAMAGED; the counts of all other reasons are "until now".
 */
#define LEDGER_DOUBTS(X)									\
	X(undefined, "not defined")	/* facts that named what is not defined: under no stack, or left out */ \
	X(nonsense, "contradiction")	/* facts that contradict others, and were not taken */	\
	X(displaced, "release not seen")	/* blocks whose address was given out again without a release */ \
	X(reborn, "end not seen")	/* objects whose address became another's while they had references */

#define LEDGER_DAMAGED "trace damaged"	/* reason of MMT_LOST for whoever reads a trace */

/* A block released twice, and the others with the same three stacks. */
struct ledger_twice {
	uint32_t family;			/* index */
	uint32_t second, first, alloc;		/* index of the stack or DEFS_NONE */
	uint64_t count;
	taddr sample;				/* of the first of them */
	uint64_t time_us;			/* likewise */
};

struct ledger_probe {
	uint32_t number, family;		/* index of the family or DEFS_NONE */
	const char *rule, *module, *note;	/* in the pool; NULL as in summary_probe */
	uint64_t hits;
};

struct ledger_lost {
	const char *reason;
	uint64_t count;
};

struct ledger_gap {
	uint64_t start_us, length_us;
	const char *why;
};

/*
 * What a look has found (MMT_VERDICTS). A block's verdict stands in the table of live blocks, and goes with it; a block that is
 * given out later has none.
 */
struct ledger_look {
	bool told;			/* there was one, or there is a reason why not */
	struct fact_look fact;		/* strings in the pool, lists owned */
	uint64_t given;			/* blocks that MMT_JUDGED told of: all, when it is as many as were announced */
	bool marked;			/* some are in the table */
	uint32_t changes;		/* looks that came after another one */
	struct judged with;		/* lost blocks that others are lost with; and these, with the address of the first in with_bytes */
	struct judged unknown;		/* blocks that are not held here, but may be in an earlier piece: with keep_orphans */
};

#define LEDGER_LOOKS_MAX 1000	/* to begin anew with each takes a pass through the table */

#define LEDGER_COUNTS 32

/* Sums of sizes wrap, as the sizes may be anything; they come out right again when the blocks go. */

struct ledger {
	struct defs defs;
	struct ledger_book *books;	/* by index of the family */
	size_t nbooks;
	uint32_t family;		/* index of the current family */
	uint64_t first_us;		/* time of the first fact */
	uint64_t now_us;		/* time of the last fact */
	bool ended;			/* MMT_END has come */
	bool keep_orphans;		/* of a piece that is not the first; set it before the first fact */
	struct fact_run run;		/* strings in the pool */
	struct { int32_t pid; const char *comm, *exe; const char **argv; uint32_t argc; } target;
	uint64_t counts[LEDGER_COUNTS];		/* by MMT_COUNT_...; those of higher numbers are not known here */
	struct ledger_probe *probes;
	struct ledger_lost *lost;
	struct ledger_gap *gaps;
	const char **notes;
	const char **skips;		/* functions whose frames are left out at the front of stacks */
	struct ledger_twice *twice;
	size_t nprobes, nlost, ngaps, nnotes, nskips, ntwice;
	size_t own_notes, nown_notes;	/* of the notes, so many from there on are of this reading, not of the run */
	uint64_t allocs, frees, unmatched_frees, double_frees;
	uint64_t held_blocks, held_bytes;
	uint64_t resizing;		/* blocks that ledger_settle put back */
	struct ledger_look look;
	struct ledger_samples samples;
	struct memories memories;	/* names in the pool */
#define X(name, reason) uint64_t name;
	LEDGER_DOUBTS(X)
#undef X
	uint32_t nowhere;		/* index of the stack without frames, for the undefined; DEFS_NONE: not needed yet */
	bool has_facts;			/* one at least */
	bool has_run;			/* MMT_RUN has come */
	struct orphan *orphans;		/* in the order in which they came */
	size_t norphans;
	struct addrmap aside;		/* key -> struct ledger_aside */
	/* where to find them: key -> index */
	struct addrmap probe_index, lost_index, gap_index, note_index, skip_index, twice_index;
};

must_check int ledger_init(struct ledger *l);	/* 0 or -ENOMEM; family 0 is there, without a name */
void ledger_fini(struct ledger *l);

/* Take a fact. 0, also for one that makes no sense (it is counted); -ENOMEM. */
must_check int ledger_take(struct ledger *l, const struct fact *f);

/* Time goes on to @now_us, though nothing happened. */
void ledger_pass(struct ledger *l, uint64_t now_us);

/*
 * The run is over for us: a block whose release has begun (realloc) and not ended is somebody's still. It is
 * listed as it was, and counted in `resizing`. After that no events may be taken. 0 or -ENOMEM.
 */
must_check int ledger_settle(struct ledger *l);

/* What the family with this index is called: something also where the run does not say it. */
const char *ledger_family_name(const struct ledger *l, uint32_t family);

/* Is a block held at @addr in family index @family? */
bool ledger_holds(const struct ledger *l, uint32_t family, taddr addr, struct live_block *out);

/* The object at @addr that is there in family index @family, or NULL. Valid until the next fact. */
const struct object *ledger_object(const struct ledger *l, uint32_t family, taddr addr);

/* The place of a stack, or NULL if nothing was ever there. Its series is brought to the ledger's time. NULL on want of memory too. */
const struct place *ledger_place(struct ledger *l, uint32_t family, uint32_t stack);

/* Has a look been told, as a whole? Else no verdict counts. */
bool ledger_judges(const struct ledger *l);
/* What the last look said of it. */
enum verdict ledger_verdict(const struct ledger *l, const struct live_block *b);
/*
 * The blocks with which others are lost, of all families: one after the other, @out and the block itself in @b. Begin with a
 * @place that is all zero.
 */
bool ledger_next_leader(const struct ledger *l, struct judged_place *place, struct judged_block *out, struct live_block *b);
/* Likewise those that are indirectly lost, where the run says with which block: out->with_bytes is its address. */
bool ledger_next_hanging(const struct ledger *l, struct judged_place *place, struct judged_block *out, struct live_block *b);

/* How old at the ledger's time is what was born then? */
double ledger_age_s(const struct ledger *l, uint64_t birth_us);
/* Is that @least_us at least? Always if that is 0. */
bool ledger_old_enough(const struct ledger *l, uint64_t birth_us, uint64_t least_us);

size_t ledger_memory(const struct ledger *l);

#endif
