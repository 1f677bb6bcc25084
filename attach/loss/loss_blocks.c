/* SPDX-License-Identifier: MIT */
#include "attach/loss/loss_blocks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

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

struct loss_block {
	uint64_t size;			/* as asked for */
	uint64_t stack;			/* index */
};

uint64_t loss_blocks_least_request(uint64_t usable)
{
	const uint64_t more = usable / ROUNDED_PART > ROUNDED ? usable / ROUNDED_PART : ROUNDED;

	return usable > more ? usable - more : 0;
}

void loss_blocks_init(struct loss_blocks *b)
{
	*b = (struct loss_blocks){ 0 };
	addrmap_init(&b->by_number, sizeof(uint32_t));
	addrmap_init(&b->blocks, sizeof(struct loss_block));
}

void loss_blocks_fini(struct loss_blocks *b)
{
	free(b->stacks);
	free(b->found);
	addrmap_fini(&b->by_number);
	addrmap_fini(&b->blocks);
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

int loss_blocks_add(struct loss_blocks *b, uint32_t family, uint32_t number, taddr addr, uint64_t size)
{
	struct loss_block its = { .size = size };
	struct loss_stack *stack;

	if (!addrmap_get(&b->blocks, addr) && addrmap_count(&b->blocks) >= LOSS_BLOCKS_MOST)
		return 0;
	stack = stack_of(b, family, number);
	if (!stack)
		return -ENOMEM;
	its.stack = (uint64_t)(stack - b->stacks);
	stack->added++;
	return addrmap_put(&b->blocks, addr, &its);
}

/* --- in a copy --- */

/* Else it is another one, of a size that is not recorded. */
static bool may_be(const struct loss_block *its, uint64_t usable)
{
	return its->size <= usable && its->size >= loss_blocks_least_request(usable);
}

static int find_one(struct loss_blocks *b, const struct block *lost)
{
	const struct loss_block *its = addrmap_get(&b->blocks, lost->addr);

	if (!its || !may_be(its, lost->size))
		return 0;
	if (grow_for(&b->found, b->nfound, &b->found_room, sizeof(*b->found)) < 0)
		return -ENOMEM;
	b->found[b->nfound++] = (struct loss_found){ lost->addr, lost->size, (uint32_t)its->stack };
	return 0;
}

int loss_blocks_find(struct loss_blocks *b, const struct loss *lost)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < lost->n; i++)
		r = find_one(b, &lost->lost[i]);
	for (size_t i = 0; i < b->n; i++)
		b->stacks[i].its.seen += b->stacks[i].added;
	loss_blocks_drop(b);
	return r;
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

/* Keep those that are lost still. 0 or -ENOMEM. */
static int confirm(struct loss_blocks *b, const struct loss *lost)
{
	struct addrmap sizes;
	size_t kept = 0;
	int r = 0;

	addrmap_init(&sizes, sizeof(uint64_t));
	for (size_t i = 0; r == 0 && i < lost->n; i++)
		r = addrmap_put(&sizes, lost->lost[i].addr, &lost->lost[i].size);
	for (size_t i = 0; r == 0 && i < b->nfound; i++) {
		const struct loss_found *f = &b->found[i];
		const uint64_t *size = addrmap_get(&sizes, f->addr);

		if (size && *size == f->size) {
			b->stacks[f->stack].its.lost++;
			b->found[kept++] = *f;
		} else {
			b->stacks[f->stack].back++;
		}
	}
	b->nfound = kept;
	addrmap_fini(&sizes);
	return r;
}

static bool decides(const struct loss_stack *s)
{
	return s->its.lost >= ENOUGH && s->back <= s->its.lost / BACK_PART;
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
	const int r = confirm(b, lost);

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
