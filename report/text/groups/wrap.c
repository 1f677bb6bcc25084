/* SPDX-License-Identifier: MIT */
/* wrap: see wrap.h. Widths are counted in characters, as in report/model/format_text.h. */
#include "report/text/groups/wrap.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/model/format_text.h"

#define CONTINUED 4	/* a line goes on so far behind its beginning */

static size_t span(const char *text, size_t n, bool blanks)
{
	size_t i = 0;

	while (i < n && (text[i] == ' ') == blanks)
		i++;
	return i;
}

/*
 * Append the words of @text, behind @column characters that are on the line already. The first word stays on
 * it: a new line would have no more room.
 */
static void put_words(struct strbuf *sb, const char *text, size_t n, size_t width, size_t column)
{
	const size_t indent = column;

	for (size_t i = 0; i < n;) {
		const size_t blanks = span(text + i, n - i, true);
		const size_t word = span(text + i + blanks, n - i - blanks, false);
		const size_t wide = format_characters(text + i + blanks, word);

		if (i && column + blanks + wide > width) {
			strbuf_putc(sb, '\n');
			strbuf_pad(sb, ' ', indent);
			column = indent;
		} else {
			strbuf_pad(sb, ' ', blanks);
			column += blanks;
		}
		strbuf_append(sb, text + i + blanks, word);
		column += wide;
		i += blanks + word;
	}
}

static void put_line(struct strbuf *sb, const char *line, size_t n, size_t width, size_t indent)
{
	size_t label;

	while (n && line[n - 1] == ' ')
		n--;
	label = format_characters(line, n) > width ? format_bytes(line, n, indent) : n;
	strbuf_append(sb, line, label);
	put_words(sb, line + label, n - label, width, indent);
	strbuf_putc(sb, '\n');
}

void wrap(struct strbuf *sb, const struct strbuf *lines, size_t width, size_t indent)
{
	const char *text = strbuf_str(lines);

	if (lines->err && !sb->err)
		sb->err = lines->err;
	while (*text) {
		const size_t n = strcspn(text, "\n");

		put_line(sb, text, n, width, indent);
		text += n + (text[n] == '\n');
	}
}

void wrap_all(struct strbuf *sb, size_t from, size_t width)
{
	cleanup_strbuf struct strbuf wrapped = STRBUF_INIT;

	if (strbuf_error(sb))
		return;
	for (const char *text = strbuf_str(sb) + from; *text;) {
		const size_t n = strcspn(text, "\n");

		put_line(&wrapped, text, n, width, span(text, n, true) + CONTINUED);
		text += n + (text[n] == '\n');
	}
	if (strbuf_error(&wrapped)) {
		sb->err = strbuf_error(&wrapped);
		return;
	}
	strbuf_truncate(sb, from);
	strbuf_append(sb, strbuf_str(&wrapped), wrapped.len);
}
