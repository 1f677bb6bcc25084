/* SPDX-License-Identifier: MIT */
/* text_lookup: see text_lookup.h. */
#include "report/text/groups/text_lookup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "report/fields/fields.h"
#include "report/model/format_text.h"
#include "report/model/text_parts.h"
#include "report/names/rows.h"
#include "report/query/lookup.h"
#include "report/text/groups/text_group.h"
#include "report/text/groups/text_growth.h"
#include "report/text/groups/columns.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_refs.h"
#include "report/text/groups/text_stack.h"

/* --- a group and its list --- */

static void make_columns(struct columns *t, const struct summary *s, const struct text_part *part)
{
	*t = (struct columns){ .all_of_it = true };
	columns_add(t, &fields_listed, "address");
	if (part->family.refs)
		columns_add(t, &fields_listed, "net");
	else if (!part->plain)
		columns_add(t, &fields_listed, "size_column");
	if (text_timed(s))
		columns_add(t, &fields_listed, "age_s");
}

static void put_rest(struct strbuf *sb, const struct text_part *part, const struct lookup_block *rest,
		     size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += rest[i].bytes;
	strbuf_printf(sb, "    and %zu more", n);
	if (!part->plain) {
		strbuf_puts(sb, ", ");
		format_size(sb, bytes);
	}
	strbuf_puts(sb, " (--top 0 lists them all)\n");
}

static int put_refs_entry(struct strbuf *sb, const struct summary *s, const struct text_part *part,
			  size_t top, size_t index)
{
	struct text_refs refs;
	int r = text_refs_make(s, part, top, &refs);

	if (r == 0)
		text_refs_entry(&refs, index, sb);
	text_refs_fini(&refs);
	return r;
}

static int put_group(struct strbuf *sb, const struct summary *s, const struct text_part *part, size_t index)
{
	struct text_groups groups;
	int r = text_groups_make(s, part, &groups);

	if (r == 0)
		text_group(sb, &groups, index);
	text_groups_fini(&groups);
	return r;
}

static int put_list(struct strbuf *sb, const struct summary *s, size_t top)
{
	const struct lookup *lk = s->lookup;
	size_t shown = top && top < lk->nlist ? top : lk->nlist, index = lk->question.entry - 1;
	const struct field_source source = { .s = s };
	struct columns t;
	struct text_part part;
	int r = 0;

	text_part(s, lk->part, &part);
	if (part.family.refs)
		r = put_refs_entry(sb, s, &part, top, index);
	else
		r = put_group(sb, s, &part, index);
	make_columns(&t, s, &part);
	strbuf_putc(sb, '\n');
	columns_heads(&t, sb);
	for (size_t i = 0; i < shown; i++) {
		strbuf_putc(sb, '\n');
		columns_cells(&t, &source, &lk->list[i], sb);
	}
	strbuf_putc(sb, '\n');
	if (shown < lk->nlist)
		put_rest(sb, &part, lk->list + shown, lk->nlist - shown);
	return r;
}

/* --- addresses --- */

static bool has_size(const struct lookup_found *f)
{
	return !f->refs && (!strcmp(f->noun, "block") || f->block.bytes > 1);
}

static void put_noun(struct strbuf *sb, const struct lookup_found *f)
{
	strbuf_puts(sb, *f->noun && strchr("aeiou", *f->noun) ? "an " : "a ");
	strbuf_text(sb, f->noun);
	if (has_size(f)) {
		strbuf_puts(sb, " of ");
		format_count(sb, f->block.bytes, "byte");
	}
}

static void put_family(struct strbuf *sb, const struct summary *s, const struct lookup_found *f)
{
	if (s->nfamilies < 2 && f->entry)
		return;
	strbuf_puts(sb, " (");
	strbuf_text(sb, f->family);
	strbuf_putc(sb, ')');
}

static void put_place(struct strbuf *sb, const struct summary *s, taddr addr, const struct lookup_found *f)
{
	strbuf_printf(sb, PRItaddr " ", addr);
	if (addr == f->block.addr) {
		strbuf_puts(sb, has_size(f) ? "is the beginning of " : "is ");
		put_noun(sb, f);
		put_family(sb, s, f);
		return;
	}
	strbuf_puts(sb, "lies ");
	format_count(sb, addr - f->block.addr, "byte");
	strbuf_puts(sb, " inside ");
	put_noun(sb, f);
	put_family(sb, s, f);
	strbuf_printf(sb, " at " PRItaddr, f->block.addr);
}

static void put_entry(struct strbuf *sb, const struct summary *s, const struct lookup_found *f)
{
	if (!f->entry) {
		strbuf_puts(sb, "    in no group: the report's options leave it out\n");
		return;
	}
	strbuf_puts(sb, "    group ");
	lookup_put_number(s, f, sb);
	strbuf_putc(sb, '\n');
}

static void put_verdict(struct strbuf *sb, enum verdict verdict)
{
	strbuf_puts(sb, ", ");
	text_mark_verdict(sb, verdict);
}

static void put_block(struct strbuf *sb, const struct summary *s, const struct lookup_found *f)
{
	const struct lookup_use *u = f->uses;

	if (f->verdict != VERDICT_UNKNOWN)
		put_verdict(sb, f->verdict);
	strbuf_puts(sb, ", allocated ");
	if (text_timed(s)) {
		format_seconds(sb, f->block.age_s);
		strbuf_puts(sb, " ago ");
	}
	strbuf_puts(sb, "by:\n");
	text_stack(sb, &u->stack);
}

static void put_use(struct strbuf *sb, const struct lookup_use *u)
{
	strbuf_puts(sb, "  ");
	if (u->taken) {
		strbuf_puts(sb, "acquired ");
		format_times(sb, (double)u->taken);
	}
	strbuf_puts(sb, u->taken && u->dropped ? ", " : "");
	if (u->dropped) {
		strbuf_puts(sb, "released ");
		format_times(sb, (double)u->dropped);
	}
	strbuf_putc(sb, '\n');
	text_stack(sb, &u->stack);
}

static void put_object(struct strbuf *sb, const struct summary *s, const struct lookup_found *f)
{
	strbuf_puts(sb, f->older ? " older than the watch" : "");
	strbuf_printf(sb, ", net %s%" PRId64, f->older && !f->counted && f->block.net > 0 ? "+" : "",
		      f->block.net);
	if (text_timed(s)) {
		strbuf_puts(sb, ", first seen ");
		format_seconds(sb, f->block.age_s);
		strbuf_puts(sb, " ago");
	}
	strbuf_puts(sb, f->nuses ? ":\n" : "\n");
	for (size_t i = 0; i < f->nuses; i++)
		put_use(sb, &f->uses[i]);
}

static void put_found(struct strbuf *sb, const struct summary *s, taddr addr, const struct lookup_found *f)
{
	put_place(sb, s, addr, f);
	if (f->refs)
		put_object(sb, s, f);
	else
		put_block(sb, s, f);
	put_entry(sb, s, f);
}

/* Gives the possible reasons: a trace has nothing about blocks from before the watch. */
static void put_nothing(struct strbuf *sb, const struct summary *s, const struct lookup_at *at)
{
	uint64_t lost = summary_lost_total(s);

	strbuf_printf(sb, PRItaddr " is in no live block: ", at->addr);
	strbuf_puts(sb, "freed, or older than the watch, or never allocated");
	if (summary_is_sampled(&s->run))
		strbuf_puts(sb, ", or not among the blocks that this sampled run tracked");
	if (s->run.sample_bytes)
		strbuf_puts(sb, ", or not in the sample");
	if (lost)
		strbuf_printf(sb, ", or its event is among the %" PRIu64 " lost", lost);
	strbuf_putc(sb, '\n');
}

static void put_at(struct strbuf *sb, const struct summary *s, const struct lookup_at *at)
{
	for (size_t i = 0; i < at->nfound; i++)
		put_found(sb, s, at->addr, &at->found[i]);
	if (!at->nfound)
		put_nothing(sb, s, at);
	if (!at->twice)
		return;
	strbuf_puts(sb, "    a block there was freed twice, the second time ");
	format_seconds(sb, at->twice_s);
	strbuf_puts(sb, " into the watch\n");
}

int text_lookup(const struct summary *s, size_t top, struct strbuf *sb)
{
	const struct lookup *lk = s->lookup;
	const size_t from = sb->len;
	int r = summary_error(s);

	if (r == 0 && lk->question.entry) {
		struct rows rows;

		r = rows_make(s, &rows);
		if (r == 0)
			r = put_list(sb, &rows.by_stack.view, top);
		rows_fini(&rows);
	}
	for (size_t i = 0; i < lk->nat && r == 0; i++) {
		if (i || lk->question.entry)
			strbuf_putc(sb, '\n');
		put_at(sb, s, &lk->at[i]);
	}
	text_mark_show(sb, from, s);
	return r < 0 ? r : strbuf_error(sb);
}
