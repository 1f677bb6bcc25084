/* SPDX-License-Identifier: MIT */
#include "report/text/text_loss.h"

#include "report/model/format_text.h"
#include "report/text/groups/wrap.h"
#include "report/words/words.h"

#define MOST 0.5	/* if less is explained, the line says how to find the rest */
#define INDENT 2

/* Do the tracked blocks of a group show that it loses them? Others leak what is still pointed to. */
static bool loses(const struct summary_sample *its)
{
	return its->lost && its->lost * 2 >= its->searched;
}

/* Bytes a minute that the groups which leak lose; @may: there are others, which may leak. */
static double explained(const struct summary *s, bool *may)
{
	double sum = 0;

	*may = false;
	for (size_t i = 0; i < s->ngroups; i++) {
		const struct summary_sample *its = s->groups[i].sampled;

		if (!its || !loses(its))
			continue;
		if (its->survival.kind == SURVIVAL_STAYS)
			sum += its->kept_bytes.value;
		*may |= its->survival.kind == SURVIVAL_UNKNOWN;
	}
	return sum;
}

static void put_explained(struct strbuf *sb, const struct summary *s, double rate)
{
	bool may;
	const double share = explained(s, &may) / rate;

	if (share >= 1)
		strbuf_puts(sb, "; the groups that leak explain all of it");
	else if (share >= 0.005)
		strbuf_printf(sb, "; the groups that leak explain about %.0f%% of it", 100 * share);
	else if (may)
		strbuf_puts(sb, "; which of the groups that may leak loses them is not certain");
	else
		strbuf_puts(sb, "; its code was not seen");
	if (share < MOST)
		strbuf_printf(sb, ": a short watch without --budget names %s", share >= 0.005 ? "the rest" : "it");
}

void text_loss(struct strbuf *sb, const struct summary *s)
{
	const struct summary_budget *b = &s->run.budget;
	cleanup_strbuf struct strbuf line = STRBUF_INIT;
	double rate;

	if (!b->told || !(b->loss_s > 0))
		return;
	rate = (double)b->loss.bytes * 60 / b->loss_s;
	strbuf_puts(&line, b->loss.blocks ? "lost in " : "no block was lost in ");
	format_seconds(&line, b->loss_s);
	strbuf_puts(&line, ": ");
	if (b->loss.blocks) {
		format_count(&line, b->loss.blocks, "block");
		strbuf_puts(&line, ", ");
		format_size(&line, b->loss.bytes);
		strbuf_puts(&line, " (");
		format_rate(&line, rate, false);
		strbuf_putc(&line, ')');
		put_explained(&line, s, rate);
	} else {
		strbuf_puts(&line, "what grows is still pointed to");
	}
	strbuf_putc(&line, '\n');
	wrap(sb, &line, s->columns ? s->columns : WRAP_WIDTH, INDENT);
}
