/* SPDX-License-Identifier: MIT */
/* out_html: see out_html.h. */
#include "report/html/out_html.h"

#include <string.h>

#include "report/formats.h"
#include "report/html/html_page.h"
#include "report/json/json.h"
#include "report/json/json_frames.h"
#include "report/json/out_diff_json.h"
#include "report/json/out_json.h"
#include "report/json/out_scan_json.h"
#include "report/text/out_diff_text.h"
#include "report/text/out_text.h"
#include "report/text/scan/out_scan_text.h"

#define ESCAPED 6	/* "\u003c" */

static bool is_markup(char c)
{
	return c == '<' || c == '>' || c == '&';
}

/* In JSON these are only in strings. From the end on, so that no second copy is needed. */
static void escape_markup(struct strbuf *sb, size_t from)
{
	size_t end = sb->len, to, n = 0;

	for (size_t i = from; i < end; i++)
		n += is_markup(sb->s[i]);
	strbuf_pad(sb, ' ', n * (ESCAPED - 1));
	if (strbuf_error(sb))
		return;
	for (to = sb->len; to > end; ) {
		const char c = sb->s[--end];

		if (is_markup(c)) {
			char escaped[ESCAPED + 1];

			snprintf(escaped, sizeof(escaped), "\\u%04x", (unsigned)c);
			to -= ESCAPED;
			memcpy(sb->s + to, escaped, ESCAPED);
		} else {
			sb->s[--to] = c;
		}
	}
}

static void put_answer(struct strbuf *sb, const struct strbuf *answer)
{
	char *line = answer->s, *rest;

	json_list(sb, ",\n", "answer");
	for (size_t i = 0; line && (rest = strchr(line, '\n')); i++) {
		*rest = '\0';
		json_next_line(sb, i, "  ");
		strbuf_json(sb, line);
		line = rest + 1;
	}
	strbuf_putc(sb, ']');
}

static size_t begin(struct strbuf *sb)
{
	strbuf_append(sb, html_page_before, html_page_before_size);
	return sb->len;
}

/* What is behind the members of the JSON report that begins at @from. @answer loses its ends of lines. */
static int end(struct strbuf *sb, size_t from, const struct strbuf *answer, struct json_frames *frames)
{
	put_answer(sb, answer);
	json_frames_put(frames, sb, ",\n");
	json_frames_fini(frames);
	strbuf_puts(sb, "}\n");
	escape_markup(sb, from);
	strbuf_append(sb, html_page_behind, html_page_behind_size);
	return strbuf_error(sb);
}

int out_html(const struct summary *s, size_t top, struct strbuf *sb)
{
	cleanup_strbuf struct strbuf answer = STRBUF_INIT;
	struct json_frames frames;
	size_t from;
	double rate = 0;
	int r = out_text_answer(s, &answer, &rate);

	(void)top;
	if (r < 0)
		return r;
	json_frames_init(&frames);
	from = begin(sb);
	json_summary(s, &frames, sb);
	json_real(sb, ",\n", "answer_growth", rate);
	return end(sb, from, &answer, &frames);
}

int out_diff_html(const struct diff *d, size_t top, struct strbuf *sb)
{
	cleanup_strbuf struct strbuf answer = STRBUF_INIT;
	struct json_frames frames;
	size_t from;
	int r = out_diff_text_answer(d, &answer);

	(void)top;
	if (r < 0)
		return r;
	json_frames_init(&frames);
	from = begin(sb);
	json_diff(d, &frames, sb);
	return end(sb, from, &answer, &frames);
}

int out_scan_html(const struct scan_report *r, size_t top, struct strbuf *sb)
{
	cleanup_strbuf struct strbuf answer = STRBUF_INIT;
	struct json_frames frames;
	size_t from;
	int err = out_scan_text_answer(r, &answer);

	(void)top;
	if (err < 0)
		return err;
	json_frames_init(&frames);
	from = begin(sb);
	json_scan(r, &frames, sb);
	return end(sb, from, &answer, &frames);
}

const struct report_format report_format_html = {
	.name = "html", .watch = out_html, .diff = out_diff_html, .scan = out_scan_html, .has_singles = true,
};
