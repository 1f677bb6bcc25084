/* SPDX-License-Identifier: MIT */
#include "report/text/text_budget.h"

#include <inttypes.h>
#include <math.h>

#include "report/model/format_text.h"
#include "report/model/unknown_reason.h"
#include "report/text/groups/text_label.h"

#define TEN 10.0	/* seconds: the promise holds in any period of this length */
#define NEARLY_ALL 0.9	/* of a site's allocations: a larger budget would hardly show more */

/*
 * A promise is printed with four digits, as the user gave it: 0.25% is not 0.2%. So is what was used, below
 * one percent.
 */
static void put_share(struct strbuf *sb, double share)
{
	if (share > 0 && share < 0.01)
		strbuf_printf(sb, "%.2g%%", 100 * share);
	else
		format_percent(sb, share, 1);
}

static void put_promise(struct strbuf *sb, double promise)
{
	const double tenths = 1000 * promise;

	if (fabs(tenths - round(tenths)) < 1e-6)
		format_percent(sb, promise, 1);
	else
		strbuf_printf(sb, "%.4g%%", 100 * promise);
}

/*
 * In a watch shorter than ten seconds, the share used may be larger than the promise: attaching spends its
 * part at once.
 */
static void put_used(struct strbuf *sb, const struct summary_budget *b)
{
	if (b->wall_s > 0 && b->wall_s < TEN) {
		format_seconds(sb, b->spent_s);
		strbuf_puts(sb, " used of the ");
		format_seconds(sb, b->promise * TEN);
		strbuf_puts(sb, " of any ten seconds, ");
	} else {
		put_share(sb, b->wall_s > 0 ? b->spent_s / b->wall_s : 0);
		strbuf_puts(sb, " used, ");
	}
	put_share(sb, b->worst);
	strbuf_puts(sb, " in the worst ten seconds");
}

static void put_cost(struct strbuf *sb, const struct summary_budget *b)
{
	text_label(sb, "budget");
	put_promise(sb, b->promise);
	strbuf_puts(sb, ": ");
	put_used(sb, b);
	if (b->worst > b->promise) {
		strbuf_puts(sb, ": EXCEEDED by ");
		put_share(sb, b->worst - b->promise);
	}
	strbuf_putc(sb, '\n');
}

static void put_sites(struct strbuf *sb, const struct summary *s, const struct summary_budget *b)
{
	text_label(sb, "sampled");
	format_count(sb, b->sites, "call site");
	strbuf_printf(sb, " found in the code, %" PRIu64 " of them called", b->hit);
	if (b->hit) {
		strbuf_puts(sb, ", each watched ");
		format_percent(sb, s->run.duty, 1);
		strbuf_puts(sb, " of the time on average");
	}
	if (b->settled)
		strbuf_printf(sb, "; %" PRIu64 " of the sites are watched seldom by now, as all is freed", b->settled);
	if (b->candidates)
		strbuf_printf(sb, "; %" PRIu64 " of the sites are watched closely, as some of their groups may leak",
			      b->candidates);
	strbuf_putc(sb, '\n');
}

static void put_unseen(struct strbuf *sb, const struct summary_budget *b)
{
	if (b->unfound) {
		text_label(sb, "not seen");
		format_count(sb, b->unfound, "call site");
		strbuf_puts(sb, " where no trap can be planted\n");
	}
	if (b->closed) {
		text_label(sb, "not seen");
		strbuf_puts(sb, "anything for ");
		format_seconds(sb, b->closed_s);
		strbuf_puts(sb, " in all, ");
		put_share(sb, b->wall_s > 0 ? b->closed_s / b->wall_s : 1);
		strbuf_puts(sb, " of the watch (");
		format_times(sb, (double)b->closed);
		strbuf_puts(sb, "): the budget was used up, or mmattach got no processor\n");
	}
}

/*
 * Why nothing can be said of some groups: if all allocations were seen, too few happened; if only a part was,
 * a larger budget would have seen more.
 */
static void put_unclear(struct strbuf *sb, const struct summary *s)
{
	uint64_t few = 0, in_part = 0;

	for (size_t i = 0; i < s->ngroups; i++) {
		const struct summary_sample *its = s->groups[i].sampled;

		if (!its || !unknown_for_want(unknown_reason(its)))
			continue;
		few++;
		in_part += its->sees < NEARLY_ALL;
	}
	if (!few)
		return;
	text_label(sb, "unclear");
	strbuf_printf(sb, "%" PRIu64 " of the groups that may leak: too little was seen to know whether %s", few,
		      few > 1 ? "they do" : "it does");
	strbuf_puts(sb, in_part < few ? "; a longer watch would show it" :
					"; a longer watch, or a larger --budget, would show it");
	if (in_part && in_part < few)
		strbuf_printf(sb, ", for %" PRIu64 " of them also a larger --budget", in_part);
	strbuf_putc(sb, '\n');
}

/* Blocks whose fate is unknown count neither as freed nor as live. */
static void put_followed(struct strbuf *sb, const struct summary_totals *t)
{
	const uint64_t ended = t->frees + t->live_blocks;

	text_label(sb, "tracked");
	format_count(sb, t->allocs, "block");
	strbuf_printf(sb, ": %" PRIu64 " freed, %" PRIu64 " still live", t->frees, t->live_blocks);
	if (ended < t->allocs)
		strbuf_printf(sb, ", %" PRIu64 " given up or lost sight of", t->allocs - ended);
	strbuf_putc(sb, '\n');
}

void text_budget(struct strbuf *sb, const struct summary *s)
{
	const struct summary_budget *b = &s->run.budget;

	if (b->told) {
		put_cost(sb, b);
		put_sites(sb, s, b);
		put_unseen(sb, b);
	}
	put_unclear(sb, s);
	put_followed(sb, &s->totals);
	text_label_line(sb, "numbers", "are estimates, as not every call was seen: "
		       "ranges are 95% confidence intervals, if calls come evenly; "
		       "the rate of a site that is called thousands of times a second may be several times "
		       "higher; "
		       "a rate that changes is measured only while its trap is planted");
}
