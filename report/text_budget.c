/* SPDX-License-Identifier: MIT */
#include "report/text_budget.h"

#include <inttypes.h>

#include "report/text_head.h"
#include "report/words.h"

static void put_cost(struct strbuf *sb, const struct summary_budget *b)
{
	text_head_label(sb, "budget");
	words_percent(sb, b->promise, 1);
	strbuf_puts(sb, ": ");
	words_percent(sb, b->spent_s, b->wall_s);
	strbuf_puts(sb, " used, ");
	words_percent(sb, b->worst, 1);
	strbuf_puts(sb, " in the worst ten seconds");
	if (b->worst > b->promise) {
		strbuf_puts(sb, ": MORE THAN WAS PROMISED, by ");
		words_percent(sb, b->worst - b->promise, 1);
	}
	strbuf_putc(sb, '\n');
}

static void put_sites(struct strbuf *sb, const struct summary *s, const struct summary_budget *b)
{
	text_head_label(sb, "sampled");
	words_count(sb, b->sites, "call");
	strbuf_printf(sb, " that allocate%s found in the code, %" PRIu64 " ran", b->sites == 1 ? "s" : "", b->hit);
	if (b->hit) {
		strbuf_puts(sb, ", each of which was watched ");
		words_percent(sb, s->run.duty, 1);
		strbuf_puts(sb, " of the time on average");
	}
	if (b->settled)
		strbuf_printf(sb, "; %" PRIu64 " rarely by now, as all goes again", b->settled);
	if (b->candidates)
		strbuf_printf(sb, "; %" PRIu64 " closely, as some stays", b->candidates);
	strbuf_putc(sb, '\n');
}

static void put_unseen(struct strbuf *sb, const struct summary_budget *b)
{
	if (b->unfound) {
		text_head_label(sb, "not seen");
		words_count(sb, b->unfound, "call");
		strbuf_puts(sb, " that cannot be trapped\n");
	}
	if (b->closed) {
		text_head_label(sb, "not seen");
		strbuf_puts(sb, "anything for ");
		words_seconds(sb, b->closed_s);
		strbuf_puts(sb, " in all (");
		words_times(sb, (double)b->closed);
		strbuf_puts(sb, "), as the budget was used up\n");
	}
}

/* Blocks of which nothing more could be told are neither here nor there. */
static void put_followed(struct strbuf *sb, const struct summary_totals *t)
{
	const uint64_t ended = t->frees + t->live_blocks;

	text_head_label(sb, "followed");
	words_count(sb, t->allocs, "block");
	strbuf_printf(sb, ": %" PRIu64 " went, %" PRIu64 " are still there", t->frees, t->live_blocks);
	if (ended < t->allocs)
		strbuf_printf(sb, ", %" PRIu64 " were given up or lost sight of", t->allocs - ended);
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
	put_followed(sb, &s->totals);
	text_head_line(sb, "numbers", "are estimates, as not every call was seen: the true ones lie within the brackets 95 times of 100");
}
