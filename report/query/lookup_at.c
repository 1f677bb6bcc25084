/* SPDX-License-Identifier: MIT */
/* lookup_at: what is said of an address: which blocks and objects are there, who took them, and in which entry they are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/names/expand.h"
#include "report/names/wrappers.h"
#include "report/query/lookup_parts.h"

/* The frames become the summary's. */
static int fill_use(struct lookup_search *se, uint32_t family, uint32_t stack, struct lookup_use *out)
{
	struct summary_stack frames;
	size_t own;
	int r = expand_stack(&se->ledger->defs, stack, &frames);

	if (r < 0)
		return r;
	own = se->ledger->defs.families[family].ranges ? wrappers_allocator(frames.frames, frames.depth) : 0;
	wrappers_mark(frames.frames + own, frames.depth - own, se->ledger->skips, se->ledger->nskips);
	out->wrappers = se->keep_wrappers ? 0 : own + wrappers_count(frames.frames + own, frames.depth - own);
	out->depth = frames.depth;
	out->end = frames.end;
	out->frames = summary_keep_stack(se->summary, frames.frames, &out->depth);
	free(frames.frames);
	return summary_error(se->summary);
}

static void fill_family(struct lookup_search *se, uint32_t family, struct lookup_found *out)
{
	const struct defs_family *f = &se->ledger->defs.families[family];

	out->refs = f->refs;
	out->family = summary_string(se->summary, ledger_family_name(se->ledger, family));
	out->noun = summary_string(se->summary, f->noun ? f->noun : f->refs ? "object" : "block");
}

static int fill_block(struct lookup_search *se, uint32_t family, const struct lookup_hit *h, struct lookup_found *out)
{
	size_t group = lookup_group(se, family, &h->block);

	out->block = (struct lookup_block){ h->addr, h->block.size, 0, ledger_age_s(se->ledger, h->block.birth_us) };
	out->verdict = ledger_verdict(se->ledger, &h->block);
	out->entry = group ? se->entries.of_group[group - 1] : 0;
	out->group = group ? group - 1 : 0;
	out->uses = calloc(1, sizeof(*out->uses));
	if (!out->uses)
		return -ENOMEM;
	out->nuses = 1;
	out->uses[0].taken = 1;
	return fill_use(se, family, h->block.stack, &out->uses[0]);
}

/* --- objects --- */

static int compare_objects(const void *pa, const void *pb)
{
	const struct summary_object *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Each group has its objects by address. */
static void find_refs(const struct lookup_search *se, struct lookup_found *out)
{
	const struct summary_object key = { .addr = out->block.addr };
	const struct summary *s = se->summary;

	for (size_t i = 0; i < s->nrefs && !out->entry; i++) {
		const struct summary_refs *r = &s->refs[i];

		if (!r->nall || strcmp(r->family, out->family) || !bsearch(&key, r->all, r->nall, sizeof(key), compare_objects))
			continue;
		out->entry = se->entries.of_refs[i];
		out->group = i;
	}
}

static int fill_object(struct lookup_search *se, uint32_t family, taddr addr, const struct object *o, struct lookup_found *out)
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

		u->taken = o->uses[out->nuses].taken;
		u->dropped = o->uses[out->nuses].dropped;
		r = fill_use(se, family, o->uses[out->nuses].stack, u);
	}
	return r;
}

/* --- all --- */

static int fill_family_at(struct lookup_search *se, uint32_t family, struct lookup_at *at)
{
	const struct lookup_hit *h = &se->hits[lookup_first_spot(se, at->addr) * se->ledger->nbooks + family];
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

int lookup_fill_at(struct lookup_search *se)
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
