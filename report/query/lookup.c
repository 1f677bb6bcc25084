/* SPDX-License-Identifier: MIT */
/* lookup: see lookup.h; this file walks the table once and answers for addresses. */
#include "report/query/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/text_parts.h"
#include "report/names/expand.h"
#include "report/names/wrappers.h"
#include "report/query/lookup_parts.h"

void lookup_init(struct lookup *lk, const struct lookup_question *q)
{
	*lk = (struct lookup){ .question = *q };
}

void lookup_fini(struct lookup *lk)
{
	for (size_t i = 0; i < lk->nat; i++) {
		for (size_t f = 0; f < lk->at[i].nfound; f++)
			free(lk->at[i].found[f].uses);
		free(lk->at[i].found);
	}
	free(lk->at);
	free(lk->list);
	free(lk->groups);
	*lk = (struct lookup){ 0 };
}

/* The group of a block as index in summary.groups + 1; 0 if it is in none. */
static size_t group_of(const struct lookup_search *se, uint32_t family, taddr addr,
		       const struct live_block *b)
{
	const size_t *serial = groupmap_find(se->groups, family, b->stack, ledger_verdict(se->ledger, b));

	if (!serial || groupmap_is_apart(se->groups, family, addr) ||
	    !ledger_old_enough(se->ledger, b->birth_us, se->older_than_us))
		return 0;
	return summary_index(se->summary, *serial) + 1;
}

/* --- the addresses in the question --- */

static int compare_addrs(const void *pa, const void *pb)
{
	taddr a = *(const taddr *)pa, b = *(const taddr *)pb;

	return a < b ? -1 : a > b;
}

static int make_spots(struct lookup_search *se)
{
	const struct lookup_question *q = &se->lk->question;

	se->spots = calloc(q->naddrs + 1, sizeof(*se->spots));
	if (!se->spots)
		return -ENOMEM;
	if (q->naddrs) {
		memcpy(se->spots, q->addrs, q->naddrs * sizeof(*se->spots));
		qsort(se->spots, q->naddrs, sizeof(*se->spots), compare_addrs);
	}
	for (size_t i = 0; i < q->naddrs; i++)
		if (!i || se->spots[i] != se->spots[se->nspots - 1])
			se->spots[se->nspots++] = se->spots[i];
	se->hits = calloc(se->nspots * se->ledger->nbooks + 1, sizeof(*se->hits));
	return se->hits ? 0 : -ENOMEM;
}

/* Index of the first address in question at or above @addr. */
static size_t first_spot(const struct lookup_search *se, taddr addr)
{
	size_t low = 0, high = se->nspots;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (se->spots[middle] < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A block without a size covers at least its first byte. */
static void hit_spots(struct lookup_search *se, uint32_t family, taddr addr, const struct live_block *b)
{
	uint64_t extent = b->size ? b->size : 1;

	for (size_t i = first_spot(se, addr); i < se->nspots && se->spots[i] - addr < extent; i++) {
		struct lookup_hit *h = &se->hits[i * se->ledger->nbooks + family];

		if (!h->held || addr > h->addr)
			*h = (struct lookup_hit){ true, addr, *b };
	}
}

/*
 * --- the answer for an address: the blocks and objects there, the stacks that allocated or used them, their
 * groups ---
 */

/* The summary keeps a copy of the frames. */
static int fill_use(struct lookup_search *se, uint32_t family, uint32_t stack_index, struct lookup_use *out)
{
	struct stack_view stack;
	size_t own;
	int r = expand_stack(&se->ledger->defs, stack_index, &stack);

	if (r < 0)
		return r;
	own = se->ledger->defs.families[family].ranges ? wrappers_allocator(stack.frames, stack.depth) : 0;
	wrappers_mark(stack.frames + own, stack.depth - own, se->ledger->skips, se->ledger->nskips);
	stack.wrappers = se->keep_wrappers ? 0 : own + wrappers_count(stack.frames + own, stack.depth - own);
	out->stack = summary_keep_stack(se->summary, &stack);
	free(stack.frames);
	return summary_error(se->summary);
}

static void fill_family(struct lookup_search *se, uint32_t family, struct lookup_found *out)
{
	const struct defs_family *f = &se->ledger->defs.families[family];

	out->refs = f->refs;
	out->family = summary_string(se->summary, ledger_family_name(se->ledger, family));
	out->noun = summary_string(se->summary, f->noun ? f->noun : f->refs ? "object" : "block");
}

static int fill_block(struct lookup_search *se, uint32_t family, const struct lookup_hit *h,
		      struct lookup_found *out)
{
	size_t group = group_of(se, family, h->addr, &h->block);

	out->block = (struct lookup_block){ h->addr, h->block.size, 0,
					    ledger_age_s(se->ledger, h->block.birth_us) };
	out->verdict = ledger_verdict(se->ledger, &h->block);
	out->entry = group ? rows_number_of(&se->entries, group - 1) : 0;
	out->group = group ? group - 1 : 0;
	out->uses = calloc(1, sizeof(*out->uses));
	if (!out->uses)
		return -ENOMEM;
	out->nuses = 1;
	out->uses[0].taken = 1;
	return fill_use(se, family, h->block.stack, &out->uses[0]);
}

static int compare_objects(const void *pa, const void *pb)
{
	const struct summary_object *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* The objects of each group are sorted by address. */
static void find_refs(const struct lookup_search *se, struct lookup_found *out)
{
	const struct summary_object key = { .addr = out->block.addr };
	const struct summary *s = se->summary;

	for (size_t i = 0; i < s->nrefs && !out->entry; i++) {
		const struct summary_refs *r = &s->refs[i];

		if (!r->nall || strcmp(r->family, out->family) ||
		    !bsearch(&key, r->all, r->nall, sizeof(key), compare_objects))
			continue;
		out->entry = rows_number_of_refs(&se->entries, i);
		out->group = i;
	}
}

static int fill_object(struct lookup_search *se, uint32_t family, taddr addr, const struct object *o,
		       struct lookup_found *out)
{
	int r = summary_error(se->summary);

	if (r < 0)
		return r;
	out->block = (struct lookup_block){ addr, 0, o->net, ledger_age_s(se->ledger, o->birth_us) };
	out->older = o->older;
	out->counted = o->counted;
	find_refs(se, out);
	out->uses = calloc(o->nuses + 1, sizeof(*out->uses));
	if (!out->uses)
		return -ENOMEM;
	for (; out->nuses < o->nuses && r == 0; out->nuses++) {
		struct lookup_use *u = &out->uses[out->nuses];

		u->taken = o->uses[out->nuses].acquired;
		u->dropped = o->uses[out->nuses].released;
		r = fill_use(se, family, o->uses[out->nuses].stack, u);
	}
	return r;
}

static int fill_family_at(struct lookup_search *se, uint32_t family, struct lookup_at *at)
{
	const struct lookup_hit *h = &se->hits[first_spot(se, at->addr) * se->ledger->nbooks + family];
	const struct object *o = ledger_object(se->ledger, family, at->addr);
	struct lookup_found *out = &at->found[at->nfound];

	if (!h->held && !o)
		return 0;
	at->nfound++;
	fill_family(se, family, out);
	return o ? fill_object(se, family, at->addr, o, out) : fill_block(se, family, h, out);
}

static void find_twice(const struct ledger *l, struct lookup_at *at)
{
	for (size_t i = 0; i < l->ntwice && !at->twice; i++) {
		at->twice = l->twice[i].sample == at->addr;
		at->twice_s = l->twice[i].time_us / 1e6;
	}
}

static int fill(struct lookup_search *se, struct lookup_at *at)
{
	int r = 0;

	at->found = calloc(se->ledger->nbooks, sizeof(*at->found));
	if (!at->found)
		return -ENOMEM;
	for (uint32_t i = 0; i < se->ledger->nbooks && r == 0; i++)
		r = fill_family_at(se, i, at);
	find_twice(se->ledger, at);
	return r;
}

static int fill_at(struct lookup_search *se)
{
	const struct lookup_question *q = &se->lk->question;
	struct lookup *lk = se->lk;
	int r = 0;

	lk->at = calloc(q->naddrs + 1, sizeof(*lk->at));
	if (!lk->at)
		return -ENOMEM;
	for (; lk->nat < q->naddrs && r == 0; lk->nat++) {
		lk->at[lk->nat].addr = q->addrs[lk->nat];
		r = fill(se, &lk->at[lk->nat]);
	}
	return r;
}

/* --- the walk through the table --- */

static int look_through(struct lookup_search *se, uint32_t family)
{
	const struct live *live = se->ledger->books[family].live;
	struct live_block b;
	taddr addr;
	int r = 0;

	for (size_t at = 0; r == 0 && live_next(live, &at, &addr, &b);) {
		const size_t group = se->lk->ngroups ? group_of(se, family, addr, &b) : 0;

		hit_spots(se, family, addr, &b);
		if (group && lookup_lists_group(se, group - 1))
			r = lookup_list_block(se, addr, &b);
	}
	return r;
}

static int search(struct lookup_search *se)
{
	int r = rows_make(se->summary, &se->entries);

	if (r == 0)
		r = make_spots(se);
	if (r == 0 && se->lk->question.entry)
		r = lookup_find_entry(se);
	if (r < 0 || se->lk->why[0])
		return r;
	for (uint32_t i = 0; i < se->ledger->nbooks && r == 0; i++)
		r = look_through(se, i);
	if (r == 0)
		r = lookup_end_list(se);
	return r < 0 ? r : fill_at(se);
}

int lookup_answer(struct lookup *lk, struct ledger *l, const struct groupmap *groups, uint64_t older_than_us,
		  bool keep_wrappers, struct summary *s)
{
	struct lookup_search se = {
		.lk = lk, .ledger = l, .groups = groups, .older_than_us = older_than_us,
		.keep_wrappers = keep_wrappers, .summary = s,
	};
	int r = summary_error(s) ? summary_error(s) : search(&se);

	rows_fini(&se.entries);
	free(se.spots);
	free(se.hits);
	return r < 0 ? r : summary_error(s);
}

void lookup_put_number(const struct summary *s, const struct lookup_found *f, struct strbuf *sb)
{
	struct text_part part;

	for (size_t i = 0; i < text_parts(s); i++) {
		text_part(s, i, &part);
		if (f->group >= part.first && f->group < part.first + part.n && part.family.refs == f->refs)
			text_number(sb, &part, f->entry - 1);
	}
}
