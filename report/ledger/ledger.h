/* SPDX-License-Identifier: MIT */
/*
 * ledger: what the facts of a run add up to: which blocks and objects are live, what each stack has allocated
 * and freed, and what is known of the run itself. A live watch, a trace, a shrunken trace and an import fill
 * it in the same way, fact by fact, and every report is made from it.
 *
 *	book (one for each family) = live blocks or objects, and for each stack a place: its numbers
 *	place = allocations, frees, live blocks and bytes, their series
 *
 * A family has either blocks or objects with references, as its definition says; events of the other kind are
 * a contradiction. In a family of objects a place counts what a stack did: references acquired (allocs),
 * released (frees), and how many of those acquired are on objects that exist now (both blocks and bytes).
 * None of that is in the ledger's own totals: the book has them.
 *
 * The order of facts matters; their times matter only for ages and series. If a fact names a stack that was
 * never defined (the definition was in a damaged part), it is booked under a stack without frames, and
 * counted.
 *
 * A ledger of a later piece alone sees frees of blocks that were allocated in an earlier one. It can keep
 * these events (`keep_orphans`) so that shrink can put the pieces together; the totals count them as older
 * than the watch. Events of objects that may have existed in an earlier piece are kept and not booked: what
 * they mean depends on what was before.
 */
#ifndef MM_LEDGER_H
#define MM_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addrmap.h"
#include "base/cleanup.h"
#include "report/ledger/ledger_sample.h"
#include "report/ledger/live.h"
#include "report/ledger/memories.h"
#include "report/ledger/merged/merged.h"
#include "report/ledger/objects.h"
#include "report/ledger/older_sizes.h"
#include "report/ledger/series.h"
#include "report/ledger/verdict_list.h"
#include "trace/defs.h"
#include "trace/fact.h"

#define LEDGER_TWICE_MAX 1000	/* different double frees that are listed */
#define LEDGER_LIST_MAX 10000	/* probes, reasons, gaps, notes */
#define LEDGER_FAMILIES_MAX 64

struct place {
	uint64_t allocs, frees;		/* of objects: references acquired, released */
	uint64_t allocated_bytes;			/* bytes that were ever allocated; not of objects */
	uint64_t blocks, bytes;		/* of objects, both: references acquired here on existing objects */
	struct series series;
};

/* An event, unchanged, of a block or an object that may have existed before this ledger's first fact. */
struct orphan {
	/*
	 * MMT_FREE, FORGET, ASIDE, ASIDE_FREED, ASIDE_BACK; MMT_ALLOC: the older block lost its address; REF,
	 * UNREF, BORN, COUNTED.
	 */
	uint32_t kind;
	uint32_t family;	/* index */
	uint32_t stack;		/* of MMT_ALLOC, REF, UNREF, BORN: index */
	uint64_t time_us;
	taddr addr;		/* not of MMT_ASIDE_FREED, MMT_ASIDE_BACK */
	uint64_t key;		/* of MMT_ASIDE... */
	uint64_t by, count;	/* as in the fact */
};

#define LEDGER_FREED_MAX 65536	/* pairs of stacks in a book */

/* How many of a stack's blocks another stack freed. */
struct ledger_freed {
	uint64_t blocks, bytes;
};

struct ledger_book {
	struct live *live;
	struct objects *objects;	/* NULL: there was no event of an object */
	uint64_t acquired, released;	/* references, of all objects over the run */
	struct place *places;	/* by index of the stack; a stack beyond nplaces has only zeros */
	size_t nplaces, places_size;
	/*
	 * What was freed by stacks that the run records (--free-stacks): (stack that allocated << 32 | stack
	 * that freed) -> struct ledger_freed, by indices of stacks. Of more pairs than LEDGER_FREED_MAX the
	 * later ones are not counted here.
	 */
	struct addrmap freed;
	/* Addresses at which no older block or object exists any more, because an orphan has ended it. */
	struct addrmap gone;
	struct older_sizes older;	/* of those frees of older blocks whose size is known */
};

/* A block that is put aside (MMT_ASIDE). */
struct ledger_aside {
	taddr addr;
	struct live_block block;
	uint32_t family;	/* index */
	bool held;		/* else no block was live there, and @block means nothing */
	bool orphan;		/* it is an orphan, so the event that ends it must be one, too */
};

/*
 * Inconsistencies, counted. A shrunken trace has its own counts of these (MMT_LOST, with these reasons),
 * which are added, as those of LEDGER_DAMAGED are; the counts of all other reasons are "until now".
 */
#define LEDGER_DOUBTS(X)									\
	X(undefined, "not defined")	/* facts that name what is undefined: no stack, or left out */ \
	X(nonsense, "contradiction")	/* facts that contradict others, and were left out */	\
	X(displaced, "release not seen")	/* blocks whose address was reused without a free */ \
	X(reborn, "end not seen")	/* objects whose address became another's while they had references */

#define LEDGER_DAMAGED "trace damaged"	/* reason of MMT_LOST, for readers of a trace */

/* A block that was freed twice, together with others that have the same three stacks. */
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
 * The verdicts of a snapshot (MMT_VERDICTS): what was recorded of it. A block's verdict is in the table of
 * live blocks, and is removed with the block; a block that is allocated later has none.
 */
struct ledger_verdicts {
	bool wanted;			/* verdicts were wanted: there are some, or a reason why not */
	struct fact_verdicts fact;		/* strings in the pool, lists owned */
	/*
	 * Number of blocks with a verdict (MMT_JUDGED) until now; the verdicts are complete when it is the
	 * announced number.
	 */
	uint64_t given;
	bool marked;			/* the table has some verdicts */
	uint32_t changes;		/* snapshots that replaced an earlier one */
	/*
	 * Lost blocks with which others are lost; and these others, with the address of the first in
	 * with_bytes.
	 */
	struct verdict_list with;
	/* Blocks that are not live here, but may be in an earlier piece: with keep_orphans. */
	struct verdict_list unknown;
};

#define LEDGER_LOOKS_MAX 1000	/* each new snapshot takes a pass through the table */

#define LEDGER_COUNTS 32

/*
 * Sums of sizes may wrap, since a trace may claim any size; they are right again when the blocks are freed.
 */

struct ledger {
	struct defs defs;
	struct ledger_book *books;	/* by index of the family */
	size_t nbooks;
	uint32_t family;		/* index of the current family */
	uint64_t first_us;		/* time of the first fact */
	uint64_t now_us;		/* time of the last fact */
	bool ended;			/* MMT_END was read */
	bool keep_orphans;		/* of a piece that is not the first; set it before the first fact */
	struct fact_run run;		/* strings in the pool */
	struct { int32_t pid; const char *comm, *exe; const char **argv; uint32_t argc; } target;
	uint64_t counts[LEDGER_COUNTS];		/* by MMT_COUNT_...; counts with higher numbers are ignored */
	struct ledger_probe *probes;
	struct ledger_lost *lost;
	struct ledger_gap *gaps;
	const char **notes;
	const char **skips;		/* functions whose frames are left out at the front of stacks */
	struct ledger_twice *twice;
	size_t nprobes, nlost, ngaps, nnotes, nskips, ntwice;
	/*
	 * The `nown_notes` notes from number own_notes on are about how this reader has read the trace, not
	 * about the run.
	 */
	size_t own_notes, nown_notes;
	uint64_t allocs, frees, unmatched_frees, double_frees;
	uint64_t held_blocks, held_bytes;
	uint64_t resizing;		/* blocks that ledger_settle put back */
	struct ledger_verdicts look;
	struct ledger_samples samples;
	struct memories memories;	/* names in the pool */
	struct merged merged;		/* of several processes: then no block is in the books */
#define X(name, reason) uint64_t name;
	LEDGER_DOUBTS(X)
#undef X
	/* Index of the stack without frames, for undefined ones; DEFS_NONE: not needed yet. */
	uint32_t nowhere;
	bool has_facts;			/* at least one */
	bool has_run;			/* MMT_RUN was read */
	struct orphan *orphans;		/* in the order in which they came */
	size_t norphans;
	struct addrmap aside;		/* key -> struct ledger_aside */
	/* where to find them: key -> index */
	struct addrmap probe_index, lost_index, gap_index, note_index, skip_index, twice_index;
};

must_check int ledger_init(struct ledger *l);	/* 0 or -ENOMEM; family 0 is there, without a name */
void ledger_fini(struct ledger *l);

/* Add a fact. 0, also if it makes no sense (then it is counted); -ENOMEM. */
must_check int ledger_take(struct ledger *l, const struct fact *f);

/* Advance the time to @now_us, without an event. */
void ledger_pass(struct ledger *l, uint64_t now_us);

/*
 * The run has ended for this reader: a block whose realloc has begun and not ended is still live. It is
 * listed as it was before, and counted in `resizing`. After that no events may be taken. 0 or -ENOMEM.
 */
must_check int ledger_settle(struct ledger *l);

/* The name of the family with this index; not NULL, even if the run does not name it. */
const char *ledger_family_name(const struct ledger *l, uint32_t family);

/* Is a block live at @addr in family index @family? */
bool ledger_holds(const struct ledger *l, uint32_t family, taddr addr, struct live_block *out);

/* The object at @addr in family index @family, or NULL. Valid until the next fact. */
const struct object *ledger_object(const struct ledger *l, uint32_t family, taddr addr);

/* Add to the list of double frees; the totals are the caller's. 0 or -ENOMEM. */
must_check int ledger_list_twice(struct ledger *l, const struct ledger_twice *t);

/* Is it of several processes? */
bool ledger_is_merged(const struct ledger *l);
/* Add a process to a merged ledger; its number is the next one. 0; -ENOMEM; -ENOSPC. */
must_check int ledger_add_process(struct ledger *l, const struct fact_process *process);
/* Count @blocks as live in a place, without a table of them. 0 or -ENOMEM. */
must_check int ledger_add_live(struct ledger *l, uint32_t family, uint32_t stack, uint64_t blocks, uint64_t bytes);

/*
 * The place of a stack, its series advanced to the ledger's time. NULL if nothing was ever counted there, or
 * if out of memory.
 */
const struct place *ledger_place(struct ledger *l, uint32_t family, uint32_t stack);

/* Are the verdicts complete? Otherwise none counts. */
bool ledger_has_verdicts(const struct ledger *l);
/* The last verdict on @b. */
enum verdict ledger_verdict(const struct ledger *l, const struct live_block *b);
/*
 * Iterate over the blocks of all families with which others are lost: each in @out, with its block in @b.
 * Begin with a @place that is all zero.
 */
bool ledger_next_leader(const struct ledger *l, struct verdict_place *place, struct verdict_block *out,
			struct live_block *b);
/*
 * Likewise for indirectly lost blocks, if the run records with which block: out->with_bytes is its address.
 */
bool ledger_next_hanging(const struct ledger *l, struct verdict_place *place, struct verdict_block *out,
			 struct live_block *b);

/*
 * How many blocks the block @b at @addr stands for: 1, unless the run is a sample by bytes. All numbers of places and
 * totals are sums of weights, so they are estimates then.
 */
uint64_t ledger_weight(const struct ledger *l, taddr addr, const struct live_block *b);

/* The age, at the ledger's time, of a block or object born at @birth_us. */
uint64_t ledger_age_us(const struct ledger *l, uint64_t birth_us);
double ledger_age_s(const struct ledger *l, uint64_t birth_us);
/* Is that age at least @least_us? Always true if @least_us is 0. */
bool ledger_old_enough(const struct ledger *l, uint64_t birth_us, uint64_t least_us);

size_t ledger_memory(const struct ledger *l);

#endif
