/* SPDX-License-Identifier: MIT */
/* Rows: what people see as one (report/names/rows.h); and the families that they are of. */
#include "report/fields/parts.h"
#include "report/fields/table.h"

#include "report/words/words.h"
#include "report/names/rows.h"

#define FAMILY(F) \
	F(string, family, ALL, f->name, "Its name.")							\
	F(string, noun, ALL, f->noun, "What one of it is called.")					\
	F(bool, plain, ALL, text_family_is_plain(f), "They have no sizes: descriptors, objects.")	\
	F(bool, references, ALL, f->refs, "Of objects with references.")				\
	F(uint, acquired, ALL, f->acquired, "Allocations, or references that were acquired.")		\
	F(uint, released, ALL, f->released, "Frees, or references that were released.")			\
	F(uint, live, ALL, f->live, "Live blocks, or objects whose net count is not 0.")		\
	F(bytes, bytes, ALL, f->bytes, "Of live blocks.")

FIELDS(family, const struct summary_family *f, FAMILY, "What rows are of.");

static size_t row_number(const struct field_source *c, const struct summary_group *row)
{
	return (size_t)(row - c->view->groups);
}

#define LOST_ROW(F) FIELDS_OF_HANG(F, row, c->view)

FIELDS(lost_row, const struct summary_hang *h, LOST_ROW, "A row that is lost with these blocks.");

static struct summary_sum lost_with(const struct field_source *c, const struct summary_group *row)
{
	const struct summary_sum sum = row_sum(c->view, row);

	return (struct summary_sum){ sum.blocks - row->blocks, sum.bytes - row->bytes };
}

static const struct summary_group *instead_of(const struct field_source *c, const struct summary_group *row)
{
	return c->view->run.seconds > 0 ? summary_grows_instead(c->view, row) : NULL;
}

static size_t number_instead(const struct field_source *c, const struct summary_group *row)
{
	const struct summary_group *instead = instead_of(c, row);

	return instead ? instead->number : 0;
}

/* In a page each series is there once: a row that is one group, and no more, has that group's. */
static bool has_series(const struct field_source *c, const struct summary_group *row)
{
	const size_t first = c->groups.first[row_number(c, row)];

	return !c->page || !first || c->groups.next[first - 1] || row->nhangs ||
	       row->bytes != c->s->groups[first - 1].bytes;
}

static bool has_parts(const struct field_source *c, const struct summary_group *row)
{
	return !c->page || row->parts[row->verdict].blocks != row->blocks;
}

#define ROW_GROWTH(F) \
	F(word(shape), shape, ALL | C, row->growth.shape, \
	  "unknown: too short to say; slows: grows more slowly; level: levelled off; once: came at once.") \
	F(real, bytes_per_minute, ALL | C, row->growth.bytes_per_minute, "As in a group.")		\
	F(seconds, since_s, ALL, row->growth.since_s, "As in a group.")				\
	F(real, replaced_per_minute, ALL, row->growth.replaced_per_minute, "As in a group.")		\
	F(made, text, ALL, row_growth(&v->made, c->view, row, false),				\
	  "As a table has it: \"+1.2 MiB/min\"; \"\" if the run has no times.")

FIELDS(row_growth, const struct summary_group *row, ROW_GROWTH, "How all of a row grows.");

#define MARK(F, view, family_, number_) \
	F(uint, number, ALL, number_, "The n of its [n], of each family from 1.")			\
	F(made, mark, ALL, row_mark(&v->made, view, family_, number_), \
	  "\"[3]\", or \"[fd 3]\" if there are several families.")					\
	F(string, family, ALL, family_, "Its family.")

#define ROW(F) \
	MARK(F, c->view, row->family, row->number) \
	F(made, name, ALL | CS, row_name(&v->made, row), \
	  "What a table calls it: at most 80 characters.")						\
	F(word(section), section, ALL, row_section(c->view, row), \
	  "In which part of a table. indirect: lost with other rows, in which it is counted.")		\
	F(word(verdict), verdict, ALL | CS, row->verdict, COLUMN("verdict", -10, "The worst of its parts."))			\
	F(uint, blocks, ALL | CS, row_sum(c->view, row).blocks, COLUMN("blocks", 9, "Its own, and those of lost_with."))	\
	F(bytes, bytes, ALL | CS, row_sum(c->view, row).bytes, COLUMN("live", 9, "Their bytes.")) \
	F(share, share, ALL | CS, row_share(c->view, row), \
	  COLUMN("share", 7, "Of the live bytes of its family; of blocks, if these have no size."))				\
	F(sums, parts, ALL, WHEN(has_parts(c, row), row->parts), "Its own blocks, by verdict.")		\
	F(sum, lost_with, ALL, lost_with(c, row), "Of other rows, which are lost with its blocks.")	\
	F(seconds, oldest_s, ALL, row->oldest_s, "Age of the oldest live block at the end.")		\
	F(seconds, youngest_s, ALL, row->youngest_s, "Of the youngest one.")				\
	F(flat(row_growth, "growth_"), growth, ALL | C, row, "Of all of the row.")			\
	F(uint_or_null, grows_in, ALL, OR_NULL(instead_of(c, row), number_instead(c, row)), \
	  "It is lost, and its younger blocks are in the row with this number, which grows.")		\
	F(made, leaks, ALL | OPT, put_leaks(c, row, v), \
	  COLUMN("leaks a minute", -32,								\
		 "Of a watch with --budget: what it leaks a minute, or what becomes of its blocks, as a table has it.")) \
	F(made, growth_column, 0, row_growth(&v->made, c->view, row, c->view->columns > 0),	\
	  COLUMN("growth", -WORDS_GROWTH_WIDTH - 1, "In a table: short, on a narrow terminal."))	\
	F(made, calls_column, 0, put_calls(row, v), COLUMN("calls/min", 10, "In a table."))	\
	F(list(lost_row), lost_rows, ALL, ARRAY(row->hangs, row->nhangs), \
	  "Of which lost_with is the sum.")								\
	FIELDS_OF_SHARES(F, ALL, row) \
	F(series_or_null, series, ALL, OR_NULL(has_series(c, row), POINTS(row->series, row->npoints)), \
	  "As in a group.")										\
	F(numbers, groups, ALL, CHAIN(c->groups, row_number(c, row)), "Its groups: indices in groups.")

static void put_leaks(const struct field_source *c, const struct summary_group *row, struct field_value *v)
{
	v->absent = !summary_is_sampled(&c->view->run);
	if (!v->absent)
		words_leaks_cell(&v->made, row);
}

static void put_calls(const struct summary_group *row, struct field_value *v)
{
	const struct summary_sample *its = words_sample_of(row);

	if (words_rate_known(its))
		words_amount(&v->made, its->allocs.value, true);
	else
		strbuf_putc(&v->made, '?');
}

FIELDS(row, const struct summary_group *row, ROW,
       "What people see as one: a stack with its parts by verdict; of a scan a group.");

/* --- objects --- */

#define REF_ROW_GROWTH(F) \
	F(word(shape), shape, ALL | C, row->refs.growth.shape, "As in a row of blocks.")		\
	F(real, references_per_minute, ALL | C, row->refs.growth.bytes_per_minute, "References.")	\
	F(seconds, since_s, ALL, row->refs.growth.since_s, "As in a group.")				\
	F(made, text, ALL, row_refs_growth(&v->made, c->s, row), "As a table has it.")

FIELDS(ref_row_growth, const struct merged_refs *row, REF_ROW_GROWTH, "How references of a row grow.");

static size_t ref_row_number(const struct field_source *c, const struct merged_refs *row)
{
	return (size_t)(row - c->rows->refs);
}

static double share_of(const struct merged_refs *row)
{
	return row->refs.nacquired ? summary_use_share(row->refs.acquired) : 0;
}

#define REF_ROW(F) \
	MARK(F, c->s, row->refs.family, row->number) \
	F(made, name, ALL | C, row_refs_name(&v->made, row), \
	  "What a table calls it: at most 80 characters.")						\
	F(word(section), section, ALL, summary_refs_section(c->s, &row->refs), \
	  "In which part of a table.")									\
	F(uint, objects, ALL | C, row->refs.objects, COLUMN("objects", 9, "How many there are."))				\
	F(ints, net, ALL, (v->ints[0] = row->least, v->ints[1] = row->most), \
	  "The least and the greatest net count.")							\
	F(made, net_text, ALL, row_refs_net(&v->made, row), COLUMN("net", 9, "As a table has it: \"1\", \"1..43\"."))	\
	F(seconds, oldest_s, ALL, row->refs.oldest_s, "Since the first reference that was seen.")		\
	F(seconds, youngest_s, ALL, row->refs.youngest_s, "Of the youngest one.")				\
	F(share, live_share, 0, OR_NULL(row->refs.nacquired, share_of(row)), \
	  COLUMN("live", 7, "Of what the first call site acquired: on objects that still exist."))	\
	F(made, growth_column, 0, row_refs_growth(&v->made, c->s, row),				\
	  COLUMN("growth", -WORDS_GROWTH_WIDTH - 1, "In a table."))				\
	F(flat(ref_row_growth, "growth_"), growth, ALL | C, row, "Of all of the row.")			\
	F(series, series, ALL, POINTS(row->refs.series, row->refs.npoints), "References in time.")	\
	F(numbers, refs, ALL, CHAIN(c->refs, ref_row_number(c, row)), "Its groups: indices in refs.")	\
	FIELDS_OF_USES(F, P, &row->refs)

FIELDS(ref_row, const struct merged_refs *row, REF_ROW,
       "Groups of objects that differ only in their net count, if there are more than a few; else one.");
