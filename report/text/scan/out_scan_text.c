/* SPDX-License-Identifier: MIT */
/* out_scan_text: see out_scan_text.h. The answer, the table, the groups; the rest is in other files. */
#include "report/text/scan/out_scan_text.h"

#include <inttypes.h>
#include <string.h>

#include "report/fields/fields.h"
#include "report/model/format_text.h"
#include "report/words/words.h"
#include "report/names/shortname.h"
#include "report/names/sitename.h"
#include "report/text/groups/columns.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_stack.h"
#include "report/text/groups/text_verdicts.h"
#include "report/text/scan/text_pointers.h"
#include "report/text/scan/text_scan_head.h"
#include "report/text/scan/text_scan_python.h"
#include "report/text/scan/text_scan_trace.h"
#include "report/text/text_certainty.h"
#include "report/text/text_filter.h"

#define NAME_WIDTH 40
#define COLUMN_NUMBER 6
#define COLUMN_BYTES 10
#define WHAT_WIDTH 64
#define CLASS_WIDTH 200
#define SAMPLES 4

static bool any_lost(const struct summary_verdicts *v)
{
	return v->all[VERDICT_DEFINITE].blocks || v->all[VERDICT_INDIRECT].blocks ||
	       v->all[VERDICT_POSSIBLE].blocks;
}

static void put_sum(struct strbuf *sb, const struct summary_sum *sum)
{
	if (!sum->blocks) {
		strbuf_puts(sb, "none");
		return;
	}
	strbuf_printf(sb, "%" PRIu64 " (", sum->blocks);
	format_size(sb, sum->bytes);
	strbuf_putc(sb, ')');
}

static void put_losses(struct strbuf *sb, const struct summary_verdicts *v)
{
	if (!v->known) {
		strbuf_puts(sb, "; which of them are lost is not known: ");
		strbuf_text(sb, v->why_not ? v->why_not : "it was not asked for");
		return;
	}
	if (!any_lost(v)) {
		strbuf_puts(sb, ", none of them lost");
		return;
	}
	strbuf_puts(sb, ": ");
	text_mark_verdict(sb, VERDICT_DEFINITE);
	strbuf_putc(sb, ' ');
	put_sum(sb, &v->all[VERDICT_DEFINITE]);
	if (v->all[VERDICT_INDIRECT].blocks) {
		strbuf_printf(sb, ", %s ", words_verdict(VERDICT_INDIRECT));
		put_sum(sb, &v->all[VERDICT_INDIRECT]);
	}
	strbuf_printf(sb, ", %s ", words_verdict(VERDICT_POSSIBLE));
	put_sum(sb, &v->all[VERDICT_POSSIBLE]);
}

/* If a core was truncated, the missing memory may be the reason: it is named before any other reason. */
static void put_missing(struct strbuf *sb, const struct scan_report *r)
{
	if (!r->core || !r->memory.missing)
		return;
	strbuf_puts(sb, "the core is not whole, ");
	format_size(sb, r->memory.missing);
	strbuf_puts(sb, " of memory are missing; in the rest, ");
}

static void put_unread(struct strbuf *missing, const struct scan_memory *m)
{
	if (!m->swapped && !m->missing)
		return;
	format_size(missing, m->swapped + m->missing);
	strbuf_puts(missing, " of memory could not be read");
}

static void put_corrupt(struct strbuf *missing, const struct scan_report *r)
{
	const uint64_t n = r->nproblems + r->more_problems;

	if (!n)
		return;
	text_certainty_next(missing);
	strbuf_puts(missing, "the heap is corrupt at ");
	format_count(missing, n, "place");
}

static void put_certainty(struct strbuf *sb, const struct scan_report *r)
{
	cleanup_strbuf struct strbuf missing = STRBUF_INIT;

	put_unread(&missing, &r->memory);
	put_corrupt(&missing, r);
	if (r->heap.known && !r->heap.adds_up) {
		text_certainty_next(&missing);
		strbuf_puts(&missing, "the allocator's own figures differ");
	}
	text_certainty_incomplete(sb, &missing);
	text_certainty_doubts(sb, &r->summary.run.verdicts);
}

/* What sees the blocks that a scan does not. */
static void put_instead(struct strbuf *sb, const struct scan_report *r)
{
	strbuf_puts(sb, "a watch works with any allocator: mmattach -p ");
	if (r->core || !r->summary.target.pid)
		strbuf_puts(sb, "PID -d 2m, as long as the process lives\n");
	else
		strbuf_printf(sb, "%d -d 2m\n", (int)r->summary.target.pid);
}

static void put_other(struct strbuf *sb, const struct scan_report *r)
{
	if (!r->heap.known || !r->heap.other)
		return;
	strbuf_puts(sb, "only blocks of ");
	strbuf_text(sb, r->heap.listed);
	strbuf_puts(sb, " are listed, none of ");
	strbuf_text(sb, r->heap.other);
	strbuf_puts(sb, "; ");
	put_instead(sb, r);
}

static void put_answer(struct strbuf *sb, const struct scan_report *r)
{
	const struct summary *s = &r->summary;

	format_cut(sb, s->target.comm ? s->target.comm : "the process", NAME_WIDTH);
	if (s->target.pid)
		strbuf_printf(sb, " (%d)", (int)s->target.pid);
	if (!r->heap.known && !s->totals.live_blocks) {
		strbuf_puts(sb, ": its blocks cannot be listed: ");
		put_missing(sb, r);
		strbuf_text(sb, r->heap.layout);
		strbuf_putc(sb, '\n');
		if (scan_allocator_is_other(r))
			put_instead(sb, r);
		return;
	}
	strbuf_puts(sb, r->core || r->trace.instead ? " had " : " has ");
	format_count(sb, s->totals.live_blocks, "block");
	strbuf_puts(sb, r->trace.instead ? " in use at the end of the watch, " : " in use, ");
	format_size(sb, s->totals.live_bytes);
	put_losses(sb, &s->run.verdicts);
	strbuf_putc(sb, '\n');
	put_other(sb, r);
	text_scan_trace(sb, r);
	if (!r->nanswers)
		text_filter(sb, s);
	put_certainty(sb, r);
}

/* --- the table --- */

/* The table shows content that is text, the first example; of other content only its kind. */
static void put_content(struct strbuf *sb, const char *content)
{
	const char *more = strstr(content, ": ");
	bool is_text = more && more[2] == '"';
	const char *next = is_text ? strstr(more + 3, "\", \"") : NULL;
	cleanup_strbuf struct strbuf shown = STRBUF_INIT;

	if (next)
		strbuf_append(&shown, content, (size_t)(next + 1 - content));
	else
		strbuf_append(&shown, content, more && !is_text ? (size_t)(more - content) : strlen(content));
	strbuf_puts(sb, ": ");
	format_cut(sb, strbuf_str(&shown), WHAT_WIDTH);
	strbuf_puts(sb, next ? ", ..." : "");
	if (shown.err && !sb->err)
		sb->err = shown.err;
}

static void put_site(struct strbuf *sb, const struct summary_group *g)
{
	strbuf_puts(sb, TEXT_BOLD);
	sitename(sb, g, NULL, WHAT_WIDTH);
	strbuf_puts(sb, TEXT_PLAIN);
}

/* "std::_Sp_counted_ptr_inplace<shop::Item>": what the library adds to its templates is left out. */
static void put_class(struct strbuf *sb, const char *class)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	shortname_full(&name, class, WHAT_WIDTH);
	format_cut(sb, strbuf_str(&name), WHAT_WIDTH);
	if (name.err && !sb->err)
		sb->err = name.err;
}

static void put_what(struct strbuf *sb, const struct summary_group *g)
{
	if (g->kind.class_name)
		put_class(sb, g->kind.class_name);
	else if (g->kind.label)
		format_cut(sb, g->kind.label, WHAT_WIDTH);
	else
		put_site(sb, g);
	text_lost_with(sb, g->kind.indirect_bytes, g->kind.indirect_blocks);
	if (g->kind.label && !g->kind.class_name && g->kind.content)
		put_content(sb, g->kind.content);
}

static void put_row(struct strbuf *sb, const struct scan_report *r, const struct columns *t, size_t i)
{
	const struct summary_group *g = &r->summary.groups[i];
	const struct field_source source = { .s = &r->summary, .view = &r->summary };
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	strbuf_printf(&cell, "[%zu]", i + 1);
	strbuf_puts(sb, "  " TEXT_BOLD);
	format_left(sb, &cell, COLUMN_NUMBER);
	strbuf_puts(sb, TEXT_PLAIN);
	columns_cells(t, &source, g, sb);
	put_what(sb, g);
	strbuf_putc(sb, '\n');
}

static void put_more(struct strbuf *sb, const struct scan_report *r, size_t from, size_t to)
{
	struct summary_sum sum = { 0, 0 };

	if (from >= to)
		return;
	for (size_t i = from; i < to; i++) {
		sum.blocks += r->summary.groups[i].blocks;
		sum.bytes += r->summary.groups[i].bytes;
	}
	strbuf_printf(sb, "  and %zu more: ", to - from);
	format_size(sb, sum.bytes);
	strbuf_puts(sb, " in ");
	format_count(sb, sum.blocks, "block");
	strbuf_puts(sb, " (--top 0 shows all)\n");
}

/*
 * Prints the groups of one verdict, from number @i on, at most half as many as @top; returns the number after
 * them.
 */
static size_t put_section(struct strbuf *sb, const struct scan_report *r, const struct columns *t, size_t top,
			  size_t i)
{
	enum verdict v = r->summary.groups[i].verdict;
	size_t end = i, shown;

	while (end < r->summary.ngroups && r->summary.groups[end].verdict == v)
		end++;
	shown = top && end - i > (top + 1) / 2 ? i + (top + 1) / 2 : end;
	strbuf_puts(sb, v == VERDICT_DEFINITE ? TEXT_RED : TEXT_BOLD);
	strbuf_printf(sb, "%s" TEXT_PLAIN, words_verdict_of_scan(v));
	strbuf_puts(sb, v == VERDICT_INDIRECT ? " (with those above, which hold them)\n" : "\n");
	for (; i < shown; i++)
		put_row(sb, r, t, i);
	put_more(sb, r, i, end);
	return end;
}

static void put_table(struct strbuf *sb, const struct scan_report *r, size_t top)
{
	struct columns t = { .n = 0 };
	struct column *bytes;

	if (!r->summary.ngroups)
		return;
	bytes = columns_add(&t, &fields_row, "bytes");
	bytes->head = "bytes";
	bytes->width = COLUMN_BYTES;
	columns_add(&t, &fields_row, "share");
	columns_add(&t, &fields_row, "blocks");
	strbuf_printf(sb, "\n  %-*s", COLUMN_NUMBER, "");
	columns_heads(&t, sb);
	strbuf_puts(sb, "what\n");
	for (size_t i = 0; i < r->summary.ngroups;) {
		strbuf_puts(sb, i ? "\n" : "");
		i = put_section(sb, r, &t, top, i);
	}
}

/* --- the groups --- */

static void put_kind(struct strbuf *sb, const struct summary_kind *k)
{
	if (k->class_name) {
		strbuf_puts(sb, "C++ class ");
		format_cut(sb, k->class_name, CLASS_WIDTH);
		if (k->module) {
			strbuf_puts(sb, " (");
			strbuf_text(sb, format_base(k->module));
			strbuf_putc(sb, ')');
		}
		strbuf_puts(sb, ", ");
	}
	strbuf_printf(sb, "%" PRIu64, k->size_low);
	if (k->size_high != k->size_low)
		strbuf_printf(sb, " to %" PRIu64, k->size_high);
	strbuf_puts(sb, " bytes each");
}

static void put_samples(struct strbuf *sb, const struct summary_group *g)
{
	for (size_t i = 0; i < g->nsamples && i < SAMPLES; i++)
		strbuf_printf(sb, "%s" PRItaddr,
			      i				? ", "
			      : g->blocks > g->nsamples ? ", for example "
							: ": ",
			      g->samples[i]);
}

static void put_verdict(struct strbuf *sb, enum verdict v)
{
	strbuf_puts(sb, ", ");
	if (v == VERDICT_DEFINITE)
		text_mark_verdict(sb, v);
	else
		strbuf_puts(sb, words_verdict_of_scan(v));
}

static void put_group(struct strbuf *sb, const struct scan_report *r, size_t i)
{
	const struct summary_group *g = &r->summary.groups[i];

	strbuf_printf(sb, "\n" TEXT_BOLD "[%zu]" TEXT_PLAIN " ", i + 1);
	format_size(sb, g->bytes);
	strbuf_puts(sb, " (");
	format_percent(sb, (double)g->bytes, (double)r->summary.totals.live_bytes);
	strbuf_puts(sb, ") in ");
	format_count(sb, g->blocks, "block");
	if (r->summary.run.verdicts.known)
		put_verdict(sb, g->verdict);
	text_lost_with(sb, g->kind.indirect_bytes, g->kind.indirect_blocks);
	strbuf_puts(sb, "\n    ");
	put_kind(sb, &g->kind);
	put_samples(sb, g);
	strbuf_putc(sb, '\n');
	if (g->kind.content) {
		strbuf_puts(sb, "    holds ");
		format_cut(sb, g->kind.content, CLASS_WIDTH);
		strbuf_putc(sb, '\n');
	}
	if (g->tag) {
		strbuf_puts(sb, "    tag ");
		strbuf_text(sb, g->tag);
		strbuf_putc(sb, '\n');
	}
	if (!g->kind.label)
		text_stack(sb, &g->stack);
}

/* Not of reachable groups by size: the table has said all of them that is known. */
static bool has_more(const struct summary_group *g)
{
	return (g->verdict != VERDICT_REACHABLE && g->verdict != VERDICT_UNKNOWN) || !g->kind.label ||
	       g->kind.class_name;
}

static void put_groups(struct strbuf *sb, const struct scan_report *r, size_t top)
{
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < r->summary.ngroups; i++) {
		if (!has_more(&r->summary.groups[i]))
			continue;
		if (!top || shown++ < top)
			put_group(sb, r, i);
		else
			left++;
	}
	if (!left)
		return;
	strbuf_putc(sb, '\n');
	format_count(sb, left, "more group");
	strbuf_puts(sb, " not shown in full (--top 0 shows all)\n");
}

int out_scan_text_answer(const struct scan_report *r, struct strbuf *sb)
{
	const size_t from = sb->len;

	if (scan_error(r))
		return scan_error(r);
	put_answer(sb, r);
	text_mark_remove(sb, from);
	return strbuf_error(sb);
}

int out_scan_text(const struct scan_report *r, size_t top, struct strbuf *sb)
{
	const size_t from = sb->len;

	if (scan_error(r))
		return scan_error(r);
	put_answer(sb, r);
	if (r->nanswers) {
		text_pointers(sb, r, top);
	} else {
		put_table(sb, r, top);
		put_groups(sb, r, top);
		text_scan_python(sb, r, top);
	}
	strbuf_putc(sb, '\n');
	text_scan_head(sb, r);
	text_mark_show(sb, from, &r->summary);
	return strbuf_error(sb);
}
