/* SPDX-License-Identifier: MIT */
/*
 * refgroups: see refgroups.h.
 *
 *	places		of all stacks that used an object which still has references, with names (refplaces.c)
 *	signatures	the group of each object (signatures.c)
 *	groups		suppressed and filtered ones are left out; the most suspect call site comes first, and
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

/* Merge uses at the same call site: several stacks may share one. */
static uint32_t join_sites(struct sig_use *uses, uint32_t n)
{
	uint32_t joined = 0;

	if (n)
		qsort(uses, n, sizeof(*uses), compare_places);
	for (uint32_t i = 0; i < n; i++) {
		if (joined && uses[joined - 1].place == uses[i].place) {
			uses[joined - 1].acquired += uses[i].acquired;
			uses[joined - 1].released += uses[i].released;
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
		mk->uses[i] = (struct sig_use){ refplaces_of(&mk->places, o->uses[i].stack),
						o->uses[i].acquired, o->uses[i].released };
	*out = (struct sig_object){
		.addr = addr, .birth_us = o->birth_us, .net = o->net, .older = o->older,
		.counted = o->counted,
		.uses = mk->uses, .nuses = join_sites(mk->uses, o->nuses),
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
		if (!stack_groups_wants(&mk->places.stacks, o->birth_us))
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
		if (g->uses[i].acquired &&
		    select_ignores(mk->opt->select, place->stack.frames, place->stack.depth))
			return false;
	}
	return focused || (!g->nuses && select_focuses(mk->opt->select, NULL, 0));
}

static bool is_suppressed(const struct maker *mk, const struct sig_group *g)
{
	for (uint32_t i = 0; i < g->nuses; i++) {
		const struct refplace *place = &mk->places.all[g->uses[i].place];

		if (g->uses[i].acquired &&
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

		sum->acquired += g->uses[i].acquired;
		sum->released += g->uses[i].released;
	}
	for (size_t i = 0; i < out->nacquired; i++) {
		struct summary_use *u = &out->acquired[i];
		uint32_t owner = mk->places.all[u->site].owner;

		u->module = owners->all[owner];
		u->module_acquired = sums[owner].acquired;
		u->module_released = sums[owner].released;
	}
	return 0;
}

static int fill_uses(const struct maker *mk, const struct sig_group *g, struct summary_refs *out)
{
	out->acquired = calloc(g->nuses + 1, sizeof(*out->acquired));
	out->released = calloc(g->nuses + 1, sizeof(*out->released));
	if (!out->acquired || !out->released)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->nuses; i++) {
		const struct sig_use *u = &g->uses[i];

		if (u->acquired)
			out->acquired[out->nacquired++] =
				refplaces_acquired(&mk->places, u->place, u->acquired, g->objects);
		if (u->released)
			out->released[out->nreleased++] =
				refplaces_dropped(&mk->places, u->place, u->released, g->objects);
	}
	if (fill_modules(mk, g, out) < 0)
		return -ENOMEM;
	summary_sort_uses(out->acquired, out->nacquired);
	summary_sort_uses(out->released, out->nreleased);
	return 0;
}

/*
 * Several groups may share one acquiring call site: each gets its part of that site's outstanding references,
 * and of the rate.
 */
static void judge_growth(const struct maker *mk, struct growth_point *series, struct summary_refs *out)
{
	const struct summary_use *first = out->acquired;

	if (!out->nacquired)
		return;
	out->series = series;
	out->npoints = refplaces_growth(&mk->places, first->site, series, &out->growth);
	if (first->outstanding > first->count)
		out->growth.bytes_per_minute *= (double)first->count / (double)first->outstanding;
}

static uint64_t count_at(const struct sig_object *o, uint32_t place, bool taken)
{
	const struct sig_use key = { .place = place };
	const struct sig_use *u = bsearch(&key, o->uses, o->nuses, sizeof(key), compare_places);

	return !u ? 0 : taken ? u->acquired : u->released;
}

static int fill_object(struct maker *mk, taddr addr, const struct summary_refs *refs,
		       struct summary_object *out)
{
	const struct object *o = objects_get(mk->objects, addr);
	struct sig_object one;

	out->addr = addr;
	out->age_s = ledger_age_s(mk->ledger, o->birth_us);
	out->counts = calloc(refs->nacquired + refs->nreleased + 1, sizeof(*out->counts));
	if (!out->counts || read_object(mk, addr, o, &one) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < refs->nacquired; i++)
		out->counts[i] = count_at(&one, refs->acquired[i].site, true);
	for (size_t i = 0; i < refs->nreleased; i++)
		out->counts[refs->nacquired + i] = count_at(&one, refs->released[i].site, false);
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
	free(refs->acquired);
	free(refs->released);
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

	f->live += objects_count(objects);
	for (size_t at = 0; objects_next(objects, &at, &addr, &o);) {
		if (o->older)
			f->older++;
		else
			/* wraps as unsigned: `by` can be anything */
			f->net = (int64_t)((uint64_t)f->net + (uint64_t)o->net);
	}
}
