/* SPDX-License-Identifier: MIT */
/* refs_merge: see refs_merge.h. */
#include "report/model/refs_merge.h"

#include <errno.h>
#include <stdlib.h>

#include "base/addrmap.h"
#include "base/grow.h"

/* Groups of one signature: how many there are, and the index of their merged group. */
struct kin {
	size_t groups;
	size_t entry;		/* + 1; 0: none yet */
};

static int count_kin(const struct summary_refs *refs, size_t n, struct addrmap *kin)
{
	for (size_t i = 0; i < n; i++) {
		bool fresh;
		struct kin *k = addrmap_slot(kin, refs[i].signature, &fresh);

		if (!k)
			return -ENOMEM;
		if (fresh)
			*k = (struct kin){ 0 };
		k->groups++;
	}
	return 0;
}

static struct summary_use *own(const struct summary_use *uses, size_t n)
{
	struct summary_use *copy = calloc(n + 1, sizeof(*copy));

	for (size_t i = 0; copy && i < n; i++)
		copy[i] = uses[i];
	return copy;
}

static int add_net(struct merged_refs *e, const struct summary_refs *r)
{
	struct refs_net *net = grow_by_one(&e->nets, e->nnets, sizeof(*net));

	if (!net)
		return -ENOMEM;
	*net = (struct refs_net){ r->net, r->objects };
	e->nnets++;
	e->least = e->nnets == 1 || r->net < e->least ? r->net : e->least;
	e->most = e->nnets == 1 || r->net > e->most ? r->net : e->most;
	return 0;
}

/* The uses are copied, since counts are added to them; their stacks remain those of the group. */
static int begin(struct merged_refs *e, const struct summary_refs *r, size_t order)
{
	*e = (struct merged_refs){ .refs = *r, .order = order };
	e->refs.acquired = own(r->acquired, r->nacquired);
	e->refs.released = own(r->released, r->nreleased);
	return e->refs.acquired && e->refs.released ? add_net(e, r) : -ENOMEM;
}

static void add_use(struct summary_use *to, const struct summary_use *from)
{
	to->count += from->count;
	to->module_acquired += from->module_acquired;
	to->module_released += from->module_released;
}

static void add_uses(struct summary_use *to, size_t n, const struct summary_use *from, size_t nfrom)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < nfrom; j++)
			if (to[i].site == from[j].site)
				add_use(&to[i], &from[j]);
}

static void per_object(struct summary_use *uses, size_t n, uint64_t objects)
{
	for (size_t i = 0; i < n; i++)
		uses[i].per_object = objects ? (double)uses[i].count / (double)objects : 0;
}

static int join(struct merged_refs *e, const struct summary_refs *r)
{
	struct summary_refs *to = &e->refs;

	to->objects += r->objects;
	to->growth.bytes_per_minute += r->growth.bytes_per_minute;
	to->oldest_s = r->oldest_s > to->oldest_s ? r->oldest_s : to->oldest_s;
	to->youngest_s = r->youngest_s < to->youngest_s ? r->youngest_s : to->youngest_s;
	add_uses(to->acquired, to->nacquired, r->acquired, r->nacquired);
	add_uses(to->released, to->nreleased, r->released, r->nreleased);
	per_object(to->acquired, to->nacquired, to->objects);
	per_object(to->released, to->nreleased, to->objects);
	return add_net(e, r);
}

static int take(const struct summary_refs *r, size_t order, struct addrmap *kin, struct merged_refs *all,
		size_t *n)
{
	struct kin *k = addrmap_get(kin, r->signature);
	bool apart = !r->signature || k->groups <= REFS_MERGE_FEW;

	if (!apart && k->entry)
		return join(&all[k->entry - 1], r);
	k->entry = ++*n;
	return begin(&all[*n - 1], r, order);
}

/* The merged group may be larger, or grow faster, than groups that came before its parts. */
static int compare(const void *pa, const void *pb, void *ctx)
{
	const struct merged_refs *a = pa, *b = pb;
	int order = summary_refs_order(ctx, &a->refs, &b->refs);

	if (order)
		return order;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Of groups that are merged the largest comes first, whichever grows fastest. */
static int compare_sizes(const void *pa, const void *pb, void *ctx)
{
	const struct summary_refs *refs = ctx;
	size_t ia = *(const size_t *)pa, ib = *(const size_t *)pb;
	int order = summary_refs_rank(&refs[ia]) - summary_refs_rank(&refs[ib]);

	if (order)
		return order;
	if (refs[ia].objects != refs[ib].objects)
		return refs[ia].objects > refs[ib].objects ? -1 : 1;
	return ia < ib ? -1 : ia > ib;
}

static int merge(const struct summary_refs *refs, size_t n, struct addrmap *kin, struct merged_refs *all,
		 size_t *nall)
{
	cleanup_free size_t *by_size = calloc(n + 1, sizeof(*by_size));
	int r = by_size ? count_kin(refs, n, kin) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		by_size[i] = i;
	if (n)
		qsort_r(by_size, n, sizeof(*by_size), compare_sizes, (void *)refs);
	for (size_t i = 0; i < n && r == 0; i++)
		r = take(&refs[by_size[i]], by_size[i], kin, all, nall);
	return r;
}

int refs_merge(const struct summary *s, size_t first, size_t n, struct merged_refs **out, size_t *nout)
{
	const struct summary_refs *refs = n ? &s->refs[first] : NULL;
	struct addrmap kin;
	int r;

	*nout = 0;
	*out = calloc(n + 1, sizeof(**out));
	addrmap_init(&kin, sizeof(struct kin));
	r = *out ? merge(refs, n, &kin, *out, nout) : -ENOMEM;
	if (r == 0 && n)
		qsort_r(*out, *nout, sizeof(**out), compare, (void *)s);
	addrmap_fini(&kin);
	return r;
}

void refs_merge_fini(struct merged_refs *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(all[i].refs.acquired);
		free(all[i].refs.released);
		free(all[i].nets);
	}
	free(all);
}
