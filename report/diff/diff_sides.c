/* SPDX-License-Identifier: MIT */
#include "report/diff/diff_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int diff_sides_init(struct diff_sides *s, size_t size)
{
	*s = (struct diff_sides){ .all = calloc(size + 1, sizeof(*s->all)), .size = size };
	return s->all ? 0 : -ENOMEM;
}

void diff_sides_fini(struct diff_sides *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->all[i].key);
	free(s->all);
}

int diff_sides_add(struct diff_sides *s, char *key, const void *what, bool is_new)
{
	if (!key)
		return -ENOMEM;
	s->all[s->n] = (struct diff_side){ key, what, is_new, s->n };
	s->n++;
	return 0;
}

static int compare(const void *pa, const void *pb)
{
	const struct diff_side *a = pa, *b = pb;
	int order = strcmp(a->key, b->key);

	if (!order && a->is_new != b->is_new)
		order = a->is_new ? -1 : 1;
	return order ? order : a->order < b->order ? -1 : 1;
}

void diff_sides_sort(struct diff_sides *s)
{
	if (s->n)
		qsort(s->all, s->n, sizeof(*s->all), compare);
}
