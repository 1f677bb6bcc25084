/* SPDX-License-Identifier: MIT */
/* text_stack: see text_stack.h. */
#include "report/text_stack.h"

#include <inttypes.h>
#include <string.h>

#include "report/shortname.h"
#include "report/words.h"

#define WRAPPERS_WIDTH 86	/* all their names together */
#define PLACE_WIDTH 26		/* file and line in a table; the function has the rest */
#define PLACE_LEAST 12		/* with less room it is left out */
#define NAME_LEAST 12
#define FROM " from "		/* before the name of a caller */
#define TAG_WIDTH 20		/* in a table */
#define WHERE_LEAST 29		/* beside a tag, also where that makes the line longer: a module and offset */

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

/* So that they are not missed in the stack. */
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

/*
 * How much of @width is for the place, behind a blank: what the function leaves. A source line has a part in any case;
 * an offset says nothing that a name does not say better.
 */
static size_t place_width(const struct strbuf *place, bool is_source, const struct strbuf *name, size_t width)
{
	size_t left = width > words_width(name) + 1 ? width - words_width(name) - 1 : 0;
	size_t least = width > PLACE_WIDTH + NAME_LEAST ? PLACE_WIDTH : width / 2;

	if (is_source && left < least)
		left = least;
	if (words_width(place) <= left)
		return words_width(place);
	return left < PLACE_LEAST ? 0 : left;
}

/* C++ and Rust have long names; what others have is not touched, it may have a blank or a bracket anywhere. */
static void put_name(struct strbuf *sb, const struct summary_frame *f, size_t width)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	if (f->linkage && (!strncmp(f->linkage, "_Z", 2) || !strncmp(f->linkage, "_R", 2)))
		shortname(&name, f->function, width);
	else
		strbuf_puts(&name, f->function);
	strbuf_text(sb, strbuf_str(&name));
	if (name.err && !sb->err)
		sb->err = name.err;
}

/* The caller that is named beside the function: where that has no name the first that has one, else @apart, if there is one. */
static const struct summary_frame *caller_beside(const struct summary_frame *frames, size_t n, size_t wrappers, size_t apart)
{
	if (frames[wrappers].function)
		return apart > wrappers && apart < n && frames[apart].function ? &frames[apart] : NULL;
	for (size_t i = wrappers + 1; i < n; i++)
		if (frames[i].function)
			return &frames[i];
	return NULL;
}

static void put_names(struct strbuf *sb, const struct summary_frame *f, const struct summary_frame *caller, size_t width)
{
	cleanup_strbuf struct strbuf from = STRBUF_INIT;
	size_t left;

	if (caller) {
		strbuf_puts(&from, FROM);
		put_name(&from, caller, width > 2 * strlen(FROM) ? width / 2 - strlen(FROM) : 0);
	}
	left = width > words_width(&from) ? width - words_width(&from) : 0;
	if (f->function)
		put_name(sb, f, left);
	else
		strbuf_puts(sb, "??");
	strbuf_puts(sb, strbuf_str(&from));
	if (from.err && !sb->err)
		sb->err = from.err;
}

void text_where_of(struct strbuf *sb, const struct summary_frame *frames, size_t n, size_t wrappers, size_t apart, size_t width)
{
	const struct summary_frame *f = wrappers < n ? &frames[wrappers] : NULL;
	cleanup_strbuf struct strbuf place = STRBUF_INIT, name = STRBUF_INIT;
	const struct summary_frame *caller;
	size_t left;

	if (!f) {
		strbuf_puts(sb, "(no stack)");
		return;
	}
	if (f->file)
		put_source(&place, f);
	else
		put_place(&place, f);
	caller = caller_beside(frames, n, wrappers, apart);
	put_names(&name, f, caller, width);
	left = place_width(&place, f->file && !caller, &name, width);
	if (left && words_width(&name) + 1 + left > width) {
		strbuf_reset(&name);
		put_names(&name, f, caller, width - left - 1);
		left = place_width(&place, f->file && !caller, &name, width);
	}
	words_cut(sb, strbuf_str(&name), left ? width - left - 1 : width);
	if (left) {
		strbuf_putc(sb, ' ');
		words_cut(sb, strbuf_str(&place), left);
	}
	if ((place.err || name.err) && !sb->err)
		sb->err = place.err ? place.err : name.err;
}

void text_where(struct strbuf *sb, const struct summary_group *g, size_t apart, size_t width)
{
	cleanup_strbuf struct strbuf tag = STRBUF_INIT;

	if (g->tag) {
		strbuf_puts(&tag, " <");
		words_cut(&tag, g->tag, TAG_WIDTH);
		strbuf_putc(&tag, '>');
	}
	if (tag.len)
		width = width > WHERE_LEAST + words_width(&tag) ? width - words_width(&tag) : WHERE_LEAST;
	text_where_of(sb, g->stack, g->depth, g->wrappers, apart, width);
	strbuf_puts(sb, strbuf_str(&tag));
	if (tag.err && !sb->err)
		sb->err = tag.err;
}
