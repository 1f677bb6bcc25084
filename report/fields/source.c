/* SPDX-License-Identifier: MIT */
#include "report/fields/source.h"

#include <errno.h>
#include <stdlib.h>

static int make_members(struct field_members *m, const size_t *row_of, size_t n, size_t nrows)
{
	m->first = calloc(nrows + 1, sizeof(*m->first));
	m->next = calloc(n + 1, sizeof(*m->next));
	if (!m->first || !m->next)
		return -ENOMEM;
	for (size_t i = n; i-- > 0;) {
		m->next[i] = m->first[row_of[i]];
		m->first[row_of[i]] = i + 1;
	}
	return 0;
}

static void fini_members(struct field_members *m)
{
	free(m->first);
	free(m->next);
}

int report_source_make(const struct summary *s, struct report_source *out)
{
	struct rows *rows = &out->rows;
	int r;

	out->its = (struct field_source){ .s = s, .view = &rows->by_stack.view, .rows = rows };
	r = rows_make(s, rows);
	if (r == 0)
		r = make_members(&out->its.groups, rows->of_group, s->ngroups, rows->by_stack.view.ngroups);
	return r ? r : make_members(&out->its.refs, rows->of_refs, s->nrefs, rows->nrefs);
}

void report_source_fini(struct report_source *r)
{
	fini_members(&r->its.groups);
	fini_members(&r->its.refs);
	rows_fini(&r->rows);
}
