/* SPDX-License-Identifier: MIT */
/* text_growth: see text_growth.h. */
#include "report/text/groups/text_growth.h"

#include <math.h>

#include "report/model/format_text.h"
#include "report/words/words.h"

#define SPARK_WIDTH 32
#define LINE_WIDTH 40		/* the text before the sparkline, if it is not longer */

bool text_timed(const struct summary *s)
{
	return s->run.seconds > 0;
}

/* Bytes live at @seconds: those of the last point until then. */
static uint64_t bytes_at(const struct growth_point *points, size_t n, double seconds, size_t *i)
{
	while (*i + 1 < n && points[*i + 1].seconds <= seconds)
		++*i;
	return points[*i].seconds <= seconds ? points[*i].bytes : 0;
}

/* Only the value zero is a blank. */
void text_spark(struct strbuf *sb, const struct growth_point *points, size_t n, size_t width)
{
	static const char shades[] = " .:-=+*#%@";
	double end = points[n - 1].seconds;
	uint64_t max = 1;
	size_t at = 0;

	width = n < width ? n : width;
	for (size_t i = 0; i < n; i++)
		max = points[i].bytes > max ? points[i].bytes : max;
	strbuf_putc(sb, '|');
	for (size_t i = 0; i < width; i++) {
		uint64_t bytes = bytes_at(points, n, i + 1 == width ? end : end * (double)(i + 1) / (double)width,
					  &at);
		int shade = (int)ceil((double)bytes / (double)max * (sizeof(shades) - 2));
		strbuf_putc(sb, shades[shade < 0 ? 0 : shade > 9 ? 9 : shade]);
	}
	strbuf_putc(sb, '|');
}

void text_growth_line(struct strbuf *sb, const struct summary *s, const struct text_course *c)
{
	cleanup_strbuf struct strbuf words = STRBUF_INIT;

	if (!text_timed(s))
		return;
	words_growth_line(&words, s, c->growth, c->plain);
	strbuf_puts(sb, "    ");
	if (c->npoints > 1) {
		format_left(sb, &words, LINE_WIDTH);
		text_spark(sb, c->series, c->npoints, SPARK_WIDTH);
	} else {
		format_left(sb, &words, 0);
	}
	strbuf_putc(sb, '\n');
}
