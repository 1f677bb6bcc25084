/* SPDX-License-Identifier: MIT */
/* out_text: see out_text.h. The order of things; each part has a file of its own. */
#include "report/out_text.h"

#include <inttypes.h>
#include <stdbool.h>

#include "report/nothing.h"
#include "report/overview.h"
#include "report/text_growth.h"
#include "report/text_head.h"
#include "report/text_stack.h"
#include "report/text_twice.h"
#include "report/words.h"

/* Whether it grows, of all that is shown together. */
static void put_growth(struct strbuf *sb, const struct summary *s)
{
	double rate = text_growth_total(s);
	bool unknown = false;

	for (size_t i = 0; i < s->ngroups; i++)
		unknown |= s->groups[i].growth.shape == GROWTH_UNKNOWN;
	if (!text_timed(s) || !s->ngroups)
		return;
	if (rate > 0) {
		strbuf_puts(sb, ", growing by ");
		words_rate(sb, rate);
	} else {
		strbuf_puts(sb, unknown ? ", too short to say whether it grows" : ", not growing now");
	}
}

static void put_answer(struct strbuf *sb, const struct summary *s)
{
	strbuf_text(sb, s->target.comm ? s->target.comm : "the process");
	if (s->target.pid)
		strbuf_printf(sb, " (%d)", (int)s->target.pid);
	strbuf_puts(sb, " kept ");
	words_count(sb, s->totals.live_blocks, "block");
	strbuf_puts(sb, ", ");
	words_size(sb, s->totals.live_bytes);
	strbuf_puts(sb, ", of ");
	words_count(sb, s->totals.allocs, "allocation");
	if (text_timed(s)) {
		strbuf_puts(sb, " in ");
		words_seconds(sb, s->run.seconds);
	}
	put_growth(sb, s);
	if (s->totals.double_frees) {
		strbuf_puts(sb, "; ");
		words_count(sb, s->totals.double_frees, "DOUBLE FREE");
	}
	strbuf_puts(sb, "\n\n");
}

static void put_ages(struct strbuf *sb, const struct summary_group *g)
{
	strbuf_puts(sb, ", ");
	if (g->blocks > 1) {
		words_seconds(sb, g->youngest_s);
		strbuf_puts(sb, " to ");
	}
	words_seconds(sb, g->oldest_s);
	strbuf_puts(sb, " old");
}

static void put_group(struct strbuf *sb, const struct summary *s, size_t index)
{
	const struct summary_group *g = &s->groups[index];

	strbuf_printf(sb, "\n[%zu] ", index + 1);
	words_size(sb, g->bytes);
	strbuf_puts(sb, " (");
	words_percent(sb, (double)g->bytes, (double)s->totals.live_bytes);
	strbuf_puts(sb, ") in ");
	words_count(sb, g->blocks, "block");
	strbuf_printf(sb, " of %" PRIu64 " allocated here", g->allocs);
	if (text_timed(s))
		put_ages(sb, g);
	if (g->verdict != VERDICT_UNKNOWN)
		strbuf_printf(sb, ", %s", summary_verdict_name(g->verdict));
	strbuf_putc(sb, '\n');
	text_growth_line(sb, s, g);
	text_stack(sb, g->stack, g->depth, g->wrappers, g->stack_end);
}

static void put_suppressions(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	if (s->nsuppressions)
		strbuf_puts(sb, "\nsuppressions used\n     groups     blocks      bytes\n");
	for (size_t i = 0; i < s->nsuppressions; i++) {
		const struct summary_suppression *used = &s->suppressions[i];
		strbuf_printf(sb, "  %9" PRIu64 "  %9" PRIu64 "  ", used->groups, used->blocks);
		words_size(&cell, used->bytes);
		words_right(sb, &cell, 9);
		strbuf_puts(sb, "  ");
		strbuf_text(sb, used->name);
		strbuf_puts(sb, " (");
		strbuf_text(sb, used->where);
		strbuf_puts(sb, ")\n");
	}
}

int out_text(const struct summary *s, size_t top, struct strbuf *sb)
{
	struct overview o;
	int r = summary_error(s);

	if (r == 0)
		r = overview_make(s, top, &o);
	if (r < 0)
		return r;
	put_answer(sb, s);
	overview_put(&o, sb);
	if (!s->ngroups) {
		nothing_put(sb, s);
		strbuf_putc(sb, '\n');
	}
	text_head(sb, s);
	text_twice(sb, s, top);
	for (size_t i = 0; i < s->ngroups; i++)
		if (o.shown[i])
			put_group(sb, s, i);
	overview_rest(&o, sb);
	put_suppressions(sb, s);
	overview_fini(&o);
	return strbuf_error(sb);
}
