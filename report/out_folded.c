/* SPDX-License-Identifier: MIT */
/* out_folded: see out_folded.h. */
#include "report/out_folded.h"

#include "report/folded.h"

int out_folded(const struct summary *s, struct strbuf *sb)
{
	struct folded f;
	int r;

	if (summary_error(s))
		return summary_error(s);
	folded_init(&f, folded_families(s));
	for (size_t i = 0; i < s->ngroups; i++)
		folded_add(&f, &s->groups[i], s->groups[i].bytes, 0);
	r = folded_put(&f, 1, sb);
	folded_fini(&f);
	return r;
}
