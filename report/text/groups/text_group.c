/* SPDX-License-Identifier: MIT */
/* text_group: see text_group.h. */
#include "report/text/groups/text_group.h"

#include <inttypes.h>

#include "report/model/format_text.h"
#include "report/text/groups/text_growth.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_sampled.h"
#include "report/text/groups/text_stack.h"
#include "report/text/groups/text_verdicts.h"

#define HANGS_SHOWN 5
#define PLACE_WIDTH 60

static void put_ages(struct strbuf *sb, const struct summary_group *g)
{
	strbuf_puts(sb, ", ");
	if (g->blocks > 1) {
		format_seconds(sb, g->youngest_s);
		strbuf_puts(sb, " to ");
	}
	format_seconds(sb, g->oldest_s);
	strbuf_puts(sb, " old");
}

static void put_size(struct strbuf *sb, const struct text_part *part, const struct summary_group *g)
{
	if (part->plain) {
		text_things(sb, part, g->blocks);
		return;
	}
	format_size(sb, g->bytes);
	strbuf_puts(sb, " (");
	format_percent(sb, (double)g->bytes, (double)part->family.bytes);
	strbuf_puts(sb, ") in ");
	text_things(sb, part, g->blocks);
}

static void put_taken(struct strbuf *sb, const struct text_part *part, const struct summary_group *g)
{
	if (!part->family.ranges) {
		strbuf_printf(sb, " of %" PRIu64 " allocated here", g->allocs);
		return;
	}
	strbuf_printf(sb, " of %" PRIu64 " allocated here, ", g->allocs);
	format_size(sb, g->bytes_taken);
	strbuf_puts(sb, " in all, ");
	format_size(sb, g->bytes_returned);
	strbuf_puts(sb, " returned to the kernel");
}

static void put_exact(struct strbuf *sb, const struct summary *s, const struct text_part *part,
		      const struct summary_group *g)
{
	const struct text_course course = { &g->growth, g->series, g->npoints, part->plain };

	put_size(sb, part, g);
	put_taken(sb, part, g);
	if (text_timed(s))
		put_ages(sb, g);
	text_verdict(sb, g);
	if (g->tag) {
		strbuf_puts(sb, ", tag ");
		strbuf_text(sb, g->tag);
	}
	strbuf_putc(sb, '\n');
	text_growth_line(sb, s, &course);
}

/* A group of the same family by its number, one of another family only by its allocation site. */
static void put_entry(struct strbuf *sb, const struct summary *s, const struct text_part *part, size_t serial)
{
	size_t index = summary_index(s, serial);

	if (index >= part->first && index - part->first < part->n) {
		text_number(sb, part, index - part->first);
		strbuf_putc(sb, ' ');
	}
	text_where(sb, &s->groups[index], NULL, PLACE_WIDTH);
	strbuf_putc(sb, '\n');
}

static void put_part(struct strbuf *sb, const struct summary_hang *hang)
{
	strbuf_puts(sb, "      ");
	format_size(sb, hang->bytes);
	strbuf_puts(sb, " in ");
	format_count(sb, hang->blocks, "block");
	strbuf_puts(sb, ": ");
}

static void put_hangs(struct strbuf *sb, const struct summary *s, const struct text_part *part,
		      const struct summary_group *g)
{
	if (g->nhangs)
		strbuf_puts(sb, "    indirectly lost with it\n");
	for (size_t i = 0; i < g->nhangs && i < HANGS_SHOWN; i++) {
		put_part(sb, &g->hangs[i]);
		put_entry(sb, s, part, g->hangs[i].serial);
	}
	if (g->nhangs > HANGS_SHOWN)
		strbuf_printf(sb, "      and of %zu more groups\n", g->nhangs - HANGS_SHOWN);
}

static void put_holders(struct strbuf *sb, const struct summary *s, const struct text_part *part,
			const struct summary_group *g)
{
	size_t shown = 0;

	if (g->held)
		strbuf_puts(sb, "    lost with\n");
	for (size_t i = 0; g->held && i < s->ngroups; i++)
		for (size_t h = 0; h < s->groups[i].nhangs; h++) {
			if (s->groups[i].hangs[h].serial != g->serial || shown++ >= HANGS_SHOWN)
				continue;
			put_part(sb, &s->groups[i].hangs[h]);
			put_entry(sb, s, part, s->groups[i].serial);
		}
	if (shown > HANGS_SHOWN)
		strbuf_printf(sb, "      and with %zu more groups\n", shown - HANGS_SHOWN);
}

void text_group(struct strbuf *sb, const struct summary *s, const struct text_part *part, size_t index)
{
	const struct summary_group *g = &s->groups[part->first + index];

	strbuf_puts(sb, TEXT_BOLD);
	text_number(sb, part, index);
	strbuf_puts(sb, TEXT_PLAIN " ");
	if (summary_is_sampled(&s->run))
		text_sampled_group(sb, part, g);
	else
		put_exact(sb, s, part, g);
	text_stack(sb, &g->stack);
	put_hangs(sb, s, part, g);
	put_holders(sb, s, part, g);
}
