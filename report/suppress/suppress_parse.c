/* SPDX-License-Identifier: MIT */
/*
 * suppress_parse: see suppress_parse.h. A function for each part of an entry; all read whole lines, without
 * the blanks around them; empty lines and comments are skipped before.
 */
#include "report/suppress/suppress_parse.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
	const char *name;
	const char *at, *end;
	size_t number;		/* of the current line */
	size_t began;		/* line in which the current entry began */
	char *line;		/* the current one */
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 2, 3)))
static int refuse(const struct parser *p, const char *fmt, ...)
{
	int n = snprintf(p->why, p->why_size, "%s:%zu: ", p->name, p->number);
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < p->why_size)
		vsnprintf(p->why + n, p->why_size - n, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The next line as it is, between @from and @to. false at the end. */
static bool raw_line(struct parser *p, const char **from, const char **to)
{
	const char *newline;

	if (p->at == p->end)
		return false;
	newline = memchr(p->at, '\n', p->end - p->at);
	*from = p->at;
	*to = newline ? newline : p->end;
	p->at = newline ? newline + 1 : p->end;
	p->number++;
	return true;
}

/* 1: p->line is the next line that is neither empty nor a comment; 0: there is none; -errno. */
static int next_line(struct parser *p)
{
	const char *from, *to;

	free(p->line);
	p->line = NULL;
	while (raw_line(p, &from, &to)) {
		for (; from < to && is_blank(*from); from++)
			;
		for (; from < to && is_blank(to[-1]); to--)
			;
		if (from == to || *from == '#')
			continue;
		if (memchr(from, '\0', to - from))
			return refuse(p, "this is no text");
		p->line = strndup(from, to - from);
		return p->line ? 1 : -ENOMEM;
	}
	return 0;
}

/* The next line of an entry; a missing one is an error. 0 or -errno. */
static int line_within(struct parser *p)
{
	int r = next_line(p);

	if (r == 0)
		return refuse(p, "the entry that begins in line %zu has no end (a line with } alone)",
			      p->began);
	return r < 0 ? r : 0;
}

static bool is(const struct parser *p, const char *text)
{
	return strcmp(p->line, text) == 0;
}

/* The text after "@prefix", or NULL if @line does not begin with it. */
static const char *behind(const char *line, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(line, prefix, n) ? NULL : line + n;
}

static int keep(char **to, const char *text)
{
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

/* The next item of a comma-separated list, its length in @n; NULL at the end. */
static const char *next_item(const char **list, size_t *n)
{
	const char *item;

	for (; **list == ',' || is_blank(**list); ++*list)
		;
	item = *list;
	*n = strcspn(item, ",");
	*list += *n;
	for (; *n && is_blank(item[*n - 1]); --*n)
		;
	return *item ? item : NULL;
}

static bool item_is(const char *item, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(item, word, n) == 0;
}

/* "Memcheck,mmattach:Leak". An entry for other tools gets no kinds. */
static int parse_kind(struct parser *p, struct suppress_entry *e)
{
	char *colon = strchr(p->line, ':');
	bool memcheck = false, ours = false;
	const char *list = p->line, *item, *kind;
	size_t n;

	if (!colon)
		return refuse(p, "tools and a kind are missing here (Memcheck:Leak)");
	*colon = '\0';
	kind = colon + 1;
	while ((item = next_item(&list, &n))) {
		memcheck |= item_is(item, n, "Memcheck");
		ours |= item_is(item, n, "mmattach");
	}
	e->kinds[SUPPRESS_LEAK] = (memcheck || ours) && !strcmp(kind, "Leak");
	e->kinds[SUPPRESS_FREE] = (memcheck || ours) && !strcmp(kind, "Free");
	if (ours && !memcheck && !e->kinds[SUPPRESS_LEAK] && !e->kinds[SUPPRESS_FREE])
		return refuse(p, "mmattach knows the kinds Leak and Free, not %s", kind);
	return 0;
}

static int parse_verdicts(struct parser *p, const char *list, struct suppress_entry *e)
{
	const char *item;
	size_t n;

	memset(e->verdicts, 0, sizeof(e->verdicts));
	while ((item = next_item(&list, &n))) {
		bool known = item_is(item, n, "none"), all = item_is(item, n, "all");

		for (int v = VERDICT_UNKNOWN + 1; v < VERDICT_COUNT; v++) {
			if (!all && !item_is(item, n, verdict_name(v)))
				continue;
			known = e->verdicts[v] = e->verdicts[VERDICT_UNKNOWN] = true;
		}
		if (!known)
			return refuse(p,
				      "%.*s is no kind of leak (definite, indirect, possible, reachable, "
				      "all, none)",
				      (int)n, item);
	}
	return 0;
}

/* "FILE", "FILE:LINE" */
static void split_source(struct suppress_line *line)
{
	char *colon = strrchr(line->glob, ':');

	if (!colon || !colon[1] || colon[1 + strspn(colon + 1, "0123456789")])
		return;
	line->number = atoi(colon + 1);
	*colon = '\0';
}

static int parse_frame(struct parser *p, struct suppress_entry *e)
{
	static const char *const prefixes[] = {
		[SUPPRESS_FUN] = "fun:", [SUPPRESS_OBJ] = "obj:", [SUPPRESS_SRC] = "src:"
	};
	struct suppress_line *line = &e->lines[e->nlines];

	if (e->nlines == SUPPRESS_LINES_MAX)
		return refuse(p, "more than %d frames", SUPPRESS_LINES_MAX);
	if (is(p, "...")) {
		*line = (struct suppress_line){ .kind = SUPPRESS_ANY };
		e->nlines++;
		return 0;
	}
	for (int kind = SUPPRESS_FUN; kind <= SUPPRESS_SRC; kind++) {
		const char *glob = behind(p->line, prefixes[kind]);

		if (!glob)
			continue;
		*line = (struct suppress_line){ .kind = kind, .glob = strdup(glob) };
		if (!line->glob)
			return -ENOMEM;
		e->nlines++;
		if (kind == SUPPRESS_SRC)
			split_source(line);
		return 0;
	}
	return refuse(p, "a frame begins with fun:, obj: or src:, or is ...");
}

static int check_frames(struct parser *p, const struct suppress_entry *e)
{
	for (size_t i = 0; i < e->nlines; i++)
		if (e->lines[i].kind != SUPPRESS_ANY)
			return 0;
	return refuse(p, "the entry that begins in line %zu names no frame: it would hide everything",
		      p->began);
}

/* Up to the closing brace. */
static int parse_frames(struct parser *p, struct suppress_entry *e)
{
	const char *verdicts;
	int r = line_within(p);

	verdicts = r == 0 && e->kinds[SUPPRESS_LEAK] ? behind(p->line, "match-leak-kinds:") : NULL;
	if (verdicts) {
		r = parse_verdicts(p, verdicts, e);
		r = r < 0 ? r : line_within(p);
	}
	while (r == 0 && !is(p, "}")) {
		r = parse_frame(p, e);
		r = r < 0 ? r : line_within(p);
	}
	return r < 0 ? r : check_frames(p, e);
}

static int skip_entry(struct parser *p)
{
	int r = 0;

	while (r == 0 && !is(p, "}"))
		r = line_within(p);
	return r;
}

/* After the opening brace: name, kind, frames. */
static int parse_entry(struct parser *p, struct suppress_entry *e)
{
	int r = line_within(p);

	if (r == 0 && is(p, "}"))
		return refuse(p, "an entry without a name");
	r = r < 0 ? r : keep(&e->name, p->line);
	r = r < 0 ? r : line_within(p);
	r = r < 0 ? r : parse_kind(p, e);
	if (r < 0)
		return r;
	return e->kinds[SUPPRESS_LEAK] || e->kinds[SUPPRESS_FREE] ? parse_frames(p, e) : skip_entry(p);
}

static int parse_pattern(struct parser *p, const char *pattern, struct suppress_entry *e)
{
	for (; is_blank(*pattern); pattern++)
		;
	if (!pattern[strspn(pattern, "^*$")])
		return refuse(p, "leak: without a pattern would hide everything");
	e->pattern = true;
	e->kinds[SUPPRESS_LEAK] = true;
	return keep(&e->name, pattern);
}

static int parse_one(struct parser *p, struct suppress_entry *e)
{
	const char *pattern = behind(p->line, "leak:");

	p->began = p->number;
	*e = (struct suppress_entry){ 0 };
	memset(e->verdicts, true, sizeof(e->verdicts));
	if (asprintf(&e->where, "%s:%zu", p->name, p->number) < 0) {
		e->where = NULL;
		return -ENOMEM;
	}
	if (is(p, "{"))
		return parse_entry(p, e);
	if (pattern)
		return parse_pattern(p, pattern, e);
	return refuse(p, "neither { of an entry of valgrind's nor leak:PATTERN of LeakSanitizer's");
}

int suppress_parse(const char *name, const char *text, size_t n, char *why, size_t why_size,
		   int (*take)(void *ctx, struct suppress_entry *e), void *ctx)
{
	struct parser p = { .name = name, .at = text, .end = text + n, .why = why, .why_size = why_size };
	int r;

	while ((r = next_line(&p)) > 0) {
		struct suppress_entry e;

		r = parse_one(&p, &e);
		if (r == 0 && (e.kinds[SUPPRESS_LEAK] || e.kinds[SUPPRESS_FREE])) {
			r = take(ctx, &e);
		} else {
			suppress_entry_fini(&e);
		}
		if (r < 0)
			break;
	}
	free(p.line);
	return r;
}
