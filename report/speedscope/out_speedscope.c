/* SPDX-License-Identifier: MIT */
/* out_speedscope: see out_speedscope.h. */
#include "report/speedscope/out_speedscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/version.h"
#include "report/export/export.h"
#include "report/export/numbering.h"
#include "report/formats.h"
#include "report/json/json.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

/* The stacks of all groups, root first, as numbers of frames. */
struct stacks {
	struct strbuf frames;		/* the elements of the table */
	struct numbering known;		/* by their text in the table */
	struct strbuf *all;		/* by index of the group: "0,3,7" */
	int err;
};

struct view {
	const char *name, *unit;
	enum export_value value;
	bool lost;			/* only what is definitely or possibly lost, and what is lost with it */
};

static const struct view views[] = {
	{ "bytes in use", "bytes", EXPORT_LIVE_BYTES, false },
	{ "blocks in use", "none", EXPORT_LIVE_BLOCKS, false },
	{ "bytes lost", "bytes", EXPORT_LIVE_BYTES, true },
	{ "bytes allocated", "bytes", EXPORT_ALLOC_BYTES, false },
	{ "allocations", "none", EXPORT_ALLOC_BLOCKS, false },
};

/* --- frames --- */

static uint32_t add_frame(struct stacks *st, struct strbuf *element)
{
	cleanup_strbuf struct strbuf copy = STRBUF_INIT;
	uint32_t number;
	bool fresh;

	strbuf_append(&copy, strbuf_str(element), element->len);
	number = numbering_take(&st->known, element, &fresh);
	if (fresh) {
		strbuf_puts(&st->frames, number ? ",\n\t\t" : "\n\t\t");
		strbuf_append(&st->frames, strbuf_str(&copy), copy.len);
	}
	if (copy.err)
		st->err = copy.err;
	return number;
}

static uint32_t frame_number(struct stacks *st, const struct summary_frame *f)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT, element = STRBUF_INIT;

	export_frame_name(&name, f);
	strbuf_puts(&element, "{");
	json_string(&element, "", "name", strbuf_str(&name));
	if (f->file)
		json_string(&element, ", ", "file", f->file);
	if (f->file && f->line > 0)
		json_number(&element, ", ", "line", (uint64_t)f->line);
	strbuf_puts(&element, "}");
	if (name.err)
		st->err = name.err;
	return add_frame(st, &element);
}

static void put_number(struct strbuf *sb, uint32_t number)
{
	strbuf_printf(sb, sb->len ? ",%" PRIu32 : "%" PRIu32, number);
}

static void add_stack(struct stacks *st, const struct summary_group *g, struct strbuf *numbers)
{
	const char *outer = g->stack.end != STACK_WHOLE ? EXPORT_CUT : g->stack.depth ? NULL : EXPORT_NO_STACK;

	if (outer)
		put_number(numbers, frame_number(st, &(struct summary_frame){ .function = outer }));
	for (size_t i = export_depth(&g->stack); i > 0; i--)
		put_number(numbers, frame_number(st, export_frame(&g->stack, i - 1)));
	if (g->tag)
		put_number(numbers, frame_number(st, &(struct summary_frame){ .function = g->tag }));
	if (numbers->err)
		st->err = numbers->err;
}

static int make_stacks(const struct summary *s, struct stacks *st)
{
	*st = (struct stacks){ .all = calloc(s->ngroups + 1, sizeof(*st->all)) };
	numbering_init(&st->known);
	if (!st->all)
		return -ENOMEM;
	for (size_t i = 0; i < s->ngroups; i++)
		add_stack(st, &s->groups[i], &st->all[i]);
	return st->err ? st->err : st->known.err;
}

static void free_stacks(const struct summary *s, struct stacks *st)
{
	for (size_t i = 0; st->all && i < s->ngroups; i++)
		strbuf_fini(&st->all[i]);
	free(st->all);
	strbuf_fini(&st->frames);
	numbering_fini(&st->known);
}

/* --- profiles --- */

static uint64_t value_of(const struct summary *s, const struct view *view, size_t i)
{
	if (view->lost && !summary_is_lost(s->groups[i].verdict))
		return 0;
	return export_values(s, &s->groups[i]).of[view->value];
}

static void put_profile(const struct summary *s, const struct stacks *st, const struct view *view, struct strbuf *sb)
{
	uint64_t sum = 0;
	size_t n = 0;

	strbuf_puts(sb, "{\"type\": \"sampled\"");
	json_string(sb, ", ", "name", view->name);
	json_string(sb, ", ", "unit", view->unit);
	strbuf_puts(sb, ", \"samples\": [");
	for (size_t i = 0; i < s->ngroups; i++)
		if (value_of(s, view, i))
			strbuf_printf(sb, "%s[%s]", n++ ? ",\n\t\t" : "\n\t\t", strbuf_str(&st->all[i]));
	strbuf_puts(sb, "], \"weights\": [");
	n = 0;
	for (size_t i = 0; i < s->ngroups; i++) {
		const uint64_t value = value_of(s, view, i);

		sum += value;
		if (value)
			strbuf_printf(sb, "%s%" PRIu64, n++ ? ", " : "", value);
	}
	strbuf_printf(sb, "], \"startValue\": 0, \"endValue\": %" PRIu64 "}", sum);
}

static void put(const struct summary *s, const struct stacks *st, struct strbuf *sb)
{
	size_t n = 0;

	strbuf_puts(sb, "{\"$schema\": \"" SCHEMA "\", \"exporter\": \"mmattach@" MM_VERSION "\"");
	json_string(sb, ", ", "name", s->target.comm ? s->target.comm : "mmattach");
	strbuf_puts(sb, ", \"activeProfileIndex\": 0,\n\t\"shared\": {\"frames\": [");
	strbuf_append(sb, strbuf_str(&st->frames), st->frames.len);
	strbuf_puts(sb, "]},\n\t\"profiles\": [");
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (views[i].lost && !s->run.verdicts.known)
			continue;
		strbuf_puts(sb, n++ ? ",\n\t" : "\n\t");
		put_profile(s, st, &views[i], sb);
	}
	strbuf_puts(sb, "]}\n");
}

int out_speedscope(const struct summary *s, size_t top, struct strbuf *sb)
{
	struct stacks st;
	int r;

	(void)top;
	if (summary_error(s))
		return summary_error(s);
	r = make_stacks(s, &st);
	if (r == 0) {
		put(s, &st, sb);
		r = strbuf_error(sb);
	}
	if (st.frames.err)
		r = st.frames.err;
	free_stacks(s, &st);
	return r;
}

const struct report_format report_format_speedscope = {
	.name = "speedscope", .what = "for speedscope.app, as JSON",
	.watch = out_speedscope, .has_freed = true,
	.why_not = "it shows the stacks of one watch, and has no numbers below 0",
};
