/* SPDX-License-Identifier: MIT */
/* text_certainty: see text_certainty.h. */
#include "report/text/text_certainty.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/wrap.h"

/* The answer is called incomplete only if stacks were cut or lost at more than this share of the events. */
#define STACKS_PERCENT 2

#define NO_VERDICTS "no verdicts: "
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

/* Doubts are only about verdicts. */
void text_certainty_doubts(struct strbuf *sb, const struct summary_verdicts *v)
{
	if (!v->known || !v->ndoubts)
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

/*
 * Where stacks end too early, the blocks of one allocation site may be in several groups, or those of several
 * sites in one. A few stacks among thousands, as each program has them that is watched from its start (the
 * dynamic linker's), do not change the answer: the account has their number, and a group's stack says where
 * it was cut.
 */
static void put_stacks(struct strbuf *missing, const struct summary_run *run)
{
	const uint64_t stacks = run->stacks_cut + run->stacks_lost;

	if (stacks <= run->events / (100 / STACKS_PERCENT))
		return;
	text_certainty_next(missing);
	format_count(missing, stacks, "stack");
	strbuf_puts(missing, stacks == 1 ? " ends too early" : " end too early");
}

/* Nothing if none were wanted (--verdicts no, a budget), or if no block is live. */
static void put_no_verdicts(struct strbuf *sb, const struct summary *s)
{
	const struct summary_verdicts *v = &s->run.verdicts;
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (!v->wanted || v->known || !s->totals.live_blocks)
		return;
	strbuf_puts(&line, NO_VERDICTS);
	strbuf_text(&line, v->why_not ? v->why_not : "the reason is not known");
	wrap(sb, &line, s->columns ? s->columns : WRAP_WIDTH, strlen(NO_VERDICTS));
}

void text_certainty(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf missing = STRBUF_INIT;

	put_lost(&missing, summary_lost_total(s));
	put_gaps(&missing, &s->run);
	put_stacks(&missing, &s->run);
	text_certainty_incomplete(sb, &missing);
	put_no_verdicts(sb, s);
	text_certainty_doubts(sb, &s->run.verdicts);
}
