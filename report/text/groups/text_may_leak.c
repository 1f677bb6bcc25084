/* SPDX-License-Identifier: MIT */
/* text_may_leak: see text_may_leak.h. */
#include "report/text/groups/text_may_leak.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/model/sampled_longer.h"
#include "report/names/apart.h"
#include "report/text/groups/text_sampled.h"
#include "report/text/groups/text_stack.h"
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
		text_sampled_estimate(sb, e, plain);
		strbuf_puts(sb, its->survival.low > 0 ? " that is not freed within " : " that seems live after ");
		format_seconds(sb, its->survival.age_s);
	} else if (isfinite(e->high) && !e->at_least) {
		strbuf_puts(sb, " at most ");
		format_rate(sb, e->high, plain);
	} else {
		strbuf_puts(sb, " an unknown amount");
	}
}

/* --- what would show it --- */

/* In units that are a good part of it: more is not known. */
static void put_about(struct strbuf *sb, double seconds)
{
	const double unit = seconds < 60 ? 10 : seconds < 600 ? 60 : seconds < 3600 ? 600 : 3600;

	format_seconds(sb, ceil(seconds / unit) * unit);
}

static void put_advice(struct strbuf *sb, const struct summary_sample *its, double seconds)
{
	double longer_s;

	strbuf_puts(sb, "; to be certain, ");
	switch (sampled_advice(its, seconds, &longer_s)) {
	case ADVICE_BUDGET:
		strbuf_puts(sb, "see more of its calls: a larger --budget, or a short watch without one");
		break;
	case ADVICE_LIFETIME:
		strbuf_puts(sb, "watch for longer than its blocks are meant to live");
		break;
	case ADVICE_EXACT:
		strbuf_puts(sb, "watch for a short time without --budget: more samples would not show it");
		break;
	default:
		strbuf_puts(sb, "watch ");
		if (longer_s > 0) {
			strbuf_puts(sb, "for about ");
			put_about(sb, longer_s);
			strbuf_puts(sb, " in all");
		} else {
			strbuf_puts(sb, "longer");
		}
	}
}

/* --- all --- */

static void put_group(struct strbuf *sb, const struct summary *s, const struct text_part *part, size_t index,
		      const struct apart *apart)
{
	const struct summary_group *g = &s->groups[part->first + index];
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	text_number(&line, part, index);
	strbuf_putc(&line, ' ');
	text_where(&line, g, apart, WHERE_WIDTH);
	strbuf_puts(&line, " may leak");
	put_how_much(&line, text_sampled_of(g), part->plain);
	put_advice(&line, text_sampled_of(g), s->run.seconds);
	strbuf_putc(&line, '\n');
	wrap(sb, &line, s->columns ? s->columns : WRAP_WIDTH, INDENT);
}

/* The groups are sorted: those that may leak most come first. */
void text_may_leak(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	const struct summary_group *groups[SHOWN] = { NULL };
	struct apart apart[SHOWN];
	size_t indices[SHOWN], n = 0;

	for (size_t i = 0; i < part->n && n < SHOWN; i++) {
		const struct summary_group *g = &s->groups[part->first + i];

		if (text_sampled_of(g)->survival.kind != SURVIVAL_UNKNOWN)
			continue;
		groups[n] = g;
		indices[n++] = i;
	}
	apart_find(groups, n, apart);
	for (size_t i = 0; i < n; i++)
		put_group(sb, s, part, indices[i], &apart[i]);
}
