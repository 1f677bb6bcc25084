/* SPDX-License-Identifier: MIT */
#include "heap/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/grow.h"

void snapshot_init(struct snapshot *s)
{
	memset(s, 0, sizeof(*s));
}

static void free_owned(struct snapshot_owned *o)
{
	if (o->size)
		munmap(o->memory, o->size);
	else
		free(o->memory);
}

void snapshot_fini(struct snapshot *s)
{
	for (size_t i = 0; i < s->nowned; i++)
		free_owned(&s->owned[i]);
	free(s->owned);
	free(s->pieces);
	free(s->backing);
	free(s->threads);
	free(s->holes);
	procmaps_fini(&s->maps);
	snapshot_init(s);
}

int snapshot_own(struct snapshot *s, void *memory, size_t size)
{
	if (grow_for(&s->owned, s->nowned, &s->owned_room, sizeof(*s->owned)) < 0)
		return -ENOMEM;
	s->owned[s->nowned++] = (struct snapshot_owned){ memory, size };
	return 0;
}

int snapshot_add_piece(struct snapshot *s, taddr lo, uint64_t size, const void *bytes)
{
	if (!size)
		return 0;
	if (grow_for(&s->pieces, s->npieces, &s->piece_room, sizeof(*s->pieces)) < 0)
		return -ENOMEM;
	s->pieces[s->npieces++] = (struct snapshot_piece){ lo, size, bytes };
	s->bytes += size;
	return 0;
}

int snapshot_back(struct snapshot *s, taddr lo, uint64_t size, const void *bytes)
{
	if (!size)
		return 0;
	if (grow_for(&s->backing, s->nbacking, &s->backing_room, sizeof(*s->backing)) < 0)
		return -ENOMEM;
	s->backing[s->nbacking++] = (struct snapshot_piece){ lo, size, bytes };
	return 0;
}

int snapshot_add_hole(struct snapshot *s, taddr lo, taddr hi)
{
	if (lo >= hi)
		return 0;
	if (grow_for(&s->holes, s->nholes, &s->hole_room, sizeof(*s->holes)) < 0)
		return -ENOMEM;
	s->holes[s->nholes++] = (struct snapshot_range){ lo, hi };
	return 0;
}

int snapshot_add_thread(struct snapshot *s, const struct snapshot_thread *t)
{
	if (grow_for(&s->threads, s->nthreads, &s->thread_room, sizeof(*s->threads)) < 0)
		return -ENOMEM;
	s->threads[s->nthreads++] = *t;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct snapshot_piece *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

static int by_start(const void *a, const void *b)
{
	const struct snapshot_range *x = a, *y = b;

	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Sort, and make one of two that lie behind each other both there and here. 0, or -EINVAL if two overlap. */
static int sort_and_join(struct snapshot_piece *all, size_t *n)
{
	size_t kept = 0;

	if (*n)
		qsort(all, *n, sizeof(*all), by_address);
	for (size_t i = 0; i < *n; i++) {
		struct snapshot_piece *before = kept ? &all[kept - 1] : NULL;

		if (all[i].lo + all[i].size < all[i].lo)
			return -EINVAL;
		if (before && before->lo + before->size > all[i].lo)
			return -EINVAL;
		if (before && before->lo + before->size == all[i].lo && before->bytes + before->size == all[i].bytes)
			before->size += all[i].size;
		else
			all[kept++] = all[i];
	}
	*n = kept;
	return 0;
}

int snapshot_seal(struct snapshot *s)
{
	if (sort_and_join(s->pieces, &s->npieces) < 0 || sort_and_join(s->backing, &s->nbacking) < 0)
		return -EINVAL;
	if (s->nholes)
		qsort(s->holes, s->nholes, sizeof(*s->holes), by_start);
	s->sealed = true;
	return 0;
}

/* The first of @n sorted pieces that ends behind @at, or @n. */
static size_t first_behind(const struct snapshot_piece *all, size_t n, taddr at)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (all[mid].lo + all[mid].size <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct snapshot_piece *piece_at(const struct snapshot_piece *all, size_t n, taddr at)
{
	size_t i = first_behind(all, n, at);

	return i < n && all[i].lo <= at ? &all[i] : NULL;
}

size_t snapshot_piece_from(const struct snapshot *s, taddr at)
{
	return first_behind(s->pieces, s->npieces, at);
}

static bool in_hole(const struct snapshot *s, taddr at)
{
	size_t lo = 0, hi = s->nholes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->holes[mid].hi <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->nholes && s->holes[lo].lo <= at;
}

/* Nobody has its bytes: what would be there? */
static enum snapshot_kind kind_of_nothing(const struct snapshot *s, taddr at)
{
	const struct mapping *m = procmaps_find(&s->maps, at);

	if (!m)
		return SNAPSHOT_NOTHING;
	if (in_hole(s, at) || m->perms & MAPPING_SHARED)
		return SNAPSHOT_MISSING;
	return m->ino ? SNAPSHOT_FILE : SNAPSHOT_ZERO;
}

enum snapshot_kind snapshot_kind_at(const struct snapshot *s, taddr at)
{
	if (piece_at(s->pieces, s->npieces, at) || piece_at(s->backing, s->nbacking, at))
		return SNAPSHOT_HERE;
	return kind_of_nothing(s, at);
}

const uint8_t *snapshot_bytes(const struct snapshot *s, taddr at, uint64_t *n)
{
	const struct snapshot_piece *p = piece_at(s->pieces, s->npieces, at);

	*n = p ? p->lo + p->size - at : 0;
	return p ? p->bytes + (at - p->lo) : NULL;
}

/* How many of the @n bytes from @at on the next piece or backing leaves to what is neither; at least 1. */
static uint64_t gap_at(const struct snapshot *s, taddr at, uint64_t n)
{
	const uint64_t to_page_end = SNAPSHOT_PAGE - at % SNAPSHOT_PAGE;
	size_t p = snapshot_piece_from(s, at), b = first_behind(s->backing, s->nbacking, at);

	if (n > to_page_end)
		n = to_page_end;
	if (p < s->npieces && s->pieces[p].lo - at < n)
		n = s->pieces[p].lo - at;
	if (b < s->nbacking && s->backing[b].lo - at < n)
		n = s->backing[b].lo - at;
	return n;
}

int snapshot_read(const struct snapshot *s, taddr at, void *out, size_t n)
{
	uint8_t *to = out;

	while (n) {
		const struct snapshot_piece *p = piece_at(s->pieces, s->npieces, at);
		uint64_t have;

		if (!p)
			p = piece_at(s->backing, s->nbacking, at);
		if (p) {
			/* a piece may begin inside of a backing: it is newer */
			size_t next = snapshot_piece_from(s, at);

			have = p->lo + p->size - at;
			if (next < s->npieces && s->pieces[next].lo > at && s->pieces[next].lo - at < have)
				have = s->pieces[next].lo - at;
			have = have < n ? have : n;
			memcpy(to, p->bytes + (at - p->lo), have);
		} else if (kind_of_nothing(s, at) == SNAPSHOT_ZERO) {
			have = gap_at(s, at, n);
			memset(to, 0, have);
		} else {
			return -EFAULT;
		}
		to += have;
		at += have;
		n -= have;
	}
	return 0;
}

int snapshot_word(const struct snapshot *s, taddr at, uint64_t *out)
{
	return snapshot_read(s, at, out, sizeof(*out));
}
