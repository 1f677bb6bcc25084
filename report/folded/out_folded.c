/* SPDX-License-Identifier: MIT */
/* out_folded: see out_folded.h. */
#include "report/folded/out_folded.h"

#include "report/folded/folded.h"
#include "report/model/sampled.h"

/* References too many, where they are most suspected to come from. */
static void add_refs(struct folded *f, const struct summary_refs *r)
{
	const struct summary_use *u = r->taken;

	if (!r->ntaken || r->net <= 0)
		return;
	folded_add(f, &(struct summary_group){ .family = r->family, .stack = (struct summary_frame *)u->frames, .depth = u->depth,
					       .wrappers = u->wrappers, .stack_end = u->end },
		   r->objects * (uint64_t)r->net, 0);
}

static void add_group(struct folded *f, const struct summary *s, const struct summary_group *g)
{
	uint64_t bytes = g->sampled ? sampled_kept_bytes(g->sampled, s->run.seconds) : g->bytes;

	if (bytes || !g->sampled)
		folded_add(f, g, bytes, 0);
}

int out_folded(const struct summary *s, struct strbuf *sb)
{
	struct folded f;
	int r;

	if (summary_error(s))
		return summary_error(s);
	folded_init(&f, folded_families(s));
	f.verdicts = s->run.verdicts.taken;
	for (size_t i = 0; i < s->ngroups; i++)
		add_group(&f, s, &s->groups[i]);
	for (size_t i = 0; i < s->nrefs; i++)
		add_refs(&f, &s->refs[i]);
	r = folded_put(&f, 1, sb);
	folded_fini(&f);
	return r;
}
