/* SPDX-License-Identifier: MIT */
/*
 * groups: see groups.h. For each family:
 *
 *	stack groups	stacks with the same code locations (stack_groups.c)
 *	shown		named; suppressed and filtered ones are hidden; the end of the wrappers is found
 *	forwarders	and further ones, which the run shows to be wrappers (forwarders.c)
 *	merged		stack groups that look the same without their wrappers become one
 *	replaced	what only came for blocks that are older than the watch (replaced.c)
 *	groups		their growth is estimated
 */
#include "report/groups/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/groups/forwarders.h"
#include "report/groups/freed_by.h"
#include "report/groups/group_samples.h"
#include "report/groups/group_shares.h"
#include "report/groups/replaced.h"
#include "report/groups/stack_groups.h"
#include "report/model/groupmap.h"
#include "report/model/growth.h"
#include "report/model/text_parts.h"
#include "report/names/expand.h"
#include "report/names/wrappers.h"

bool groups_wants_family(const struct groups_options *opt, const struct ledger *l, uint32_t family)
{
	for (size_t i = 0; i < opt->nfamilies; i++)
		if (!strcmp(opt->families[i], ledger_family_name(l, family)))
			return true;
	return !opt->nfamilies;
}

struct maker {
	struct ledger *ledger;
	const struct groups_options *opt;
	struct summary *summary;
	struct groupmap *groups;
	struct stack_groups stacks;
	struct group_shares shares;
	struct group_samples samples;	/* in sampled runs */
};

static void hide(struct summary_hidden *h, const struct stack_group *d)
{
	h->groups++;
	h->blocks += d->live.blocks;
	h->bytes += d->live.bytes;
}

static void judge(struct maker *mk, struct stack_group *d, const struct summary_frame *frames, size_t n)
{
	struct summary *s = mk->summary;

	d->hidden = true;
	if (d->withheld) {
		hide(&s->suppressed, d);
		suppressions_count(mk->opt->suppressions, d->live.withheld_by, 1, 0, 0);
	} else if (!select_wants(mk->opt->select, frames, n)) {
		hide(&s->filtered, d);
	} else if (suppressions_match(mk->opt->suppressions, SUPPRESS_LEAK, d->verdict, frames, n,
				      d->live.blocks, d->live.bytes)) {
		hide(&s->suppressed, d);
	} else {
		d->hidden = false;
	}
}

static int show(struct maker *mk, struct stack_group *d)
{
	const struct defs *defs = &mk->ledger->defs;
	cleanup_free struct summary_frame *frames = NULL;
	size_t n, own;
	int r = expand_path(defs, d->path.frames, d->path.depth, &frames, &n);

	if (r < 0)
		return r;
	judge(mk, d, frames, n);
	own = defs->families[mk->stacks.family].ranges ? wrappers_allocator(frames, n) : 0;
	wrappers_mark(frames + own, n - own, mk->ledger->skips, mk->ledger->nskips);
	if (!mk->opt->keep_wrappers)
		d->wrappers = own + wrappers_count(frames + own, n - own);
	d->skip = expand_frames_within(defs, d->path.frames, d->path.depth, d->wrappers);
	return 0;
}

/* In a sampled run, growth follows from the estimates, not from the few blocks that happen to be tracked. */
static void add_sample(const struct maker *mk, struct summary_sample *its, struct summary_group *g)
{
	sampled_growth(its, mk->ledger->now_us / 1e6, &g->growth);
	g->sampled = its;
}

/*
 * In a sampled run the tracked blocks are few of many. A group of which it is not known whether it leaks does
 * not count as small.
 */
static uint64_t kept_bytes(const struct maker *mk, const struct stack_group *d)
{
	uint64_t estimated;

	if (!d->sampled)
		return d->live.bytes;
	estimated = sampled_bytes_to_ask_for(&mk->samples.judged[d - mk->stacks.all], mk->ledger->now_us / 1e6);
	return estimated > d->live.bytes ? estimated : d->live.bytes;
}

static void see_growth(const struct maker *mk, const struct stack_group *d, struct summary_group *g)
{
	growth_classify(g->series, g->npoints, mk->ledger->now_us / 1e6, d->own_allocs, d->own_frees, &g->growth);
	growth_see_ages(&g->growth, mk->ledger->now_us / 1e6, g->frees, g->blocks, g->youngest_s);
	if (mk->ledger->run.sample_bytes && g->npoints && growth_rises(&g->growth) &&
	    summary_grows_by_chance(g, d->own_allocs + d->own_frees))
		g->growth = (struct growth){ .shape = GROWTH_UNKNOWN };
}

static int add_group(struct maker *mk, struct stack_group *d)
{
	const struct defs *defs = &mk->ledger->defs;
	struct stack_group *first = &mk->stacks.all[d->first];
	struct growth_point series[MMT_SERIES_POINTS + 1];
	cleanup_free struct summary_frame *frames = NULL;
	taddr sample = d->live.sample;
	struct summary_group g = {
		.family = ledger_family_name(mk->ledger, mk->stacks.family),
		.tag = d->path.tag == DEFS_NONE ? NULL : defs->tags[d->path.tag].text,
		.blocks = d->live.blocks, .bytes = d->live.bytes,
		.bytes_direct = d->verdict == VERDICT_INDIRECT ? 0 : d->live.bytes,
		.allocs = d->allocs, .frees = d->frees, .bytes_taken = d->allocated_bytes,
		.bytes_returned = d->allocated_bytes - d->held_bytes,
		.verdict = d->verdict,
		.kind = { .indirect_blocks = d->live.indirect_blocks,
			  .indirect_bytes = d->live.indirect_bytes },
		.oldest_s = d->live.blocks ? ledger_age_s(mk->ledger, d->live.oldest_us) : 0,
		.youngest_s = d->live.blocks ? ledger_age_s(mk->ledger, d->live.youngest_us) : 0,
		.sample_of = d->live.sample_of, .series = series, .samples = &sample,
		.nsamples = d->live.blocks && !ledger_is_merged(mk->ledger) ? 1 : 0,
		.stack = { .wrappers = d->wrappers,
			   .end = expand_path_end(defs, d->path.frames, d->path.depth, d->path.end) },
	};
	int r = expand_path(defs, d->path.frames, d->path.depth, &frames, &g.stack.depth);

	if (r < 0)
		return r;
	g.stack.frames = frames;
	g.split = first->has_group;
	g.split_from = first->its_first;
	if (!g.split)
		first->its_first = mk->summary->ngroups;
	first->has_group = true;
	g.npoints = stack_groups_series(&mk->stacks, d, series);
	see_growth(mk, d, &g);
	g.nshares = group_shares_of(&mk->shares, (size_t)(d - mk->stacks.all), &g.shares);
	if (d->sampled && ledger_is_merged(mk->ledger))
		g.nshares = group_samples_shares(&mk->samples, (size_t)(d - mk->stacks.all), &g.shares);
	if (d->sampled)
		add_sample(mk, &mk->samples.judged[d - mk->stacks.all], &g);
	d->is_group = true;
	d->serial = mk->summary->ngroups;
	summary_add_group(mk->summary, &g);
	return 0;
}

static bool wanted(const struct maker *mk, const struct stack_group *d)
{
	const bool by_verdict = mk->opt->show && mk->stacks.nverdicts > 1;

	return kept_bytes(mk, d) >= mk->opt->min_bytes && (!by_verdict || mk->opt->show >> d->verdict & 1);
}

static int make_groups(struct maker *mk)
{
	int r = 0;

	for (size_t i = 0; i < mk->stacks.n && r == 0; i++)
		r = show(mk, &mk->stacks.all[i]);
	if (r == 0 && !mk->opt->keep_wrappers && !mk->ledger->defs.families[mk->stacks.family].ranges)
		r = forwarders_skip(&mk->stacks);
	if (r == 0)
		r = stack_groups_merge(&mk->stacks);
	if (r == 0)
		r = replaced_find(&mk->stacks);
	if (r == 0)
		r = group_samples_judge(&mk->stacks, &mk->samples);
	if (r == 0)
		r = group_shares_make(&mk->stacks, &mk->shares);
	for (size_t i = 0; i < mk->stacks.n && r == 0; i++) {
		struct stack_group *d = &mk->stacks.all[i];

		if (d->hidden)
			continue;
		if (!wanted(mk, d))
			hide(&mk->summary->filtered, d);
		else
			r = add_group(mk, d);
	}
	return r;
}

static int note_stack(const struct maker *mk, uint32_t stack, enum verdict verdict)
{
	const struct stack_groups *ds = &mk->stacks;
	uint32_t index = stack_groups_of(ds, stack, verdict);
	const struct stack_group *d = index == DEFS_NONE ? NULL : &ds->all[ds->all[index].twin];

	return d && d->is_group ? groupmap_note(mk->groups, ds->family, stack, verdict, d->serial) : 0;
}

/* Note which group the blocks of each stack are in, by verdict. */
static int note_stacks(const struct maker *mk)
{
	const struct stack_groups *ds = &mk->stacks;
	int r = 0;

	for (uint32_t i = 0; i < mk->ledger->books[ds->family].nplaces && r == 0; i++)
		for (uint32_t v = 0; v < ds->nverdicts && r == 0; v++)
			r = note_stack(mk, i, v);
	return r;
}

static void add_sums(struct maker *mk)
{
	struct summary_sum *sums = mk->summary->run.verdicts.watched;

	for (size_t v = 0; v < VERDICT_COUNT && mk->stacks.nverdicts > 1; v++) {
		sums[v].blocks += mk->stacks.sums[v].blocks;
		sums[v].bytes += mk->stacks.sums[v].bytes;
	}
}

/* Of memory: descriptors and the like have no sizes. */
static void add_histograms(struct maker *mk)
{
	const char *name = ledger_family_name(mk->ledger, mk->stacks.family);

	if (text_family_is_plain(summary_family(mk->summary, name)))
		return;
	histogram_merge(&mk->summary->sizes, &mk->stacks.sizes);
	histogram_merge(&mk->summary->ages, &mk->stacks.ages);
}

int groups_add_family(struct ledger *l, const struct groups_options *opt, uint32_t family,
		      struct groups_common *c, struct summary *s)
{
	const struct stack_groups_choice choice = {
		.older_than_us = opt->older_than_us, .freed = opt->freed, .same_as = c->same_as,
		.withheld = &c->withheld,
	};
	struct maker mk = { .ledger = l, .opt = opt, .summary = s, .groups = &c->groups };
	int r = stack_groups_make(l, family, &choice, &mk.stacks);

	if (r == 0)
		r = make_groups(&mk);
	add_sums(&mk);
	add_histograms(&mk);
	if (r == 0)
		r = freed_by_add(&mk.stacks, s);
	if (r == 0 && (opt->lookup || ledger_has_verdicts(l)))
		r = note_stacks(&mk);
	group_samples_fini(&mk.samples);
	group_shares_fini(&mk.shares);
	stack_groups_fini(&mk.stacks);
	return r;
}

/* --- which names are needed --- */

static void want_stack(const struct defs *d, uint32_t stack, bool *wanted)
{
	uint32_t node = stack == DEFS_NONE ? DEFS_NONE : d->stacks[stack].node;

	for (; node != DEFS_NONE; node = d->nodes[node].caller)
		wanted[d->nodes[node].frame] = true;
}

/* A stack that only released references has no live blocks, but is shown all the same. */
static void want_objects(const struct defs *d, const struct objects *objects, bool *wanted)
{
	const struct object *o;
	taddr addr;

	for (size_t at = 0; objects_next(objects, &at, &addr, &o);)
		for (uint32_t i = 0; i < o->nuses; i++)
			want_stack(d, o->uses[i].stack, wanted);
}

static void want_freeing(const struct ledger *l, const struct ledger_book *book, bool *wanted)
{
	uint64_t pair;
	void *its;

	for (size_t at = 0; addrmap_next(&book->freed, &at, &pair, &its);)
		if (book->places[pair >> 32].blocks)
			want_stack(&l->defs, (uint32_t)pair, wanted);
}

int groups_wanted(const struct ledger *l, bool freed, bool *wanted)
{
	const struct defs *d = &l->defs;
	cleanup_free uint32_t *same_as = calloc(d->nframes + 1, sizeof(*same_as));
	int r = same_as ? paths_find_same(d, same_as) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t b = 0; b < l->nbooks; b++)
		for (uint32_t i = 0; i < l->books[b].nplaces; i++)
			if (l->books[b].places[i].blocks || (freed && l->books[b].places[i].allocs))
				want_stack(d, i, wanted);
	for (size_t i = 0; i < l->samples.n; i++)
		want_stack(d, l->samples.all[i].stack, wanted);
	for (size_t b = 0; b < l->nbooks; b++) {
		want_objects(d, l->books[b].objects, wanted);
		want_freeing(l, &l->books[b], wanted);
	}
	for (size_t i = 0; i < l->ntwice; i++) {
		want_stack(d, l->twice[i].second, wanted);
		want_stack(d, l->twice[i].first, wanted);
		want_stack(d, l->twice[i].alloc, wanted);
	}
	/* what is printed is the frame that represents the code location */
	for (uint32_t f = 0; f < d->nframes; f++)
		if (wanted[f])
			wanted[same_as[f]] = true;
	return 0;
}
