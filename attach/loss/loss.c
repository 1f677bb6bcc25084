/* SPDX-License-Identifier: MIT */
#include "attach/loss/loss.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/addrmap.h"
#include "base/grow.h"

#define BACK_MOST 2
#define BACK_PART 20
#define BACK_NEW_PART 10

int loss_add(struct loss *l, taddr addr, uint64_t size)
{
	if (grow_for(&l->lost, l->n, &l->room, sizeof(*l->lost)) < 0)
		return -ENOMEM;
	l->lost[l->n++] = (struct block){ addr, size };
	return 0;
}

int loss_copy(const struct loss *from, struct loss *to)
{
	*to = (struct loss){ 0 };
	for (size_t i = 0; i < from->n; i++)
		if (loss_add(to, from->lost[i].addr, from->lost[i].size) < 0) {
			loss_fini(to);
			return -ENOMEM;
		}
	return 0;
}

static void sort(struct loss *l)
{
	if (l->n)
		qsort(l->lost, l->n, sizeof(*l->lost), block_order);
}

/* Keep those of @later that are not in @earlier; both are sorted. Returns how many were the same. */
static size_t keep_new(const struct loss *earlier, struct loss *later)
{
	const size_t before = later->n;
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < later->n; i++) {
		const struct block *b = &later->lost[i];

		while (at < earlier->n && earlier->lost[at].addr < b->addr)
			at++;
		if (at < earlier->n && earlier->lost[at].addr == b->addr && earlier->lost[at].size == b->size)
			continue;
		later->lost[kept++] = *b;
	}
	later->n = kept;
	return before - kept;
}

static uint64_t bytes_of(const struct loss *l)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < l->n; i++)
		bytes += l->lost[i].size;
	return bytes;
}

static int by_size(const void *pa, const void *pb)
{
	const struct block *a = pa, *b = pb;

	return (a->size > b->size) - (a->size < b->size);
}

/* Insert it where it belongs: the most bytes first. */
static void put_size(struct loss_sum *out, struct loss_size its)
{
	for (size_t i = 0; i < LOSS_SIZES; i++) {
		struct loss_size other = out->sizes[i];

		if (its.size * its.blocks <= other.size * other.blocks)
			continue;
		out->sizes[i] = its;
		its = other;
	}
}

static void sum_sizes(struct loss *l, struct loss_sum *out)
{
	size_t next;

	if (l->n)
		qsort(l->lost, l->n, sizeof(*l->lost), by_size);
	for (size_t i = 0; i < l->n; i = next) {
		next = i;
		while (next < l->n && l->lost[next].size == l->lost[i].size)
			next++;
		put_size(out, (struct loss_size){ l->lost[i].size, next - i });
	}
}

/* Of one size. */
struct fate {
	uint64_t before, back, now;	/* lost earlier; of these, not any more; newly lost */
};

/*
 * A few may be, by chance: a number that looked like a pointer is gone, or is there now. And where hardly any come
 * back, compared with what is lost, hardly any of that will.
 */
static bool too_many(uint64_t back, uint64_t before, uint64_t now)
{
	return back > BACK_MOST && back > before / BACK_PART && back > now / BACK_NEW_PART;
}

/* 0 or -ENOMEM. */
static int find_fate(struct addrmap *fates, uint64_t size, struct fate **out)
{
	int r = 0;

	*out = addrmap_get(fates, size);
	if (!*out)
		r = addrmap_put(fates, size, &(struct fate){ 0 });
	if (!*out && r == 0)
		*out = addrmap_get(fates, size);
	return r;
}

/* @back: what is not lost any more. */
static int count_fates(const struct loss *earlier, const struct loss *back, const struct loss *later,
		       struct addrmap *fates)
{
	struct fate *its;
	int r = 0;

	for (size_t i = 0; r == 0 && i < earlier->n; i++)
		if ((r = find_fate(fates, earlier->lost[i].size, &its)) == 0)
			its->before++;
	for (size_t i = 0; r == 0 && i < back->n; i++)
		if ((r = find_fate(fates, back->lost[i].size, &its)) == 0)
			its->back++;
	for (size_t i = 0; r == 0 && i < later->n; i++)
		if ((r = find_fate(fates, later->lost[i].size, &its)) == 0)
			its->now++;
	return r;
}

/* Takes those of doubtful sizes out of @l, and returns how many these are. */
static uint64_t drop_doubtful(struct loss *l, const struct addrmap *fates)
{
	const size_t before = l->n;

	l->n = 0;
	for (size_t i = 0; i < before; i++) {
		const struct fate *its = addrmap_get(fates, l->lost[i].size);

		if (!its || !too_many(its->back, its->before, its->now))
			l->lost[l->n++] = l->lost[i];
	}
	return before - l->n;
}

/* If we are out of memory, nothing is known. */
static void doubt(const struct loss *earlier, struct loss *later, const struct loss *before, struct loss_sum *out)
{
	struct loss back = { 0 };
	struct addrmap fates;

	addrmap_init(&fates, sizeof(struct fate));
	if (loss_copy(earlier, &back) == 0) {
		(void)keep_new(before, &back);
		out->back = back.n;
		out->unknown = count_fates(earlier, &back, later, &fates) < 0;
		if (!out->unknown) {
			out->doubtful = drop_doubtful(later, &fates);
			out->back -= drop_doubtful(&back, &fates);
		}
	} else {
		out->unknown = true;
	}
	loss_fini(&back);
	addrmap_fini(&fates);
}

void loss_between(struct loss *earlier, struct loss *later, struct loss_sum *out)
{
	struct loss all = { 0 };

	*out = (struct loss_sum){ .before_blocks = earlier->n, .before_bytes = bytes_of(earlier) };
	sort(earlier);
	sort(later);
	if (loss_copy(later, &all) < 0)
		out->unknown = true;
	(void)keep_new(earlier, later);
	if (!out->unknown)
		doubt(earlier, later, &all, out);
	loss_fini(&all);
	out->blocks = later->n;
	out->bytes = bytes_of(later);
	sum_sizes(later, out);
}

bool loss_is_doubtful(const struct loss_sum *sum)
{
	return sum->unknown || (!sum->blocks && sum->doubtful) ||
	       too_many(sum->back, sum->before_blocks, sum->blocks);
}

void loss_fini(struct loss *l)
{
	free(l->lost);
	*l = (struct loss){ 0 };
}
