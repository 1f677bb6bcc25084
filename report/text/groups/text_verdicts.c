/* SPDX-License-Identifier: MIT */
/* text_verdicts: see text_verdicts.h. */
#include "report/text/groups/text_verdicts.h"

#include <inttypes.h>

#include "report/model/format_text.h"
#include "report/text/groups/text_label.h"
#include "report/text/groups/text_mark.h"

static void put_amount(struct strbuf *sb, uint64_t bytes, uint64_t blocks)
{
	format_size(sb, bytes);
	strbuf_puts(sb, " in ");
	format_count(sb, blocks, "block");
}

void text_lost_with(struct strbuf *sb, uint64_t bytes, uint64_t blocks)
{
	if (!blocks)
		return;
	strbuf_puts(sb, ", and ");
	put_amount(sb, bytes, blocks);
	strbuf_puts(sb, " with them");
}

void text_verdict(struct strbuf *sb, const struct summary_group *g)
{
	if (g->verdict == VERDICT_UNKNOWN)
		return;
	strbuf_puts(sb, ", ");
	text_mark_verdict(sb, g->verdict);
	text_lost_with(sb, g->kind.indirect_bytes, g->kind.indirect_blocks);
}

/* --- what was watched --- */

static void put_sum(struct strbuf *sb, const char *separator, const struct summary_sum *sums,
		    enum verdict verdict)
{
	strbuf_puts(sb, separator);
	text_mark_verdict(sb, verdict);
	strbuf_putc(sb, ' ');
	if (sums[verdict].blocks)
		put_amount(sb, sums[verdict].bytes, sums[verdict].blocks);
	else
		strbuf_puts(sb, "none");
}

static void put_sums(struct strbuf *sb, const struct summary_sum *sums)
{
	put_sum(sb, "", sums, VERDICT_DEFINITE);
	text_lost_with(sb, sums[VERDICT_INDIRECT].bytes, sums[VERDICT_INDIRECT].blocks);
	put_sum(sb, "; ", sums, VERDICT_POSSIBLE);
	put_sum(sb, "; ", sums, VERDICT_REACHABLE);
	if (sums[VERDICT_UNKNOWN].blocks)
		put_sum(sb, "; ", sums, VERDICT_UNKNOWN);
}

void text_verdicts_answer(struct strbuf *sb, const struct summary *s)
{
	if (!s->run.verdicts.known || !s->totals.live_blocks)
		return;
	put_sums(sb, s->run.verdicts.watched);
	strbuf_putc(sb, '\n');
}

/* --- how it was done --- */

static void put_pause(struct strbuf *sb, const struct summary_verdicts *v)
{
	strbuf_puts(sb, "in a pause of ");
	format_seconds(sb, v->pause_s);
	strbuf_puts(sb, " (");
	format_seconds(sb, v->expected_s);
	strbuf_puts(sb, " expected), ");
	format_count(sb, v->threads, "thread");
	if (v->not_stopped)
		strbuf_printf(sb, ", %" PRIu32 " of them not stopped", v->not_stopped);
	strbuf_puts(sb, ", ");
	format_size(sb, v->bytes);
	strbuf_puts(sb, " copied\n");
}

static void put_heap(struct strbuf *sb, const struct summary_verdicts *v)
{
	uint64_t blocks = 0;

	for (size_t i = 0; i < VERDICT_COUNT; i++)
		blocks += v->all[i].blocks;
	text_label(sb, "heap");
	if (v->allocator) {
		strbuf_text(sb, v->allocator);
		strbuf_puts(sb, "; ");
	}
	strbuf_puts(sb, "of ");
	format_count(sb, blocks, "block");
	strbuf_puts(sb, v->census ? ", watched or not: " : " that were watched: ");
	put_sums(sb, v->all);
	strbuf_putc(sb, '\n');
}

void text_verdicts_head(struct strbuf *sb, const struct summary_verdicts *v)
{
	if (!v->wanted)
		return;
	text_label(sb, "verdicts");
	if (v->known) {
		put_pause(sb, v);
		put_heap(sb, v);
	} else {
		strbuf_puts(sb, "none: ");
		strbuf_text(sb, v->why_not ? v->why_not : "the reason is not known");
		strbuf_putc(sb, '\n');
	}
	for (size_t i = 0; i < v->ndoubts; i++)
		text_label_line(sb, "doubt", v->doubts[i]);
}
