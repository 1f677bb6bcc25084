/* SPDX-License-Identifier: MIT */
/*
 * diff_refs: groups of objects with references are the same if they have the same rank (summary_refs_rank:
 * too many references or too few, older than the watch, counted by the object itself) and their references
 * were acquired and released at the same call sites. How large the net count is and in which order the call
 * sites are suspected does not matter. Call sites are compared by names, as stacks of blocks are (diff.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff/diff_parts.h"

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *key_of_use(const struct summary_use *u)
{
	struct strbuf sb = STRBUF_INIT;

	diff_key_stack(&sb, &u->stack);
	return strbuf_steal(&sb);
}

/* Append the keys of the call sites, sorted. 0 or -ENOMEM. */
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
	err = put_uses(&sb, r->acquired, r->nacquired);
	strbuf_putc(&sb, '\2');
	if (err == 0)
		err = put_uses(&sb, r->released, r->nreleased);
	if (err == 0)
		return strbuf_steal(&sb);
	strbuf_fini(&sb);
	return NULL;
}

static int add_sides(struct diff_sides *sides, const struct summary *s, bool is_new)
{
	int r = 0;

	for (size_t i = 0; i < s->nrefs && r == 0; i++)
		r = diff_sides_add(sides, make_key(&s->refs[i]), &s->refs[i], is_new);
	return r;
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

/* Join the groups with the same key, from @from on, into @d. Returns where the next key begins. */
static size_t join(const struct diff_sides *sides, size_t from, struct diff_refs *d)
{
	const struct diff_side *first = &sides->all[from];
	bool in_old = false, in_new = false;
	size_t i = from;

	*d = (struct diff_refs){ .refs = first->what };
	for (; i < sides->n && !strcmp(sides->all[i].key, first->key); i++) {
		const struct summary_refs *its = sides->all[i].what;

		*(sides->all[i].is_new ? &in_new : &in_old) = true;
		*(sides->all[i].is_new ? &d->new_objects : &d->old_objects) += its->objects;
	}
	d->change = change_of(d, in_old, in_new);
	d->order = from;
	return i;
}

/* Largest growth first. */
static int compare_growth(const void *pa, const void *pb)
{
	const struct diff_refs *a = pa, *b = pb;
	int64_t by_a = (int64_t)(a->new_objects - a->old_objects),
		by_b = (int64_t)(b->new_objects - b->old_objects);

	if (by_a != by_b)
		return by_a > by_b ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

int diff_refs_make(struct diff *d)
{
	size_t room = d->old->nrefs + d->new->nrefs;
	struct diff_sides sides;
	int r = diff_sides_init(&sides, room);

	d->refs = calloc(room + 1, sizeof(*d->refs));
	if (!d->refs)
		r = -ENOMEM;
	if (r == 0)
		r = add_sides(&sides, d->old, false);
	if (r == 0)
		r = add_sides(&sides, d->new, true);
	if (r == 0)
		diff_sides_sort(&sides);
	for (size_t i = 0; r == 0 && i < sides.n;)
		i = join(&sides, i, &d->refs[d->nrefs++]);
	if (d->nrefs)
		qsort(d->refs, d->nrefs, sizeof(*d->refs), compare_growth);
	diff_sides_fini(&sides);
	return r;
}

const struct summary_use *diff_refs_use(const struct summary_refs *r)
{
	static const struct summary_use none;

	return r->nacquired ? r->acquired : r->nreleased ? r->released : &none;
}
