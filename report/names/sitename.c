/* SPDX-License-Identifier: MIT */
/* sitename: see sitename.h. */
#include "report/names/sitename.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/names/shortname.h"
#include "report/names/wrappers.h"

#define PLACE_LEAST 12		/* of a module and offset: with less room they are left out */
#define NAME_LEAST 12
#define FROM " from "		/* before the name of a caller */
#define THROUGH " through "	/* before that of a wrapper */
#define BESIDE_LEAST 8		/* with less room it is left out */
#define MODULE_LEAST 4		/* of a module's name before an offset */
#define TAG_WIDTH 20
/* beside a tag, even if the line becomes longer: enough for a module and offset */
#define WHERE_LEAST 29

/* What a table shows of a stack. */
struct shown {
	const struct summary_frame *first, *beside;	/* beside: NULL for none */
	const char *word;				/* between them */
	bool arguments;					/* of the first */
	bool line;					/* of the one beside it */
	char number[16];	/* ":42", behind the first one's name: where file and line have no room; or "" */
};

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t less(size_t from, size_t n)
{
	return from > n ? from - n : 0;
}

void sitename_place(struct strbuf *sb, const struct summary_frame *f, size_t width)
{
	char offset[32];
	size_t n;

	if (!f->module) {
		strbuf_printf(sb, PRItaddr, f->pc);
		return;
	}
	n = (size_t)snprintf(offset, sizeof(offset), "+0x%" PRIx64, f->offset);
	format_cut(sb, format_base(f->module), width > n + MODULE_LEAST ? width - n : MODULE_LEAST);
	strbuf_puts(sb, offset);
}

/*
 * C++ and Rust have long names; other names are not shortened: they may contain a blank or a bracket
 * anywhere.
 */
static bool has_long_name(const struct summary_frame *f)
{
	return f->linkage && (!strncmp(f->linkage, "_Z", 2) || !strncmp(f->linkage, "_R", 2));
}

void sitename_full(struct strbuf *sb, const struct summary_frame *f, size_t width)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	if (has_long_name(f))
		shortname_full(&name, f->function, width);
	else if (f->function)
		strbuf_puts(&name, f->function);
	else
		sitename_place(&name, f, width);
	strbuf_text(sb, strbuf_str(&name));
	if (name.err && !sb->err)
		sb->err = name.err;
}

static void put_source(struct strbuf *sb, const struct summary_frame *f)
{
	strbuf_text(sb, format_base(f->file));
	if (f->line > 0)
		strbuf_printf(sb, ":%d", f->line);
}

static void put_name(struct strbuf *sb, const struct summary_frame *f, bool arguments, size_t width)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	if (!has_long_name(f))
		strbuf_puts(&name, f->function);
	else if (arguments)
		shortname_arguments(&name, f->function, width);
	else
		shortname(&name, f->function, width);
	strbuf_text(sb, strbuf_str(&name));
	if (name.err && !sb->err)
		sb->err = name.err;
}

void sitename_function(struct strbuf *sb, const struct summary_frame *f)
{
	if (f->function)
		put_name(sb, f, false, SIZE_MAX);
	else
		sitename_place(sb, f, SIZE_MAX);
}

/* Its callers are at the end of all stacks: start_thread, __libc_start_main. */
static bool is_of_libc(const struct summary_frame *f)
{
	const char *name = f->module ? format_base(f->module) : "";

	return !strncmp(name, "libc.", 5) || !strncmp(name, "libc-", 5) || !strncmp(name, "libpthread", 10);
}

static const struct summary_frame *named_caller(const struct stack_view *stack)
{
	for (size_t i = stack->wrappers + 1; i < stack->depth; i++)
		if (stack->frames[i].function)
			return is_of_libc(&stack->frames[i]) ? NULL : &stack->frames[i];
	return NULL;
}

/*
 * What distinguishes the first function is shown beside it; if it has no name, and nothing need be
 * distinguished, its first caller with one.
 */
static struct shown shown_of(const struct stack_view *stack, const struct apart *apart)
{
	const struct summary_frame *frames = stack->frames;
	struct shown s = { .first = &frames[stack->wrappers], .word = FROM };

	if (!s.first->function) {
		s.beside = apart && apart->by == APART_CALLER && apart->frame < stack->depth ?
				   &frames[apart->frame] : named_caller(stack);
		return s;
	}
	if (!apart)
		return s;
	s.arguments = apart->arguments;
	if (apart->by == APART_NOTHING || apart->frame >= stack->depth || !frames[apart->frame].function)
		return s;
	s.beside = &frames[apart->frame];
	s.line = apart->by == APART_LINE;
	s.word = apart->by == APART_WRAPPER ? THROUGH : FROM;
	return s;
}

static void put_beside(struct strbuf *sb, const struct shown *s, size_t width)
{
	if (s->beside->function)
		put_name(sb, s->beside, false, width);
	else if (s->beside->module && s->first->module && !strcmp(s->beside->module, s->first->module))
		strbuf_printf(sb, "+0x%" PRIx64, s->beside->offset);
	else
		sitename_place(sb, s->beside, width);
	if (s->line && s->beside->file && s->beside->line > 0)
		strbuf_printf(sb, ":%d", s->beside->line);
}

/* The first one's name, cut to @width characters with its line, which is never cut. */
static void put_first(struct strbuf *sb, const struct shown *s, const struct strbuf *name, size_t width)
{
	format_cut(sb, strbuf_str(name), less(width, strlen(s->number)));
	strbuf_puts(sb, s->number);
}

/*
 * Both names are cut separately, so that both can be read. False if there is hardly any room for both, and only
 * the first is shown.
 */
static bool put_names(struct strbuf *sb, const struct shown *s, size_t width)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT, beside = STRBUF_INIT;
	const size_t room = less(width, strlen(s->word)), number = strlen(s->number);
	size_t of_name, of_beside;

	if (s->beside) {
		put_name(&name, s->first, s->arguments, less(room, NAME_LEAST + number));
		of_name = format_width(&name) + number;
		put_beside(&beside, s, less(room, of_name));
		of_beside = smaller(format_width(&beside), room / 2);
		of_name = smaller(of_name, room - of_beside);
		of_beside = room - of_name;
		if (less(of_name, number) >= smaller(NAME_LEAST, format_width(&name)) &&
		    of_beside >= smaller(BESIDE_LEAST, format_width(&beside))) {
			put_first(sb, s, &name, of_name);
			strbuf_puts(sb, s->word);
			format_cut(sb, strbuf_str(&beside), of_beside);
			return true;
		}
		strbuf_reset(&name);
	}
	put_name(&name, s->first, s->arguments, less(width, number));
	put_first(sb, s, &name, width);
	return !s->beside;
}

/* Both by all their scopes. */
static bool fit_both(const struct shown *s, size_t width)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT;

	put_name(&names, s->first, s->arguments, SIZE_MAX);
	strbuf_puts(&names, s->word);
	put_name(&names, s->beside, false, SIZE_MAX);
	return format_width(&names) <= width;
}

/*
 * "place_order through make_shared<Order> shop.cpp:22" is shown if all of it fits, which it does not often,
 * and so are the template arguments of a function alone. Only a source line must fit, too.
 */
static bool put_whole(struct strbuf *sb, const struct shown *s, const struct strbuf *place, size_t width)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT, beside = STRBUF_INIT;
	const size_t behind = s->first->file ? format_width(place) + 1 : 0, room = less(width, behind);

	if (s->beside) {
		if (!fit_both(s, room))
			return false;
		put_name(&beside, s->beside, false, SIZE_MAX);
		sitename_full(&text, s->first, less(room, strlen(s->word) + format_width(&beside)));
		strbuf_puts(&text, s->word);
		sitename_full(&text, s->beside, less(room, format_width(&text)));
	} else {
		sitename_full(&text, s->first, room);
	}
	if (text.err || format_width(&text) > room)
		return false;
	if (format_width(&text) + 1 + format_width(place) <= width)
		strbuf_printf(&text, " %s", strbuf_str(place));
	strbuf_puts(sb, strbuf_str(&text));
	return true;
}

/* The function of the library that the first one has called. */
static const struct summary_frame *called_first(const struct stack_view *stack)
{
	const struct summary_frame *f = stack->wrappers ? &stack->frames[stack->wrappers - 1] : NULL;

	return f && f->function && wrappers_is_of_library(f) ? f : NULL;
}

static bool put_called(struct strbuf *sb, const struct stack_view *stack, const struct shown *s,
		       const struct strbuf *place, size_t width)
{
	struct shown with = *s;

	if (s->line)
		return false;
	if (!s->beside) {
		with.beside = called_first(stack);
		with.word = THROUGH;
	}
	if (with.beside && put_whole(sb, &with, place, width))
		return true;
	return !s->beside && has_long_name(s->first) && put_whole(sb, s, place, width);
}

/*
 * "libvendor.so+0x1149 from session_open svc.S:7", "svc+0x1362 from +0x161c": without the offset the rest says
 * nothing, so it is never cut, and the rest is shown only if there is room.
 */
static void put_unnamed(struct strbuf *sb, const struct shown *s, size_t width)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT, more = STRBUF_INIT;
	const char *word = s->first->file ? " " : FROM;
	size_t room;

	sitename_place(&text, s->first, width);
	room = width > format_width(&text) + strlen(word) ? width - format_width(&text) - strlen(word) : 0;
	if (s->first->file)
		put_source(&more, s->first);
	else if (s->beside)
		put_beside(&more, s, room);
	if (more.len && smaller(format_width(&more), BESIDE_LEAST) <= room) {
		strbuf_puts(&text, word);
		format_cut(&text, strbuf_str(&more), room);
	}
	strbuf_puts(sb, strbuf_str(&text));
	if ((text.err || more.err) && !sb->err)
		sb->err = text.err ? text.err : more.err;
}

/* "make_node from serve_users svc.c:12", or "make_node:12 from serve_users": false if @width is too small. */
static bool put_uncut(struct strbuf *sb, const struct shown *s, bool source, size_t width)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	put_names(&text, s, SIZE_MAX);
	if (source) {
		strbuf_putc(&text, ' ');
		put_source(&text, s->first);
	}
	if (text.err || format_width(&text) > width)
		return false;
	strbuf_puts(sb, strbuf_str(&text));
	return true;
}

static void put_number(struct shown *s)
{
	if (s->first->line > 0)
		snprintf(s->number, sizeof(s->number), ":%d", s->first->line);
}

/*
 * If there is no room for the source file, the line is enough, since the stack has the file, too. What
 * distinguishes a row from others is more important than its line.
 */
static void put_with_source(struct strbuf *sb, struct shown *s, size_t width)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (put_uncut(sb, s, true, width))
		return;
	if (s->beside) {
		struct shown with = *s;

		put_number(&with);
		if (put_uncut(sb, &with, false, width))
			return;
		if (put_names(&text, s, width)) {
			strbuf_puts(sb, strbuf_str(&text));
			return;
		}
		s->beside = NULL;
		if (put_uncut(sb, s, true, width))
			return;
	}
	put_number(s);
	put_names(sb, s, width);
}

/* "make_node svc+0x1234": the place is left out if there is no room for it. */
static void put_with_module(struct strbuf *sb, const struct shown *s, size_t width)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;
	size_t left;

	put_names(&name, s, width);
	left = less(width, format_width(&name) + 1);
	if (left >= PLACE_LEAST)
		sitename_place(&place, s->first, left);
	strbuf_puts(sb, strbuf_str(&name));
	if (place.len && format_width(&place) <= left)
		strbuf_printf(sb, " %s", strbuf_str(&place));
	if ((place.err || name.err) && !sb->err)
		sb->err = place.err ? place.err : name.err;
}

void sitename_of(struct strbuf *sb, const struct stack_view *stack, const struct apart *apart, size_t width)
{
	cleanup_strbuf struct strbuf place = STRBUF_INIT;
	struct shown s;

	if (stack->wrappers >= stack->depth) {
		strbuf_puts(sb, "(no stack)");
		return;
	}
	s = shown_of(stack, apart);
	if (!s.first->function) {
		put_unnamed(sb, &s, width);
		return;
	}
	if (s.first->file)
		put_source(&place, s.first);
	else
		sitename_place(&place, s.first, SIZE_MAX);
	if (place.err && !sb->err)
		sb->err = place.err;
	if (put_called(sb, stack, &s, &place, width))
		return;
	if (!s.first->file)
		put_with_module(sb, &s, width);
	else
		put_with_source(sb, &s, width);
}

void sitename(struct strbuf *sb, const struct summary_group *g, const struct apart *apart, size_t width)
{
	cleanup_strbuf struct strbuf tag = STRBUF_INIT;

	if (g->tag) {
		strbuf_puts(&tag, " <");
		format_cut(&tag, g->tag, width / 3 > TAG_WIDTH ? width / 3 : TAG_WIDTH);
		strbuf_putc(&tag, '>');
	}
	if (tag.len)
		width = width > WHERE_LEAST + format_width(&tag) ? width - format_width(&tag) : WHERE_LEAST;
	sitename_of(sb, &g->stack, apart, width);
	strbuf_puts(sb, strbuf_str(&tag));
	if (tag.err && !sb->err)
		sb->err = tag.err;
}
