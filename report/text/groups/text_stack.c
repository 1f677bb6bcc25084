/* SPDX-License-Identifier: MIT */
/* text_stack: see text_stack.h. */
#include "report/text/groups/text_stack.h"

#include <inttypes.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/names/shortname.h"
#include "report/text/groups/text_path.h"

#define LINE 100
#define PLACE_INDENT 9		/* of the file and line of a frame, if they have a line of their own */
#define WRAPPERS_WIDTH 86	/* all their names together */
#define PLACE_WIDTH 26		/* file and line in a table; the function gets the rest */
#define PLACE_LEAST 12		/* with less room it is left out */
#define NAME_LEAST 12
#define FROM " from "		/* before the name of a caller */
#define THROUGH " through "	/* before that of a wrapper */
#define BESIDE_LEAST 8		/* with less room it is left out */
#define UNNAMED_WIDTH 2		/* of "??" */
#define TAG_WIDTH 20		/* in a table */
/* beside a tag, even if the line becomes longer: enough for a module and offset */
#define WHERE_LEAST 29

/* What a table shows of a stack. */
struct shown {
	const struct summary_frame *first, *beside;	/* beside: NULL for none */
	const char *word;				/* between them */
	bool arguments;					/* of the first */
	bool line;					/* of the one beside it */
};

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void put_place(struct strbuf *sb, const struct summary_frame *f)
{
	if (f->module) {
		strbuf_text(sb, format_base(f->module));
		strbuf_printf(sb, "+0x%" PRIx64, f->offset);
	} else {
		strbuf_printf(sb, PRItaddr, f->pc);
	}
}

/*
 * " (svc+0x1234, inlined) /src/svc.c:12": the path is shortened so that all of it stays behind @column
 * characters of a line, if it can be.
 */
static void put_whereabouts(struct strbuf *sb, const struct summary_frame *f, size_t column)
{
	cleanup_strbuf struct strbuf code = STRBUF_INIT;

	strbuf_puts(&code, " (");
	put_place(&code, f);
	strbuf_puts(&code, f->inlined ? ", inlined)" : ")");
	if (f->file) {
		strbuf_putc(&code, ' ');
		column += format_width(&code);
		text_path(&code, f->file, f->line, column < LINE ? LINE - column : 0);
	}
	strbuf_puts(sb, strbuf_str(&code));
	if (code.err && !sb->err)
		sb->err = code.err;
}

/*
 * A long name is not cut, as nothing else says what was called; file and line then have a line of their own.
 */
static void put_frame(struct strbuf *sb, size_t i, const struct summary_frame *f)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT, place = STRBUF_INIT;

	strbuf_printf(&name, "    #%zu ", i);
	strbuf_text(&name, f->function ? f->function : "??");
	put_whereabouts(&place, f, format_width(&name));
	strbuf_puts(sb, strbuf_str(&name));
	if (format_width(&name) + format_width(&place) > LINE) {
		strbuf_reset(&place);
		put_whereabouts(&place, f, PLACE_INDENT - 1);
		strbuf_putc(sb, '\n');
		strbuf_pad(sb, ' ', PLACE_INDENT - 1);
	}
	strbuf_puts(sb, strbuf_str(&place));
	strbuf_putc(sb, '\n');
	if ((name.err || place.err) && !sb->err)
		sb->err = name.err ? name.err : place.err;
}

/* Name the wrappers in front of the stack, so that a reader does not miss them. */
static void put_wrappers(struct strbuf *sb, const struct summary_frame *frames, size_t n)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT;

	for (size_t i = n; i; i--) {
		strbuf_puts(&names, i < n ? ", " : "");
		strbuf_puts(&names, frames[i - 1].function ? frames[i - 1].function : "??");
	}
	strbuf_puts(sb, "    (through ");
	format_cut(sb, strbuf_str(&names), WRAPPERS_WIDTH);
	strbuf_puts(sb, ")\n");
	if (names.err && !sb->err)
		sb->err = names.err;
}

void text_stack(struct strbuf *sb, const struct stack_view *stack)
{
	if (stack->wrappers)
		put_wrappers(sb, stack->frames, stack->wrappers);
	for (size_t i = stack->wrappers; i < stack->depth; i++)
		put_frame(sb, i - stack->wrappers, &stack->frames[i]);
	if (stack->end != STACK_WHOLE)
		strbuf_printf(sb, "    ... %s\n", summary_stack_end_text(stack->end));
	else if (!stack->depth)
		strbuf_puts(sb, "    (no stack)\n");
}

static void put_source(struct strbuf *sb, const struct summary_frame *f)
{
	strbuf_text(sb, format_base(f->file));
	if (f->line > 0)
		strbuf_printf(sb, ":%d", f->line);
}

/*
 * How much of @width is for file and line, with a blank before them: what the function leaves. A source line
 * gets some of it in any case, and the module and offset of code without a name all that they need; those of
 * a named function are shown only if there is room.
 */
static size_t place_width(const struct shown *s, const struct strbuf *place, const struct strbuf *name,
			  size_t width)
{
	size_t left = width > format_width(name) + 1 ? width - format_width(name) - 1 : 0;
	size_t least = width > PLACE_WIDTH + NAME_LEAST ? PLACE_WIDTH : width / 2;

	if (!s->first->function)
		least = width > UNNAMED_WIDTH + 1 ? width - UNNAMED_WIDTH - 1 : 0;
	if ((!s->first->function || (s->first->file && !s->beside)) && left < least)
		left = least;
	if (format_width(place) <= left)
		return format_width(place);
	return left < PLACE_LEAST ? 0 : left;
}

/*
 * C++ and Rust have long names; other names are not shortened: they may contain a blank or a bracket
 * anywhere.
 */
static void put_name(struct strbuf *sb, const struct summary_frame *f, bool arguments, size_t width)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	if (!f->function)
		strbuf_puts(&name, "??");
	else if (!f->linkage || (strncmp(f->linkage, "_Z", 2) && strncmp(f->linkage, "_R", 2)))
		strbuf_puts(&name, f->function);
	else if (arguments)
		shortname_arguments(&name, f->function, width);
	else
		shortname(&name, f->function, width);
	strbuf_text(sb, strbuf_str(&name));
	if (name.err && !sb->err)
		sb->err = name.err;
}

/*
 * If the first function has no name, its first caller with one is shown beside it; otherwise what
 * distinguishes it.
 */
static struct shown shown_of(const struct stack_view *stack, const struct apart *apart)
{
	const struct summary_frame *frames = stack->frames;
	struct shown s = { .first = &frames[stack->wrappers], .word = FROM };

	if (!s.first->function) {
		for (size_t i = stack->wrappers + 1; i < stack->depth && !s.beside; i++)
			s.beside = frames[i].function ? &frames[i] : NULL;
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
	put_name(sb, s->beside, false, width);
	if (s->line && s->beside->file && s->beside->line > 0)
		strbuf_printf(sb, ":%d", s->beside->line);
}

/*
 * Both names are cut separately, so that both can be read; if there is hardly any room for both, only the
 * first is shown.
 */
static void put_names(struct strbuf *sb, const struct shown *s, size_t width)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT, beside = STRBUF_INIT;
	size_t room = width > strlen(s->word) ? width - strlen(s->word) : 0, of_name, of_beside;

	if (s->beside) {
		put_name(&name, s->first, s->arguments, room > NAME_LEAST ? room - NAME_LEAST : 0);
		of_name = format_width(&name);
		put_beside(&beside, s, room > of_name ? room - of_name : 0);
		of_beside = smaller(format_width(&beside), room / 2);
		of_name = smaller(of_name, room - of_beside);
		of_beside = room - of_name;
		if (of_name >= smaller(NAME_LEAST, format_width(&name)) &&
		    of_beside >= smaller(BESIDE_LEAST, format_width(&beside))) {
			format_cut(sb, strbuf_str(&name), of_name);
			strbuf_puts(sb, s->word);
			format_cut(sb, strbuf_str(&beside), of_beside);
			return;
		}
		strbuf_reset(&name);
	}
	put_name(&name, s->first, s->arguments, width);
	format_cut(sb, strbuf_str(&name), width);
}

void text_where_of(struct strbuf *sb, const struct stack_view *stack, const struct apart *apart, size_t width)
{
	cleanup_strbuf struct strbuf place = STRBUF_INIT, name = STRBUF_INIT;
	struct shown s;
	size_t left;

	if (stack->wrappers >= stack->depth) {
		strbuf_puts(sb, "(no stack)");
		return;
	}
	s = shown_of(stack, apart);
	if (s.first->file)
		put_source(&place, s.first);
	else
		put_place(&place, s.first);
	put_names(&name, &s, width);
	left = place_width(&s, &place, &name, width);
	if (left && format_width(&name) + 1 + left > width) {
		strbuf_reset(&name);
		put_names(&name, &s, width - left - 1);
		left = place_width(&s, &place, &name, width);
	}
	format_cut(sb, strbuf_str(&name), left ? width - left - 1 : width);
	if (left) {
		strbuf_putc(sb, ' ');
		format_cut(sb, strbuf_str(&place), left);
	}
	if ((place.err || name.err) && !sb->err)
		sb->err = place.err ? place.err : name.err;
}

void text_where(struct strbuf *sb, const struct summary_group *g, const struct apart *apart, size_t width)
{
	cleanup_strbuf struct strbuf tag = STRBUF_INIT;

	if (g->tag) {
		strbuf_puts(&tag, " <");
		format_cut(&tag, g->tag, TAG_WIDTH);
		strbuf_putc(&tag, '>');
	}
	if (tag.len)
		width = width > WHERE_LEAST + format_width(&tag) ? width - format_width(&tag) : WHERE_LEAST;
	text_where_of(sb, &g->stack, apart, width);
	strbuf_puts(sb, strbuf_str(&tag));
	if (tag.err && !sb->err)
		sb->err = tag.err;
}
