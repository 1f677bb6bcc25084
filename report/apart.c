/* SPDX-License-Identifier: MIT */
/* apart: see apart.h. */
#include "report/apart.h"

#include <stdbool.h>
#include <string.h>

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_function(const struct summary_frame *a, const struct summary_frame *b)
{
	if (!a->function || !b->function)
		return !a->function && !b->function && a->offset == b->offset && same_text(a->module, b->module);
	return !strcmp(a->function, b->function);
}

static bool same_row(const struct summary_group *a, const struct summary_group *b)
{
	const struct summary_frame *fa, *fb;

	if (a->wrappers >= a->depth || b->wrappers >= b->depth)
		return false;
	fa = &a->stack[a->wrappers];
	fb = &b->stack[b->wrappers];
	return same_function(fa, fb) && same_text(fa->file, fb->file) && fa->line == fb->line && same_text(a->tag, b->tag);
}

/* The first frame of @a that is not as in @b; 0: there is none. */
static size_t first_other(const struct summary_group *a, const struct summary_group *b)
{
	for (size_t i = 1; a->wrappers + i < a->depth; i++)
		if (b->wrappers + i >= b->depth || !same_function(&a->stack[a->wrappers + i], &b->stack[b->wrappers + i]))
			return a->wrappers + i;
	return 0;
}

void apart_find(const struct summary_group *groups, const size_t *rows, size_t n, size_t *frame)
{
	for (size_t i = 0; i < n; i++) {
		frame[rows[i]] = 0;
		for (size_t j = 0; j < n; j++) {
			size_t other;

			if (i == j || !same_row(&groups[rows[i]], &groups[rows[j]]))
				continue;
			other = first_other(&groups[rows[i]], &groups[rows[j]]);
			if (other > frame[rows[i]])
				frame[rows[i]] = other;
		}
	}
}
