/* SPDX-License-Identifier: MIT */
/* out_diff_text: see out_diff_text.h. */
#include "report/text/out_diff_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/fields/table.h"
#include "report/model/format_text.h"
#include "report/model/text_parts.h"
#include "report/names/sitename.h"
#include "report/text/groups/columns.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_stack.h"
#include "report/text/groups/wrap.h"
#include "report/text/text_diff_process.h"
#include "report/text/text_filter.h"
#include "report/text/text_processes.h"

#define COLUMN_NUMBER 6
#define COLUMN_CHANGE 9
#define RATES_WIDER 4	/* how much wider the columns of numbers are if some are rates */
#define WHERE_LEAST 12u	/* with less no function can be recognised */

/* "range", "descriptor"; "block" if families have different nouns: it is the only one that fits all. */
static const char *noun_of_all(const struct diff *d)
{
	const struct summary *const sides[] = { d->old, d->new };
	const char *noun = NULL;

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < sides[k]->nfamilies; i++) {
			const struct summary_family *f = &sides[k]->families[i];

			if (f->refs)
				continue;
			if (noun && strcmp(noun, f->noun) != 0)
				return "block";
			noun = f->noun;
		}
	return noun ? noun : "block";
}

static const char *noun_of(const struct diff *d, const struct diff_group *g)
{
	const struct summary_family *f = summary_family(d->new, g->group->family);

	return f->name ? f->noun : summary_family(d->old, g->group->family)->noun;
}

static void put_amount(struct strbuf *sb, uint64_t bytes, uint64_t blocks, const char *noun)
{
	format_size(sb, bytes);
	strbuf_puts(sb, " in ");
	format_count(sb, blocks, noun);
}

/*
 * For watches that are not equally long: a longer one has more of what leaks, so a difference of bytes would
 * mean nothing.
 */
static void put_totals_of_times(struct strbuf *sb, const struct diff *d, const char *noun)
{
	strbuf_puts(sb, " after ");
	format_seconds(sb, d->new->run.seconds);
	strbuf_puts(sb, "; before ");
	put_amount(sb, d->old->totals.live_bytes, d->old->totals.live_blocks, noun);
	strbuf_puts(sb, " after ");
	format_seconds(sb, d->old->run.seconds);
}

static void put_totals(struct strbuf *sb, const struct diff *d)
{
	const struct summary_totals *old = &d->old->totals, *new = &d->new->totals;
	const char *noun = noun_of_all(d);

	put_amount(sb, new->live_bytes, new->live_blocks, noun);
	strbuf_puts(sb, new->live_blocks == 1 ? " is still live" : " are still live");
	if (d->by_rate) {
		put_totals_of_times(sb, d, noun);
		return;
	}
	if (new->live_bytes == old->live_bytes) {
		strbuf_puts(sb, ", as many bytes as before");
	} else {
		strbuf_puts(sb, ", ");
		format_size(sb, new->live_bytes > old->live_bytes ? new->live_bytes - old->live_bytes
								 : old->live_bytes - new->live_bytes);
		strbuf_puts(sb,
			    new->live_bytes > old->live_bytes ? " more than before" : " less than before");
	}
	strbuf_puts(sb, " (");
	put_amount(sb, old->live_bytes, old->live_blocks, noun);
	strbuf_putc(sb, ')');
}

static void put_refs_family(struct strbuf *sb, const struct summary_family *old,
			    const struct summary_family *new)
{
	const struct text_part part = { .family = *new };

	text_things(sb, &part, new->live);
	if (new->live == old->live)
		strbuf_puts(sb, ", as many as before");
	else if (new->live > old->live)
		strbuf_printf(sb, ", %" PRIu64 " more than before (%" PRIu64 ")", new->live - old->live,
			      old->live);
	else
		strbuf_printf(sb, ", %" PRIu64 " fewer than before (%" PRIu64 ")", old->live - new->live,
			      old->live);
}

/* "529 dict objects, 20 more than before (509)" for each such family; @separator comes before the first. */
static void put_refs_answer(struct strbuf *sb, const struct diff *d, const char *separator)
{
	for (size_t i = 0; i < d->new->nfamilies; i++) {
		const struct summary_family *new = &d->new->families[i];

		if (!new->refs)
			continue;
		strbuf_puts(sb, separator);
		put_refs_family(sb, summary_family(d->old, new->name), new);
		separator = "; ";
	}
}

static void put_answer(struct strbuf *sb, const struct diff *d)
{
	bool blocks = text_counts_blocks(d->old) || text_counts_blocks(d->new);

	if (summary_is_merged(d->new))
		text_processes_name(sb, d->new);
	else
		strbuf_text(sb, d->new->target.comm ? d->new->target.comm : "the process");
	strbuf_puts(sb, ": ");
	if (blocks)
		put_totals(sb, d);
	put_refs_answer(sb, d, blocks ? "; " : "");
	strbuf_putc(sb, '\n');
}

static void put_times(struct strbuf *sb, const struct diff *d)
{
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (!d->by_rate)
		return;
	strbuf_puts(&line, "the watches were not equally long: of a group that grows, the table has the live bytes "
			   "per minute of watch. A group of which the longer watch had as much after ");
	format_seconds(&line, diff_equal_seconds(d));
	strbuf_puts(&line, " counts as the same");
	strbuf_putc(&line, '\n');
	wrap(sb, &line, d->new->columns ? d->new->columns : WRAP_WIDTH, 0);
}

static void put_rate_change(struct strbuf *sb, double change)
{
	strbuf_putc(sb, change < 0 ? '-' : '+');
	format_rate(sb, fabs(change), false);
}

static void put_delta(struct strbuf *sb, const struct diff *d, const struct diff_group *g)
{
	if (g->rated) {
		put_rate_change(sb, diff_rate(d->new, g->new_bytes) - diff_rate(d->old, g->old_bytes));
	} else if (g->new_bytes == g->old_bytes) {
		strbuf_puts(sb, "0 B");
	} else if (g->new_bytes > g->old_bytes) {
		strbuf_putc(sb, '+');
		format_size(sb, g->new_bytes - g->old_bytes);
	} else {
		strbuf_putc(sb, '-');
		format_size(sb, g->old_bytes - g->new_bytes);
	}
}

static void put_side(struct strbuf *sb, const struct summary *s, uint64_t bytes, bool rated)
{
	if (rated)
		format_rate(sb, diff_rate(s, bytes), false);
	else
		format_size(sb, bytes);
}

static size_t wider(const struct diff *d)
{
	return d->by_rate ? RATES_WIDER : 0;
}

/* --- columns --- */

/* As a report of each watch has it: how fast it grows at the end. */
static void put_growth(struct strbuf *cell, double rate)
{
	format_rate(cell, rate, false);
}

#define CHANGE_COLUMNS(F)										\
	F(made, delta, 0, put_delta(&v->made, c->diff, g), COLUMN("change", 10, "What changed."))	\
	F(made, before, 0, put_side(&v->made, c->diff->old, g->old_bytes, g->rated),			\
	  COLUMN("before", 11, "In the old watch."))							\
	F(made, now, 0, put_side(&v->made, c->diff->new, g->new_bytes, g->rated),			\
	  COLUMN("now", 11, "In the new watch."))							\
	F(made, nothing, 0, (void)g, COLUMN("", 10, "In place of a change."))				\
	F(made, old_growth, 0, put_growth(&v->made, g->old_growth), COLUMN("", 11, "Of the old watch."))	\
	F(made, new_growth, 0, put_growth(&v->made, g->new_growth), COLUMN("", 11, "Of the new watch."))

FIELDS(change_columns, const struct diff_group *g, CHANGE_COLUMNS, "Columns of a comparison.");

static void put_refs_delta(struct strbuf *cell, const struct diff_refs *r)
{
	if (r->new_objects >= r->old_objects)
		strbuf_printf(cell, "+%" PRIu64, r->new_objects - r->old_objects);
	else
		strbuf_printf(cell, "-%" PRIu64, r->old_objects - r->new_objects);
}

#define REF_CHANGE_COLUMNS(F)										\
	F(made, delta, 0, put_refs_delta(&v->made, r), COLUMN("change", 10, "What changed."))		\
	F(uint, before, 0, r->old_objects, COLUMN("before", 11, "In the old watch."))			\
	F(uint, now, 0, r->new_objects, COLUMN("now", 11, "In the new watch."))

FIELDS(ref_change_columns, const struct diff_refs *r, REF_CHANGE_COLUMNS, "Columns of a comparison of objects.");

/* Three columns of numbers, which are wider if they have rates. */
static void make_columns(struct columns *t, const struct fields *of, const char *const keys[3], size_t more)
{
	*t = (struct columns){ .all_of_it = true };
	for (size_t i = 0; i < 3; i++)
		columns_add(t, of, keys[i])->width += (int)more;
}

static const char *const usual_keys[] = { "delta", "before", "now" };

/* The numbers of a row, and the word behind them. */
static void put_cells(struct strbuf *sb, const struct columns *t, const struct diff *d, const void *object,
		      const char *word)
{
	const struct field_source source = { .diff = d };

	columns_cells(t, &source, object, sb);
	strbuf_printf(sb, "  %-*s", COLUMN_CHANGE, word);
}

static void put_heads(struct strbuf *sb, const struct columns *t)
{
	strbuf_printf(sb, "  %-*s", COLUMN_NUMBER, "");
	columns_heads(t, sb);
	strbuf_putc(sb, '\n');
}

/* Behind the other columns: the rest of a line, or of the terminal's. */
static size_t where_width(const struct diff *d, const struct columns *t)
{
	const size_t line = d->new->columns ? d->new->columns : WRAP_ROW_WIDTH;
	const size_t others = 2 + COLUMN_NUMBER + columns_width(t) + 2 + COLUMN_CHANGE;

	return line > others + WHERE_LEAST ? line - others : WHERE_LEAST;
}

static bool more(const struct diff_group *g)
{
	return diff_is_more(g->change);
}

static bool less(const struct diff_group *g)
{
	return g->change == DIFF_SHRANK || g->change == DIFF_WENT;
}

static void put_number(struct strbuf *sb, struct strbuf *cell)
{
	strbuf_puts(sb, "  " TEXT_BOLD);
	format_left(sb, cell, COLUMN_NUMBER);
	strbuf_puts(sb, TEXT_PLAIN);
}

static void put_name(struct strbuf *sb, const struct diff *d, const struct columns *t,
		     const struct diff_group *g)
{
	strbuf_puts(sb, TEXT_BOLD);
	sitename(sb, g->group, &g->apart, where_width(d, t));
	strbuf_puts(sb, TEXT_PLAIN "\n");
}

/* Only groups whose stack is shown below have a number. */
static void put_row(struct strbuf *sb, const struct diff *d, const struct columns *t,
		    const struct diff_group *g)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	if (more(g))
		strbuf_printf(&cell, "[%zu]", g->number);
	put_number(sb, &cell);
	put_cells(sb, t, d, g, diff_change_name(g->change));
	put_name(sb, d, t, g);
}

/* The worst verdict of its blocks, if they have one. */
static void put_verdict(struct strbuf *sb, const struct summary_group *g, bool mixed)
{
	if (g->verdict == VERDICT_UNKNOWN)
		return;
	strbuf_puts(sb, ", ");
	text_mark_verdict(sb, g->verdict);
	strbuf_puts(sb, mixed ? " in part" : "");
}

static void put_stack(struct strbuf *sb, const struct diff *d, const struct diff_group *g)
{
	const char *noun = noun_of(d, g);

	strbuf_printf(sb, "\n" TEXT_BOLD "[%zu]" TEXT_PLAIN " ", g->number);
	put_delta(sb, d, g);
	strbuf_puts(sb, ": ");
	put_amount(sb, g->new_bytes, g->new_blocks, noun);
	if (g->change == DIFF_APPEARED) {
		strbuf_puts(sb, ", nothing before");
	} else {
		strbuf_puts(sb, ", before ");
		put_amount(sb, g->old_bytes, g->old_blocks, noun);
	}
	put_verdict(sb, g->group, g->mixed);
	strbuf_putc(sb, '\n');
	if (g->several)
		strbuf_puts(sb, "    of several stacks with these functions; one of them:\n");
	text_stack(sb, &g->group->stack);
}

/*
 * How many rows there are of groups that grew, and of groups that shrank; those that shrank most are the last
 * of the list.
 */
struct row_counts {
	size_t grown, shrunk;		/* in all */
	size_t grown_shown, shrunk_shown;
};

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A third of the table is reserved for groups that shrank, so that neither kind crowds out the other. */
static struct row_counts choose(const struct diff *d, size_t top)
{
	struct row_counts rows = { 0 };

	for (size_t i = 0; i < d->ngroups; i++) {
		rows.grown += more(&d->groups[i]);
		rows.shrunk += less(&d->groups[i]);
	}
	if (!top)
		top = d->ngroups;
	rows.grown_shown = smaller(rows.grown, top - smaller(rows.shrunk, top / 3));
	rows.shrunk_shown = smaller(rows.shrunk, top - rows.grown_shown);
	return rows;
}

/* The groups that have a row, in the order of the table. Returns their number. */
static size_t choose_rows(const struct diff *d, const struct row_counts *rows, const struct diff_group **out)
{
	size_t grown = 0, shrunk = 0, n = 0;

	for (size_t i = 0; i < d->ngroups; i++) {
		const struct diff_group *g = &d->groups[i];

		if ((more(g) && grown++ < rows->grown_shown) ||
		    (less(g) && shrunk++ >= rows->shrunk - rows->shrunk_shown))
			out[n++] = g;
	}
	return n;
}

static void put_rows(struct strbuf *sb, const struct diff *d, const struct columns *t,
		     const struct row_counts *rows)
{
	cleanup_free const struct diff_group **shown = calloc(d->ngroups + 1, sizeof(*shown));
	size_t n;

	if (!shown) {
		sb->err = sb->err ? sb->err : -ENOMEM;
		return;
	}
	n = choose_rows(d, rows, shown);
	for (size_t i = 0; i < n; i++)
		put_row(sb, d, t, shown[i]);
}

static void put_table(struct strbuf *sb, const struct diff *d, const struct row_counts *rows)
{
	struct columns t;

	make_columns(&t, &fields_change_columns, usual_keys, wider(d));
	strbuf_putc(sb, '\n');
	put_heads(sb, &t);
	put_rows(sb, d, &t, rows);
	if (rows->grown_shown < rows->grown || rows->shrunk_shown < rows->shrunk)
		strbuf_printf(
			sb,
			"  and %zu more that grew or appeared, %zu that shrank or went (--top 0 shows all)\n",
			rows->grown - rows->grown_shown, rows->shrunk - rows->shrunk_shown);
}

/* --- what goes on growing --- */

static size_t count_going_on(const struct diff *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->ngroups; i++)
		n += d->groups[i].goes_on;
	return n;
}

/* Their numbers follow one another. */
static const struct diff_group *next_going_on(const struct diff *d, const struct diff_group *before)
{
	const struct diff_group *next = NULL;

	for (size_t i = 0; i < d->ngroups; i++) {
		const struct diff_group *g = &d->groups[i];

		if (!g->goes_on || more(g) || (before && g->number <= before->number))
			continue;
		if (!next || g->number < next->number)
			next = g;
	}
	return next;
}

static void put_going_on_row(struct strbuf *sb, const struct diff *d, const struct columns *t,
			     const struct diff_group *g)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	strbuf_printf(&cell, "[%zu]", g->number);
	put_number(sb, &cell);
	put_cells(sb, t, d, g, "goes on");
	put_name(sb, d, t, g);
}

/*
 * Groups that grow in both watches, and are the same by what each had after equal times: a diff of two
 * watches of a process that leaks all the time would not show the leak without them.
 */
static void put_going_on(struct strbuf *sb, const struct diff *d, size_t top)
{
	static const char *const keys[] = { "nothing", "old_growth", "new_growth" };
	const size_t n = count_going_on(d);
	const struct diff_group *g = NULL;
	struct columns t;
	size_t shown = 0;

	if (!n)
		return;
	strbuf_puts(sb, "\n  grows in both watches, and is the same otherwise (how fast it grows at the end of each):\n");
	make_columns(&t, &fields_change_columns, keys, wider(d));
	while ((!top || shown < top) && (g = next_going_on(d, g))) {
		put_going_on_row(sb, d, &t, g);
		shown++;
	}
	if (shown < n)
		strbuf_printf(sb, "  and %zu more (--top 0 shows all)\n", n - shown);
	for (g = NULL; shown-- && (g = next_going_on(d, g));)
		put_stack(sb, d, g);
}

/* --- objects with references --- */

static bool changed_refs(const struct diff_refs *r)
{
	return r->change != DIFF_SAME;
}

static bool more_refs(const struct diff_refs *r)
{
	return diff_is_more(r->change);
}

static void put_refs_where(struct strbuf *sb, const struct diff *d, const struct columns *t,
			   const struct summary_refs *r)
{
	const size_t width = where_width(d, t);
	const struct summary_use *u = diff_refs_use(r);
	cleanup_strbuf struct strbuf family = STRBUF_INIT;

	format_cut(&family, r->family, width / 3);
	strbuf_puts(&family, ": ");
	strbuf_puts(sb, strbuf_str(&family));
	strbuf_puts(sb, TEXT_BOLD);
	sitename_of(sb, &u->stack, NULL, width - format_width(&family));
	strbuf_puts(sb, TEXT_PLAIN);
	if (family.err && !sb->err)
		sb->err = family.err;
}

static void put_refs_row(struct strbuf *sb, const struct diff *d, const struct columns *t,
			 const struct diff_refs *r)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	if (more_refs(r))
		strbuf_printf(&cell, "[%zu]", r->number);
	put_number(sb, &cell);
	put_cells(sb, t, d, r, diff_change_name(r->change));
	put_refs_where(sb, d, t, r->refs);
	strbuf_putc(sb, '\n');
}

/* The first @top of the @n that changed. */
static void put_refs_table(struct strbuf *sb, const struct diff *d, size_t n, size_t top)
{
	struct columns t;
	size_t number = 0;

	strbuf_puts(sb, "\n" TEXT_BOLD "objects with references" TEXT_PLAIN "\n");
	make_columns(&t, &fields_ref_change_columns, usual_keys, 0);
	put_heads(sb, &t);
	for (size_t i = 0; i < d->nrefs && (!top || number < top); i++)
		if (changed_refs(&d->refs[i])) {
			put_refs_row(sb, d, &t, &d->refs[i]);
			number++;
		}
	if (number < n)
		strbuf_printf(sb, "  and %zu more (--top 0 shows all)\n", n - number);
}

static void put_refs_detail(struct strbuf *sb, const struct diff *d, const struct diff_refs *r)
{
	const struct text_part part = { .family = *summary_family(d->new, r->refs->family) };
	const struct summary_use *u = diff_refs_use(r->refs);

	strbuf_printf(sb, "\n" TEXT_BOLD "[%zu]" TEXT_PLAIN " ", r->number);
	put_refs_delta(sb, r);
	strbuf_puts(sb, ": ");
	text_things(sb, &part, r->new_objects);
	if (r->change == DIFF_APPEARED)
		strbuf_puts(sb, ", none before");
	else
		strbuf_printf(sb, ", before %" PRIu64, r->old_objects);
	strbuf_puts(sb, r->refs->nacquired ? "; the most suspect call site that acquired references:\n"
					: "; released by:\n");
	text_stack(sb, &u->stack);
}

/* The table of objects, and the most suspect call sites of those that grew; at most @top, 0: all. */
static void put_all_refs(struct strbuf *sb, const struct diff *d, size_t top)
{
	size_t n = 0, number = 0;

	for (size_t i = 0; i < d->nrefs; i++)
		n += changed_refs(&d->refs[i]);
	if (!n)
		return;
	put_refs_table(sb, d, n, top);
	for (size_t i = 0; i < d->nrefs && (!top || number < top); i++)
		if (more_refs(&d->refs[i])) {
			put_refs_detail(sb, d, &d->refs[i]);
			number++;
		}
}

/* --- all --- */

static void put_first(struct strbuf *sb, const struct diff *d)
{
	put_answer(sb, d);
	put_times(sb, d);
	text_diff_process(sb, d);
	text_filter_diff(sb, d->new);
}

int out_diff_text_answer(const struct diff *d, struct strbuf *sb)
{
	const size_t from = sb->len;

	if (diff_error(d))
		return diff_error(d);
	put_first(sb, d);
	text_mark_remove(sb, from);
	return strbuf_error(sb);
}

int out_diff_text(const struct diff *d, size_t top, struct strbuf *sb)
{
	struct row_counts rows = choose(d, top);
	const size_t from = sb->len;
	size_t shown = 0;

	if (diff_error(d))
		return diff_error(d);
	put_first(sb, d);
	if (rows.grown || rows.shrunk)
		put_table(sb, d, &rows);
	for (size_t i = 0; i < d->ngroups && shown < rows.grown_shown; i++)
		if (more(&d->groups[i])) {
			put_stack(sb, d, &d->groups[i]);
			shown++;
		}
	put_going_on(sb, d, top);
	put_all_refs(sb, d, top);
	text_mark_show(sb, from, d->new);
	return strbuf_error(sb);
}
