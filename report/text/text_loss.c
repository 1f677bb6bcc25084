/* SPDX-License-Identifier: MIT */
#include "report/text/text_loss.h"

#include "report/model/format_text.h"
#include "report/text/groups/wrap.h"
#include "report/words/words.h"

#define MOST 0.5	/* if less is explained, the line says how to find the rest */
#define ALL 0.9		/* it is an estimate */
#define ALL_LOW 0.75	/* with the lower ends of the intervals */
#define INDENT 2

/* Of what stays: by the tracked blocks, or where these are not known, by those that the probes saw. */
static double lost_part(const struct summary_sample *its)
{
	if (its->searched)
		return (double)its->lost / (double)its->searched;
	return its->probed ? (double)its->probed_lost / (double)its->probed : 0;
}

/*
 * Bytes a minute that the groups which leak lose, as far as their tracked blocks show it; @may: others have lost some,
 * too. @low: the lower ends of their intervals.
 */
static double explained(const struct summary *s, bool low, bool *may)
{
	double sum = 0;

	*may = false;
	for (size_t i = 0; i < s->ngroups; i++) {
		const struct summary_sample *its = s->groups[i].sampled;

		if (!its)
			continue;
		if (its->by_probes)
			sum += low ? its->kept_bytes.low : its->kept_bytes.value;
		else if (its->survival.kind == SURVIVAL_STAYS)
			sum += (low ? its->kept_bytes.low : its->kept_bytes.value) * lost_part(its);
		else
			*may |= its->lost || its->probed_lost;
	}
	return sum;
}

static double bytes_a_minute(const struct summary_budget *b)
{
	return (double)b->loss.bytes * 60 / b->loss_s;
}

/* What groups explain that are not shown is not known. */
static bool all_are_shown(const struct summary *s)
{
	return !s->filters && !s->suppressed.groups;
}

bool text_loss_is_explained(const struct summary *s)
{
	const struct summary_budget *b = &s->run.budget;
	bool may;

	return b->told && b->loss_s > 0 && b->loss.blocks && all_are_shown(s) &&
	       explained(s, true, &may) >= ALL_LOW * bytes_a_minute(b);
}

static void put_explained(struct strbuf *sb, const struct summary *s)
{
	bool may;
	const double share = explained(s, false, &may) / bytes_a_minute(&s->run.budget);

	if (share >= ALL)
		strbuf_puts(sb, "; the groups that leak explain about all of it");
	else if (share >= 0.005)
		strbuf_printf(sb, "; the groups that leak explain about %.0f%% of it", 100 * share);
	else if (may)
		strbuf_puts(sb, "; which of the groups below loses them is not certain");
	else
		strbuf_puts(sb, "; its code was not seen");
	if (share < MOST)
		strbuf_printf(sb,
			      ": a short watch without --budget names %s. The last notes say what is in such blocks",
			      share >= 0.005 ? "the rest" : "it");
}

void text_loss(struct strbuf *sb, const struct summary *s)
{
	const struct summary_budget *b = &s->run.budget;
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (!b->told || !(b->loss_s > 0))
		return;
	strbuf_puts(&line, b->loss.blocks ? "lost in " : "no block was lost in ");
	format_seconds(&line, b->loss_s);
	strbuf_puts(&line, ": ");
	if (b->loss.blocks) {
		format_count(&line, b->loss.blocks, "block");
		strbuf_puts(&line, ", ");
		format_size(&line, b->loss.bytes);
		strbuf_puts(&line, " (");
		format_rate(&line, (double)b->loss.bytes * 60 / b->loss_s, false);
		strbuf_putc(&line, ')');
		if (all_are_shown(s))
			put_explained(&line, s);
	} else {
		strbuf_puts(&line, "what grows, if anything does, is still pointed to");
	}
	strbuf_putc(&line, '\n');
	wrap(sb, &line, s->columns ? s->columns : WRAP_WIDTH, INDENT);
}
