/* SPDX-License-Identifier: MIT */
/* refplaces: see refplaces.h. */
#include "report/refs/refplaces.h"

#include <errno.h>
#include <stdlib.h>

#include "report/model/growth.h"
#include "report/names/expand.h"
#include "report/names/wrappers.h"

static int name(struct refplaces *p, const struct groups_options *opt, struct stack_group *d,
		struct refplace *place, struct summary *s)
{
	const struct ledger *l = p->stacks.ledger;
	struct stack_view stack = { .end = expand_path_end(&l->defs, d->path.frames, d->path.depth,
							   d->path.end) };
	int r = expand_path(&l->defs, d->path.frames, d->path.depth, &stack.frames, &stack.depth);

	if (r < 0)
		return r;
	wrappers_mark(stack.frames, stack.depth, l->skips, l->nskips);
	stack.wrappers = opt->keep_wrappers ? 0 : wrappers_count(stack.frames, stack.depth);
	place->stack = summary_keep_stack(s, &stack);
	free(stack.frames);
	d->wrappers = place->stack.wrappers;
	d->skip = expand_frames_within(&l->defs, d->path.frames, d->path.depth, d->wrappers);
	return refowners_find(&p->owners, &place->stack, &place->owner);
}

int refplaces_make(struct ledger *l, const struct groups_options *opt, uint32_t family,
		   const uint32_t *same_as, struct summary *s, struct refplaces *out)
{
	const struct stack_groups_choice choice = { .older_than_us = opt->older_than_us, .same_as = same_as };
	int r;

	out->all = NULL;
	refowners_init(&out->owners, l, family);
	r = stack_groups_make(l, family, &choice, &out->stacks);
	if (r < 0)
		return r;
	out->all = calloc(out->stacks.n + 1, sizeof(*out->all));
	if (!out->all)
		return -ENOMEM;
	for (size_t i = 0; i < out->stacks.n && r == 0; i++)
		r = name(out, opt, &out->stacks.all[i], &out->all[i], s);
	return r < 0 ? r : stack_groups_merge(&out->stacks);
}

void refplaces_fini(struct refplaces *p)
{
	free(p->all);
	refowners_fini(&p->owners);
	stack_groups_fini(&p->stacks);
}

uint32_t refplaces_of(const struct refplaces *p, uint32_t stack)
{
	return p->stacks.all[stack_groups_of(&p->stacks, stack, VERDICT_UNKNOWN)].twin;
}

/* An older object with a count of its own has references from before the watch: it is left out here. */
void refplaces_look(struct refplaces *p, const struct sig_object *o)
{
	if (o->net < 2 || (o->older && o->counted))
		return;
	for (uint32_t i = 0; i < o->nuses; i++) {
		struct refplace *place = &p->all[o->uses[i].place];

		place->several += o->uses[i].acquired != 0;
		place->as_many += o->uses[i].acquired == (uint64_t)o->net;
	}
}

struct summary_use refplaces_dropped(const struct refplaces *p, uint32_t place, uint64_t count,
				     uint64_t objects)
{
	return (struct summary_use){
		.site = place, .count = count, .per_object = (double)count / (double)objects,
		.stack = p->all[place].stack,
	};
}

struct summary_use refplaces_acquired(const struct refplaces *p, uint32_t place, uint64_t count,
				   uint64_t objects)
{
	struct summary_use use = refplaces_dropped(p, place, count, objects);

	use.acquired_in_all = p->stacks.all[place].allocs;
	use.outstanding = p->stacks.all[place].held_bytes;
	use.several = p->all[place].several;
	use.as_many = p->all[place].as_many;
	return use;
}

size_t refplaces_growth(const struct refplaces *p, uint32_t place, struct growth_point *series,
			struct growth *out)
{
	const struct stack_group *d = &p->stacks.all[place];
	size_t n = stack_groups_series(&p->stacks, d, series);

	growth_classify(series, n, p->stacks.ledger->now_us / 1e6, d->allocs,
		     d->allocs > d->held_bytes ? d->allocs - d->held_bytes : 0, out);
	return n;
}
