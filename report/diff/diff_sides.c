/* SPDX-License-Identifier: MIT */
/* diff_sides: groups of both sides, and the key by which they are compared (diff_parts.h). */
#include "report/diff/diff_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/names/madecode.h"

/* No name should contain the separators. If one does, two groups that differ in nothing else are added up. */
static void put_frame(struct strbuf *sb, const struct summary_frame *f)
{
	strbuf_puts(sb, f->module ? format_base(f->module) : "");
	strbuf_putc(sb, '\1');
	/* of a script */
	if (!f->module && f->file)
		strbuf_puts(sb, f->file);
	if (f->function && !f->module)
		madecode_put(sb, f->function);
	else if (f->function)
		strbuf_puts(sb, f->function);
	else if (f->module)
		strbuf_printf(sb, "+0x%" PRIx64, f->offset);
	strbuf_putc(sb, '\2');
}

/*
 * Code that belongs to no file has other addresses in each run, so the key has only its name, or that the
 * frame exists.
 */
void diff_key_stack(struct strbuf *sb, const struct stack_view *stack)
{
	for (size_t i = 0; i < stack->depth; i++)
		put_frame(sb, &stack->frames[i]);
}

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
