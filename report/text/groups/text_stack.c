/* SPDX-License-Identifier: MIT */
/* text_stack: see text_stack.h. */
#include "report/text/groups/text_stack.h"

#include <inttypes.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/names/sitename.h"
#include "report/names/wrappers.h"
#include "report/text/groups/text_path.h"

#define LINE 100
#define PLACE_INDENT 9		/* of the file and line of a frame, if they have a line of their own */
#define WRAPPERS_WIDTH 86	/* all their names together */
#define WRAPPER_WIDTH 60	/* one of them, if its template arguments are shown */

/*
 * " (svc+0x1234, inlined) /src/svc.c:12", or what of it is not the name already: the path is shortened so
 * that all of it stays behind @column characters of a line, if it can be. Of a script there is no code.
 */
static void put_whereabouts(struct strbuf *sb, const struct summary_frame *f, size_t column)
{
	cleanup_strbuf struct strbuf code = STRBUF_INIT;

	if (f->function && !summary_frame_is_script(f)) {
		strbuf_puts(&code, " (");
		sitename_place(&code, f, SIZE_MAX);
		strbuf_puts(&code, f->inlined ? ", inlined)" : ")");
	}
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
	if (f->function)
		strbuf_text(&name, f->function);
	else
		sitename_place(&name, f, SIZE_MAX);
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

/* @shown of them, from the one that the program called, and the last. */
static void put_some_wrappers(struct strbuf *sb, const struct summary_frame *frames, size_t n, size_t shown)
{
	for (size_t i = 0; i < n; i++) {
		strbuf_puts(sb, i ? ", " : "");
		if (i == shown && shown + 1 < n) {
			strbuf_printf(sb, "%zu more, ", n - shown - 1);
			i = n - 1;
		}
		sitename_full(sb, &frames[n - 1 - i], WRAPPER_WIDTH);
	}
}

/*
 * Name the wrappers in front of the stack, so that a reader does not miss them. If they are too many, the
 * middle is only counted: at first what the C++ library calls within itself.
 */
static void put_wrappers(struct strbuf *sb, const struct summary_frame *frames, size_t n)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT;
	size_t shown = n;

	put_some_wrappers(&names, frames, n, shown);
	while (shown > 1 && (format_width(&names) > WRAPPERS_WIDTH ||
			     (shown < n && wrappers_is_of_library(&frames[n - shown])))) {
		strbuf_reset(&names);
		put_some_wrappers(&names, frames, n, --shown);
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
