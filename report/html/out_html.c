/* SPDX-License-Identifier: MIT */
/* out_html: see out_html.h. */
#include "report/html/out_html.h"

#include <string.h>

#include "report/formats.h"
#include "report/html/html_page.h"
#include "report/json/json.h"
#include "report/json/json_frames.h"
#include "report/json/out_json.h"
#include "report/words/words.h"
#include "report/words/words_stopped.h"
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

/* @lines lose their ends. */
static void put_lines(struct strbuf *sb, const char *name, const struct strbuf *lines)
{
	char *line = lines->s, *rest;

	json_list(sb, ",\n", name);
	for (size_t i = 0; line && (rest = strchr(line, '\n')); i++) {
		*rest = '\0';
		json_next_line(sb, i, "  ");
		strbuf_json(sb, line);
		line = rest + 1;
	}
	strbuf_putc(sb, ']');
}

static void put_verdict_words(struct strbuf *sb, bool of_scan)
{
	json_key(sb, "{", "verdict");
	for (int rank = 0; rank < VERDICT_COUNT; rank++) {
		const enum verdict v = summary_verdict_at(rank);

		json_string(sb, rank ? ", " : "{", verdict_name(v), of_scan ? words_verdict_of_scan(v) : words_verdict(v));
	}
	strbuf_putc(sb, '}');
}

/* What the page says of each value of an enumeration, in the order of its lists: the worst first. */
static void put_words(struct strbuf *sb, bool of_scan)
{
	static const enum survival_kind kinds[SURVIVAL_KIND_COUNT] = {
		SURVIVAL_STAYS, SURVIVAL_UNKNOWN, SURVIVAL_TABLE, SURVIVAL_GOES,
	};

	json_key(sb, ",\n", "words");
	put_verdict_words(sb, of_scan);
	json_key(sb, ",\n", "growth");
	for (unsigned i = 0; i < GROWTH_COUNT; i++) {
		const enum growth_shape shape = (i + 1) % GROWTH_COUNT;	/* what is not known is the last */

		json_string(sb, i ? ", " : "{", growth_name(shape), words_growth(shape));
	}
	json_key(sb, "},\n", "turnover");
	for (size_t i = 0; i < SURVIVAL_KIND_COUNT; i++)
		json_string(sb, i ? ", " : "{", survival_name(kinds[i]), words_turnover(kinds[i]));
	json_key(sb, "},\n", "stack_end");
	for (enum summary_stack_end at = 0; at < STACK_END_COUNT; at++)
		json_string(sb, at ? ", " : "{", summary_stack_end_name(at), summary_stack_end_text(at));
	strbuf_puts(sb, "}}");
}

static size_t begin(struct strbuf *sb)
{
	strbuf_append(sb, html_page_before, html_page_before_size);
	return sb->len;
}

/* What is behind the members of the JSON report that begins at @from. @answer loses its ends of lines. */
static int end(struct strbuf *sb, size_t from, const struct strbuf *answer, bool of_scan, struct json_frames *frames)
{
	put_words(sb, of_scan);
	put_lines(sb, "answer", answer);
	json_frames_put(frames, sb, ",\n");
	json_frames_fini(frames);
	strbuf_puts(sb, "}\n");
	escape_markup(sb, from);
	strbuf_append(sb, html_page_behind, html_page_behind_size);
	return strbuf_error(sb);
}

static void put_pair(struct strbuf *sb, const char *name, const char *what, const struct strbuf *more)
{
	json_list(sb, ",\n", name);
	strbuf_json(sb, what);
	strbuf_puts(sb, ", ");
	strbuf_json(sb, strbuf_str(more));
	strbuf_putc(sb, ']');
}

static void put_cost(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf value = STRBUF_INIT, more = STRBUF_INIT, lines = STRBUF_INIT;

	words_cost(&value, &more, &s->run);
	put_pair(sb, "cost", strbuf_str(&value), &more);
	words_stopped(&lines, &s->run, summary_is_merged(s));
	put_lines(sb, "stopped", &lines);
}

static void put_no_growth(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf more = STRBUF_INIT;
	const char *what = words_no_growth(s, &more);

	put_pair(sb, "no_growth", what, &more);
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
	put_no_growth(sb, s);
	put_cost(sb, s);
	return end(sb, from, &answer, false, &frames);
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
	return end(sb, from, &answer, false, &frames);
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
	return end(sb, from, &answer, true, &frames);
}

const struct report_format report_format_html = {
	.name = "html", .what = "one page for a browser, with a flame graph",
	.watch = out_html, .diff = out_diff_html, .scan = out_scan_html, .has_singles = true,
};
