/* SPDX-License-Identifier: MIT */
/* text_growth: see text_growth.h. */
#include "report/text/groups/text_growth.h"

#include <math.h>

#include "report/model/format_text.h"

#define SPARK_WIDTH 32
#define LINE_WIDTH 40		/* the text before the sparkline, if it is not longer */

bool text_timed(const struct summary *s)
{
	return s->run.seconds > 0;
}

static void put_since(struct strbuf *sb, const struct summary *s, const struct growth *g)
{
	format_seconds(sb, s->run.seconds - g->since_s);
	strbuf_puts(sb, " ago");
}

/* Blocks are allocated; descriptors and objects come in several ways. */
static void put_once(struct strbuf *sb, const struct summary *s, const struct growth *g, bool plain)
{
	strbuf_puts(sb, plain ? growth_text(GROWTH_ONCE) : "allocated");
	strbuf_putc(sb, ' ');
	put_since(sb, s, g);
}

void text_growth_cell(struct strbuf *sb, const struct summary *s, const struct text_course *c)
{
	switch (c->growth->shape) {
	case GROWTH_GROWS:
	case GROWTH_SLOWS:
		strbuf_putc(sb, '+');
		format_rate(sb, c->growth->bytes_per_minute, c->plain);
		strbuf_puts(sb, c->growth->shape == GROWTH_SLOWS ? " now" : "");
		break;
	case GROWTH_LEVEL:
		strbuf_puts(sb, "levelled off");
		if (c->brief)
			break;
		strbuf_putc(sb, ' ');
		put_since(sb, s, c->growth);
		break;
	case GROWTH_ONCE:
		if (c->brief)
			strbuf_puts(sb, growth_text(GROWTH_LEVEL));
		else
			put_once(sb, s, c->growth, c->plain);
		break;
	default:
		strbuf_puts(sb, growth_text(c->growth->shape));
	}
}

static void put_words(struct strbuf *sb, const struct summary *s, const struct growth *g, bool plain)
{
	if (g->shape != GROWTH_ONCE)
		strbuf_puts(sb, growth_text(g->shape));
	switch (g->shape) {
	case GROWTH_SLOWS:
	case GROWTH_GROWS:
		if (g->bytes_per_minute == 0)
			break;
		strbuf_puts(sb, g->shape == GROWTH_SLOWS ? ", by " : " by ");
		format_rate(sb, g->bytes_per_minute, plain);
		strbuf_puts(sb, g->shape == GROWTH_SLOWS ? " now; it was faster before" : "");
		break;
	case GROWTH_LEVEL:
		strbuf_putc(sb, ' ');
		put_since(sb, s, g);
		break;
	case GROWTH_ONCE:
		put_once(sb, s, g, plain);
		strbuf_puts(sb, ", hardly any since");
		break;
	case GROWTH_FALLS:
		break;
	default:
		strbuf_puts(sb, " whether it grows");
	}
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
	put_words(&words, s, c->growth, c->plain);
	strbuf_puts(sb, "    ");
	if (c->npoints > 1) {
		format_left(sb, &words, LINE_WIDTH);
		text_spark(sb, c->series, c->npoints, SPARK_WIDTH);
	} else {
		format_left(sb, &words, 0);
	}
	strbuf_putc(sb, '\n');
}
