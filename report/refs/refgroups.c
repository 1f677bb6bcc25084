/* SPDX-License-Identifier: MIT */
/*
 * refgroups: see refgroups.h.
 *
 *	places		of all stacks that used an object which still has references, with names (refplaces.c)
 *	signatures	the group of each object (signatures.c)
 *	groups		suppressed and filtered ones are left out; the most suspect place comes first, and
 *			its growth is that of the group
 */
#include "report/refs/refgroups.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "report/refs/refplaces.h"
#include "report/refs/signatures.h"

/* An object and its group, for --per-object and lookups. */
struct member {
	uint32_t group;
	taddr addr;
};

struct maker {
	struct ledger *ledger;
	const struct groups_options *opt;
	struct summary *summary;
	const struct objects *objects;
	uint32_t family;
	struct refplaces places;
	struct signatures signatures;
	struct sig_use *uses;		/* buffer for those of one object */
	size_t uses_size;
	struct member *members;		/* by group, then by address */
	size_t nmembers, members_size;
	size_t next_member;		/* index of the next group's first member, or lower */
};

/* --- objects --- */

static int compare_places(const void *pa, const void *pb)
{
	const struct sig_use *a = pa, *b = pb;

	return a->place < b->place ? -1 : a->place > b->place;
}

/* Merge uses at the same place: several stacks may share one. */
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
		mk->uses[i] = (struct sig_use){ refplaces_of(&mk->places, o->uses[i].stack), o->uses[i].taken,
						o->uses[i].dropped };
	*out = (struct sig_object){
		.addr = addr, .birth_us = o->birth_us, .net = o->net, .older = o->older,
		.counted = o->counted,
		.uses = mk->uses, .nuses = join_places(mk->uses, o->nuses),
	};
	return 0;
}

static int keep_member(struct maker *mk, uint32_t group, taddr addr)
{
	size_t n = mk->nmembers;

	if (!mk->opt->per_object && !mk->opt->lookup)
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
		if (!stack_groups_wants(&mk->places.drafts, o->birth_us))
			continue;
		r = read_object(mk, addr, o, &one);
		if (r < 0)
			break;
		refplaces_look(&mk->places, &one);
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
		const struct refplace *place = &mk->places.all[g->uses[i].place];

		focused |= select_focuses(mk->opt->select, place->stack.frames, place->stack.depth);
		if (g->uses[i].taken && select_ignores(mk->opt->select, place->stack.frames, place->stack.depth))
			return false;
	}
	return focused || (!g->nuses && select_focuses(mk->opt->select, NULL, 0));
}

static bool is_suppressed(const struct maker *mk, const struct sig_group *g)
{
	for (uint32_t i = 0; i < g->nuses; i++) {
		const struct refplace *place = &mk->places.all[g->uses[i].place];

		if (g->uses[i].taken &&
		    suppressions_match(mk->opt->suppressions, SUPPRESS_LEAK, VERDICT_UNKNOWN,
				       place->stack.frames, place->stack.depth, g->objects, 0))
			return true;
	}
	return false;
}

/* --- groups --- */

/* What each module acquired and released on the objects of the group. */
static int fill_modules(const struct maker *mk, const struct sig_group *g, struct summary_refs *out)
{
	const struct refowners *owners = &mk->places.owners;
	cleanup_free struct sig_use *sums = calloc(owners->n + 1, sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->nuses; i++) {
		struct sig_use *sum = &sums[mk->places.all[g->uses[i].place].owner];

		sum->taken += g->uses[i].taken;
		sum->dropped += g->uses[i].dropped;
	}
	for (size_t i = 0; i < out->ntaken; i++) {
		struct summary_use *u = &out->taken[i];
		uint32_t owner = mk->places.all[u->place].owner;

		u->module = owners->all[owner];
		u->module_taken = sums[owner].taken;
		u->module_dropped = sums[owner].dropped;
	}
	return 0;
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
			out->taken[out->ntaken++] =
				refplaces_taken(&mk->places, u->place, u->taken, g->objects);
		if (u->dropped)
			out->dropped[out->ndropped++] =
				refplaces_dropped(&mk->places, u->place, u->dropped, g->objects);
	}
	if (fill_modules(mk, g, out) < 0)
		return -ENOMEM;
	summary_sort_uses(out->taken, out->ntaken);
	summary_sort_uses(out->dropped, out->ndropped);
	return 0;
}

/*
 * Several groups may share one acquiring place: each gets its part of the references still held there, and of
 * the rate.
 */
static void judge_growth(const struct maker *mk, struct growth_point *series, struct summary_refs *out)
{
	const struct summary_use *first = out->taken;

	if (!out->ntaken)
		return;
	out->series = series;
	out->npoints = refplaces_growth(&mk->places, first->place, series, &out->growth);
	if (first->kept > first->count)
		out->growth.bytes_per_minute *= (double)first->count / (double)first->kept;
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
	out->age_s = ledger_age_s(mk->ledger, o->birth_us);
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
	const struct defs_family *f = &mk->ledger->defs.families[mk->family];
	struct growth_point series[MMT_SERIES_POINTS + 1];
	taddr samples[SIGNATURE_SAMPLES];
	struct summary_refs out = {
		.family = ledger_family_name(mk->ledger, mk->family), .noun = f->noun, .objects = g->objects,
		.net = g->net, .older = g->older, .counted = g->counted, .signature = g->kin,
		.oldest_s = ledger_age_s(mk->ledger, g->oldest_us),
		.youngest_s = ledger_age_s(mk->ledger, g->youngest_us), .samples = samples,
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
	free(mk->uses);
	free(mk->members);
	signatures_fini(&mk->signatures);
	refplaces_fini(&mk->places);
}

int refgroups_add(struct ledger *l, const struct groups_options *opt, uint32_t family,
		  const uint32_t *same_as, struct summary *s)
{
	struct maker mk = {
		.ledger = l, .opt = opt, .summary = s, .family = family, .objects = l->books[family].objects,
	};
	int r;

	signatures_init(&mk.signatures);
	r = refplaces_make(l, opt, family, same_as, s, &mk.places);
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
			/* wraps as unsigned: `by` can be anything */
			f->net = (int64_t)((uint64_t)f->net + (uint64_t)o->net);
	}
}
