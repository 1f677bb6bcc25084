/* SPDX-License-Identifier: MIT */
/* text_verdicts: see text_verdicts.h. */
#include "report/text/groups/text_verdicts.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/model/text_parts.h"
#include "report/text/groups/text_label.h"
#include "report/text/groups/text_mark.h"

#define MUCH_LONGER 1.1	/* a pause is no surprise if it is nearly what was estimated */

void text_amount(struct strbuf *sb, uint64_t bytes, uint64_t blocks)
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
	text_amount(sb, bytes, blocks);
	strbuf_puts(sb, " with them");
}

/* --- what was watched --- */

static void put_sum(struct strbuf *sb, const char *separator, const struct summary_sum *sums,
		    enum verdict verdict)
{
	strbuf_puts(sb, separator);
	text_mark_verdict(sb, verdict);
	strbuf_putc(sb, ' ');
	if (sums[verdict].blocks)
		text_amount(sb, sums[verdict].bytes, sums[verdict].blocks);
	else
		strbuf_puts(sb, "none");
}

/* What is seldom there is named only if it is there. */
static void put_sums(struct strbuf *sb, const struct summary_sum *sums)
{
	const char *separator = "";

	for (int rank = 0; rank < VERDICT_COUNT; rank++) {
		const enum verdict v = summary_verdict_at(rank);

		if (!sums[v].blocks && (v == VERDICT_INDIRECT || v == VERDICT_UNKNOWN))
			continue;
		put_sum(sb, separator, sums, v);
		separator = "; ";
	}
}

/* Descriptors and the like are counted with blocks, at a byte each, but nothing can be said of them here. */
static bool take_memory(const struct summary *s, struct summary_sum sums[VERDICT_COUNT])
{
	struct summary_sum *unknown = &sums[VERDICT_UNKNOWN];
	bool any = false;

	memcpy(sums, s->run.verdicts.watched, VERDICT_COUNT * sizeof(*sums));
	for (size_t i = 0; i < text_parts(s); i++) {
		struct text_part part;

		text_part(s, i, &part);
		any |= !part.plain;
		if (!part.plain || part.family.refs)
			continue;
		unknown->blocks -= part.family.live < unknown->blocks ? part.family.live : unknown->blocks;
		unknown->bytes -= part.family.bytes < unknown->bytes ? part.family.bytes : unknown->bytes;
	}
	return any;
}

void text_verdicts_answer(struct strbuf *sb, const struct summary *s)
{
	struct summary_sum sums[VERDICT_COUNT];

	if (!s->run.verdicts.known || !s->totals.live_blocks || !take_memory(s, sums))
		return;
	put_sums(sb, sums);
	strbuf_putc(sb, '\n');
}

/* --- how it was done --- */

void text_verdicts_pause(struct strbuf *sb, const struct summary_verdicts *v)
{
	format_seconds(sb, v->pause_s);
	if (!(v->expected_s > 0) || v->pause_s <= MUCH_LONGER * v->expected_s)
		return;
	strbuf_puts(sb, " (the estimate was ");
	format_seconds(sb, v->expected_s);
	strbuf_putc(sb, ')');
}

static void put_pause(struct strbuf *sb, const struct summary_verdicts *v)
{
	strbuf_puts(sb, "in a pause of ");
	text_verdicts_pause(sb, v);
	strbuf_puts(sb, ", ");
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
		strbuf_puts(sb, "layout of ");
		strbuf_text(sb, v->allocator);
		strbuf_puts(sb, "; ");
	}
	strbuf_puts(sb, "of ");
	format_count(sb, blocks, "block");
	strbuf_puts(sb, v->census ? ", watched or not: " : " that were watched: ");
	put_sums(sb, v->all);
	strbuf_putc(sb, '\n');
}

void text_verdicts_head(struct strbuf *sb, const struct summary *s)
{
	const struct summary_verdicts *v = &s->run.verdicts;

	if (!v->wanted || (!v->known && !s->totals.live_blocks))
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
