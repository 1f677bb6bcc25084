/* SPDX-License-Identifier: MIT */
#include "attach/verdicts/verdict_pointers.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/scan/scan_pointers.h"
#include "attach/verdicts/verdicts.h"
#include "report/names/sitename.h"
#include "report/query/lookup.h"
#include "report/text/scan/text_pointers.h"

#define STACKS 10u	/* stacks for which a verdict selects a block */
#define HOLDERS 100u	/* blocks that point to one address and are named by their group */
#define PLACE_WIDTH 40

/* The blocks of one stack that have the verdict. */
struct candidate {
	uint64_t bytes, birth_us;
	taddr oldest;
};

/* Of all stacks, by index; those without such blocks have no bytes. 0 or -ENOMEM. */
static int find_candidates(const struct verdicts *j, const struct ledger *l, enum verdict verdict,
			   struct candidate **out)
{
	struct candidate *all = calloc(l->defs.nstacks + 1, sizeof(*all)), *c;
	struct live_block b;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < j->nblocks; i++) {
		const struct verdicts_block *jb = &j->blocks[i];

		if (jb->family == VERDICTS_NONE || jb->verdict != verdict ||
		    !ledger_holds(l, jb->family, jb->addr, &b) || b.stack > l->defs.nstacks)
			continue;
		c = &all[b.stack];
		if (!c->bytes || b.birth_us < c->birth_us) {
			c->birth_us = b.birth_us;
			c->oldest = jb->addr;
		}
		c->bytes += b.size ? b.size : 1;
	}
	*out = all;
	return 0;
}

/* Those with the most bytes first. */
static int compare_bytes(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	return a->bytes > b->bytes ? -1 : a->bytes < b->bytes;
}

/* The oldest block of each stack: where memory grows, the young ones may only be on their way. */
static int choose_by_verdict(const struct verdicts *j, const struct ledger *l, enum verdict verdict,
			     taddr chosen[STACKS], size_t *n)
{
	struct candidate *all;
	int r = find_candidates(j, l, verdict, &all);

	if (r < 0)
		return r;
	qsort(all, l->defs.nstacks + 1, sizeof(*all), compare_bytes);
	for (*n = 0; *n < STACKS && *n <= l->defs.nstacks && all[*n].bytes; (*n)++)
		chosen[*n] = all[*n].oldest;
	free(all);
	return 0;
}

int verdict_pointers(struct verdict_asked *asked, struct verdicts *j, const struct snapshot *s,
		     const struct ledger *l)
{
	/* snapshot, census, blocks and reach stay the caller's */
	struct scan sc = {
		.opt = asked->opt, .modules = asked->modules, .snapshot = *s, .census = j->census,
		.blocks = j->nodes, .nblocks = j->nnodes, .reach = j->reach,
	};
	const enum verdict verdict = asked->opt->single.who_points_at_verdict;
	taddr chosen[STACKS];
	size_t n = 0;
	int r = 0;

	scan_init(&sc.report);
	sc.report.summary.run.verdicts.known = true;
	if (verdict != VERDICT_UNKNOWN)
		r = choose_by_verdict(j, l, verdict, chosen, &n);
	if (r == 0)
		r = scan_pointers_add(&sc, asked->opt->single.who_points_at, asked->opt->single.nwho_points_at);
	if (r == 0)
		r = scan_pointers_add(&sc, chosen, n);
	if (r == 0)
		r = scan_error(&sc.report);
	scan_fini(&asked->report);
	asked->report = sc.report;
	asked->answered = r == 0;
	return r;
}

/* --- when the groups have numbers --- */

/* Of each answer the block itself, the first of those that point to it, and the way back to a root. */
static size_t list_blocks(const struct scan_report *r, struct scan_block **out)
{
	size_t n = 0;

	for (size_t i = 0; i < r->nanswers; i++) {
		struct scan_answer *a = &r->answers[i];

		out[n++] = &a->block;
		for (size_t k = 0; k < a->n && k < HOLDERS; k++)
			if (a->pointers[k].place == SCAN_IN_BLOCK)
				out[n++] = &a->pointers[k].block;
		for (size_t k = 0; k < a->chain.n; k++)
			if (a->chain.links[k].place == SCAN_IN_BLOCK)
				out[n++] = &a->chain.links[k].block;
	}
	return n;
}

static size_t most_blocks(const struct scan_report *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->nanswers; i++)
		n += 1 + HOLDERS + r->answers[i].chain.n;
	return n;
}

int verdict_pointers_addrs(const struct verdict_asked *asked, taddr **out, size_t *n)
{
	const size_t most = most_blocks(&asked->report) + 1;
	cleanup_free struct scan_block **blocks = calloc(most, sizeof(*blocks));

	*out = calloc(most, sizeof(**out));
	if (!blocks || !*out)
		return -ENOMEM;
	*n = list_blocks(&asked->report, blocks);
	for (size_t i = 0; i < *n; i++)
		(*out)[i] = blocks[i]->addr;
	return 0;
}

/* The block's label becomes its group: "[3] cache_insert". */
static void name(struct verdict_asked *asked, const struct summary *s, const struct lookup_at *at,
		 struct scan_block *b)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < at->nfound && !sb.len; i++) {
		const struct lookup_found *f = &at->found[i];

		if (f->refs || !f->entry || f->block.addr != b->addr)
			continue;
		lookup_put_number(s, f, &sb);
		strbuf_putc(&sb, ' ');
		sitename(&sb, &s->groups[f->group], NULL, PLACE_WIDTH);
	}
	if (sb.len && !strbuf_error(&sb))
		b->label = summary_string(&asked->report.summary, strbuf_str(&sb));
}

int verdict_pointers_put(struct verdict_asked *asked, const struct summary *s, const struct lookup *groups,
			 struct strbuf *sb)
{
	struct scan_report *r = &asked->report;
	cleanup_free struct scan_block **blocks = calloc(most_blocks(r) + 1, sizeof(*blocks));
	size_t n;

	if (!blocks)
		return -ENOMEM;
	n = list_blocks(r, blocks);
	for (size_t i = 0; i < n && i < groups->nat; i++)
		name(asked, s, &groups->at[i], blocks[i]);
	if (r->nanswers)
		text_pointers(sb, r, asked->opt->shown.top);
	else if (asked->answered && asked->opt->single.who_points_at_verdict != VERDICT_UNKNOWN)
		strbuf_printf(sb, "\nno block that was watched is %s\n",
			      verdict_name(asked->opt->single.who_points_at_verdict));
	return strbuf_error(sb);
}
