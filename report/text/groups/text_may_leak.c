/* SPDX-License-Identifier: MIT */
/* text_may_leak: see text_may_leak.h. */
#include "report/text/groups/text_may_leak.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/model/sampled_longer.h"
#include "report/model/unknown_reason.h"
#include "report/words/words.h"
#include "report/names/sitename.h"
#include "report/text/groups/text_sampled.h"
#include "report/text/groups/wrap.h"

#define SHOWN 2u
#define WHERE_WIDTH 60u
#define INDENT 4u

/* --- how much --- */

/* Is the share that is left known, so that the estimate is more than a bound? */
static bool is_share_known(const struct summary_sample *its, const struct estimate *e)
{
	return its->survival.age_s > 0 && its->survival.share > 0 && isfinite(e->high);
}

static void put_how_much(struct strbuf *sb, const struct summary_sample *its, bool plain)
{
	const struct estimate *e = plain ? &its->may_keep_blocks : &its->may_keep_bytes;

	if (is_share_known(its, e)) {
		strbuf_puts(sb, ": it allocates ");
		words_estimate(sb, e, plain);
		strbuf_puts(sb, its->survival.low > 0 ? " that is not freed within " : " that seems live after ");
		format_seconds(sb, its->survival.age_s);
	} else if (isfinite(e->high) && !e->at_least) {
		strbuf_puts(sb, " at most ");
		format_rate(sb, e->high, plain);
	} else {
		strbuf_puts(sb, ", and how much is not known yet");
	}
}

/* --- what would show it --- */

/* In units that are a good part of it: more is not known. */
static void put_about(struct strbuf *sb, double seconds)
{
	const double unit = seconds < 60 ? 10 : seconds < 600 ? 60 : seconds < 3600 ? 600 : 3600;

	format_seconds(sb, ceil(seconds / unit) * unit);
}

/* A watch that is longer in all, from its beginning. */
static void put_longer(struct strbuf *sb, double longer_s)
{
	strbuf_puts(sb, "; a ");
	strbuf_puts(sb, longer_s > 0 ? "watch of about " : "longer watch");
	if (longer_s > 0)
		put_about(sb, longer_s);
	strbuf_puts(sb, " would show whether it leaks");
}

static void put_advice(struct strbuf *sb, const struct summary_sample *its, double seconds)
{
	double longer_s;

	switch (sampled_advice(its, seconds, &longer_s)) {
	case ADVICE_BUDGET:
		strbuf_puts(sb, "; to be certain, see more of its calls: a larger --budget, or a short watch without one");
		break;
	case ADVICE_LIFETIME:
		strbuf_puts(sb, "; to be certain, watch for longer than its blocks are meant to live");
		break;
	case ADVICE_EXACT:
		strbuf_puts(sb, "; to be certain, watch for a short time without --budget: more samples would not show it");
		break;
	default:
		put_longer(sb, longer_s);
	}
}

/* --- all --- */

static void put_group(struct strbuf *sb, const struct summary *s, const struct text_part *part, size_t index)
{
	const struct summary_group *g = &s->groups[part->first + index];
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	text_number(&line, part, index);
	strbuf_putc(&line, ' ');
	sitename(&line, g, &g->apart, WHERE_WIDTH);
	strbuf_puts(&line, " may leak");
	put_how_much(&line, words_sample_of(g), part->plain);
	put_advice(&line, words_sample_of(g), s->run.seconds);
	strbuf_putc(&line, '\n');
	wrap(sb, &line, s->columns ? s->columns : WRAP_WIDTH, INDENT);
}

/* Where all that is lost is explained, what is left to ask for is what stays, and is pointed to. */
static bool is_asked_for(const struct summary_sample *its, bool explained)
{
	return its->survival.kind == SURVIVAL_UNKNOWN && (!explained || unknown_reason(its) == UNKNOWN_POINTED_TO);
}

/* The groups are sorted: those that may leak most come first. */
void text_may_leak(struct strbuf *sb, const struct summary *s, const struct text_part *part, bool explained)
{
	size_t n = 0;

	for (size_t i = 0; i < part->n && n < SHOWN; i++) {
		if (!is_asked_for(words_sample_of(&s->groups[part->first + i]), explained))
			continue;
		put_group(sb, s, part, i);
		n++;
	}
}
