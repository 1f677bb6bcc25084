/* SPDX-License-Identifier: MIT */
/*
 * ring: events from the keeper to the controller, through shared memory.
 *
 *      keeper                                      controller
 *      ring_reserve ── fill ── ring_commit  ──▶  ring_peek ── use ── ring_consume
 *                  head ──────────────────────────▶ tail
 *
 * One producer, one consumer, no locks. Records are contiguous: if the rest of the buffer is too short, a pad
 * record fills it. The consumer is woken through an eventfd only if it has set ring->sleeping, or if a
 * quarter of the ring is full: waking it for every event costs half as much again as the stop itself (bench:
 * a wake per event 2.6-3.3, without 2.1).
 *
 * The ring never waits. What to do when it is full is the keeper's decision.
 */
#ifndef MM_RING_H
#define MM_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/keeper/shared/event.h"

struct ring {
	_Alignas(64) _Atomic uint64_t head;	/* written by the producer only */
	_Alignas(64) _Atomic uint64_t tail;	/* written by the consumer only */
	_Atomic uint32_t sleeping;		/* the consumer waits for the doorbell */
	_Alignas(64) uint32_t size;		/* power of two; changes only by ring_shrink */
	uint8_t *base;				/* mapped at the same address in both (forked) */
};

void ring_init(struct ring *r, uint8_t *base, uint32_t size);

/* Reserve space for a record of @size bytes; NULL if it does not fit now. Not visible before ring_commit. */
struct record *ring_reserve(struct ring *r, uint32_t size);

/* Publish the record last reserved, with its final size (not more than was reserved). */
void ring_commit(struct ring *r, struct record *rec, uint32_t size);

/* The oldest unread record, or NULL. Stays valid until ring_consume. */
const struct record *ring_peek(struct ring *r);
void ring_consume(struct ring *r, const struct record *rec);

/* The producer is gone, and the reader takes its place: what follows @rec, the oldest, was never there. */
void ring_take_over(struct ring *r, const struct record *rec);

/* For the producer: the ring is to use only its first @size bytes, from now on. false: it is not empty. */
bool ring_shrink(struct ring *r, uint32_t size);

uint64_t ring_used(const struct ring *r);
bool ring_is_crowded(const struct ring *r);	/* a quarter is used: the consumer should be reading */
bool ring_wants_bell(const struct ring *r);	/* for the producer, after a commit */

#endif
