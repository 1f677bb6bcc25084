/* SPDX-License-Identifier: MIT */
/* ranges: see ranges.h. */
#include "attach/events/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

struct ranges_leaf {
	size_t n;		/* never 0 */
	struct range all[RANGES_LEAF];
};

/* The place of a range in a leaf. leaf == ranges.n: behind all. */
struct position {
	size_t leaf, at;
};

void ranges_init(struct ranges *r)
{
	*r = (struct ranges){ 0 };
}

void ranges_fini(struct ranges *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->leaves[i]);
	free(r->leaves);
	ranges_init(r);
}

static struct range *at(const struct ranges *r, struct position s)
{
	return &r->leaves[s.leaf]->all[s.at];
}

/* --- finding --- */

static taddr end_of_leaf(const struct ranges_leaf *l)
{
	return l->all[l->n - 1].hi;
}

static size_t find_leaf(const struct ranges *r, taddr addr)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (end_of_leaf(r->leaves[middle]) > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The first range that ends behind @addr. */
static struct position first_behind(const struct ranges *r, taddr addr)
{
	struct position s = { .leaf = find_leaf(r, addr) };
	size_t high = s.leaf < r->n ? r->leaves[s.leaf]->n : 0;

	while (s.at < high) {
		size_t middle = s.at + (high - s.at) / 2;

		if (r->leaves[s.leaf]->all[middle].hi > addr)
			high = middle;
		else
			s.at = middle + 1;
	}
	return s;
}

/* false: there is none. */
static bool first_in(const struct ranges *r, taddr lo, taddr hi, struct position *out)
{
	*out = first_behind(r, lo);
	return lo < hi && out->leaf < r->n && at(r, *out)->lo < hi;
}

bool ranges_first(const struct ranges *r, taddr lo, taddr hi, struct range *out)
{
	struct position s;

	if (!first_in(r, lo, hi, &s))
		return false;
	*out = *at(r, s);
	return true;
}

/* --- changing --- */

/* Insert an empty leaf before number @i. NULL: no memory. */
static struct ranges_leaf *new_leaf(struct ranges *r, size_t i)
{
	struct ranges_leaf *l = malloc(sizeof(*l));

	if (!l || grow_for(&r->leaves, r->n, &r->size, sizeof(struct ranges_leaf *)) < 0) {
		free(l);
		return NULL;
	}
	memmove(&r->leaves[i + 1], &r->leaves[i], (r->n - i) * sizeof(struct ranges_leaf *));
	r->leaves[i] = l;
	r->n++;
	l->n = 0;
	return l;
}

/* The leaf of @s is full: its second half goes to a new one. @s still means the same place. */
static int split(struct ranges *r, struct position *s)
{
	struct ranges_leaf *full = r->leaves[s->leaf], *more = new_leaf(r, s->leaf + 1);

	if (!more)
		return -ENOMEM;
	full->n = RANGES_LEAF / 2;
	more->n = RANGES_LEAF - full->n;
	memcpy(more->all, &full->all[full->n], more->n * sizeof(*more->all));
	if (s->at > full->n) {
		s->at -= full->n;
		s->leaf++;
	}
	return 0;
}

/* Insert before @s. */
static int insert(struct ranges *r, struct position s, const struct range *new)
{
	struct ranges_leaf *l;

	if (!r->n && !new_leaf(r, 0))
		return -ENOMEM;
	/* behind all: at the end of the last leaf */
	if (s.leaf == r->n)
		s = (struct position){ r->n - 1, r->leaves[r->n - 1]->n };
	if (r->leaves[s.leaf]->n == RANGES_LEAF && split(r, &s) < 0)
		return -ENOMEM;
	l = r->leaves[s.leaf];
	memmove(&l->all[s.at + 1], &l->all[s.at], (l->n - s.at) * sizeof(*l->all));
	l->all[s.at] = *new;
	l->n++;
	return 0;
}

static void drop(struct ranges *r, struct position s)
{
	struct ranges_leaf *l = r->leaves[s.leaf];

	l->n--;
	memmove(&l->all[s.at], &l->all[s.at + 1], (l->n - s.at) * sizeof(*l->all));
	if (l->n)
		return;
	free(l);
	r->n--;
	memmove(&r->leaves[s.leaf], &r->leaves[s.leaf + 1], (r->n - s.leaf) * sizeof(struct ranges_leaf *));
}

/* [@lo, @hi) is in the middle of the range at @s: two ranges are left. */
static int cut_middle(struct ranges *r, struct position s, taddr lo, taddr hi)
{
	struct range front = *at(r, s), back = front;

	front.hi = lo;
	back.lo = hi;
	*at(r, s) = back;
	if (insert(r, s, &front) == 0)
		return 0;
	back.lo = front.lo;
	*at(r, s) = back;
	return -ENOMEM;
}

int ranges_remove(struct ranges *r, taddr lo, taddr hi, struct range *was)
{
	struct position s;

	if (!first_in(r, lo, hi, &s))
		return 0;
	*was = *at(r, s);
	if (was->lo < lo && was->hi > hi)
		return cut_middle(r, s, lo, hi) < 0 ? -ENOMEM : 1;
	if (was->lo < lo)
		at(r, s)->hi = lo;
	else if (was->hi > hi)
		at(r, s)->lo = hi;
	else
		drop(r, s);
	return 1;
}

int ranges_add(struct ranges *r, const struct range *new)
{
	struct position s = first_behind(r, new->lo);

	if (s.leaf < r->n && at(r, s)->lo < new->hi)
		return -EEXIST;
	return insert(r, s, new);
}
