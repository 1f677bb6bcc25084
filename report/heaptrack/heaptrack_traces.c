/* SPDX-License-Identifier: MIT */
/* heaptrack_traces: see heaptrack_traces.h. Numbers in the file begin at 1, and 0 is none; all are hexadecimal. */
#include "report/heaptrack/heaptrack_traces.h"

#include <inttypes.h>
#include <string.h>

#include "report/export/export.h"

void heaptrack_traces_init(struct heaptrack_traces *t, struct strbuf *sb)
{
	t->sb = sb;
	numbering_init(&t->strings);
	numbering_init(&t->addresses);
	numbering_init(&t->nodes);
}

int heaptrack_traces_fini(struct heaptrack_traces *t)
{
	const int err = t->strings.err ? t->strings.err : t->addresses.err ? t->addresses.err : t->nodes.err;

	numbering_fini(&t->strings);
	numbering_fini(&t->addresses);
	numbering_fini(&t->nodes);
	return err;
}

static uint32_t string(struct heaptrack_traces *t, const char *text)
{
	cleanup_strbuf struct strbuf safe = STRBUF_INIT;
	uint32_t number;
	bool fresh;

	if (!text || !*text)
		return 0;
	strbuf_text(&safe, text);
	number = numbering_of(&t->strings, strbuf_str(&safe), &fresh);
	if (fresh)
		strbuf_printf(t->sb, "s %zx %s\n", safe.len, strbuf_str(&safe));
	if (safe.err)
		t->strings.err = safe.err;
	return number + 1;
}

/* " FUNCTION FILE LINE"; a frame without a name has none, as the reader shows its module then. */
static void put_frame(struct heaptrack_traces *t, struct strbuf *record, const struct summary_frame *f)
{
	const uint32_t function = string(t, f->function), file = string(t, f->file);

	strbuf_printf(record, " %" PRIx32 " %" PRIx32 " %x", function, file, f->line > 0 ? (unsigned)f->line : 0);
}

/* A place in the code: @n frames, of which all but the last are inlined there. */
static uint32_t address(struct heaptrack_traces *t, const struct summary_frame *frames, size_t n)
{
	const struct summary_frame *last = &frames[n - 1];
	cleanup_strbuf struct strbuf record = STRBUF_INIT;
	uint32_t number;
	bool fresh;

	strbuf_printf(&record, "%" PRIx64 " %" PRIx32, last->pc && !last->exact ? last->pc - 1 : last->pc,
		      string(t, last->module));
	for (size_t i = 0; i < n && (frames[i].function || i + 1 < n); i++)
		put_frame(t, &record, &frames[i]);
	number = numbering_of(&t->addresses, strbuf_str(&record), &fresh);
	if (fresh)
		strbuf_printf(t->sb, "i %s\n", strbuf_str(&record));
	if (record.err)
		t->addresses.err = record.err;
	return number + 1;
}

static uint32_t node(struct heaptrack_traces *t, uint32_t address, uint32_t caller)
{
	cleanup_strbuf struct strbuf record = STRBUF_INIT;
	uint32_t number;
	bool fresh;

	strbuf_printf(&record, "%" PRIx32 " %" PRIx32, address, caller);
	number = numbering_of(&t->nodes, strbuf_str(&record), &fresh);
	if (fresh)
		strbuf_printf(t->sb, "t %s\n", strbuf_str(&record));
	return number + 1;
}

static uint32_t named(struct heaptrack_traces *t, const char *name)
{
	const struct summary_frame f = { .function = name };

	return address(t, &f, 1);
}

uint32_t heaptrack_trace(struct heaptrack_traces *t, const struct stack_view *stack)
{
	uint32_t at = 0;

	if (stack->end != STACK_WHOLE)
		at = node(t, named(t, EXPORT_CUT), 0);
	else if (!stack->depth)
		at = node(t, named(t, EXPORT_NO_STACK), 0);
	for (size_t i = export_depth(stack); i > 0;) {
		size_t n = 1;

		while (n < i && export_frame(stack, i - n - 1)->inlined)
			n++;
		i -= n;
		at = node(t, address(t, export_frame(stack, i), n), at);
	}
	return at;
}
