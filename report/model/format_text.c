/* SPDX-License-Identifier: MIT */
/* format_text: see format_text.h. */
#include "report/model/format_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/duration.h"

#define ELLIPSIS 3	/* "..." */

void format_count(struct strbuf *sb, uint64_t n, const char *what)
{
	strbuf_printf(sb, "%" PRIu64 " ", n);
	strbuf_text(sb, what);
	strbuf_puts(sb, n == 1 ? "" : "s");
}

void format_size(struct strbuf *sb, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double n = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 10000) {
		strbuf_printf(sb, "%" PRIu64 " B", bytes);
		return;
	}
	for (; n >= 1024 && unit < 5; unit++)
		n /= 1024;
	strbuf_printf(sb, "%.*f %s", n < 100 ? 1 : 0, n, units[unit]);
}

/* Small rates have one decimal. */
static void put_plain_rate(struct strbuf *sb, double rate)
{
	if (rate > 0 && rate < 0.1)
		strbuf_puts(sb, "<0.1");
	else
		strbuf_printf(sb, "%.*f", rate > 0 && rate < 9.95 ? 1 : 0, rate < 1e19 ? rate : 1e19);
}

void format_rate(struct strbuf *sb, double per_minute, bool plain)
{
	double rate = isfinite(per_minute) ? fabs(per_minute) : 0;

	if (plain)
		put_plain_rate(sb, rate);
	else if (rate > 0 && rate < 1)
		strbuf_puts(sb, "<1 B");
	else
		format_size(sb, rate < 1e19 ? (uint64_t)rate : UINT64_MAX);
	strbuf_puts(sb, "/min");
}

void format_times(struct strbuf *sb, double times)
{
	if (!isfinite(times) || times < 0 || times > 1e19)
		times = 0;
	if (times == 1)
		strbuf_puts(sb, "once");
	else if (times == 2)
		strbuf_puts(sb, "twice");
	else if (times > 0 && times < 0.05)
		strbuf_puts(sb, "<0.1 times");
	else
		strbuf_printf(sb, "%.*f times", times == floor(times) ? 0 : 1, times);
}

void format_seconds(struct strbuf *sb, double seconds)
{
	char text[DURATION_TEXT];
	uint64_t ns = seconds > 0 && seconds < 9e9 ? (uint64_t)(seconds * 1e9) : 0;

	strbuf_puts(sb, duration_format(ns, text, sizeof(text)));
}

void format_percent(struct strbuf *sb, double part, double whole)
{
	double p = whole > 0 ? 100 * part / whole : 0;

	if (p > 0 && p < 0.1)
		strbuf_puts(sb, "<0.1%");
	else
		strbuf_printf(sb, "%.*f%%", p > 0 && p < 9.95 ? 1 : 0, p);
}

/* Control characters are marks (report/text/groups/text_mark.h), and take no room. */
static bool begins_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80 && (unsigned char)c >= ' ';
}

size_t format_characters(const char *text, size_t bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < bytes; i++)
		n += begins_character(text[i]);
	return n;
}

size_t format_bytes(const char *text, size_t bytes, size_t characters)
{
	size_t i = 0;

	for (; i < bytes; i++)
		if (begins_character(text[i]) && characters-- == 0)
			break;
	return i;
}

size_t format_width(const struct strbuf *cell)
{
	return format_characters(strbuf_str(cell), strlen(strbuf_str(cell)));
}

/* Where the character number @n of @text begins. */
static size_t offset_of(const char *text, size_t n)
{
	return format_bytes(text, strlen(text), n);
}

static void take_error(struct strbuf *sb, const struct strbuf *from)
{
	if (from->err && !sb->err)
		sb->err = from->err;
}

void format_cut(struct strbuf *sb, const char *name, size_t width)
{
	cleanup_strbuf struct strbuf safe = STRBUF_INIT;
	size_t n, head, tail;

	strbuf_text(&safe, name);
	take_error(sb, &safe);
	n = format_width(&safe);
	if (n <= width) {
		strbuf_puts(sb, strbuf_str(&safe));
		return;
	}
	head = width > ELLIPSIS ? (width - ELLIPSIS + 1) / 2 : 0;
	tail = width > ELLIPSIS + head ? width - ELLIPSIS - head : 0;
	strbuf_append(sb, strbuf_str(&safe), offset_of(strbuf_str(&safe), head));
	strbuf_pad(sb, '.', width < ELLIPSIS ? width : ELLIPSIS);
	strbuf_puts(sb, strbuf_str(&safe) + offset_of(strbuf_str(&safe), n - tail));
}

void format_right(struct strbuf *sb, struct strbuf *cell, size_t width)
{
	size_t n = format_width(cell);

	strbuf_pad(sb, ' ', n < width ? width - n : 0);
	strbuf_puts(sb, strbuf_str(cell));
	take_error(sb, cell);
	strbuf_reset(cell);
}

void format_left(struct strbuf *sb, struct strbuf *cell, size_t width)
{
	size_t n = format_width(cell);

	strbuf_puts(sb, strbuf_str(cell));
	strbuf_pad(sb, ' ', n < width ? width - n : 0);
	take_error(sb, cell);
	strbuf_reset(cell);
}

const char *format_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
