/* SPDX-License-Identifier: MIT */
/* text_growth: see text_growth.h. */
#include "report/text_growth.h"

#include <math.h>

#include "report/words.h"

#define SPARK_WIDTH 32
#define LINE_WIDTH 40		/* the words before the little picture */

bool text_growing(const struct summary_group *g)
{
	return g->growth.shape == GROWTH_GROWS || g->growth.shape == GROWTH_SLOWS || g->growth.shape == GROWTH_UNKNOWN;
}

bool text_timed(const struct summary *s)
{
	return s->run.seconds > 0;
}

double text_growth_total(const struct summary *s)
{
	double sum = 0;

	for (size_t i = 0; i < s->ngroups; i++) {
		const struct growth *g = &s->groups[i].growth;
		if ((g->shape == GROWTH_GROWS || g->shape == GROWTH_SLOWS) && isfinite(g->bytes_per_minute))
			sum += g->bytes_per_minute;
	}
	return sum;
}

static void put_since(struct strbuf *sb, const struct summary *s, const struct growth *g)
{
	words_seconds(sb, s->run.seconds - g->since_s);
	strbuf_puts(sb, " ago");
}

void text_growth_cell(struct strbuf *sb, const struct summary *s, const struct summary_group *g)
{
	switch (g->growth.shape) {
	case GROWTH_GROWS:
	case GROWTH_SLOWS:
		strbuf_putc(sb, '+');
		words_rate(sb, g->growth.bytes_per_minute);
		strbuf_puts(sb, g->growth.shape == GROWTH_SLOWS ? ", slowing" : "");
		break;
	case GROWTH_LEVEL:
		strbuf_puts(sb, "levelled off ");
		put_since(sb, s, &g->growth);
		break;
	case GROWTH_ONCE:
		strbuf_puts(sb, "at once, ");
		put_since(sb, s, &g->growth);
		break;
	default:
		strbuf_puts(sb, growth_text(g->growth.shape));
	}
}

static void put_words(struct strbuf *sb, const struct summary *s, const struct growth *g)
{
	strbuf_puts(sb, growth_text(g->shape));
	switch (g->shape) {
	case GROWTH_SLOWS:
	case GROWTH_GROWS:
	case GROWTH_FALLS:
		strbuf_puts(sb, g->shape == GROWTH_SLOWS ? ", by " : " by ");
		words_rate(sb, g->bytes_per_minute);
		strbuf_puts(sb, g->shape == GROWTH_SLOWS ? " now" : "");
		break;
	case GROWTH_LEVEL:
	case GROWTH_ONCE:
		strbuf_puts(sb, g->shape == GROWTH_ONCE ? ", " : " ");
		put_since(sb, s, g);
		break;
	default:
		strbuf_puts(sb, " whether it grows");
	}
}

/* Bytes held at @seconds: those of the last point until then. */
static uint64_t held_at(const struct summary_group *g, double seconds, size_t *i)
{
	while (*i + 1 < g->npoints && g->series[*i + 1].seconds <= seconds)
		++*i;
	return g->series[*i].seconds <= seconds ? g->series[*i].bytes : 0;
}

/* What is more than nothing is never blank. */
static void put_spark(struct strbuf *sb, const struct summary_group *g)
{
	static const char shades[] = " .:-=+*#%@";
	size_t width = g->npoints < SPARK_WIDTH ? g->npoints : SPARK_WIDTH, at = 0;
	double end = g->series[g->npoints - 1].seconds;
	uint64_t max = 1;

	for (size_t i = 0; i < g->npoints; i++)
		max = g->series[i].bytes > max ? g->series[i].bytes : max;
	strbuf_putc(sb, '|');
	for (size_t i = 0; i < width; i++) {
		uint64_t bytes = held_at(g, i + 1 == width ? end : end * (double)(i + 1) / (double)width, &at);
		int shade = (int)ceil((double)bytes / (double)max * (sizeof(shades) - 2));
		strbuf_putc(sb, shades[shade < 0 ? 0 : shade > 9 ? 9 : shade]);
	}
	strbuf_putc(sb, '|');
}

void text_growth_line(struct strbuf *sb, const struct summary *s, const struct summary_group *g)
{
	cleanup_strbuf struct strbuf words = STRBUF_INIT;

	if (!text_timed(s))
		return;
	put_words(&words, s, &g->growth);
	strbuf_puts(sb, "    ");
	if (g->npoints > 1) {
		words_left(sb, &words, LINE_WIDTH);
		put_spark(sb, g);
	} else {
		words_left(sb, &words, 0);
	}
	strbuf_putc(sb, '\n');
}
