/* SPDX-License-Identifier: MIT */
/* text_freed: see text_freed.h. */
#include "report/text/groups/text_freed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/names/sitename.h"

#define LINES 3
#define NUMBER_WIDTH 8
#define PLACE_WIDTH 44

struct line {
	char *place;
	uint64_t blocks;
};

/* The code that called the allocator's function, and its caller; NULL: out of memory. */
static char *place_of(const struct stack_view *stack)
{
	struct strbuf sb = STRBUF_INIT;
	struct stack_view caller = *stack;

	sitename_of(&sb, stack, NULL, PLACE_WIDTH);
	caller.wrappers++;
	if (caller.wrappers < caller.depth) {
		strbuf_puts(&sb, " from ");
		sitename_of(&sb, &caller, NULL, PLACE_WIDTH);
	}
	return strbuf_steal(&sb);
}

/* Its line is one of @lines[0..n), or becomes the next one. How many there are then. */
static size_t add_place(struct line *lines, size_t n, char *place, uint64_t blocks)
{
	size_t i = 0;

	while (i < n && strcmp(lines[i].place, place))
		i++;
	if (i < n)
		free(place);
	else
		lines[n++].place = place;
	lines[i].blocks += blocks;
	return n;
}

/* How many lines there are. */
static size_t read_lines(struct strbuf *sb, const struct summary_group *g, struct line *lines)
{
	size_t n = 0;

	for (size_t i = 0; lines && i < g->nfreed; i++) {
		char *place = place_of(&g->freed[i].stack);

		if (place)
			n = add_place(lines, n, place, g->freed[i].blocks);
		else if (!sb->err)
			sb->err = -ENOMEM;
	}
	return n;
}

static int compare(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	return strcmp(a->place, b->place);
}

static void put_line(struct strbuf *sb, uint64_t blocks, const char *place)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	strbuf_printf(&cell, "%" PRIu64, blocks);
	strbuf_puts(sb, "    ");
	format_right(sb, &cell, NUMBER_WIDTH);
	strbuf_putc(sb, ' ');
	strbuf_puts(sb, place);
	strbuf_putc(sb, '\n');
}

/* Frees whose stacks are not known, or in other lines. */
static void put_lines(struct strbuf *sb, const struct line *lines, size_t n, uint64_t freed)
{
	strbuf_puts(sb, "    freed by\n");
	for (size_t i = 0; i < n && i < LINES; i++) {
		put_line(sb, lines[i].blocks, lines[i].place);
		freed -= lines[i].blocks < freed ? lines[i].blocks : freed;
	}
	if (freed)
		put_line(sb, freed, n > LINES ? "other code (--format json names it)" : "code that is not known");
}

void text_freed(struct strbuf *sb, const struct summary_group *g)
{
	struct line *lines = calloc(g->nfreed + 1, sizeof(*lines));
	const size_t n = read_lines(sb, g, lines);

	if (!lines && !sb->err)
		sb->err = -ENOMEM;
	if (n) {
		qsort(lines, n, sizeof(*lines), compare);
		put_lines(sb, lines, n, g->frees);
	}
	for (size_t i = 0; i < n; i++)
		free(lines[i].place);
	free(lines);
}
