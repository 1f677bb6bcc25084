/* SPDX-License-Identifier: MIT */
/*
 * diff: see diff.h. Each group of both sides gets a text that says what its stack is; sorted by these, groups that are
 * the same stand next to each other. Functions inlined and called are the same, so that two builds may differ in that.
 */
#include "report/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff_parts.h"
#include "report/words.h"

struct side {
	char *key;
	const struct summary_group *group;
	bool is_new;
	size_t order;
};

/* Separators that no name should have; if one has, two groups are added up that differ in nothing else. */
static void put_frame(struct strbuf *sb, const struct summary_frame *f)
{
	strbuf_puts(sb, f->module ? words_base(f->module) : "");
	strbuf_putc(sb, '\1');
	if (f->function)
		strbuf_puts(sb, f->function);
	else if (f->module)
		strbuf_printf(sb, "+0x%" PRIx64, f->offset);
	strbuf_putc(sb, '\2');
}

/* Code in no file is somewhere else in each run, so only that it is there counts. */
void diff_key_frames(struct strbuf *sb, const struct summary_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_frame(sb, &frames[i]);
}

static char *make_key(const struct summary_group *g)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_puts(&sb, g->family ? g->family : "");
	strbuf_putc(&sb, '\2');
	strbuf_puts(&sb, g->tag ? g->tag : "");
	strbuf_putc(&sb, '\2');
	diff_key_frames(&sb, g->stack, g->depth);
	return strbuf_steal(&sb);
}

static int add_sides(struct side *sides, size_t *n, const struct summary *s, bool is_new)
{
	for (size_t i = 0; i < s->ngroups; i++) {
		char *key = make_key(&s->groups[i]);

		if (!key)
			return -ENOMEM;
		sides[*n] = (struct side){ key, &s->groups[i], is_new, *n };
		++*n;
	}
	return 0;
}

/* The new side first, and in it the largest, whose stack is shown. */
static int compare_sides(const void *pa, const void *pb)
{
	const struct side *a = pa, *b = pb;
	int order = strcmp(a->key, b->key);

	if (!order && a->is_new != b->is_new)
		order = a->is_new ? -1 : 1;
	return order ? order : a->order < b->order ? -1 : 1;
}

static enum diff_change change_of(const struct diff_group *g, bool in_old, bool in_new)
{
	if (!in_old)
		return DIFF_APPEARED;
	if (!in_new)
		return DIFF_WENT;
	if (g->new_bytes != g->old_bytes)
		return g->new_bytes > g->old_bytes ? DIFF_GREW : DIFF_SHRANK;
	if (g->new_blocks != g->old_blocks)
		return g->new_blocks > g->old_blocks ? DIFF_GREW : DIFF_SHRANK;
	return DIFF_SAME;
}

/* Those of @sides[from...] with the same key are one group. Where the next one begins. */
static size_t join(const struct side *sides, size_t n, size_t from, struct diff_group *g)
{
	bool in_old = false, in_new = false;
	size_t i = from;

	*g = (struct diff_group){ .group = sides[from].group };
	for (; i < n && !strcmp(sides[i].key, sides[from].key); i++) {
		*(sides[i].is_new ? &in_new : &in_old) = true;
		*(sides[i].is_new ? &g->new_blocks : &g->old_blocks) += sides[i].group->blocks;
		*(sides[i].is_new ? &g->new_bytes : &g->old_bytes) += sides[i].group->bytes;
	}
	g->change = change_of(g, in_old, in_new);
	return i;
}

/* Sorting twice with the keys' order as the last word keeps it the same for the same data. */
struct ranked {
	struct diff_group group;
	size_t rank;
};

static int compare_differences(uint64_t old_a, uint64_t new_a, uint64_t old_b, uint64_t new_b)
{
	__int128 a = (__int128)new_a - old_a, b = (__int128)new_b - old_b;

	return a > b ? -1 : a < b;
}

static int compare_ranked(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;
	int order = compare_differences(a->group.old_bytes, a->group.new_bytes, b->group.old_bytes, b->group.new_bytes);

	if (!order)
		order = compare_differences(a->group.old_blocks, a->group.new_blocks, b->group.old_blocks, b->group.new_blocks);
	return order ? order : a->rank < b->rank ? -1 : 1;
}

static int rank_groups(struct diff *d)
{
	cleanup_free struct ranked *ranked = calloc(d->ngroups + 1, sizeof(*ranked));

	if (!ranked)
		return -ENOMEM;
	for (size_t i = 0; i < d->ngroups; i++)
		ranked[i] = (struct ranked){ d->groups[i], i };
	qsort(ranked, d->ngroups, sizeof(*ranked), compare_ranked);
	for (size_t i = 0; i < d->ngroups; i++)
		d->groups[i] = ranked[i].group;
	return 0;
}

static int make_groups(struct diff *d, struct side *sides, size_t n)
{
	qsort(sides, n, sizeof(*sides), compare_sides);
	for (size_t i = 0; i < n;)
		i = join(sides, n, i, &d->groups[d->ngroups++]);
	return rank_groups(d);
}

int diff_make(const struct summary *old, const struct summary *new, struct diff *out)
{
	size_t room = old->ngroups + new->ngroups + 1, n = 0;
	struct side *sides = calloc(room, sizeof(*sides));
	int r = -ENOMEM;

	*out = (struct diff){ .old = old, .new = new, .groups = calloc(room, sizeof(*out->groups)) };
	if (sides && out->groups)
		r = add_sides(sides, &n, old, false);
	if (r == 0)
		r = add_sides(sides, &n, new, true);
	if (r == 0)
		r = make_groups(out, sides, n);
	if (r == 0)
		r = diff_refs_make(out);
	for (size_t i = 0; i < n; i++)
		free(sides[i].key);
	free(sides);
	if (r < 0)
		diff_fini(out);
	return r;
}

void diff_fini(struct diff *d)
{
	free(d->groups);
	free(d->refs);
	*d = (struct diff){ 0 };
}

const char *diff_change_name(enum diff_change change)
{
	static const char *const names[] = {
#define X(upper, lower) #lower,
		DIFF_CHANGES(X)
#undef X
	};

	return names[change];
}
