/* SPDX-License-Identifier: MIT */
/*
 * diff_refs: of objects with references: those that the same places took and dropped are the same, whatever their
 * net counts, and in whichever order the places are suspected. Places are known by names, as stacks of blocks are
 * (diff.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff_parts.h"

struct side {
	char *key;
	const struct summary_refs *refs;
	bool is_new;
	size_t order;
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *key_of_use(const struct summary_use *u)
{
	struct strbuf sb = STRBUF_INIT;

	diff_key_frames(&sb, u->frames, u->depth);
	return strbuf_steal(&sb);
}

/* The keys of the places, sorted. 0 or -ENOMEM. */
static int put_uses(struct strbuf *sb, const struct summary_use *uses, size_t n)
{
	cleanup_free char **keys = calloc(n + 1, sizeof(*keys));
	int r = keys ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		keys[i] = key_of_use(&uses[i]);
		r = keys[i] ? 0 : -ENOMEM;
	}
	if (r == 0 && n)
		qsort(keys, n, sizeof(*keys), compare_texts);
	for (size_t i = 0; keys && i < n; i++) {
		if (r == 0) {
			strbuf_puts(sb, keys[i]);
			strbuf_putc(sb, '\3');
		}
		free(keys[i]);
	}
	return r;
}

static char *make_key(const struct summary_refs *r)
{
	struct strbuf sb = STRBUF_INIT;
	int err;

	strbuf_puts(&sb, r->family ? r->family : "");
	strbuf_printf(&sb, "\2%d\2", summary_refs_rank(r));
	err = put_uses(&sb, r->taken, r->ntaken);
	strbuf_putc(&sb, '\2');
	if (err == 0)
		err = put_uses(&sb, r->dropped, r->ndropped);
	if (err == 0)
		return strbuf_steal(&sb);
	strbuf_fini(&sb);
	return NULL;
}

static int add_sides(struct side *sides, size_t *n, const struct summary *s, bool is_new)
{
	for (size_t i = 0; i < s->nrefs; i++) {
		char *key = make_key(&s->refs[i]);

		if (!key)
			return -ENOMEM;
		sides[*n] = (struct side){ key, &s->refs[i], is_new, *n };
		++*n;
	}
	return 0;
}

/* The new side first, and in it the largest group, whose stacks are shown. */
static int compare_sides(const void *pa, const void *pb)
{
	const struct side *a = pa, *b = pb;
	int order = strcmp(a->key, b->key);

	if (!order && a->is_new != b->is_new)
		order = a->is_new ? -1 : 1;
	return order ? order : a->order < b->order ? -1 : 1;
}

static enum diff_change change_of(const struct diff_refs *d, bool in_old, bool in_new)
{
	if (!in_old)
		return DIFF_APPEARED;
	if (!in_new)
		return DIFF_WENT;
	if (d->new_objects == d->old_objects)
		return DIFF_SAME;
	return d->new_objects > d->old_objects ? DIFF_GREW : DIFF_SHRANK;
}

/* Those of @sides[from...] with the same key are one. Where the next one begins. */
static size_t join(const struct side *sides, size_t n, size_t from, struct diff_refs *d)
{
	bool in_old = false, in_new = false;
	size_t i = from;

	*d = (struct diff_refs){ .refs = sides[from].refs };
	for (; i < n && !strcmp(sides[i].key, sides[from].key); i++) {
		*(sides[i].is_new ? &in_new : &in_old) = true;
		*(sides[i].is_new ? &d->new_objects : &d->old_objects) += sides[i].refs->objects;
	}
	d->change = change_of(d, in_old, in_new);
	d->order = from;
	return i;
}

/* Grown most first. */
static int compare_growth(const void *pa, const void *pb)
{
	const struct diff_refs *a = pa, *b = pb;
	int64_t by_a = (int64_t)(a->new_objects - a->old_objects), by_b = (int64_t)(b->new_objects - b->old_objects);

	if (by_a != by_b)
		return by_a > by_b ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

int diff_refs_make(struct diff *d)
{
	size_t room = d->old->nrefs + d->new->nrefs + 1, n = 0;
	cleanup_free struct side *sides = calloc(room, sizeof(*sides));
	int r = -ENOMEM;

	d->refs = calloc(room, sizeof(*d->refs));
	if (sides && d->refs)
		r = add_sides(sides, &n, d->old, false);
	if (r == 0)
		r = add_sides(sides, &n, d->new, true);
	if (r == 0 && n)
		qsort(sides, n, sizeof(*sides), compare_sides);
	for (size_t i = 0; r == 0 && i < n;)
		i = join(sides, n, i, &d->refs[d->nrefs++]);
	if (d->nrefs)
		qsort(d->refs, d->nrefs, sizeof(*d->refs), compare_growth);
	for (size_t i = 0; i < n; i++)
		free(sides[i].key);
	return r;
}
