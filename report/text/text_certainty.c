/* SPDX-License-Identifier: MIT */
/* text_certainty: see text_certainty.h. */
#include "report/text/text_certainty.h"

#include <inttypes.h>
#include <stdbool.h>

#include "report/model/format_text.h"
#include "report/text/groups/text_mark.h"

#define WHERE "; see the end of this report\n"

void text_certainty_next(struct strbuf *missing)
{
	if (missing->len)
		strbuf_puts(missing, ", ");
}

void text_certainty_incomplete(struct strbuf *sb, const struct strbuf *missing)
{
	if (missing->err && !sb->err)
		sb->err = missing->err;
	if (missing->len)
		strbuf_printf(sb, TEXT_RED "incomplete:" TEXT_PLAIN " %s" WHERE, strbuf_str(missing));
}

/* Without verdicts there are none to doubt. */
void text_certainty_doubts(struct strbuf *sb, const struct summary_verdicts *v)
{
	if (!v->taken || !v->ndoubts)
		return;
	strbuf_puts(sb, "verdicts may be weaker than they look: ");
	format_count(sb, v->ndoubts, "doubt");
	strbuf_puts(sb, WHERE);
}

static void put_lost(struct strbuf *missing, uint64_t lost)
{
	if (!lost)
		return;
	text_certainty_next(missing);
	format_count(missing, lost, "event");
	strbuf_puts(missing, lost == 1 ? " was lost" : " were lost");
}

static void put_gaps(struct strbuf *missing, const struct summary_run *run)
{
	double seconds = 0;

	if (!run->ngaps)
		return;
	for (size_t i = 0; i < run->ngaps; i++)
		seconds += run->gaps[i].seconds;
	text_certainty_next(missing);
	format_count(missing, run->ngaps, "gap");
	strbuf_puts(missing, run->ngaps == 1 ? " of " : " in the watch (");
	format_seconds(missing, seconds);
	strbuf_puts(missing, run->ngaps == 1 ? " in the watch" : " in all)");
}

/* Where they end too early, groups that are one look like several, or several like one. */
static void put_stacks(struct strbuf *missing, uint64_t stacks)
{
	if (!stacks)
		return;
	text_certainty_next(missing);
	format_count(missing, stacks, "stack");
	strbuf_puts(missing, stacks == 1 ? " ends too early" : " end too early");
}

/* They were wanted, and would say something. */
static bool lacks_verdicts(const struct summary *s)
{
	return s->run.verdicts.told && !s->run.verdicts.taken && s->totals.live_blocks;
}

void text_certainty(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf missing = STRBUF_INIT;

	put_lost(&missing, summary_lost_total(s));
	put_gaps(&missing, &s->run);
	put_stacks(&missing, s->run.stacks_cut + s->run.stacks_lost);
	if (lacks_verdicts(s)) {
		text_certainty_next(&missing);
		strbuf_puts(&missing, "there are no verdicts");
	}
	text_certainty_incomplete(sb, &missing);
	text_certainty_doubts(sb, &s->run.verdicts);
}
