/* SPDX-License-Identifier: MIT */
/* rows: see rows.h. */
#include "report/names/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/words/words.h"
#include "report/names/apart.h"
#include "report/names/shortname.h"
#include "report/names/sitename.h"

/* --- blocks --- */

static int number_blocks(struct summary_group *rows, size_t n)
{
	cleanup_free const struct summary_group **all = calloc(n + 1, sizeof(*all));
	cleanup_free struct apart *apart = calloc(n + 1, sizeof(*apart));
	int r;

	if (!all || !apart)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		all[i] = &rows[i];
	r = apart_find(all, n, apart);
	for (size_t i = 0; i < n; i++) {
		rows[i].number = i + 1;
		rows[i].apart = apart[i];
	}
	return r;
}

static int make_blocks(const struct summary *s, struct rows *out)
{
	struct summary *view = &out->by_stack.view;
	struct text_part part;
	int r = by_stack_make(s, &out->by_stack);

	out->of_group = out->by_stack.index_of;
	for (size_t i = 0; i < text_parts(s) && r == 0; i++) {
		text_part(view, i, &part);
		if (part.family.refs)
			continue;
		out->count[i] = part.n;
		r = number_blocks(view->groups + part.first, part.n);
	}
	return r;
}

/* Groups of a scan have no families: their kinds have different names. */
static int make_scanned(const struct summary *s, struct rows *out)
{
	int r = by_stack_copy(s, &out->by_stack);

	out->of_group = out->by_stack.index_of;
	for (size_t i = 0; r == 0 && i < s->ngroups; i++)
		out->by_stack.view.groups[i].number = i + 1;
	return r;
}

/* --- objects --- */

/* If groups were merged, all of the signature are the row's. */
static void take_refs(const struct summary *s, const struct text_part *part, struct rows *out, size_t index)
{
	const struct merged_refs *row = &out->refs[index];

	if (row->nnets < 2)
		out->of_refs[part->first + row->order] = index;
	for (size_t i = part->first; row->nnets > 1 && i < part->first + part->n; i++)
		if (s->refs[i].signature == row->refs.signature)
			out->of_refs[i] = index;
}

static int make_refs(const struct summary *s, const struct text_part *part, struct rows *out, size_t *count)
{
	struct merged_refs *all = NULL;
	int r = refs_merge(s, part->first, part->n, &all, count);

	for (size_t k = 0; k < *count && r == 0; k++) {
		out->refs[out->nrefs] = all[k];
		out->refs[out->nrefs].number = k + 1;
		take_refs(s, part, out, out->nrefs++);
	}
	if (r == 0)
		free(all);
	else
		refs_merge_fini(all, all ? *count : 0);
	return r;
}

/* --- all --- */

int rows_make(const struct summary *s, struct rows *out)
{
	struct text_part part;
	int r = 0;

	*out = (struct rows){ .refs = calloc(s->nrefs + 1, sizeof(*out->refs)),
			      .of_refs = calloc(s->nrefs + 1, sizeof(*out->of_refs)),
			      .count = calloc(text_parts(s), sizeof(*out->count)) };
	if (!out->refs || !out->of_refs || !out->count)
		return -ENOMEM;
	for (size_t i = 0; i < text_parts(s) && r == 0; i++) {
		text_part(s, i, &part);
		if (part.family.refs)
			r = make_refs(s, &part, out, &out->count[i]);
	}
	if (r == 0)
		r = s->scanned ? make_scanned(s, out) : make_blocks(s, out);
	return r;
}

void rows_fini(struct rows *r)
{
	by_stack_fini(&r->by_stack);
	refs_merge_fini(r->refs, r->nrefs);
	free(r->of_refs);
	free(r->count);
	*r = (struct rows){ 0 };
}

/* --- a row --- */

size_t rows_number_of(const struct rows *r, size_t group)
{
	return r->by_stack.view.groups[r->of_group[group]].number;
}

size_t rows_number_of_refs(const struct rows *r, size_t refs)
{
	return r->refs[r->of_refs[refs]].number;
}

struct summary_sum row_sum(const struct summary *view, const struct summary_group *row)
{
	if (view->scanned)
		return (struct summary_sum){ row->blocks, row->bytes };
	return (struct summary_sum){ row->blocks + row->kind.indirect_blocks, summary_weight(row) };
}

/* Things that are not memory; of groups without a family nothing is known. */
static bool is_plain(const struct summary *view, const struct summary_group *row)
{
	return text_family_is_plain(summary_family(view, row->family));
}

double row_share(const struct summary *view, const struct summary_group *row)
{
	const struct summary_family *f = summary_family(view, row->family);
	const bool plain = is_plain(view, row);
	const double all = (double)(!*f->name || view->scanned ? view->totals.live_bytes : plain ? f->live : f->bytes);

	return all > 0 ? (double)(plain ? row->blocks : row_sum(view, row).bytes) / all : 0;
}

enum summary_section row_section(const struct summary *view, const struct summary_group *row)
{
	const enum survival_kind kind = words_sample_of(row)->survival.kind;

	if (!summary_is_sampled(&view->run))
		return summary_section(view, row);
	return kind == SURVIVAL_STAYS || kind == SURVIVAL_UNKNOWN ? SUMMARY_GROWING : SUMMARY_KEPT;
}

void row_growth(struct strbuf *sb, const struct summary *view, const struct summary_group *row, bool brief)
{
	const struct summary_group *instead = summary_grows_instead(view, row);

	if (!(view->run.seconds > 0))
		return;
	if (instead) {
		strbuf_puts(sb, "see ");
		row_mark(sb, view, instead->family, instead->number);
	} else {
		words_growth_cell(sb, view, &row->growth, is_plain(view, row), brief);
	}
}

void row_refs_growth(struct strbuf *sb, const struct summary *view, const struct merged_refs *row)
{
	if (!(view->run.seconds > 0))
		return;
	if (row->refs.older)
		strbuf_puts(sb, "older than the watch");
	else
		words_growth_cell(sb, view, &row->refs.growth, true, false);
}

void row_name(struct strbuf *sb, const struct summary_group *row)
{
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	if (row->kind.class_name)
		shortname_full(&name, row->kind.class_name, SITENAME_WIDTH);
	if (row->kind.class_name)
		format_cut(sb, strbuf_str(&name), SITENAME_WIDTH);
	else if (row->kind.label)
		format_cut(sb, row->kind.label, SITENAME_WIDTH);
	else
		sitename(sb, row, &row->apart, SITENAME_WIDTH);
	if (name.err && !sb->err)
		sb->err = name.err;
}

void row_refs_name(struct strbuf *sb, const struct merged_refs *row)
{
	const struct summary_refs *r = &row->refs;
	const struct summary_use *u = r->nacquired ? r->acquired : r->nreleased ? r->released : NULL;

	if (!u)
		strbuf_puts(sb, "(no stack)");
	else
		sitename_of(sb, &u->stack, NULL, SITENAME_WIDTH);
}

void row_refs_net(struct strbuf *sb, const struct merged_refs *row)
{
	const char *sign = summary_refs_relative(&row->refs) ? "+" : "";

	strbuf_printf(sb, "%s%" PRId64, row->least > 0 ? sign : "", row->least);
	if (row->most != row->least)
		strbuf_printf(sb, "..%" PRId64, row->most);
}

void row_mark(struct strbuf *sb, const struct summary *view, const char *family, size_t number)
{
	text_number(sb, &(struct text_part){ .family.name = family, .several = view->nfamilies > 1 }, number - 1);
}
