/* SPDX-License-Identifier: MIT */
/* tallied: one hit, and what is known about it: what the parts of the tally (tally.h) make facts from. */
#ifndef MM_TALLIED_H
#define MM_TALLIED_H

#include "attach/events/hitvalues.h"
#include "attach/events/tally.h"

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

uint64_t tallied_time(const struct tally *t, const struct tallied *x);

/* A fact of the hit's family. */
void tallied_put(struct tally *t, const struct tallied *x, const struct fact *f);

/* It counts. */
void tallied_count(struct tally *t, const struct tallied *x);

/* Something that the rule needs could not be read: a loss, if the call would have counted. */
void tallied_unread(struct tally *t, const struct tallied *x);

/* An address of the hit's family: these have 47 bits. */
taddr tallied_key(const struct tallied *x, taddr addr);

/* It is nobody's in scope: @addr is another's until it is given back. */
void tallied_put_outside(struct tally *t, const struct tallied *x, taddr addr);

/* What is at @addr was taken out of scope; from now on it is not there. */
bool tallied_take_outside(struct tally *t, const struct tallied *x, taddr addr);

/* The stack of the hit, tagged as its rule says. false: no memory (noted). */
bool tallied_stack(struct tally *t, const struct tallied *x, uint32_t *number);

/* Is the code that wanted it in scope? */
bool tallied_caller_counts(struct tally *t, uint32_t stack);

/* The first word of the slice is the return address, at an exit; behind a return the caller is where we are. 0: not read. */
taddr tallied_caller(const struct record_hit *hit, const struct site *s);

/* The size that was asked for; false: the rule does not say, or it was not read. */
bool tallied_requested_size(const struct tallied *x, uint64_t *size);

/* How large the block is that was given out; of things that have no size, 1. */
uint64_t tallied_size(struct tally *t, const struct tallied *x);

#endif
