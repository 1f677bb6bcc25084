/* SPDX-License-Identifier: MIT */
/* apart: see apart.h. */
#include "report/names/apart.h"

#include <stdlib.h>
#include <string.h>

#include "report/names/shortname.h"

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

static bool same_row(const struct summary_group *a, const struct summary_group *b)
{
	const struct summary_frame *fa, *fb;

	if (a->stack.wrappers >= a->stack.depth || b->stack.wrappers >= b->stack.depth)
		return false;
	fa = &a->stack.frames[a->stack.wrappers];
	fb = &b->stack.frames[b->stack.wrappers];
	return same_line(fa, fb) && same_text(a->tag, b->tag) && same_short_name(fa, fb);
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

void apart_find(const struct summary_group *const *rows, size_t n, struct apart *out)
{
	const size_t compared = n < APART_MAX ? n : APART_MAX;

	for (size_t i = 0; i < n; i++) {
		out[i] = (struct apart){ .by = APART_NOTHING };
		for (size_t j = 0; j < compared && i < compared; j++) {
			struct apart other;

			if (i == j || !same_row(rows[i], rows[j]))
				continue;
			other = from_other(&rows[i]->stack, &rows[j]->stack);
			out[i].arguments |= other.arguments;
			if (other.by < out[i].by || (other.by == out[i].by && other.frame <= out[i].frame))
				continue;
			out[i].by = other.by;
			out[i].frame = other.frame;
		}
	}
}
