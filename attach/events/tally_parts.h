/* SPDX-License-Identifier: MIT */
/*
 * tally_parts: what the parts of the tally have in common; for them alone.
 *
 *	tally.c		which part a hit is for; what is in scope
 *	tally_blocks.c	alloc, realloc, free
 *	tally_size.c	how large a block is
 *	tally_ranges.c	what all of them are where blocks are ranges of addresses
 *	tally_refs.c	ref, unref
 */
#ifndef MM_TALLY_PARTS_H
#define MM_TALLY_PARTS_H

#include "attach/events/hitvalues.h"
#include "attach/events/tally.h"

/* The old block of a realloc under way. */
struct realloc_open {
	taddr addr;
	uint32_t alloc;			/* who had got it: number + 1 or FACT_NONE */
	struct released_by before;
	enum { REALLOC_HELD, REALLOC_OLD, REALLOC_RELEASED, REALLOC_OUTSIDE } was;
};

/* The last release of a thread, by a function that may call another one to do it. */
struct passed_on {
	taddr addr, sp;			/* rsp where the function was entered */
	uint32_t probe;
};

/* What lay in [lo, hi), put aside while it is moved. */
struct range_move {
	taddr lo, hi;
	struct range *parts;
	size_t n;
};

void range_move_fini(struct range_move *m);

/* One hit, and what is known about it. */
struct tallied {
	const struct record_hit *hit;
	const struct site *site;
	struct probe *probe;
	const struct rule *rule;
	uint32_t family;		/* index in the ledger, and number */
	bool chunk;			/* the chunk header of glibc was to be read */
	bool in_scope;			/* but for the caller's module */
	bool unknown;			/* is it in scope? Its thread could not be asked */
	struct hitvalues values;
};

uint64_t tally_time(const struct tally *t, const struct tallied *x);

/* A fact of the hit's family. */
void tally_put(struct tally *t, const struct tallied *x, const struct fact *f);

/* It counts. */
void tally_count(struct tally *t, const struct tallied *x);

/* Something that the rule needs could not be read: a loss, if the call would have counted. */
void tally_unread(struct tally *t, const struct tallied *x);

/* An address of the hit's family: these have 47 bits. */
taddr tally_key(const struct tallied *x, taddr addr);

/* It is nobody's in scope: @addr is another's until it is given back. */
void tally_put_outside(struct tally *t, const struct tallied *x, taddr addr);

/* What is at @addr was taken out of scope; from now on it is not there. */
bool tally_take_outside(struct tally *t, const struct tallied *x, taddr addr);

/* The stack of the hit, tagged as its rule says. false: no memory (noted). */
bool tally_stack(struct tally *t, const struct tallied *x, uint32_t *number);

/* Is the code that wanted it in scope? */
bool tally_caller_counts(struct tally *t, uint32_t stack);

/* The first word of the slice is the return address, at an exit; behind a return the caller is where we are. 0: not read. */
taddr tally_caller(const struct record_hit *hit, const struct site *s);

/* The size that was asked for; false: the rule does not say, or it was not read. */
bool tally_requested_size(const struct tallied *x, uint64_t *size);

/* How large the block is that was given out; of things that have no size, 1. */
uint64_t tally_size(struct tally *t, const struct tallied *x);

void tally_alloc(struct tally *t, const struct tallied *x);
void tally_realloc(struct tally *t, const struct tallied *x);
void tally_free(struct tally *t, const struct tallied *x);
void tally_ref(struct tally *t, const struct tallied *x);
void tally_range(struct tally *t, const struct tallied *x);

/* What was doubtful of thread @tid is what it looked like, or (@ended) the allocator's own doing. */
void tally_settle_doubts(struct tally *t, uint32_t tid, bool ended);

#endif
