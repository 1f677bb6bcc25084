/* SPDX-License-Identifier: MIT */
/* text_objects: see text_objects.h. */
#include "report/text/groups/text_objects.h"

#include <inttypes.h>
#include <stdbool.h>

#include "report/model/format_text.h"
#include "report/model/text_parts.h"

static void put_frame(struct strbuf *sb, const struct summary_frame *f)
{
	if (f->function)
		strbuf_text(sb, f->function);
	else
		strbuf_printf(sb, PRItaddr, f->pc);
	if (f->module) {
		strbuf_puts(sb, " [");
		strbuf_text(sb, format_base(f->module));
		strbuf_printf(sb, "+0x%" PRIx64 "]", f->offset);
	}
	strbuf_putc(sb, '\n');
}

static void put_trace(struct strbuf *sb, const struct summary_object *o, const struct summary_use *u,
		      uint64_t count)
{
	strbuf_printf(sb, "\nptr : %" PRIx64 "\n", o->addr);
	for (size_t i = u->stack.wrappers; i < u->stack.depth; i++)
		put_frame(sb, &u->stack.frames[i]);
	if (u->stack.end != STACK_WHOLE)
		strbuf_printf(sb, "... %s\n", summary_stack_end_text(u->stack.end));
	if (count > 1)
		strbuf_printf(sb, "(%" PRIu64 " times)\n", count);
}

static void put_traces_of(struct strbuf *sb, const struct summary_refs *r, bool taken)
{
	const struct summary_use *uses = taken ? r->acquired : r->released;
	size_t n = taken ? r->nacquired : r->nreleased;

	for (size_t i = 0; i < r->nall; i++) {
		const uint64_t *counts = r->all[i].counts + (taken ? 0 : r->nacquired);

		for (size_t u = 0; u < n; u++)
			if (counts[u])
				put_trace(sb, &r->all[i], &uses[u], counts[u]);
	}
}

static void put_traces(struct strbuf *sb, const struct summary *s, const struct text_part *part, bool taken)
{
	for (size_t i = part->first; i < part->first + part->n; i++)
		put_traces_of(sb, &s->refs[i], taken);
}

static void put_counts(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	for (size_t i = part->first; i < part->first + part->n; i++)
		for (size_t k = 0; k < s->refs[i].nall; k++)
			strbuf_printf(sb, "%" PRIx64 " : %" PRId64 "\n", s->refs[i].all[k].addr,
				      s->refs[i].net);
}

static void put_family(struct strbuf *sb, const struct summary *s, const struct text_part *part)
{
	if (part->several) {
		strbuf_puts(sb, "\nFamily ");
		strbuf_text(sb, part->family.name);
		strbuf_putc(sb, '\n');
	}
	strbuf_puts(sb, "Net ref counts for each ptr : \n");
	put_counts(sb, s, part);
	if (!part->n) {
		strbuf_puts(sb, "0\nTherefore, No Leaks \n");
		return;
	}
	strbuf_puts(sb, "\nRef Traces :\n");
	put_traces(sb, s, part, true);
	strbuf_puts(sb, "\n------\n\nUnref traces\n");
	put_traces(sb, s, part, false);
}

static bool counts_references(const struct summary *s)
{
	for (size_t i = 0; i < s->nfamilies; i++)
		if (s->families[i].refs)
			return true;
	return false;
}

void text_objects(struct strbuf *sb, const struct summary *s)
{
	struct text_part part;

	if (!counts_references(s))
		return;
	strbuf_printf(sb, "\nROUND : %u\n", s->round);
	for (size_t i = 0; i < s->nfamilies; i++) {
		text_part(s, i, &part);
		if (part.family.refs)
			put_family(sb, s, &part);
	}
	strbuf_puts(sb, "\n-----------\n");
}
