/* SPDX-License-Identifier: MIT */
/* json_stack: see json_stack.h. */
#include "report/json/json_stack.h"

#include "report/json/json.h"

static void put_frame(struct strbuf *sb, const struct summary_frame *f)
{
	json_address(sb, "{", "pc", f->pc);
	json_string(sb, ", ", "module", f->module);
	json_string(sb, ", ", "build_id", f->build_id);
	json_address(sb, ", ", "offset", f->offset);
	json_string(sb, ", ", "function", f->function);
	if (f->linkage)
		json_string(sb, ", ", "linkage", f->linkage);
	json_string(sb, ", ", "file", f->file);
	json_number(sb, ", ", "line", f->line > 0 ? (uint64_t)f->line : 0);
	json_key(sb, ", ", "inlined");
	strbuf_puts(sb, f->inlined ? "true}" : "false}");
}

static void put_numbers(struct strbuf *sb, const struct stack_view *stack, struct json_frames *frames)
{
	for (size_t i = 0; i < stack->depth; i++) {
		strbuf_puts(sb, i ? "," : "");
		json_frames_number(frames, sb, &stack->frames[i]);
	}
}

static void put_frames(struct strbuf *sb, const struct stack_view *stack)
{
	for (size_t i = 0; i < stack->depth; i++) {
		json_next_line(sb, i, "    ");
		put_frame(sb, &stack->frames[i]);
	}
}

void json_stack(struct strbuf *sb, const char *separator, const struct stack_view *stack,
		struct json_frames *frames)
{
	json_string(sb, separator, "stack_end", summary_stack_end_name(stack->end));
	json_key(sb, ", ", "stack");
	strbuf_putc(sb, '[');
	if (frames)
		put_numbers(sb, stack, frames);
	else
		put_frames(sb, stack);
	strbuf_putc(sb, ']');
}
