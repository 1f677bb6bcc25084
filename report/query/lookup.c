/* SPDX-License-Identifier: MIT */
/* lookup: see lookup.h; here the pass through the table. */
#include "report/query/lookup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

size_t lookup_group(const struct lookup_search *se, uint32_t family, const struct live_block *b)
{
	const size_t *serial = groupmap_find(se->groups, family, b->stack, ledger_verdict(se->ledger, b));

	if (!serial || !ledger_old_enough(se->ledger, b->birth_us, se->older_than_us))
		return 0;
	return summary_index(se->summary, *serial) + 1;
}

/* --- the addresses that are asked for --- */

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

size_t lookup_first_spot(const struct lookup_search *se, taddr addr)
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

/* What has no size is at least where it is. */
static void hit_spots(struct lookup_search *se, uint32_t family, taddr addr, const struct live_block *b)
{
	uint64_t extent = b->size ? b->size : 1;

	for (size_t i = lookup_first_spot(se, addr); i < se->nspots && se->spots[i] - addr < extent; i++) {
		struct lookup_hit *h = &se->hits[i * se->ledger->nbooks + family];

		if (!h->held || addr > h->addr)
			*h = (struct lookup_hit){ true, addr, *b };
	}
}

/* --- the pass --- */

static int look_through(struct lookup_search *se, uint32_t family)
{
	const struct live *live = se->ledger->books[family].live;
	struct live_block b;
	taddr addr;
	int r = 0;

	for (size_t at = 0; r == 0 && live_next(live, &at, &addr, &b);) {
		hit_spots(se, family, addr, &b);
		r = lookup_list_block(se, family, addr, &b);
	}
	return r;
}

static int search(struct lookup_search *se)
{
	int r = entries_make(se->summary, &se->entries);

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
	return r < 0 ? r : lookup_fill_at(se);
}

int lookup_answer(struct lookup *lk, struct ledger *l, const struct groupmap *groups, uint64_t older_than_us, bool keep_wrappers, struct summary *s)
{
	struct lookup_search se = {
		.lk = lk, .ledger = l, .groups = groups, .older_than_us = older_than_us, .keep_wrappers = keep_wrappers, .summary = s,
	};
	int r = summary_error(s) ? summary_error(s) : search(&se);

	entries_fini(&se.entries);
	free(se.spots);
	free(se.hits);
	return r < 0 ? r : summary_error(s);
}
