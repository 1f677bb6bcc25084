/* SPDX-License-Identifier: MIT */
/* ranges: see ranges.h. */
#include "attach/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void ranges_init(struct ranges *r)
{
	*r = (struct ranges){ 0 };
}

void ranges_fini(struct ranges *r)
{
	free(r->all);
	ranges_init(r);
}

/* The first one that ends behind @addr; n: there is none. */
static size_t first_behind(const struct ranges *r, taddr addr)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->all[middle].hi > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Its index; n: there is none. */
static size_t first_in(const struct ranges *r, taddr lo, taddr hi)
{
	size_t i = first_behind(r, lo);

	return lo < hi && i < r->n && r->all[i].lo < hi ? i : r->n;
}

bool ranges_first(const struct ranges *r, taddr lo, taddr hi, struct range *out)
{
	size_t i = first_in(r, lo, hi);

	if (i == r->n)
		return false;
	*out = r->all[i];
	return true;
}

/* Room for one more before @at. */
static int make_gap(struct ranges *r, size_t at)
{
	if (grow_for(&r->all, r->n, &r->size, sizeof(*r->all)) < 0)
		return -ENOMEM;
	memmove(&r->all[at + 1], &r->all[at], (r->n - at) * sizeof(*r->all));
	r->n++;
	return 0;
}

static void close_gap(struct ranges *r, size_t at)
{
	r->n--;
	memmove(&r->all[at], &r->all[at + 1], (r->n - at) * sizeof(*r->all));
}

int ranges_take(struct ranges *r, taddr lo, taddr hi, struct range *was)
{
	size_t i = first_in(r, lo, hi);

	if (i == r->n)
		return 0;
	*was = r->all[i];
	if (was->lo < lo && was->hi > hi) {
		if (make_gap(r, i) < 0)
			return -ENOMEM;
		r->all[i].hi = lo;
		r->all[i + 1].lo = hi;
	} else if (was->lo < lo) {
		r->all[i].hi = lo;
	} else if (was->hi > hi) {
		r->all[i].lo = hi;
	} else {
		close_gap(r, i);
	}
	return 1;
}

int ranges_add(struct ranges *r, const struct range *new)
{
	size_t at = first_behind(r, new->lo);

	if (at < r->n && r->all[at].lo < new->hi)
		return -EEXIST;
	if (make_gap(r, at) < 0)
		return -ENOMEM;
	r->all[at] = *new;
	return 0;
}
