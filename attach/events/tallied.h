/* SPDX-License-Identifier: MIT */
/* tallied: one hit, and what is known about it; the parts of the tally (tally.h) make facts from it. */
#ifndef MM_TALLIED_H
#define MM_TALLIED_H

#include "attach/events/rule_values.h"
#include "attach/events/tally.h"

/* One hit, and what is known about it. */
struct tallied {
	const struct record_hit *hit;
	const struct site *site;
	struct probe *probe;
	const struct rule *rule;
	uint32_t family;		/* index in the ledger, and number */
	bool chunk;			/* glibc's chunk header was to be read */
	bool in_scope;			/* except that the caller's module is not checked yet */
	bool unknown;			/* whether it is in scope: the thread's name could not be read */
	struct rule_values values;
};

uint64_t tallied_time(const struct tally *t, const struct tallied *x);

/* Record a fact of the hit's family. */
void tallied_put(struct tally *t, const struct tallied *x, const struct fact *f);

/* The hit counts. */
void tallied_count(struct tally *t, const struct tallied *x);

/* A value that the rule needs could not be read: counted as unread, if the call would have counted. */
void tallied_unread(struct tally *t, const struct tallied *x);

/* A key of an address and the hit's family: addresses have 47 bits. */
taddr tallied_key(const struct tallied *x, taddr addr);

/* The block at @addr is out of scope: store that until it is freed. */
void tallied_put_outside(struct tally *t, const struct tallied *x, taddr addr);

/* Was the block at @addr allocated out of scope? If so, forget that. */
bool tallied_take_outside(struct tally *t, const struct tallied *x, taddr addr);

/* Is a block of the hit's family live at @addr? @b may be NULL. */
bool tallied_is_live(const struct tally *t, const struct tallied *x, taddr addr, struct live_block *b);

/* It is freed by @stack: number + 1 or FACT_NONE. */
void tallied_put_free(struct tally *t, const struct tallied *x, taddr addr, uint32_t stack);

/* The address was allocated again by a call that is not counted: what is stored of it is no longer valid. */
void tallied_forget(struct tally *t, const struct tallied *x, taddr addr);

/* The stack that frees: number + 1, or FACT_NONE if it is not wanted. */
uint32_t tallied_freeing_stack(struct tally *t, const struct tallied *x);

/* It is freed; until the address is allocated again, another free of it means nothing (FREED_WITH_POOL). */
void tallied_remember_gone(struct tally *t, const struct tallied *x, taddr addr);

/* What is at @addr, if anything, is freed with the pool that it lies in, by @by: number + 1 or FACT_NONE. */
void tallied_free_with_pool(struct tally *t, const struct tallied *x, taddr addr, uint32_t by);

/*
 * FREED_BEFORE: the block at @addr was freed (by @by), and is not allocated again; FREED_WITH_POOL: with its
 * pool, so another free of it may belong to the same call, and means nothing.
 */
enum tallied_before { FREED_NOT, FREED_BEFORE, FREED_WITH_POOL };
enum tallied_before tallied_freed_before(const struct tally *t, const struct tallied *x, taddr addr,
					 struct released_by *by);

/* Are all allocations of the family seen? If not, what was freed may be allocated again (planting.h). */
bool tallied_sees_allocs(const struct tally *t, const struct tallied *x);

/* The stack of the hit, with the tag of its rule. false: no memory (t->out_of_memory). */
bool tallied_stack(struct tally *t, const struct tallied *x, uint32_t *number);

/* Is the calling code (--module) in scope? */
bool tallied_caller_counts(struct tally *t, uint32_t stack);

/*
 * The return address: at an exit, the first word of the slice; at a trap behind the return (SITE_AFTER),
 * where the thread is. 0: not read.
 */
taddr tallied_caller(const struct record_hit *hit, const struct site *s);

/* The size that was requested; false: the rule does not have it, or it was not read. */
bool tallied_requested_size(const struct tallied *x, uint64_t *size);

/* The size of the allocated block; 1 for things that have no size. */
uint64_t tallied_size(struct tally *t, const struct tallied *x);

/*
 * The size of the block that is being freed, by glibc's chunk header, which is @load of the site. 0: it was
 * not read, or it is none that glibc writes.
 */
uint64_t tallied_freed_size(const struct tallied *x, uint32_t load, taddr addr);

#endif
