/* SPDX-License-Identifier: MIT */
/* withheld: see withheld.h. Which entry matches is found once for each stack and verdict. */
#include "report/groups/withheld.h"

#include <errno.h>
#include <stdlib.h>

#include "report/groups/paths.h"
#include "report/names/expand.h"

#define VERDICT_BITS 8

struct search {
	struct withheld *w;
	const struct ledger *ledger;
	const uint32_t *same_as;
	struct addrmap matches;		/* stack and verdict -> entry, or SUPPRESSIONS_NONE */
};

static int match(const struct search *se, uint32_t stack, enum verdict verdict, size_t *entry)
{
	cleanup_free struct summary_frame *frames = NULL;
	struct path path = { 0 };
	size_t n = 0;
	int r = path_read(&se->ledger->defs, se->same_as, stack, &path);

	if (r == 0)
		r = expand_path(&se->ledger->defs, path.frames, path.depth, &frames, &n);
	if (r == 0)
		*entry = suppressions_find(se->w->suppressions, SUPPRESS_LEAK, verdict, frames, n);
	free(path.frames);
	return r;
}

/* The entry that matches leaks of @stack with this verdict; SUPPRESSIONS_NONE: none does. */
static int entry_of(struct search *se, uint32_t stack, enum verdict verdict, size_t *entry)
{
	bool fresh;
	size_t *slot = addrmap_slot(&se->matches, (uint64_t)stack << VERDICT_BITS | verdict, &fresh);
	int r = slot ? 0 : -ENOMEM;

	if (r == 0 && fresh) {
		*slot = SUPPRESSIONS_NONE;
		r = match(se, stack, verdict, slot);
	}
	if (r == 0)
		*entry = *slot;
	return r;
}

/* The same of what is lost with a leak: the leak's entry, unless one matches by itself. */
static int entry_with(struct search *se, uint32_t stack, uint32_t leak, enum verdict leaks, size_t *entry)
{
	size_t own = SUPPRESSIONS_NONE;
	int r = entry_of(se, leak, leaks, entry);

	if (r == 0 && *entry != SUPPRESSIONS_NONE)
		r = entry_of(se, stack, VERDICT_INDIRECT, &own);
	if (own != SUPPRESSIONS_NONE)
		*entry = SUPPRESSIONS_NONE;
	return r;
}

static bool is_leak(const struct live_block *b)
{
	return b->verdict == VERDICT_DEFINITE || b->verdict == VERDICT_POSSIBLE;
}

/* @stack's block is lost with the one at @leader, which is of any family. */
static int entry_of_leader(struct search *se, uint32_t stack, taddr leader, size_t *entry)
{
	struct live_block b;
	int r = 0;

	*entry = SUPPRESSIONS_NONE;
	for (uint32_t i = 0; i < se->ledger->nbooks && r == 0 && *entry == SUPPRESSIONS_NONE; i++)
		if (ledger_holds(se->ledger, i, leader, &b) && is_leak(&b))
			r = entry_with(se, stack, b.stack, b.verdict, entry);
	return r;
}

static int find_blocks(struct search *se)
{
	struct verdict_place place = { 0 };
	struct verdict_block j;
	struct live_block b;
	int r = 0;

	while (r == 0 && ledger_next_hanging(se->ledger, &place, &j, &b)) {
		size_t entry;

		r = entry_of_leader(se, b.stack, j.with_bytes, &entry);
		if (r == 0 && entry != SUPPRESSIONS_NONE && j.family < se->w->nfamilies)
			r = addrmap_put(&se->w->blocks[j.family], j.addr, &entry);
	}
	return r;
}

static void add_part(struct withheld_part *p, const struct merged_hang *h, size_t entry)
{
	p->sum.blocks += h->blocks;
	p->sum.bytes += h->bytes;
	if (h->bytes < p->most)
		return;
	p->most = h->bytes;
	p->entry = entry;
}

static int find_parts(struct search *se)
{
	const struct merged *m = &se->ledger->merged;
	int r = 0;

	for (size_t i = 0; i < m->nhangs && r == 0; i++) {
		const struct merged_group *leak = &m->groups[m->hangs[i].root],
			*g = &m->groups[m->hangs[i].group];
		size_t entry;

		r = entry_with(se, g->stack, leak->stack, leak->verdict, &entry);
		if (r == 0 && entry != SUPPRESSIONS_NONE)
			add_part(&se->w->parts[m->hangs[i].group], &m->hangs[i], entry);
	}
	return r;
}

static int make_room(struct withheld *w, const struct ledger *l)
{
	w->blocks = calloc(l->nbooks + 1, sizeof(*w->blocks));
	w->parts = calloc(l->merged.ngroups + 1, sizeof(*w->parts));
	if (!w->blocks || !w->parts)
		return -ENOMEM;
	for (; w->nfamilies < l->nbooks; w->nfamilies++)
		addrmap_init(&w->blocks[w->nfamilies], sizeof(size_t));
	return 0;
}

int withheld_find(struct withheld *w, const struct ledger *l, const uint32_t *same_as,
		  struct suppressions *suppressions)
{
	struct search se = { .w = w, .ledger = l, .same_as = same_as };
	int r;

	*w = (struct withheld){ .suppressions = suppressions };
	if (!suppressions || !ledger_has_verdicts(l))
		return 0;
	addrmap_init(&se.matches, sizeof(size_t));
	r = make_room(w, l);
	if (r == 0)
		r = find_blocks(&se);
	if (r == 0)
		r = find_parts(&se);
	addrmap_fini(&se.matches);
	return r;
}

void withheld_fini(struct withheld *w)
{
	for (size_t i = 0; i < w->nfamilies; i++)
		addrmap_fini(&w->blocks[i]);
	free(w->blocks);
	free(w->parts);
	*w = (struct withheld){ 0 };
}

bool withheld_has(const struct withheld *w, uint32_t family, taddr addr, size_t *entry)
{
	const size_t *its = w && family < w->nfamilies ? addrmap_get(&w->blocks[family], addr) : NULL;

	if (its)
		*entry = *its;
	return its;
}

const struct withheld_part *withheld_of(const struct withheld *w, size_t i)
{
	return w && w->parts && w->parts[i].sum.blocks ? &w->parts[i] : NULL;
}
