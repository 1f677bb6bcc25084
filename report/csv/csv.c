/* SPDX-License-Identifier: MIT */
/* csv: see csv.h. */
#include "report/csv/csv.h"

#include <inttypes.h>
#include <math.h>

#include "report/model/format_text.h"

void csv_string(struct strbuf *sb, const char *separator, const char *value)
{
	strbuf_puts(sb, separator);
	strbuf_csv(sb, value);
}

void csv_number(struct strbuf *sb, const char *separator, uint64_t value)
{
	strbuf_printf(sb, "%s%" PRIu64, separator, value);
}

void csv_real(struct strbuf *sb, const char *separator, double value)
{
	strbuf_printf(sb, "%s%.6f", separator, isfinite(value) ? value : 0.0);
}

void csv_end(struct strbuf *sb)
{
	strbuf_puts(sb, "\r\n");
}

static void put_name(struct strbuf *sb, const struct summary_frame *f)
{
	if (f->function)
		strbuf_puts(sb, f->function);
	else if (f->module)
		strbuf_printf(sb, "%s+0x%" PRIx64, format_base(f->module), f->offset);
	else
		strbuf_printf(sb, PRItaddr, f->pc);
}

static void put_stack(struct strbuf *sb, const char *separator, const struct stack_view *stack)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT;

	for (size_t i = 0; i < stack->depth; i++) {
		strbuf_puts(&names, i ? " < " : "");
		put_name(&names, &stack->frames[i]);
	}
	if (stack->end != STACK_WHOLE)
		strbuf_puts(&names, stack->depth ? " < ..." : "...");
	csv_string(sb, separator, strbuf_str(&names));
	if (names.err && !sb->err)
		sb->err = names.err;
}

void csv_where(struct strbuf *sb, const char *separator, const struct stack_view *stack)
{
	static const struct summary_frame none;
	const struct summary_frame *f =
		stack->wrappers < stack->depth ? &stack->frames[stack->wrappers] : &none;

	csv_string(sb, separator, f->function);
	csv_string(sb, ",", f->file);
	csv_number(sb, ",", f->line > 0 ? (uint64_t)f->line : 0);
	csv_string(sb, ",", f->module);
	strbuf_printf(sb, ",\"0x%" PRIx64 "\"", f->module ? f->offset : f->pc);
	put_stack(sb, ",", stack);
}
