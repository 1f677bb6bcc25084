/* SPDX-License-Identifier: MIT */
#include "attach/loss/loss_blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/sampling/quantile.h"

#define ENOUGH 3u	/* lost blocks of a stack are no accident, */
#define BACK_PART 10u	/* if no more than one part in so many comes back */
/*
 * A block is larger than what was asked for by at most so many bytes (glibc: its least size, or a multiple of 16 and a
 * rest that is too small for another one), or one part in so many of it (classes of sizes).
 */
#define ROUNDED 40u
#define ROUNDED_PART 4u

#define TWICE 2u	/* and so many were found lost in an earlier copy than the last one */
#define SETTLED_NS 1000000000ull
#define LATER_PART 4u	/* at least one part in so many of what was not lost at first is lost later, or none is */

struct kept {
	uint64_t size, at_ns;
	uint64_t stack;			/* index */
};

uint64_t loss_blocks_least_request(uint64_t usable)
{
	const uint64_t more = usable / ROUNDED_PART > ROUNDED ? usable / ROUNDED_PART : ROUNDED;

	return usable > more ? usable - more : 0;
}

void loss_blocks_init(struct loss_blocks *b, const uint64_t *sizes, size_t n)
{
	*b = (struct loss_blocks){ .nsizes = n < LOSS_SIZES ? n : LOSS_SIZES };
	memcpy(b->sizes, sizes, b->nsizes * sizeof(*sizes));
	addrmap_init(&b->by_number, sizeof(uint32_t));
	addrmap_init(&b->blocks, sizeof(struct kept));
	loss_later_init(&b->later);
}

void loss_blocks_fini(struct loss_blocks *b)
{
	free(b->stacks);
	free(b->found);
	addrmap_fini(&b->by_number);
	addrmap_fini(&b->blocks);
	loss_later_fini(&b->later);
	*b = (struct loss_blocks){ 0 };
}

static struct loss_stack *stack_of(struct loss_blocks *b, uint32_t family, uint32_t number)
{
	uint32_t *index = addrmap_slot(&b->by_number, number, NULL);

	if (!index)
		return NULL;
	if (!*index) {
		if (grow_for(&b->stacks, b->n, &b->room, sizeof(*b->stacks)) < 0)
			return NULL;
		b->stacks[b->n] = (struct loss_stack){ .number = number, .family = family };
		*index = (uint32_t)++b->n;
	}
	return &b->stacks[*index - 1];
}

int loss_blocks_add(struct loss_blocks *b, uint32_t family, uint32_t number, const struct loss_block *its)
{
	struct kept kept = { .size = its->size, .at_ns = its->at_ns };
	struct loss_later_block before;
	struct loss_stack *stack;

	if (loss_later_gone(&b->later, its->addr, &before))
		b->stacks[before.stack].gone++;
	if (!addrmap_get(&b->blocks, its->addr) && addrmap_count(&b->blocks) >= LOSS_BLOCKS_MOST)
		return 0;
	stack = stack_of(b, family, number);
	if (!stack)
		return -ENOMEM;
	kept.stack = (uint64_t)(stack - b->stacks);
	stack->added++;
	return addrmap_put(&b->blocks, its->addr, &kept);
}

/* --- in a copy --- */

/* Blocks of other sizes are not recorded: one may have the address by then. */
static bool is_looked_for(const struct loss_blocks *b, uint64_t usable)
{
	for (size_t i = 0; i < b->nsizes; i++)
		if (b->sizes[i] == usable)
			return true;
	return false;
}

static bool may_be(const struct kept *its, uint64_t usable)
{
	return its->size <= usable && its->size >= loss_blocks_least_request(usable);
}

static int add_found(struct loss_blocks *b, const struct loss_found *its)
{
	if (grow_for(&b->found, b->nfound, &b->found_room, sizeof(*b->found)) < 0)
		return -ENOMEM;
	b->found[b->nfound++] = *its;
	return 0;
}

/* Blocks of the present window. */
static int find_present(struct loss_blocks *b, const struct loss *lost, uint64_t before_ns, bool last)
{
	const struct kept *its;
	uint64_t addr;
	void *value;
	int r = 0;

	for (size_t i = 0; r == 0 && i < lost->n; i++) {
		const struct block *l = &lost->lost[i];

		its = is_looked_for(b, l->size) ? addrmap_get(&b->blocks, l->addr) : NULL;
		if (its && may_be(its, l->size) && its->at_ns <= before_ns)
			r = add_found(b, &(struct loss_found){ l->addr, l->size, (uint32_t)its->stack, last, false });
	}
	/* those that are not looked for do not count as seen */
	for (size_t at = 0; addrmap_next(&b->blocks, &at, &addr, &value);) {
		its = value;
		b->stacks[its->stack].added -= its->at_ns > before_ns;
	}
	for (size_t i = 0; i < b->n; i++)
		b->stacks[i].its.seen += b->stacks[i].added;
	return r;
}

static uint64_t mark_of(const struct loss_copied *copy, taddr addr)
{
	const uint64_t *mark = addrmap_get(copy->marks, addr);

	return mark ? *mark : 0;
}

static void count_gone(void *ctx, const struct loss_later_block *its)
{
	struct loss_blocks *b = ctx;

	b->stacks[its->stack].gone++;
}

/* Blocks of earlier windows. */
static int find_later(struct loss_blocks *b, const struct loss_copied *copy, bool last)
{
	struct loss_later_block its;
	int r = 0;

	for (size_t i = 0; r == 0 && i < copy->lost->n; i++) {
		const struct block *l = &copy->lost->lost[i];

		if (!is_looked_for(b, l->size) || !loss_later_take(&b->later, l->addr, mark_of(copy, l->addr), &its))
			continue;
		if (!may_be(&(struct kept){ .size = its.size }, l->size)) {
			count_gone(b, &its);
			continue;
		}
		b->stacks[its.stack].later++;
		r = add_found(b, &(struct loss_found){ l->addr, l->size, (uint32_t)its.stack, last, true });
	}
	return r < 0 ? r : loss_later_look(&b->later, copy->marks, count_gone, b);
}

/* Those of the present window that are not lost yet. */
static int keep_others(struct loss_blocks *b, const struct loss_copied *copy)
{
	struct addrmap found;
	uint64_t addr;
	void *value;
	int r = 0;

	addrmap_init(&found, 0);
	for (size_t i = b->earlier; r == 0 && i < b->nfound; i++)
		r = addrmap_put(&found, b->found[i].addr, NULL);
	for (size_t at = 0; r == 0 && addrmap_next(&b->blocks, &at, &addr, &value);)
		r = loss_later_mark(&b->later, mark_of(copy, addr));
	for (size_t at = 0; r == 0 && addrmap_next(&b->blocks, &at, &addr, &value);) {
		const struct kept *its = value;
		const struct loss_later_block later = { its->size, mark_of(copy, addr), its->stack };

		if (its->at_ns <= copy->at_ns && !addrmap_get(&found, addr) &&
		    addrmap_count(&b->later.blocks) < LOSS_BLOCKS_MOST)
			r = loss_later_keep(&b->later, addr, &later);
	}
	addrmap_fini(&found);
	return r;
}

static int find_all(struct loss_blocks *b, const struct loss_copied *copy, uint64_t before_ns, bool last)
{
	int r;

	b->earlier = b->nfound;
	r = find_present(b, copy->lost, before_ns, last);
	if (r == 0 && copy->marks)
		r = find_later(b, copy, last);
	if (r == 0 && copy->marks && !last)
		r = keep_others(b, copy);
	loss_blocks_drop(b);
	return r;
}

int loss_blocks_find(struct loss_blocks *b, const struct loss_copied *copy)
{
	return find_all(b, copy, copy->at_ns, false);
}

int loss_blocks_find_last(struct loss_blocks *b, const struct loss_copied *copy)
{
	return find_all(b, copy, copy->at_ns > SETTLED_NS ? copy->at_ns - SETTLED_NS : 0, true);
}

int loss_blocks_each(const struct loss_blocks *b, int (*see)(void *ctx, taddr addr, uint64_t size), void *ctx)
{
	uint64_t addr;
	void *value;
	int r = 0;

	for (size_t at = 0; r >= 0 && addrmap_next(&b->blocks, &at, &addr, &value);)
		r = see(ctx, addr, ((const struct kept *)value)->size);
	for (size_t at = 0; r >= 0 && addrmap_next(&b->later.blocks, &at, &addr, &value);)
		r = see(ctx, addr, ((const struct loss_later_block *)value)->size);
	return r < 0 ? r : 0;
}

void loss_blocks_found_last(struct loss_blocks *b)
{
	for (size_t i = b->earlier; i < b->nfound; i++)
		b->found[i].last = true;
	loss_blocks_drop(b);
}

void loss_blocks_drop(struct loss_blocks *b)
{
	addrmap_clear(&b->blocks);
	for (size_t i = 0; i < b->n; i++)
		b->stacks[i].added = 0;
}

/* --- at the end --- */

static int by_size(const void *pa, const void *pb)
{
	const struct loss_found *a = pa, *b = pb;

	return a->size != b->size ? (a->size > b->size) - (a->size < b->size) :
				    (a->stack > b->stack) - (a->stack < b->stack);
}

struct last_found {
	uint64_t size;			/* as it is lost at the end */
	uint64_t found;			/* index + 1 of the last one that was found there */
};

/* What is lost at the end, by address. 0 or -ENOMEM. */
static int read_last(const struct loss *lost, struct addrmap *out)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < lost->n; i++)
		r = addrmap_put(out, lost->lost[i].addr, &(struct last_found){ .size = lost->lost[i].size });
	return r;
}

/* Where hardly any was lost later, it may be others that got the addresses. */
static void drop_chances(struct loss_blocks *b)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->nfound; i++) {
		const struct loss_stack *stack = &b->stacks[b->found[i].stack];

		if (!b->found[i].later || stack->later * LATER_PART >= stack->later + stack->gone)
			b->found[kept++] = b->found[i];
	}
	b->nfound = kept;
}

/* Keep those that are lost still. Of two at one address the first one was freed. 0 or -ENOMEM. */
static int confirm(struct loss_blocks *b, const struct loss *lost)
{
	struct last_found *at;
	struct addrmap last;
	size_t kept = 0;
	int r;

	addrmap_init(&last, sizeof(struct last_found));
	r = read_last(lost, &last);
	for (size_t i = 0; r == 0 && i < b->nfound; i++) {
		at = addrmap_get(&last, b->found[i].addr);
		if (at)
			at->found = i + 1;
	}
	for (size_t i = 0; r == 0 && i < b->nfound; i++) {
		const struct loss_found f = b->found[i];
		struct loss_stack *stack = &b->stacks[f.stack];

		at = addrmap_get(&last, f.addr);
		if (at && at->size == f.size && at->found == i + 1) {
			stack->its.lost++;
			stack->twice += !f.last;
			b->found[kept++] = f;
		} else {
			stack->back++;
		}
	}
	b->nfound = r == 0 ? kept : b->nfound;
	addrmap_fini(&last);
	return r;
}

static bool decides(const struct loss_stack *s)
{
	return s->its.lost >= ENOUGH && s->twice >= TWICE && s->back <= s->its.lost / BACK_PART;
}

/* @n of the @found lost blocks of that size are its, so of @all as large a part. */
static void add_part(struct loss_stack *s, uint64_t size, size_t n, size_t found, size_t all)
{
	const double blocks = (double)n / (double)found * (double)all;
	double low, high;

	if (!decides(s))
		return;
	quantile_share((double)n, (double)found, &low, &high);
	/* those that were found are its */
	low = fmin(fmax(low * (double)all, (double)n), blocks);
	high = fmax(high * (double)all, blocks);
	s->blocks += blocks;
	s->below = hypot(s->below, blocks - low);
	s->above = hypot(s->above, high - blocks);
	s->its.bytes += (uint64_t)llround(blocks * (double)size);
}

/* Those of one size: by stack. */
static void add_size(struct loss_blocks *b, const struct loss_found *all, size_t n, size_t lost)
{
	size_t next;

	for (size_t i = 0; i < n; i = next) {
		for (next = i; next < n && all[next].stack == all[i].stack; next++)
			;
		add_part(&b->stacks[all[i].stack], all[i].size, next - i, n, lost);
	}
}

/* How many of @lost, which are sorted, have that size; *@at moves behind them. */
static size_t count_of(const struct loss *lost, uint64_t size, size_t *at)
{
	size_t from;

	while (*at < lost->n && lost->lost[*at].size < size)
		(*at)++;
	from = *at;
	while (*at < lost->n && lost->lost[*at].size == size)
		(*at)++;
	return *at - from;
}

int loss_blocks_sum(struct loss_blocks *b, const struct loss *lost)
{
	size_t next, at = 0;
	int r;

	drop_chances(b);
	r = confirm(b, lost);
	if (r < 0)
		return r;
	if (b->nfound)
		qsort(b->found, b->nfound, sizeof(*b->found), by_size);
	for (size_t i = 0; i < b->nfound; i = next) {
		for (next = i; next < b->nfound && b->found[next].size == b->found[i].size; next++)
			;
		add_size(b, b->found + i, next - i, count_of(lost, b->found[i].size, &at));
	}
	for (size_t i = 0; i < b->n; i++) {
		struct loss_stack *s = &b->stacks[i];

		s->its.blocks = (uint64_t)llround(s->blocks);
		s->its.least = (uint64_t)llround(fmax(s->blocks - s->below, 0));
		s->its.most = (uint64_t)llround(s->blocks + s->above);
	}
	return 0;
}
