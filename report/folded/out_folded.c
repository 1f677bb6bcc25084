/* SPDX-License-Identifier: MIT */
/* out_folded: see out_folded.h. */
#include "report/folded/out_folded.h"

#include "report/folded/folded.h"
#include "report/formats.h"
#include "report/model/sampled.h"

/* Surplus references, at the most suspect call site. */
static void add_refs(struct folded *f, const struct summary_refs *r)
{
	const struct summary_use *u = r->acquired;

	if (!r->nacquired || r->net <= 0)
		return;
	folded_add(f, &(struct summary_group){ .family = r->family, .stack = u->stack },
		   r->objects * (uint64_t)r->net, 0);
}

static void add_group(struct folded *f, const struct summary *s, const struct summary_group *g)
{
	uint64_t bytes = g->sampled ? sampled_kept_bytes(g->sampled, s->run.seconds) : g->bytes;

	if (bytes || !g->sampled)
		folded_add(f, g, bytes, 0);
}

int out_folded(const struct summary *s, size_t top, struct strbuf *sb)
{
	struct folded f;
	int r;

	(void)top;
	if (summary_error(s))
		return summary_error(s);
	folded_init(&f, folded_families(s));
	f.verdicts = s->run.verdicts.known;
	for (size_t i = 0; i < s->ngroups; i++)
		add_group(&f, s, &s->groups[i]);
	for (size_t i = 0; i < s->nrefs; i++)
		add_refs(&f, &s->refs[i]);
	r = folded_put(&f, 1, sb);
	folded_fini(&f);
	return r;
}

/* --- a difference --- */

static void add_diff_refs(struct folded *f, const struct diff_refs *d)
{
	const struct summary_use *u = diff_refs_use(d->refs);

	folded_add(f, &(struct summary_group){ .family = d->refs->family, .stack = u->stack },
		   d->old_objects, d->new_objects);
}

int out_diff_folded(const struct diff *d, size_t top, struct strbuf *sb)
{
	struct folded f;
	int r;

	(void)top;
	if (diff_error(d))
		return diff_error(d);
	folded_init(&f, folded_families(d->old) || folded_families(d->new));
	for (size_t i = 0; i < d->ngroups; i++)
		folded_add(&f, d->groups[i].group, d->groups[i].old_bytes, d->groups[i].new_bytes);
	for (size_t i = 0; i < d->nrefs; i++)
		add_diff_refs(&f, &d->refs[i]);
	r = folded_put(&f, 2, sb);
	folded_fini(&f);
	return r;
}

/* --- all --- */

const struct report_format report_format_folded = {
	.name = "folded", .what = "a line for each stack, for flamegraph.pl",
	.watch = out_folded, .diff = out_diff_folded,
	.why_not = "it is made of stacks, and blocks that were not watched have none",
};
