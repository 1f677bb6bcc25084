/* SPDX-License-Identifier: MIT */
#include "report/text/groups/text_mark.h"

#include "report/model/format_text.h"
#include "report/model/summary.h"
#include "report/words/words.h"
#include "report/text/groups/wrap.h"

/* The escape sequence of a mark; NULL: it is none. */
static const char *sequence_of(char c)
{
	if (c == *TEXT_BOLD)
		return "\x1b[0;1m";
	if (c == *TEXT_RED)
		return "\x1b[0;31m";
	return c == *TEXT_PLAIN ? "\x1b[0m" : NULL;
}

static void copy(struct strbuf *to, const char *text, size_t n, bool color)
{
	size_t begin = 0;

	for (size_t i = 0; i < n; i++) {
		const char *sequence = sequence_of(text[i]);

		if (!sequence)
			continue;
		strbuf_append(to, text + begin, i - begin);
		strbuf_puts(to, color ? sequence : "");
		begin = i + 1;
	}
	strbuf_append(to, text + begin, n - begin);
}

static void show(struct strbuf *sb, size_t from, bool color)
{
	cleanup_strbuf struct strbuf shown = STRBUF_INIT;

	if (strbuf_error(sb))
		return;
	copy(&shown, strbuf_str(sb) + from, sb->len - from, color);
	if (strbuf_error(&shown)) {
		sb->err = strbuf_error(&shown);
		return;
	}
	strbuf_truncate(sb, from);
	strbuf_append(sb, strbuf_str(&shown), shown.len);
}

void text_mark_show(struct strbuf *sb, size_t from, const struct summary *s)
{
	if (s->columns)
		wrap_all(sb, from, s->columns);
	show(sb, from, s->color);
}

void text_mark_remove(struct strbuf *sb, size_t from)
{
	show(sb, from, false);
}

void text_mark_verdict(struct strbuf *sb, enum verdict verdict)
{
	if (verdict == VERDICT_DEFINITE)
		strbuf_printf(sb, TEXT_RED "%s" TEXT_PLAIN, words_verdict(verdict));
	else
		strbuf_puts(sb, words_verdict(verdict));
}

void text_mark_count(struct strbuf *sb, uint64_t n, const char *what)
{
	strbuf_puts(sb, TEXT_RED);
	format_count(sb, n, what);
	strbuf_puts(sb, TEXT_PLAIN);
}
