/* SPDX-License-Identifier: MIT */
#include "report/csv/csv_cell.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "report/model/format_text.h"

static const char *const stack_heads[] = { "function", "file", "line", "module", "offset", "stack" };
static const char *const interval_heads[] = { "", "_low", "_high" };
static const char *const bounds_heads[] = { "_low", "_high" };

size_t csv_cell_count(enum field_type type)
{
	switch (type) {
	case FIELD_STACK: return sizeof(stack_heads) / sizeof(*stack_heads);
	case FIELD_INTERVAL: return sizeof(interval_heads) / sizeof(*interval_heads);
	case FIELD_BOUNDS: return sizeof(bounds_heads) / sizeof(*bounds_heads);
	default: return 1;
	}
}

const char *csv_cell_suffix(enum field_type type, size_t i)
{
	switch (type) {
	case FIELD_STACK: return stack_heads[i];
	case FIELD_INTERVAL: return interval_heads[i];
	case FIELD_BOUNDS: return bounds_heads[i];
	default: return "";
	}
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

static void put_names(struct strbuf *sb, const struct stack_view *stack)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT;

	for (size_t i = 0; i < stack->depth; i++) {
		strbuf_puts(&names, i ? " < " : "");
		put_name(&names, &stack->frames[i]);
	}
	if (stack->end != STACK_WHOLE)
		strbuf_puts(&names, stack->depth ? " < ..." : "...");
	strbuf_csv(sb, strbuf_str(&names));
	if (names.err && !sb->err)
		sb->err = names.err;
}

static void put_stack(struct strbuf *sb, const struct stack_view *stack, size_t i)
{
	static const struct summary_frame none;
	const struct summary_frame *f = stack->wrappers < stack->depth ? &stack->frames[stack->wrappers]
	 : &none;

	switch (i) {
	case 0: strbuf_csv(sb, f->function); break;
	case 1: strbuf_csv(sb, f->file); break;
	case 2: strbuf_printf(sb, "%d", f->line > 0 ? f->line : 0); break;
	case 3: strbuf_csv(sb, f->module); break;
	case 4:
		if (f != &none)
			strbuf_printf(sb, "\"" PRItaddr "\"", f->module ? f->offset : f->pc);
		else
			strbuf_csv(sb, NULL);
		break;
	default: put_names(sb, stack);
	}
}

static void put_real(struct strbuf *sb, double value)
{
	if (isfinite(value))
		strbuf_printf(sb, "%.6f", value);
}

static void put_addresses(struct strbuf *sb, const struct field_list *list)
{
	const taddr *all = list->base;

	strbuf_putc(sb, '"');
	for (size_t i = 0; i < list->n; i++)
		strbuf_printf(sb, "%s" PRItaddr, i ? " " : "", all[i]);
	strbuf_putc(sb, '"');
}

void csv_cell(struct strbuf *sb, const struct field *f, const struct field_value *v, size_t i)
{
	if (v->absent || v->null)
		return;
	switch (f->type) {
	case FIELD_UINT:
	case FIELD_BYTES:
	case FIELD_UINT_OR_NULL: strbuf_printf(sb, "%" PRIu64, v->u); break;
	case FIELD_INT:
	case FIELD_INT_OR_NULL: strbuf_printf(sb, "%" PRId64, v->i); break;
	case FIELD_REAL:
	case FIELD_SECONDS:
	case FIELD_REAL_OR_NULL: put_real(sb, v->r); break;
	case FIELD_SHARE: strbuf_printf(sb, "%.9f", v->r); break;
	case FIELD_INTERVAL: put_real(sb, v->interval[i]); break;
	case FIELD_BOUNDS: put_real(sb, v->interval[i + 1]); break;
	case FIELD_BOOL: strbuf_csv(sb, v->b ? "true" : "false"); break;
	case FIELD_STRING:
	case FIELD_STRING_OR_NULL: strbuf_csv(sb, v->s); break;
	case FIELD_MADE: strbuf_csv(sb, strbuf_str(&v->made)); break;
	case FIELD_WORD:
	case FIELD_WORD_OR_NULL: strbuf_csv(sb, f->words->name((unsigned)v->u)); break;
	case FIELD_ADDRESSES: put_addresses(sb, &v->list); break;
	case FIELD_STACK: put_stack(sb, v->object, i); break;
	default: sb->err = sb->err ? sb->err : -EINVAL;	/* a table asks for a column that CSV cannot have */
	}
}
