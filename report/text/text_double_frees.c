/* SPDX-License-Identifier: MIT */
/* text_double_frees: see text_double_frees.h. */
#include "report/text/text_double_frees.h"

#include <inttypes.h>

#include "report/model/format_text.h"
#include "report/names/wrappers.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_stack.h"

static void put_side(struct strbuf *sb, const char *what, const struct stack_view *stack)
{
	struct stack_view shown = *stack;

	if (!stack->depth)
		return;
	shown.wrappers = wrappers_count(stack->frames, stack->depth);
	strbuf_printf(sb, "  %s\n", what);
	text_stack(sb, &shown);
}

static void put_one(struct strbuf *sb, const struct summary *s, const struct summary_twice *t)
{
	strbuf_printf(sb, "\n" TEXT_RED "DOUBLE FREE" TEXT_PLAIN " of " PRItaddr, t->sample);
	if (s->run.seconds > 0) {
		strbuf_puts(sb, ", ");
		format_seconds(sb, t->time_s);
		strbuf_puts(sb, " after the start");
	}
	if (t->count > 1)
		strbuf_printf(sb, ", the first of %" PRIu64 " in the same way", t->count);
	strbuf_putc(sb, '\n');
	put_side(sb, "freed again by", &t->second);
	put_side(sb, "freed first by", &t->first);
	put_side(sb, "allocated by", &t->alloc);
	if (!t->second.depth && !t->first.depth)
		strbuf_puts(sb, "  the first free is not known: --free-stacks records it\n");
}

/*
 * Only a limited number of different double frees is stored, so s->totals may count more than all of
 * @s->twice together.
 */
void text_double_frees(struct strbuf *sb, const struct summary *s, size_t top)
{
	size_t shown = top && top < s->ntwice ? top : s->ntwice;
	uint64_t told = 0;

	for (size_t i = 0; i < shown; i++) {
		put_one(sb, s, &s->twice[i]);
		told += s->twice[i].count;
	}
	if (told >= s->totals.double_frees)
		return;
	strbuf_putc(sb, '\n');
	text_mark_count(sb, s->totals.double_frees - told, shown ? "more DOUBLE FREE" : "DOUBLE FREE");
	strbuf_puts(sb, shown < s->ntwice ? " not shown (--top 0 shows all that are known)\n"
					  : ", of which nothing else is known\n");
}
