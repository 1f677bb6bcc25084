/* SPDX-License-Identifier: MIT */
#include "attach/keeper/shared/ring.h"

void ring_init(struct ring *r, uint8_t *base, uint32_t size)
{
	atomic_init(&r->head, 0);
	atomic_init(&r->tail, 0);
	atomic_init(&r->sleeping, 0);
	r->size = size;
	r->base = base;
}

static struct record *record_at(const struct ring *r, uint64_t pos)
{
	return (struct record *)(r->base + (pos & (r->size - 1)));
}

struct record *ring_reserve(struct ring *r, uint32_t size)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	uint32_t room_to_end = r->size - (head & (r->size - 1));
	uint64_t pad = size > room_to_end ? room_to_end : 0;

	if (head + pad + size - tail > r->size)
		return NULL;
	if (pad) {
		struct record *filler = record_at(r, head);

		/* positions are multiples of 8, so size and kind always fit */
		filler->size = pad;
		filler->kind = RECORD_PAD;
		atomic_store_explicit(&r->head, head + pad, memory_order_release);
		head += pad;
	}
	return record_at(r, head);
}

void ring_commit(struct ring *r, struct record *rec, uint32_t size)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	rec->size = (size + 7) & ~7u;
	/*
	 * sequentially consistent: the reader sets sleeping and then looks at head; we move head and then
	 * look at sleeping
	 */
	atomic_store(&r->head, head + rec->size);
}

const struct record *ring_peek(struct ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	while (tail != atomic_load(&r->head)) {
		const struct record *rec = record_at(r, tail);

		if (rec->kind != RECORD_PAD)
			return rec;
		tail += rec->size;
		atomic_store_explicit(&r->tail, tail, memory_order_release);
	}
	return NULL;
}

void ring_consume(struct ring *r, const struct record *rec)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

	atomic_store_explicit(&r->tail, tail + rec->size, memory_order_release);
}

void ring_take_over(struct ring *r, const struct record *rec)
{
	atomic_store(&r->head, atomic_load(&r->tail) + rec->size);
}

bool ring_shrink(struct ring *r, uint32_t size)
{
	/*
	 * the reader looks at the size when it has seen a head that is not the tail, and then it is the new
	 * one
	 */
	if (atomic_load_explicit(&r->tail, memory_order_acquire) !=
	    atomic_load_explicit(&r->head, memory_order_relaxed))
		return false;
	r->size = size;
	return true;
}

uint64_t ring_used(const struct ring *r)
{
	return atomic_load_explicit(&r->head, memory_order_relaxed) -
	       atomic_load_explicit(&r->tail, memory_order_relaxed);
}

bool ring_is_crowded(const struct ring *r)
{
	return ring_used(r) > r->size / 4;
}

bool ring_wants_bell(const struct ring *r)
{
	return atomic_load(&r->sleeping) || ring_is_crowded(r);
}
