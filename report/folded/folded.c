/* SPDX-License-Identifier: MIT */
/* folded: see folded.h. */
#include "report/folded/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/words/words.h"

void folded_init(struct folded *f, bool families)
{
	*f = (struct folded){ .families = families };
}

void folded_fini(struct folded *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->lines[i].stack);
	free(f->lines);
	folded_init(f, false);
}

static bool differ(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") != 0;
}

bool folded_families(const struct summary *s)
{
	const char *first = s->ngroups ? s->groups[0].family : s->nrefs ? s->refs[0].family : NULL;

	for (size_t i = 0; i < s->ngroups; i++)
		if (differ(first, s->groups[i].family))
			return true;
	for (size_t i = 0; i < s->nrefs; i++)
		if (differ(first, s->refs[i].family))
			return true;
	return false;
}

/* "x 12" becomes "x_12": at the end of a stack the 12 would be read as the number of bytes. */
static void tie_number(char *name)
{
	size_t n = strlen(name);

	while (n && strchr("0123456789.", name[n - 1]))
		n--;
	if (n && name[n] && name[n - 1] == ' ')
		name[n - 1] = '_';
}

static void put_name(struct strbuf *sb, const char *name)
{
	size_t from = sb->len;

	strbuf_text(sb, name);
	if (strbuf_error(sb) || !sb->s)
		return;
	for (char *p = sb->s + from; *p; p++)
		if (*p == ';')
			*p = ':';
	tie_number(sb->s + from);
}

static void put_frame(struct strbuf *sb, const struct summary_frame *frame)
{
	if (frame->function && *frame->function) {
		put_name(sb, frame->function);
	} else if (frame->module) {
		put_name(sb, format_base(frame->module));
		strbuf_printf(sb, "+0x%" PRIx64, frame->offset);
	} else {
		strbuf_printf(sb, PRItaddr, frame->pc);
	}
	strbuf_puts(sb, frame->inlined ? "_[i]" : "");
}

static void put_stack(struct strbuf *sb, const struct summary_group *g, const struct folded *f)
{
	if (f->families) {
		put_name(sb, g->family ? g->family : "?");
		strbuf_putc(sb, ';');
	}
	if (f->verdicts && g->verdict != VERDICT_UNKNOWN)
		strbuf_printf(sb, "%s;", words_verdict(g->verdict));
	if (g->stack.end != STACK_WHOLE)
		strbuf_puts(sb, g->stack.depth ? "[...];" : "[...]");
	else if (!g->stack.depth)
		strbuf_puts(sb, "[no stack]");
	for (size_t i = g->stack.depth; i > g->stack.wrappers; i--) {
		put_frame(sb, &g->stack.frames[i - 1]);
		strbuf_puts(sb, i - 1 > g->stack.wrappers ? ";" : "");
	}
	if (g->tag) {
		strbuf_puts(sb, ";<");
		put_name(sb, g->tag);
		strbuf_putc(sb, '>');
	}
}

static struct folded_line *new_line(struct folded *f)
{
	if (f->n == f->size) {
		size_t size = f->size ? 2 * f->size : 64;
		struct folded_line *grown = reallocarray(f->lines, size, sizeof(*grown));

		if (!grown)
			return NULL;
		f->lines = grown;
		f->size = size;
	}
	return &f->lines[f->n];
}

void folded_add(struct folded *f, const struct summary_group *g, uint64_t first, uint64_t second)
{
	struct strbuf sb = STRBUF_INIT;
	struct folded_line *line = new_line(f);
	char *stack;

	put_stack(&sb, g, f);
	stack = strbuf_steal(&sb);
	if (!line || !stack) {
		f->err = -ENOMEM;
		free(stack);
		return;
	}
	*line = (struct folded_line){ stack, { first, second } };
	f->n++;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct folded_line *)a)->stack, ((const struct folded_line *)b)->stack);
}

/*
 * Sort, and merge lines of the same stack. The sums cannot overflow, since all bytes are of one address
 * space.
 */
static void add_up(struct folded *f)
{
	size_t n = 0;

	if (f->n)
		qsort(f->lines, f->n, sizeof(*f->lines), compare);
	for (size_t i = 0; i < f->n; i++) {
		if (n && !compare(&f->lines[n - 1], &f->lines[i])) {
			f->lines[n - 1].bytes[0] += f->lines[i].bytes[0];
			f->lines[n - 1].bytes[1] += f->lines[i].bytes[1];
			free(f->lines[i].stack);
		} else {
			f->lines[n++] = f->lines[i];
		}
	}
	f->n = n;
}

int folded_put(struct folded *f, size_t columns, struct strbuf *sb)
{
	if (f->err)
		return f->err;
	add_up(f);
	for (size_t i = 0; i < f->n; i++) {
		strbuf_puts(sb, f->lines[i].stack);
		for (size_t c = 0; c < columns; c++)
			strbuf_printf(sb, " %" PRIu64, f->lines[i].bytes[c]);
		strbuf_putc(sb, '\n');
	}
	return strbuf_error(sb);
}
