/* SPDX-License-Identifier: MIT */
/*
 * refgroups: see refgroups.h.
 *
 *	drafts		the places of all stacks that used an object which is held (drafts.c)
 *	named		their frames; where the wrappers end; those that look the same without them are one
 *	signatures	each object to its group (signatures.c)
 *	groups		what is suppressed or filtered goes; the most suspect place first; judged by how that grew
 */
#include "report/refgroups.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "report/drafts.h"
#include "report/expand.h"
#include "report/growth.h"
#include "report/signatures.h"
#include "report/wrappers.h"

/* A place with its names. */
struct spot {
	const struct summary_frame *frames;
	size_t depth;
};

/* An object and its group, where each one is to be told. */
struct member {
	uint32_t group;
	taddr addr;
};

struct maker {
	struct ledger *ledger;
	const struct groups_options *opt;
	struct summary *summary;
	const struct objects *objects;
	struct drafts drafts;
	struct spot *spots;		/* of each draft */
	struct signatures signatures;
	struct sig_use *uses;		/* room for those of one object */
	size_t uses_size;
	struct member *members;		/* by group, then by address */
	size_t nmembers, members_size;
	size_t next_member;		/* where those of the next group begin, or earlier */
};

/* --- places --- */

/* The summary keeps its frames, once for all groups. */
static int name_spot(struct maker *mk, struct draft *d, struct spot *spot)
{
	const struct defs *defs = &mk->ledger->defs;
	cleanup_free struct summary_frame *frames = NULL;
	int r = expand_path(defs, d->path.frames, d->path.depth, &frames, &spot->depth);

	if (r < 0)
		return r;
	wrappers_mark(frames, spot->depth, mk->ledger->skips, mk->ledger->nskips);
	spot->frames = summary_keep_stack(mk->summary, frames, &spot->depth);
	if (!mk->opt->keep_wrappers)
		d->wrappers = wrappers_count(spot->frames, spot->depth);
	d->skip = expand_frames_within(defs, d->path.frames, d->path.depth, d->wrappers);
	return 0;
}

static int name_spots(struct maker *mk)
{
	int r = 0;

	mk->spots = calloc(mk->drafts.n + 1, sizeof(*mk->spots));
	if (!mk->spots)
		return -ENOMEM;
	for (size_t i = 0; i < mk->drafts.n && r == 0; i++)
		r = name_spot(mk, &mk->drafts.all[i], &mk->spots[i]);
	return r == 0 ? drafts_merge(&mk->drafts) : r;
}

static uint32_t place_of(const struct maker *mk, uint32_t stack)
{
	return mk->drafts.all[mk->drafts.of_stack[stack]].twin;
}

/* --- objects --- */

static int compare_places(const void *pa, const void *pb)
{
	const struct sig_use *a = pa, *b = pb;

	return a->place < b->place ? -1 : a->place > b->place;
}

/* Several stacks may be of one place. */
static uint32_t join_places(struct sig_use *uses, uint32_t n)
{
	uint32_t joined = 0;

	if (n)
		qsort(uses, n, sizeof(*uses), compare_places);
	for (uint32_t i = 0; i < n; i++) {
		if (joined && uses[joined - 1].place == uses[i].place) {
			uses[joined - 1].taken += uses[i].taken;
			uses[joined - 1].dropped += uses[i].dropped;
		} else {
			uses[joined++] = uses[i];
		}
	}
	return joined;
}

static int read_object(struct maker *mk, taddr addr, const struct object *o, struct sig_object *out)
{
	if (o->nuses > mk->uses_size) {
		struct sig_use *more = reallocarray(mk->uses, o->nuses, sizeof(*more));

		if (!more)
			return -ENOMEM;
		mk->uses = more;
		mk->uses_size = o->nuses;
	}
	for (uint32_t i = 0; i < o->nuses; i++)
		mk->uses[i] = (struct sig_use){ place_of(mk, o->uses[i].stack), o->uses[i].taken, o->uses[i].dropped };
	*out = (struct sig_object){
		.addr = addr, .birth_us = o->birth_us, .net = o->net, .older = o->older, .counted = o->counted,
		.uses = mk->uses, .nuses = join_places(mk->uses, o->nuses),
	};
	return 0;
}

static int keep_member(struct maker *mk, uint32_t group, taddr addr)
{
	size_t n = mk->nmembers;

	if (!mk->opt->per_object)
		return 0;
	if (grow_for(&mk->members, n, &mk->members_size, sizeof(*mk->members)) < 0)
		return -ENOMEM;
	mk->members[mk->nmembers++] = (struct member){ group, addr };
	return 0;
}

static int compare_members(const void *pa, const void *pb)
{
	const struct member *a = pa, *b = pb;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static int sort_objects(struct maker *mk)
{
	const struct object *o;
	struct sig_object one;
	uint32_t group;
	taddr addr;
	int r = 0;

	for (size_t at = 0; r == 0 && objects_next(mk->objects, &at, &addr, &o);) {
		if (!drafts_wants(&mk->drafts, o->birth_us))
			continue;
		r = read_object(mk, addr, o, &one);
		if (r == 0)
			r = signatures_add(&mk->signatures, &one, &group);
		if (r == 0)
			r = keep_member(mk, group, addr);
	}
	if (mk->nmembers)
		qsort(mk->members, mk->nmembers, sizeof(*mk->members), compare_members);
	return r;
}

/* --- what is not shown --- */

static void hide(struct summary_hidden *h, const struct sig_group *g)
{
	h->ref_groups++;
	h->objects += g->objects;
}

static bool is_wanted(const struct maker *mk, const struct sig_group *g)
{
	bool focused = false;

	for (uint32_t i = 0; i < g->nuses; i++) {
		const struct spot *spot = &mk->spots[g->uses[i].place];

		focused |= select_focuses(mk->opt->select, spot->frames, spot->depth);
		if (g->uses[i].taken && select_ignores(mk->opt->select, spot->frames, spot->depth))
			return false;
	}
	return focused || (!g->nuses && select_focuses(mk->opt->select, NULL, 0));
}

static bool is_suppressed(const struct maker *mk, const struct sig_group *g)
{
	for (uint32_t i = 0; i < g->nuses; i++) {
		const struct spot *spot = &mk->spots[g->uses[i].place];

		if (g->uses[i].taken && suppressions_match(mk->opt->suppressions, SUPPRESS_LEAK, VERDICT_UNKNOWN, spot->frames,
							   spot->depth, g->objects, 0))
			return true;
	}
	return false;
}

/* --- groups --- */

static struct summary_use use_of(const struct maker *mk, const struct sig_group *g, uint32_t place, uint64_t count)
{
	const struct draft *d = &mk->drafts.all[place];
	const struct spot *spot = &mk->spots[place];

	return (struct summary_use){
		.place = place, .count = count, .per_object = (double)count / (double)g->objects, .taken_in_all = d->allocs,
		.kept = d->held_bytes, .frames = spot->frames, .depth = spot->depth, .wrappers = d->wrappers,
		.end = expand_path_end(&mk->ledger->defs, d->path.frames, d->path.depth, d->path.end),
	};
}

static int fill_uses(const struct maker *mk, const struct sig_group *g, struct summary_refs *out)
{
	out->taken = calloc(g->nuses + 1, sizeof(*out->taken));
	out->dropped = calloc(g->nuses + 1, sizeof(*out->dropped));
	if (!out->taken || !out->dropped)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->nuses; i++) {
		const struct sig_use *u = &g->uses[i];

		if (u->taken)
			out->taken[out->ntaken++] = use_of(mk, g, u->place, u->taken);
		if (!u->dropped)
			continue;
		out->dropped[out->ndropped] = use_of(mk, g, u->place, u->dropped);
		/* what that place may have taken besides does not put it in front */
		out->dropped[out->ndropped].taken_in_all = out->dropped[out->ndropped].kept = 0;
		out->ndropped++;
	}
	summary_sort_uses(out->taken, out->ntaken);
	summary_sort_uses(out->dropped, out->ndropped);
	return 0;
}

static double age_s(const struct maker *mk, uint64_t birth_us)
{
	return birth_us < mk->ledger->now_us ? (mk->ledger->now_us - birth_us) / 1e6 : 0;
}

/* Several groups may be taken at one place: each has its part of what is held there, and of the rate. */
static void judge_growth(const struct maker *mk, struct growth_point *series, struct summary_refs *out)
{
	const struct draft *d;

	if (!out->ntaken)
		return;
	d = &mk->drafts.all[out->taken[0].place];
	out->series = series;
	out->npoints = drafts_series(&mk->drafts, d, series);
	growth_judge(series, out->npoints, mk->ledger->now_us / 1e6, d->allocs,
		     d->allocs > d->held_bytes ? d->allocs - d->held_bytes : 0, &out->growth);
	if (d->held_bytes > out->taken[0].count)
		out->growth.bytes_per_minute *= (double)out->taken[0].count / (double)d->held_bytes;
}

static uint64_t count_at(const struct sig_object *o, uint32_t place, bool taken)
{
	const struct sig_use key = { .place = place };
	const struct sig_use *u = bsearch(&key, o->uses, o->nuses, sizeof(key), compare_places);

	return !u ? 0 : taken ? u->taken : u->dropped;
}

static int fill_object(struct maker *mk, taddr addr, const struct summary_refs *refs, struct summary_object *out)
{
	const struct object *o = objects_get(mk->objects, addr);
	struct sig_object one;

	out->addr = addr;
	out->age_s = age_s(mk, o->birth_us);
	out->counts = calloc(refs->ntaken + refs->ndropped + 1, sizeof(*out->counts));
	if (!out->counts || read_object(mk, addr, o, &one) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < refs->ntaken; i++)
		out->counts[i] = count_at(&one, refs->taken[i].place, true);
	for (size_t i = 0; i < refs->ndropped; i++)
		out->counts[refs->ntaken + i] = count_at(&one, refs->dropped[i].place, false);
	return 0;
}

static int fill_objects(struct maker *mk, uint32_t group, struct summary_refs *refs)
{
	size_t i = mk->next_member;
	int r = 0;

	while (i < mk->nmembers && mk->members[i].group < group)
		i++;
	refs->all = mk->nmembers ? calloc(refs->objects, sizeof(*refs->all)) : NULL;
	if (mk->nmembers && !refs->all)
		return -ENOMEM;
	for (; r == 0 && i < mk->nmembers && mk->members[i].group == group; i++)
		r = fill_object(mk, mk->members[i].addr, refs, &refs->all[refs->nall++]);
	mk->next_member = i;
	return r;
}

static void free_refs(struct summary_refs *refs)
{
	for (size_t i = 0; i < refs->nall; i++)
		free(refs->all[i].counts);
	free(refs->all);
	free(refs->taken);
	free(refs->dropped);
}

static int add_group(struct maker *mk, uint32_t index)
{
	const struct sig_group *g = &mk->signatures.groups[index];
	const struct defs_family *f = &mk->ledger->defs.families[mk->drafts.family];
	struct growth_point series[MMT_SERIES_POINTS + 1];
	taddr samples[SIGNATURE_SAMPLES];
	struct summary_refs out = {
		.family = groups_family_name(mk->ledger, mk->drafts.family), .noun = f->noun, .objects = g->objects,
		.net = g->net, .older = g->older, .counted = g->counted, .signature = g->kin,
		.oldest_s = age_s(mk, g->oldest_us), .youngest_s = age_s(mk, g->youngest_us), .samples = samples,
		.nsamples = g->nsamples,
	};
	int r = fill_uses(mk, g, &out);

	for (uint32_t i = 0; i < g->nsamples; i++)
		samples[i] = g->samples[i].addr;
	if (r == 0) {
		judge_growth(mk, series, &out);
		r = fill_objects(mk, index, &out);
	}
	if (r == 0)
		summary_add_refs(mk->summary, &out);
	free_refs(&out);
	return r;
}

static int add_groups(struct maker *mk)
{
	int r = 0;

	for (uint32_t i = 0; i < mk->signatures.n && r == 0; i++) {
		const struct sig_group *g = &mk->signatures.groups[i];

		if (!is_wanted(mk, g))
			hide(&mk->summary->filtered, g);
		else if (is_suppressed(mk, g))
			hide(&mk->summary->suppressed, g);
		else
			r = add_group(mk, i);
	}
	return r;
}

/* --- all --- */

static void fini(struct maker *mk)
{
	free(mk->spots);
	free(mk->uses);
	free(mk->members);
	signatures_fini(&mk->signatures);
	drafts_fini(&mk->drafts);
}

int refgroups_add(struct ledger *l, const struct groups_options *opt, uint32_t family, const uint32_t *same_as,
		  struct summary *s)
{
	struct maker mk = { .ledger = l, .opt = opt, .summary = s, .objects = l->books[family].objects };
	int r;

	signatures_init(&mk.signatures);
	r = drafts_make(l, family, opt->older_than_us, same_as, &mk.drafts);
	if (r == 0)
		r = name_spots(&mk);
	if (r == 0)
		r = sort_objects(&mk);
	if (r == 0)
		r = add_groups(&mk);
	fini(&mk);
	return r;
}

void refgroups_count(const struct ledger *l, uint32_t family, struct summary_family *f)
{
	const struct objects *objects = l->books[family].objects;
	const struct object *o;
	taddr addr;

	f->kept += objects_count(objects);
	for (size_t at = 0; objects_next(objects, &at, &addr, &o);) {
		if (o->older)
			f->older++;
		else
			f->net += o->net;
	}
}
