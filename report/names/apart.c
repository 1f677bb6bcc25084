/* SPDX-License-Identifier: MIT */
/* apart: see apart.h. */
#include "report/names/apart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/names/shortname.h"
#include "report/names/sitename.h"

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_function(const struct summary_frame *a, const struct summary_frame *b)
{
	if (!a->function || !b->function)
		return !a->function && !b->function && a->offset == b->offset &&
		       same_text(a->module, b->module);
	return !strcmp(a->function, b->function);
}

/* Do both look the same in a table? */
static bool same_short_name(const struct summary_frame *a, const struct summary_frame *b)
{
	cleanup_strbuf struct strbuf of_a = STRBUF_INIT, of_b = STRBUF_INIT;

	if (same_function(a, b))
		return true;
	if (!a->function || !b->function)
		return false;
	shortname(&of_a, a->function, SIZE_MAX);
	shortname(&of_b, b->function, SIZE_MAX);
	return !strcmp(strbuf_str(&of_a), strbuf_str(&of_b));
}

static bool same_line(const struct summary_frame *a, const struct summary_frame *b)
{
	return same_text(a->file, b->file) && a->line == b->line;
}

typedef bool same_frames(const struct summary_frame *, const struct summary_frame *);

static bool same_place(const struct summary_frame *a, const struct summary_frame *b)
{
	return same_line(a, b) && (a->file || a->offset == b->offset);
}

/* Index of the first caller in @a that differs from the one in @b; 0 if there is none. */
static size_t first_other(const struct stack_view *a, const struct stack_view *b, same_frames *same)
{
	for (size_t i = 1; a->wrappers + i < a->depth; i++)
		if (b->wrappers + i >= b->depth ||
		    !same(&a->frames[a->wrappers + i], &b->frames[b->wrappers + i]))
			return a->wrappers + i;
	return 0;
}

/* false: none differs; the wrappers of @a are the outermost ones of @b. */
static bool other_wrapper(const struct stack_view *a, const struct stack_view *b, size_t *frame)
{
	for (size_t i = 1; i <= a->wrappers; i++)
		if (i > b->wrappers ||
		    !same_short_name(&a->frames[a->wrappers - i], &b->frames[b->wrappers - i])) {
			*frame = a->wrappers - i;
			return true;
		}
	return false;
}

static struct apart from_other(const struct stack_view *a, const struct stack_view *b)
{
	struct apart out = { .arguments = !same_function(&a->frames[a->wrappers], &b->frames[b->wrappers]) };

	if (out.arguments)
		return out;
	out.frame = first_other(a, b, same_function);
	if (out.frame) {
		out.by = APART_CALLER;
		return out;
	}
	out.frame = first_other(a, b, same_place);
	if (out.frame)
		out.by = APART_LINE;
	else if (other_wrapper(a, b, &out.frame))
		out.by = APART_WRAPPER;
	return out;
}

/* --- which rows look the same --- */

/* A row, and what a table shows of it if nothing distinguishes it. */
struct look {
	const struct summary_group *row;
	struct apart *apart;
	const struct summary_frame *first;
	char *name;
};

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_looks(const void *pa, const void *pb)
{
	const struct look *a = pa, *b = pb;
	int order = strcmp(a->name, b->name);

	if (!order)
		order = compare_texts(a->first->file, b->first->file);
	if (!order)
		order = a->first->line - b->first->line;
	return order ? order : compare_texts(a->row->tag, b->row->tag);
}

static int compare(const void *pa, const void *pb)
{
	const struct look *a = pa, *b = pb;
	int order = compare_looks(a, b);

	return order ? order : a->apart < b->apart ? -1 : a->apart > b->apart;
}

static int look_at(const struct summary_group *row, struct apart *apart, struct look *look)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	look->row = row;
	look->apart = apart;
	look->first = &row->stack.frames[row->stack.wrappers];
	sitename_function(&name, look->first);
	look->name = strbuf_steal(&name);
	return look->name ? 0 : -ENOMEM;
}

static void tell_apart(const struct look *looks, size_t n)
{
	const size_t compared = n < APART_MAX ? n : APART_MAX;

	for (size_t i = 0; i < compared; i++)
		for (size_t j = 0; j < compared; j++) {
			struct apart *out = looks[i].apart, other;

			if (i == j)
				continue;
			other = from_other(&looks[i].row->stack, &looks[j].row->stack);
			out->arguments |= other.arguments;
			if (other.by < out->by || (other.by == out->by && other.frame <= out->frame))
				continue;
			out->by = other.by;
			out->frame = other.frame;
		}
}

int apart_find(const struct summary_group *const *rows, size_t n, struct apart *out)
{
	cleanup_free struct look *looks = calloc(n + 1, sizeof(*looks));
	size_t nlooks = 0;
	int r = looks ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++) {
		out[i] = (struct apart){ .by = APART_NOTHING };
		if (rows[i]->stack.wrappers < rows[i]->stack.depth)
			r = look_at(rows[i], &out[i], &looks[nlooks++]);
	}
	if (r == 0 && nlooks)
		qsort(looks, nlooks, sizeof(*looks), compare);
	for (size_t i = 0, end; i < nlooks && r == 0; i = end) {
		for (end = i + 1; end < nlooks && !compare_looks(&looks[i], &looks[end]); end++)
			;
		tell_apart(looks + i, end - i);
	}
	for (size_t i = 0; i < nlooks; i++)
		free(looks[i].name);
	return r;
}
