/* SPDX-License-Identifier: MIT */
/* lookup_list: which group the question means, and its blocks or objects. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/strbuf.h"
#include "report/model/format_text.h"
#include "report/model/text_parts.h"
#include "report/query/lookup_parts.h"

/* --- which group --- */

static void refuse(struct lookup *lk, const struct strbuf *what)
{
	snprintf(lk->why, sizeof(lk->why), "%s",
		 strbuf_error(what) ? "there is no such group" : strbuf_str(what));
}

static void refuse_family(struct lookup_search *se)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	strbuf_puts(&sb, "the report has nothing of a family ");
	strbuf_text(&sb, se->lk->question.family);
	refuse(se->lk, &sb);
}

static void refuse_several(struct lookup_search *se)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	struct text_part part;
	size_t n = 0;

	strbuf_puts(&sb, "several families have groups; write");
	for (size_t i = 0; i < text_parts(se->summary); i++) {
		text_part(se->summary, i, &part);
		if (!se->entries.count[i])
			continue;
		strbuf_puts(&sb, n++ ? " or " : " ");
		strbuf_text(&sb, part.family.name);
		strbuf_printf(&sb, ":%zu", se->lk->question.entry);
	}
	refuse(se->lk, &sb);
}

static void explain_number(struct lookup_search *se, const struct text_part *part, size_t n)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	strbuf_puts(&sb, "the report has ");
	if (n == 1)
		strbuf_puts(&sb, "1 group");
	else if (n)
		strbuf_printf(&sb, "%zu groups", n);
	else
		strbuf_puts(&sb, "no groups");
	if (part && part->several) {
		strbuf_puts(&sb, " of family ");
		strbuf_text(&sb, part->family.name);
	}
	refuse(se->lk, &sb);
}

static bool is_called(const struct text_part *part, const char *name)
{
	return part->family.name && !strcmp(part->family.name, name);
}

/* Sets se->lk->part to the part that is meant; returns how many parts match the question. */
static size_t find_part(struct lookup_search *se)
{
	const char *family = se->lk->question.family;
	struct text_part part;
	size_t n = 0;

	for (size_t i = 0; i < text_parts(se->summary); i++) {
		text_part(se->summary, i, &part);
		if (family ? !is_called(&part, family) : !se->entries.count[i])
			continue;
		se->lk->part = i;
		n++;
	}
	return n;
}

static size_t number_of(const struct lookup_search *se, const struct text_part *part, size_t i)
{
	return part->family.refs ? rows_number_of_refs(&se->entries, i) : rows_number_of(&se->entries, i);
}

static int take_groups(struct lookup_search *se, const struct text_part *part)
{
	struct lookup *lk = se->lk;

	lk->groups = calloc(part->n, sizeof(*lk->groups));
	if (!lk->groups)
		return -ENOMEM;
	for (size_t i = part->first; i < part->first + part->n; i++)
		if (number_of(se, part, i) == lk->question.entry)
			lk->groups[lk->ngroups++] = i;
	return 0;
}

int lookup_find_entry(struct lookup_search *se)
{
	const struct lookup_question *q = &se->lk->question;
	struct text_part part;
	size_t n = find_part(se);

	if (n > 1)
		refuse_several(se);
	else if (!n && q->family)
		refuse_family(se);
	else if (!n)
		explain_number(se, NULL, 0);
	if (n != 1)
		return 0;
	text_part(se->summary, se->lk->part, &part);
	if (q->entry <= se->entries.count[se->lk->part])
		return take_groups(se, &part);
	explain_number(se, &part, se->entries.count[se->lk->part]);
	return 0;
}

/* --- its list --- */

static int add(struct lookup_search *se, const struct lookup_block *b)
{
	struct lookup *lk = se->lk;

	if (grow_for(&lk->list, lk->nlist, &se->list_size, sizeof(*lk->list)) < 0)
		return -ENOMEM;
	lk->list[lk->nlist++] = *b;
	return 0;
}

static bool lists_objects(const struct lookup_search *se)
{
	struct text_part part;

	text_part(se->summary, se->lk->part, &part);
	return part.family.refs;
}

bool lookup_lists_group(const struct lookup_search *se, size_t group)
{
	for (size_t i = 0; i < se->lk->ngroups; i++)
		if (se->lk->groups[i] == group)
			return !lists_objects(se);
	return false;
}

int lookup_list_block(struct lookup_search *se, taddr addr, const struct live_block *b)
{
	return add(se, &(struct lookup_block){ addr, b->size, 0, ledger_age_s(se->ledger, b->birth_us) });
}

static int list_objects(struct lookup_search *se, const struct summary_refs *r)
{
	int err = 0;

	for (size_t i = 0; i < r->nall && err == 0; i++)
		err = add(se, &(struct lookup_block){ r->all[i].addr, 0, r->net, r->all[i].age_s });
	return err;
}

static int compare(const void *pa, const void *pb)
{
	const struct lookup_block *a = pa, *b = pb;

	if (a->age_s != b->age_s)
		return a->age_s > b->age_s ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

int lookup_end_list(struct lookup_search *se)
{
	struct lookup *lk = se->lk;
	int r = 0;

	for (size_t i = 0; i < lk->ngroups && lists_objects(se) && r == 0; i++)
		r = list_objects(se, &se->summary->refs[lk->groups[i]]);
	if (lk->nlist)
		qsort(lk->list, lk->nlist, sizeof(*lk->list), compare);
	return r;
}
