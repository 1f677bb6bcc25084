/* SPDX-License-Identifier: MIT */
#include "heap/snapshot/snapshot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/addr_search.h"
#include "base/grow.h"
#include "heap/snapshot/filemap.h"

void snapshot_init(struct snapshot *s)
{
	memset(s, 0, sizeof(*s));
}

static void free_owned(struct snapshot_owned *o)
{
	if (o->file)
		filemap_close(o->memory, o->size);
	else if (o->size)
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

static int own(struct snapshot *s, struct snapshot_owned what)
{
	if (grow_for(&s->owned, s->nowned, &s->owned_room, sizeof(*s->owned)) < 0)
		return -ENOMEM;
	s->owned[s->nowned++] = what;
	return 0;
}

int snapshot_own(struct snapshot *s, void *memory, size_t size)
{
	return own(s, (struct snapshot_owned){ memory, size, false });
}

int snapshot_own_file(struct snapshot *s, void *memory, size_t size)
{
	return own(s, (struct snapshot_owned){ memory, size, true });
}

bool snapshot_damaged(const struct snapshot *s)
{
	for (size_t i = 0; i < s->nowned; i++) {
		if (s->owned[i].file && filemap_failed(s->owned[i].memory))
			return true;
	}
	return false;
}

int snapshot_add_piece(struct snapshot *s, taddr lo, uint64_t size, const void *bytes)
{
	s->sealed = false;
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
	s->sealed = false;
	if (!size)
		return 0;
	if (grow_for(&s->backing, s->nbacking, &s->backing_room, sizeof(*s->backing)) < 0)
		return -ENOMEM;
	s->backing[s->nbacking++] = (struct snapshot_piece){ lo, size, bytes };
	return 0;
}

int snapshot_add_hole(struct snapshot *s, taddr lo, taddr hi)
{
	s->sealed = false;
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

/* Does @p extend beyond the last address, or overlap @before? */
static bool is_wrong(const struct snapshot_piece *p, const struct snapshot_piece *before)
{
	return p->size > UINT64_MAX - p->lo || (before && before->lo + before->size > p->lo);
}

static bool goes_on(const struct snapshot_piece *p, const struct snapshot_piece *before)
{
	return before && before->lo + before->size == p->lo && before->bytes + before->size == p->bytes;
}

/* Sort, and join two that are adjacent both in the target and here. 0, or -EINVAL if two overlap. */
static int sort_and_join(struct snapshot_piece *all, size_t *n)
{
	size_t kept = 0;

	if (*n)
		qsort(all, *n, sizeof(*all), by_address);
	for (size_t i = 0; i < *n; i++) {
		if (is_wrong(&all[i], i ? &all[i - 1] : NULL))
			return -EINVAL;
	}
	for (size_t i = 0; i < *n; i++) {
		struct snapshot_piece *before = kept ? &all[kept - 1] : NULL;

		if (goes_on(&all[i], before))
			before->size += all[i].size;
		else
			all[kept++] = all[i];
	}
	*n = kept;
	return 0;
}

size_t snapshot_join(struct snapshot_range *all, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(all, n, sizeof(*all), by_start);
	for (size_t i = 0; i < n; i++) {
		struct snapshot_range *last = kept ? &all[kept - 1] : NULL;

		if (!last || last->hi < all[i].lo)
			all[kept++] = all[i];
		else if (last->hi < all[i].hi)
			last->hi = all[i].hi;
	}
	return kept;
}

int snapshot_seal(struct snapshot *s)
{
	if (sort_and_join(s->pieces, &s->npieces) < 0 || sort_and_join(s->backing, &s->nbacking) < 0)
		return -EINVAL;
	s->nholes = snapshot_join(s->holes, s->nholes);
	s->sealed = true;
	return 0;
}

/*
 * The index of the first of @n sorted pieces that ends after @at, or @n. None is empty, and none overlaps
 * another.
 */
static size_t first_behind(const struct snapshot_piece *all, size_t n, taddr at)
{
	const size_t i = ADDR_SEARCH(all, n, lo, at);

	return i && at - all[i - 1].lo < all[i - 1].size ? i - 1 : i;
}

size_t snapshot_piece_from(const struct snapshot *s, taddr at)
{
	return first_behind(s->pieces, s->npieces, at);
}

/* The kind of the bytes from one address on, and how far it extends. */
struct extent {
	enum snapshot_kind kind;
	const uint8_t *bytes;		/* SNAPSHOT_HERE */
	uint64_t n;			/* so many bytes at least; 0 only for SNAPSHOT_NOTHING */
};

/* Something else begins at @lo, above @at: the range at @at ends there. */
static void end_at(struct extent *st, taddr at, taddr lo)
{
	if (lo - at < st->n)
		st->n = lo - at;
}

/*
 * @i is the first of the @n sorted @all that ends after @at. Does it contain @at? If not, the range at @at
 * ends at its beginning.
 */
static bool holds(const struct snapshot_piece *all, size_t i, size_t n, taddr at, struct extent *st)
{
	if (i == n)
		return false;
	if (all[i].lo > at) {
		end_at(st, at, all[i].lo);
		return false;
	}
	end_at(st, at, all[i].lo + all[i].size);
	st->kind = SNAPSHOT_HERE;
	st->bytes = all[i].bytes + (at - all[i].lo);
	return true;
}

static bool in_hole(const struct snapshot *s, taddr at, struct extent *st)
{
	size_t i = ADDR_SEARCH(s->holes, s->nholes, hi, at);

	if (i == s->nholes)
		return false;
	if (s->holes[i].lo > at) {
		end_at(st, at, s->holes[i].lo);
		return false;
	}
	end_at(st, at, s->holes[i].hi);
	st->kind = SNAPSHOT_MISSING;
	return true;
}

/* No bytes are known: the mapping determines the kind. */
static void ask_mapping(const struct snapshot *s, taddr at, struct extent *st)
{
	const struct mapping *m = procmaps_find(&s->maps, at);

	st->kind = SNAPSHOT_NOTHING;
	if (!m) {
		st->n = 0;
		return;
	}
	end_at(st, at, m->hi);
	st->kind = m->perms & MAPPING_SHARED ? SNAPSHOT_MISSING : m->ino ? SNAPSHOT_FILE : SNAPSHOT_ZERO;
}

/* The bytes at @at from the source, up to the end of their page. */
static bool from_source(const struct snapshot *s, taddr at, struct extent *st)
{
	const taddr page = at & ~(taddr)(SNAPSHOT_PAGE - 1);
	const uint8_t *bytes = s->source->page(s->source, page);

	end_at(st, at, page + SNAPSHOT_PAGE);
	st->kind = SNAPSHOT_HERE;
	st->bytes = bytes ? bytes + (at - page) : NULL;
	return bytes;
}

/*
 * Pieces come first: they are what was there. Then holes: their contents were other than a file's. Then
 * files.
 */
static struct extent extent_at(const struct snapshot *s, taddr at)
{
	struct extent st = { .n = UINT64_MAX - at };

	if (!holds(s->pieces, first_behind(s->pieces, s->npieces, at), s->npieces, at, &st) &&
	    !in_hole(s, at, &st) && !(s->source && from_source(s, at, &st)) &&
	    !holds(s->backing, first_behind(s->backing, s->nbacking, at), s->nbacking, at, &st))
		ask_mapping(s, at, &st);
	return st;
}

enum snapshot_kind snapshot_kind_at(const struct snapshot *s, taddr at)
{
	return extent_at(s, at).kind;
}

enum snapshot_kind snapshot_extent(const struct snapshot *s, taddr at, uint64_t *n)
{
	struct extent st = extent_at(s, at);

	*n = st.n;
	return st.kind;
}

const uint8_t *snapshot_bytes(const struct snapshot *s, taddr at, uint64_t *n)
{
	struct extent st = extent_at(s, at);

	*n = st.kind == SNAPSHOT_HERE ? st.n : 0;
	return st.kind == SNAPSHOT_HERE ? st.bytes : NULL;
}

int snapshot_read(const struct snapshot *s, taddr at, void *out, size_t n)
{
	uint8_t *to = out;

	while (n) {
		struct extent st = extent_at(s, at);
		size_t have = st.n < n ? st.n : n;

		if (st.kind == SNAPSHOT_HERE)
			memcpy(to, st.bytes, have);
		else if (st.kind == SNAPSHOT_ZERO)
			memset(to, 0, have);
		else
			return -EFAULT;
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
