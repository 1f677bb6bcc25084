/* SPDX-License-Identifier: MIT */
/* out_pprof: see out_pprof.h. */
#include "report/pprof/out_pprof.h"

#include <math.h>

#include "base/version.h"
#include "report/export/export.h"
#include "report/formats.h"
#include "report/names/rows.h"
#include "report/pprof/profile.h"

/* Few classes, so that they can be chosen from a list. */
static const char *age_class(double seconds)
{
	static const struct { double below_s; const char *name; } classes[] = {
		{ 1, "< 1s" }, { 10, "1s to 10s" }, { 60, "10s to 1m" }, { 600, "1m to 10m" }, { 3600, "10m to 1h" },
	};

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (seconds < classes[i].below_s)
			return classes[i].name;
	return "1h or more";
}

static void label(struct profile *p, const struct summary *s, const struct summary_group *g, const struct rows *rows)
{
	cleanup_strbuf struct strbuf mark = STRBUF_INIT;

	if (g->blocks || g->sampled) {
		row_mark(&mark, s, g->family, rows_number_of(rows, (size_t)(g - s->groups)));
		profile_label(p, "group", strbuf_str(&mark));
	}
	if (g->verdict != VERDICT_UNKNOWN)
		profile_label(p, "verdict", verdict_name(g->verdict));
	if (g->blocks && !g->sampled)
		profile_label(p, "age", age_class(g->oldest_s));
	if (s->nfamilies > 1 && g->family)
		profile_label(p, "family", g->family);
	if (g->tag)
		profile_label(p, "tag", g->tag);
	if (s->target.comm)
		profile_label(p, "process", s->target.comm);
	if (s->run.host)
		profile_label(p, "host", s->run.host);
	if (s->target.pid)
		profile_label_number(p, "pid", s->target.pid);
}

static int64_t limited(uint64_t value)
{
	return value < INT64_MAX ? (int64_t)value : INT64_MAX;
}

static void add_group(struct profile *p, const struct summary *s, const struct summary_group *g,
		      const struct rows *rows)
{
	const struct export_values its = export_values(s, g);
	int64_t values[EXPORT_VALUES];

	for (size_t v = 0; v < EXPORT_VALUES; v++)
		values[v] = limited(its.of[v]);
	label(p, s, g, rows);
	profile_sample(p, &g->stack, values, EXPORT_VALUES);
}

static void comment(struct profile *p, const struct summary *s)
{
	profile_comment(p, "mmattach " MM_VERSION);
	if (summary_is_sampled(&s->run))
		profile_comment(p, "sampled: values are estimates for the whole watch; inuse is what is estimated "
				   "to stay");
	if (s->run.sample_bytes)
		profile_comment(p, "values are estimates from a sample of blocks (--sample)");
	for (size_t i = 0; i < s->nnotes; i++)
		profile_comment(p, s->notes[i]);
}

static int put(struct profile *p, const struct summary *s, struct strbuf *sb)
{
	const double ns = s->run.seconds * 1e9;
	int r;

	comment(p, s);
	r = profile_put(p, s->target.exe, s->run.start_ns, ns > 0 && ns < 9e18 ? (int64_t)llround(ns) : 0, sb);
	profile_fini(p);
	return r;
}

int out_pprof(const struct summary *s, size_t top, struct strbuf *sb)
{
	struct profile p;
	struct rows rows;
	int r;

	(void)top;
	if (summary_error(s))
		return summary_error(s);
	r = rows_make(s, &rows);
	profile_init(&p);
	profile_type(&p, "alloc_objects", "count");
	profile_type(&p, "alloc_space", "bytes");
	profile_type(&p, "inuse_objects", "count");
	profile_type(&p, "inuse_space", "bytes");
	for (size_t i = 0; i < s->ngroups && r == 0; i++)
		add_group(&p, s, &s->groups[i], &rows);
	rows_fini(&rows);
	if (r == 0)
		return put(&p, s, sb);
	profile_fini(&p);
	return r;
}

/* --- a difference --- */

static int64_t difference(uint64_t new, uint64_t old)
{
	return new >= old ? limited(new - old) : -limited(old - new);
}

int out_diff_pprof(const struct diff *d, size_t top, struct strbuf *sb)
{
	struct profile p;

	(void)top;
	if (diff_error(d))
		return diff_error(d);
	profile_init(&p);
	profile_type(&p, "inuse_objects", "count");
	profile_type(&p, "inuse_space", "bytes");
	for (size_t i = 0; i < d->ngroups; i++) {
		const struct diff_group *g = &d->groups[i];
		const int64_t values[] = { difference(g->new_blocks, g->old_blocks),
					   difference(g->new_bytes, g->old_bytes) };

		profile_label(&p, "change", diff_change_name(g->change));
		if (g->group->tag)
			profile_label(&p, "tag", g->group->tag);
		profile_sample(&p, &g->group->stack, values, 2);
	}
	return put(&p, d->new, sb);
}

/* --- all --- */

const struct report_format report_format_pprof = {
	.name = "pprof", .what = "a profile for go tool pprof (binary)",
	.watch = out_pprof, .diff = out_diff_pprof, .is_binary = true, .has_freed = true,
	.why_not = "it is made of stacks, and blocks that were not watched have none",
};
