/* SPDX-License-Identifier: MIT */
/* text_stack: see text_stack.h. */
#include "report/text_stack.h"

#include <inttypes.h>

#include "report/words.h"

#define WRAPPERS_WIDTH 86	/* all their names together */
#define PLACE_WIDTH 26		/* file and line in a table; the function has the rest */
#define TAG_WIDTH 12		/* in a table */

static void put_place(struct strbuf *sb, const struct summary_frame *f)
{
	if (f->module) {
		strbuf_text(sb, words_base(f->module));
		strbuf_printf(sb, "+0x%" PRIx64, f->offset);
	} else {
		strbuf_printf(sb, PRItaddr, f->pc);
	}
}

static void put_frame(struct strbuf *sb, size_t i, const struct summary_frame *f)
{
	strbuf_printf(sb, "    #%zu ", i);
	strbuf_text(sb, f->function ? f->function : "??");
	strbuf_puts(sb, " (");
	put_place(sb, f);
	strbuf_puts(sb, f->inlined ? ", inlined)" : ")");
	if (f->file) {
		strbuf_putc(sb, ' ');
		strbuf_text(sb, f->file);
		if (f->line > 0)
			strbuf_printf(sb, ":%d", f->line);
	}
	strbuf_putc(sb, '\n');
}

/* So that nobody misses them in the stack. */
static void put_wrappers(struct strbuf *sb, const struct summary_frame *frames, size_t n)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT;

	for (size_t i = n; i; i--) {
		strbuf_puts(&names, i < n ? ", " : "");
		strbuf_puts(&names, frames[i - 1].function ? frames[i - 1].function : "??");
	}
	strbuf_puts(sb, "    (through ");
	words_cut(sb, strbuf_str(&names), WRAPPERS_WIDTH);
	strbuf_puts(sb, ")\n");
	if (names.err && !sb->err)
		sb->err = names.err;
}

void text_stack(struct strbuf *sb, const struct summary_frame *frames, size_t n, size_t wrappers,
		enum summary_stack_end end)
{
	if (wrappers)
		put_wrappers(sb, frames, wrappers);
	for (size_t i = wrappers; i < n; i++)
		put_frame(sb, i - wrappers, &frames[i]);
	if (end != STACK_WHOLE)
		strbuf_printf(sb, "    ... %s\n", summary_stack_end_text(end));
	else if (!n)
		strbuf_puts(sb, "    (no stack)\n");
}

static void put_source(struct strbuf *sb, const struct summary_frame *f)
{
	strbuf_text(sb, words_base(f->file));
	if (f->line > 0)
		strbuf_printf(sb, ":%d", f->line);
}

void text_where_of(struct strbuf *sb, const struct summary_frame *frames, size_t n, size_t wrappers, size_t width)
{
	const struct summary_frame *f = wrappers < n ? &frames[wrappers] : NULL;
	cleanup_strbuf struct strbuf place = STRBUF_INIT, name = STRBUF_INIT;
	size_t left;

	if (!f) {
		strbuf_puts(sb, "(no stack)");
		return;
	}
	if (f->file)
		put_source(&place, f);
	else
		put_place(&place, f);
	strbuf_text(&name, f->function ? f->function : "??");
	left = width > words_width(&name) + 1 ? width - words_width(&name) - 1 : 0;
	if (left < PLACE_WIDTH)
		left = PLACE_WIDTH;
	if (words_width(&place) < left)
		left = words_width(&place);
	words_cut(sb, strbuf_str(&name), width > left + 1 ? width - left - 1 : 0);
	strbuf_putc(sb, ' ');
	words_cut(sb, strbuf_str(&place), left);
	if ((place.err || name.err) && !sb->err)
		sb->err = place.err ? place.err : name.err;
}

void text_where(struct strbuf *sb, const struct summary_group *g, size_t width)
{
	cleanup_strbuf struct strbuf tag = STRBUF_INIT;

	if (g->tag) {
		strbuf_puts(&tag, " <");
		words_cut(&tag, g->tag, TAG_WIDTH);
		strbuf_putc(&tag, '>');
	}
	text_where_of(sb, g->stack, g->depth, g->wrappers, width - words_width(&tag));
	strbuf_puts(sb, strbuf_str(&tag));
	if (tag.err && !sb->err)
		sb->err = tag.err;
}
