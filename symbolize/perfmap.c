/* SPDX-License-Identifier: MIT */
/*
 * perfmap: see perfmap.h. The lines are sorted by address. Then a sweep over the addresses holds the lines
 * that cover the current address in a heap, with the last line of the file on top: that line owns the
 * addresses up to the next change.
 */
#include "symbolize/perfmap.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr_search.h"
#include "base/minheap.h"

struct perfmap_range {
	taddr lo, hi;
	uint32_t name;	/* offset in the text: later lines have larger ones */
};

struct sweep {
	struct perfmap_range *lines;	/* sorted by lo */
	size_t n, next;			/* lines[next] is the first not reached */
	uint32_t *heap;			/* of indices of lines, the largest name on top */
	uint32_t nheap;
	struct perfmap_range *out;
	size_t nout;
};

/* Take a hexadecimal number and the blank behind it. */
static bool take_number(const char **p, uint64_t *out)
{
	const char *s = *p;
	char *end;

	if (!isxdigit((unsigned char)*s))
		return false;
	errno = 0;
	*out = strtoull(s, &end, 16);
	if (errno || *end != ' ')
		return false;
	*p = end + 1;
	return true;
}

/* The line at @line, which ends with a NUL. */
static bool read_line(const char *text, const char *line, struct perfmap_range *out)
{
	uint64_t start, size;

	if (!take_number(&line, &start) || !take_number(&line, &size) || !*line || !size ||
	    start + size < start)
		return false;
	*out = (struct perfmap_range){ start, start + size, (uint32_t)(line - text) };
	return true;
}

static size_t count_lines(const char *text, size_t n)
{
	size_t lines = 1;

	for (const char *p = text; (p = memchr(p, '\n', n - (size_t)(p - text))); p++)
		lines++;
	return lines;
}

/* Cut the text into strings and read those of the last PERFMAP_LINES_MAX lines. */
static int read_lines(char *text, size_t n, struct sweep *s)
{
	size_t lines = count_lines(text, n), skip = lines > PERFMAP_LINES_MAX ? lines - PERFMAP_LINES_MAX : 0;
	char *p = text, *end = text + n;

	s->lines = calloc(lines - skip + 1, sizeof(*s->lines));
	if (!s->lines)
		return -ENOMEM;
	for (size_t i = 0; i < lines; i++) {
		char *newline = memchr(p, '\n', (size_t)(end - p));

		if (newline)
			*newline = '\0';
		if (newline && newline > p && newline[-1] == '\r')
			newline[-1] = '\0';
		if (i >= skip && read_line(text, p, &s->lines[s->n]))
			s->n++;
		p = newline ? newline + 1 : end;
	}
	return 0;
}

static int compare_lines(const void *pa, const void *pb)
{
	const struct perfmap_range *a = pa, *b = pb;

	return a->lo < b->lo ? -1 : a->lo > b->lo;
}

/* Of two lines the later one is right. */
static bool before(const void *ctx, uint32_t a, uint32_t b)
{
	const struct sweep *s = ctx;

	return s->lines[a].name > s->lines[b].name;
}

static void settle(struct sweep *s, uint32_t place)
{
	minheap_settle(&(struct minheap){ s->heap, s->nheap, before, NULL, s }, place);
}

static void push(struct sweep *s, size_t line)
{
	s->heap[s->nheap++] = (uint32_t)line;
	settle(s, s->nheap - 1);
}

static void pop(struct sweep *s)
{
	s->heap[0] = s->heap[--s->nheap];
	if (s->nheap)
		settle(s, 0);
}

/* Advance from @at to the next change. */
static taddr step(struct sweep *s, taddr at)
{
	const struct perfmap_range *top;
	taddr hi;

	for (; s->next < s->n && s->lines[s->next].lo <= at; s->next++)
		push(s, s->next);
	while (s->nheap && s->lines[s->heap[0]].hi <= at)
		pop(s);
	if (!s->nheap)
		return s->next < s->n ? s->lines[s->next].lo : at;
	top = &s->lines[s->heap[0]];
	hi = s->next < s->n && s->lines[s->next].lo < top->hi ? s->lines[s->next].lo : top->hi;
	s->out[s->nout++] = (struct perfmap_range){ at, hi, top->name };
	return hi;
}

/* Each line begins once and ends once: at most two ranges per line. */
static int sweep(struct sweep *s)
{
	if (s->n)
		qsort(s->lines, s->n, sizeof(*s->lines), compare_lines);
	s->heap = calloc(s->n + 1, sizeof(*s->heap));
	s->out = calloc(2 * s->n + 1, sizeof(*s->out));
	if (!s->heap || !s->out)
		return -ENOMEM;
	for (taddr at = 0; s->next < s->n || s->nheap;)
		at = step(s, at);
	return 0;
}

int perfmap_parse(char *text, size_t n, struct perfmap *out)
{
	struct sweep s = { 0 };
	int rc = n > PERFMAP_BYTES_MAX ? -EFBIG : 0;

	*out = (struct perfmap){ 0 };
	if (!rc)
		rc = read_lines(text, n, &s);
	if (!rc)
		rc = sweep(&s);
	free(s.lines);
	free(s.heap);
	if (rc) {
		free(s.out);
		free(text);
		return rc;
	}
	*out = (struct perfmap){ text, s.out, s.nout };
	return 0;
}

void perfmap_fini(struct perfmap *m)
{
	free(m->text);
	free(m->ranges);
	*m = (struct perfmap){ 0 };
}

const char *perfmap_find(const struct perfmap *m, taddr addr)
{
	size_t i = ADDR_SEARCH(m->ranges, m->n, hi, addr);

	return i < m->n && m->ranges[i].lo <= addr ? m->text + m->ranges[i].name : NULL;
}
