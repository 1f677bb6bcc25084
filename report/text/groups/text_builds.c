/* SPDX-License-Identifier: MIT */
/* text_builds: see text_builds.h. */
#include "report/text/groups/text_builds.h"

#include <inttypes.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/text/groups/text_label.h"

#define BUILDS 5

struct builds {
	const struct summary_frame *of[BUILDS];
	size_t n;
};

static bool has_build(const struct builds *b, const struct summary_frame *f)
{
	for (size_t i = 0; i < b->n; i++)
		if (!strcmp(b->of[i]->build_id, f->build_id))
			return true;
	return false;
}

static void add_stack(struct builds *b, const struct stack_view *stack)
{
	for (size_t i = stack->wrappers; i < stack->depth && b->n < BUILDS; i++) {
		const struct summary_frame *f = &stack->frames[i];

		if (!f->function && f->module && f->build_id && *f->build_id && !has_build(b, f))
			b->of[b->n++] = f;
	}
}

static void add_uses(struct builds *b, const struct summary_use *uses, size_t n)
{
	for (size_t i = 0; i < n; i++)
		add_stack(b, &uses[i].stack);
}

/* The offset is that of the instruction behind the call: with one less, it is in the call. */
static void put_advice(struct strbuf *sb, const struct summary_frame *f)
{
	text_label(sb, "no names");
	strbuf_puts(sb, "before the next watch install the debug files of these builds, or use --debuginfod; "
			"for this one, with a file that has symbols: ");
	strbuf_printf(sb, "addr2line -Cfi -e FILE 0x%" PRIx64 " for ", f->offset ? f->offset - 1 : 0);
	strbuf_text(sb, format_base(f->module));
	strbuf_printf(sb, "+0x%" PRIx64 "\n", f->offset);
}

void text_builds(struct strbuf *sb, const struct summary *s)
{
	struct builds b = { .n = 0 };

	for (size_t i = 0; i < s->ngroups; i++)
		add_stack(&b, &s->groups[i].stack);
	for (size_t i = 0; i < s->nrefs; i++) {
		add_uses(&b, s->refs[i].acquired, s->refs[i].nacquired);
		add_uses(&b, s->refs[i].released, s->refs[i].nreleased);
	}
	for (size_t i = 0; i < b.n; i++) {
		text_label(sb, "build id");
		strbuf_text(sb, b.of[i]->build_id);
		strbuf_putc(sb, ' ');
		strbuf_text(sb, format_base(b.of[i]->module));
		strbuf_putc(sb, '\n');
	}
	if (b.n)
		put_advice(sb, b.of[0]);
}
