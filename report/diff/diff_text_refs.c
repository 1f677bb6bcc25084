/* SPDX-License-Identifier: MIT */
/*
 * diff_text_refs: of objects with references, a difference for people.
 *
 *	objects with references
 *	            change     before        now
 *	  [1]          +20        509        529  grew      dict: leaky_lookup leaky.c:88
 */
#include <inttypes.h>
#include <stdbool.h>

#include "report/diff/diff_parts.h"
#include "report/model/text_parts.h"
#include "report/model/words.h"
#include "report/text/groups/text_stack.h"

#define COLUMN_NUMBER 6
#define COLUMN_DELTA 10
#define COLUMN_SIDE 9
#define COLUMN_CHANGE 9
#define COLUMN_WHERE (100 - 2 - COLUMN_NUMBER - COLUMN_DELTA - 2 * (2 + COLUMN_SIDE) - 2 - COLUMN_CHANGE)

static bool changed(const struct diff_refs *r)
{
	return r->change != DIFF_SAME;
}

static bool more(const struct diff_refs *r)
{
	return r->change == DIFF_GREW || r->change == DIFF_APPEARED;
}

static const struct summary_use *where(const struct summary_refs *r)
{
	static const struct summary_use none;

	return r->ntaken ? r->taken : r->ndropped ? r->dropped : &none;
}

/* --- the answer --- */

static void put_family(struct strbuf *sb, const struct summary_family *old, const struct summary_family *new)
{
	const struct text_part part = { .family = *new };

	text_things(sb, &part, new->kept);
	if (new->kept == old->kept)
		strbuf_puts(sb, ", as many as before");
	else if (new->kept > old->kept)
		strbuf_printf(sb, ", %" PRIu64 " more than before (%" PRIu64 ")", new->kept - old->kept, old->kept);
	else
		strbuf_printf(sb, ", %" PRIu64 " less than before (%" PRIu64 ")", old->kept - new->kept, old->kept);
}

void diff_text_refs_answer(struct strbuf *sb, const struct diff *d, const char *separator)
{
	for (size_t i = 0; i < d->new->nfamilies; i++) {
		const struct summary_family *new = &d->new->families[i];

		if (!new->refs)
			continue;
		strbuf_puts(sb, separator);
		put_family(sb, summary_family(d->old, new->name), new);
		separator = "; ";
	}
}

/* --- the table --- */

static void put_delta(struct strbuf *cell, const struct diff_refs *r)
{
	if (r->new_objects >= r->old_objects)
		strbuf_printf(cell, "+%" PRIu64, r->new_objects - r->old_objects);
	else
		strbuf_printf(cell, "-%" PRIu64, r->old_objects - r->new_objects);
}

static void put_where(struct strbuf *sb, const struct summary_refs *r)
{
	const struct summary_use *u = where(r);
	cleanup_strbuf struct strbuf family = STRBUF_INIT;

	words_cut(&family, r->family, COLUMN_WHERE / 3);
	strbuf_puts(&family, ": ");
	strbuf_puts(sb, strbuf_str(&family));
	text_where_of(sb, u->frames, u->depth, u->wrappers, NULL, COLUMN_WHERE - words_width(&family));
	if (family.err && !sb->err)
		sb->err = family.err;
}

static void put_row(struct strbuf *sb, size_t number, const struct diff_refs *r)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	if (more(r))
		strbuf_printf(&cell, "[%zu]", number);
	strbuf_puts(sb, "  ");
	words_left(sb, &cell, COLUMN_NUMBER);
	put_delta(&cell, r);
	words_right(sb, &cell, COLUMN_DELTA);
	strbuf_printf(sb, "  %*" PRIu64 "  %*" PRIu64 "  ", COLUMN_SIDE, r->old_objects, COLUMN_SIDE, r->new_objects);
	strbuf_puts(&cell, diff_change_name(r->change));
	words_left(sb, &cell, COLUMN_CHANGE);
	put_where(sb, r->refs);
	strbuf_putc(sb, '\n');
}

/* Of the @n that changed the first @top. */
static void put_table(struct strbuf *sb, const struct diff *d, size_t n, size_t top)
{
	size_t number = 0;

	strbuf_printf(sb, "\nobjects with references\n  %-*s%*s  %*s  %*s\n", COLUMN_NUMBER, "", COLUMN_DELTA, "change",
		      COLUMN_SIDE, "before", COLUMN_SIDE, "now");
	for (size_t i = 0; i < d->nrefs && (!top || number < top); i++)
		if (changed(&d->refs[i]))
			put_row(sb, ++number, &d->refs[i]);
	if (number < n)
		strbuf_printf(sb, "  and %zu more (--top 0 shows all)\n", n - number);
}

static void put_detail(struct strbuf *sb, const struct diff *d, size_t number, const struct diff_refs *r)
{
	const struct text_part part = { .family = *summary_family(d->new, r->refs->family) };
	const struct summary_use *u = where(r->refs);

	strbuf_printf(sb, "\n[%zu] ", number);
	put_delta(sb, r);
	strbuf_puts(sb, ": ");
	text_things(sb, &part, r->new_objects);
	if (r->change == DIFF_APPEARED)
		strbuf_puts(sb, ", none before");
	else
		strbuf_printf(sb, ", before %" PRIu64, r->old_objects);
	strbuf_puts(sb, r->refs->ntaken ? "; most suspect of who took references:\n" : "; dropped by:\n");
	text_stack(sb, u->frames, u->depth, u->wrappers, u->end);
}

void diff_text_refs(struct strbuf *sb, const struct diff *d, size_t top)
{
	size_t n = 0, number = 0;

	for (size_t i = 0; i < d->nrefs; i++)
		n += changed(&d->refs[i]);
	if (!n)
		return;
	put_table(sb, d, n, top);
	for (size_t i = 0; i < d->nrefs && (!top || number < top); i++)
		if (more(&d->refs[i]))
			put_detail(sb, d, ++number, &d->refs[i]);
}
