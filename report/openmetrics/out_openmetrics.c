/* SPDX-License-Identifier: MIT */
/* out_openmetrics: see out_openmetrics.h. */
#include "report/openmetrics/out_openmetrics.h"

#include <inttypes.h>
#include <math.h>

#include "report/export/export.h"
#include "report/formats.h"
#include "report/names/rows.h"
#include "report/model/format_text.h"

#define GROUPS 10u

/* --- lines --- */

static void put_family(struct strbuf *sb, const char *name, const char *unit, const char *help)
{
	strbuf_printf(sb, "# TYPE mmattach_%s gauge\n", name);
	if (unit)
		strbuf_printf(sb, "# UNIT mmattach_%s %s\n", name, unit);
	strbuf_printf(sb, "# HELP mmattach_%s %s\n", name, help);
}

/* The value of a label: made safe to print, and its quotes and backslashes escaped. */
static void put_label(struct strbuf *sb, const char *name, const char *value)
{
	cleanup_strbuf struct strbuf safe = STRBUF_INIT;

	strbuf_text(&safe, value);
	strbuf_printf(sb, ",%s=\"", name);
	for (const char *p = strbuf_str(&safe); *p; p++) {
		if (*p == '"' || *p == '\\')
			strbuf_putc(sb, '\\');
		strbuf_putc(sb, *p);
	}
	strbuf_putc(sb, '"');
	if (safe.err && !sb->err)
		sb->err = safe.err;
}

static void begin(struct strbuf *sb, const char *name, const struct summary *s)
{
	strbuf_printf(sb, "mmattach_%s{", name);
	if (summary_is_merged(s))
		strbuf_printf(sb, "processes=\"%zu\"", s->nprocesses);
	else
		strbuf_printf(sb, "pid=\"%d\"", (int)s->target.pid);
	put_label(sb, "process", s->target.comm ? s->target.comm : "");
}

static void end(struct strbuf *sb, double value)
{
	if (isfinite(value))
		strbuf_printf(sb, floor(value) == value && fabs(value) < 1e15 ? "} %.0f\n" : "} %.6g\n", value);
	else
		strbuf_puts(sb, "} +Inf\n");
}

/* --- the process --- */

static void put_gauge(struct strbuf *sb, const struct summary *s, const char *name, const char *unit, const char *help,
		      double value)
{
	if (isnan(value))
		return;
	put_family(sb, name, unit, help);
	begin(sb, name, s);
	end(sb, value);
}

static void put_lost(struct strbuf *sb, const struct summary *s)
{
	static const enum verdict verdicts[] = { VERDICT_DEFINITE, VERDICT_INDIRECT, VERDICT_POSSIBLE,
						 VERDICT_REACHABLE };

	if (!s->run.verdicts.known)
		return;
	put_family(sb, "verdict_bytes", "bytes", "Live bytes of watched blocks, by verdict.");
	for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++) {
		begin(sb, "verdict_bytes", s);
		put_label(sb, "verdict", verdict_name(verdicts[i]));
		end(sb, (double)s->run.verdicts.watched[verdicts[i]].bytes);
	}
}

/* It is counted in other rows. */
static bool is_held(const struct summary *view, const struct summary_group *row)
{
	return row_section(view, row) == SUMMARY_HELD;
}

/* NaN: it is too early to say. */
static double growth_of(const struct summary_group *g)
{
	return g->growth.shape == GROWTH_UNKNOWN ? NAN : g->growth.bytes_per_minute / 60;
}

/* NaN if none is known to grow, and for some it is too early to say. */
static double growth_of_all(const struct summary *view)
{
	bool unknown = false;
	double sum = 0;

	for (size_t i = 0; i < view->ngroups; i++) {
		const double rate = growth_of(&view->groups[i]);

		unknown |= isnan(rate);
		if (growth_rises(&view->groups[i].growth) && isfinite(rate) && !is_held(view, &view->groups[i]))
			sum += rate;
	}
	return unknown && sum <= 0 ? NAN : sum;
}

static void put_memory(struct strbuf *sb, const struct summary *s)
{
	const struct summary_memory *m = summary_memory_of_target(s);

	if (m)
		put_gauge(sb, s, "resident_bytes", "bytes", "Resident memory of the process, as the kernel reports it.",
			  (double)summary_memory_rss(m));
}

static void put_process(struct strbuf *sb, const struct summary *s, const struct summary *view)
{
	put_gauge(sb, s, "watch_seconds", "seconds", "How long the process has been watched.", s->run.seconds);
	put_gauge(sb, s, "stopped_seconds", "seconds",
		  "How long its threads were stopped by the watch, summed over them.", s->run.stopped_seconds);
	put_gauge(sb, s, "events", NULL, "Allocations and frees that were seen.", (double)s->run.events);
	put_gauge(sb, s, "lost_events", NULL, "Events that were not seen.", (double)summary_lost_total(s));
	put_memory(sb, s);
	if (summary_is_sampled(&s->run))
		return;
	put_gauge(sb, s, "allocated_blocks", NULL, "Blocks that were allocated in the watch.",
		  (double)s->totals.allocs);
	put_gauge(sb, s, "live_blocks", NULL, "Blocks that were allocated in the watch and are live.",
		  (double)s->totals.live_blocks);
	put_gauge(sb, s, "live_bytes", "bytes", "Bytes of these blocks.", (double)s->totals.live_bytes);
	put_gauge(sb, s, "growth_bytes_per_second", NULL,
		  "How fast the groups of the report grow, those that do; without what a filter hides.",
		  growth_of_all(view));
	put_lost(sb, s);
}

/* --- groups --- */

static void put_where(struct strbuf *sb, const struct summary_group *g)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const struct summary_frame *f = export_depth(&g->stack) ? export_frame(&g->stack, 0) : NULL;

	if (f)
		export_frame_name(&text, f);
	put_label(sb, "function", f ? strbuf_str(&text) : EXPORT_NO_STACK);
	strbuf_reset(&text);
	if (f && f->file)
		strbuf_printf(&text, "%s:%d", format_base(f->file), f->line);
	put_label(sb, "source", strbuf_str(&text));
	put_label(sb, "module", f && f->module ? format_base(f->module) : "");
	if (text.err && !sb->err)
		sb->err = text.err;
}

typedef double group_value(const struct summary_group *row);

static double live_bytes(const struct summary_group *row)
{
	return (double)summary_weight(row);
}

static double kept(const struct summary_group *g)
{
	return g->sampled ? g->sampled->kept_bytes.value / 60 : 0;
}

static double kept_low(const struct summary_group *g)
{
	return g->sampled ? g->sampled->kept_bytes.low / 60 : 0;
}

static double kept_high(const struct summary_group *g)
{
	return g->sampled ? g->sampled->kept_bytes.high / 60 : INFINITY;
}

static void put_mark(struct strbuf *sb, const struct summary *view, const struct summary_group *row)
{
	cleanup_strbuf struct strbuf mark = STRBUF_INIT;

	row_mark(&mark, view, row->family, row->number);
	put_label(sb, "group", strbuf_str(&mark));
}

static void put_groups(struct strbuf *sb, const struct summary *s, const char *name, const char *unit, const char *help,
		       group_value *value)
{
	if (s->ngroups)
		put_family(sb, name, unit, help);
	for (size_t i = 0; i < s->ngroups && i < GROUPS; i++) {
		const struct summary_group *g = &s->groups[i];

		if (isnan(value(g)) || is_held(s, g))
			continue;
		begin(sb, name, s);
		strbuf_printf(sb, ",rank=\"%zu\"", i + 1);
		put_mark(sb, s, g);
		if (s->nfamilies > 1)
			put_label(sb, "family", g->family);
		put_where(sb, g);
		if (s->run.verdicts.known)
			put_label(sb, "verdict", verdict_name(g->verdict));
		end(sb, value(g));
	}
}

static void put_all_groups(struct strbuf *sb, const struct summary *s)
{
	if (summary_is_sampled(&s->run)) {
		put_groups(sb, s, "group_leak_bytes_per_second", NULL, "Estimated leak of a place in the code.", kept);
		put_groups(sb, s, "group_leak_low_bytes_per_second", NULL, "Low end of its 95 % interval.", kept_low);
		put_groups(sb, s, "group_leak_high_bytes_per_second", NULL, "High end of its 95 % interval.",
			   kept_high);
	} else {
		put_groups(sb, s, "group_live_bytes", "bytes", "Live bytes allocated by a place in the code.",
			   live_bytes);
		put_groups(sb, s, "group_growth_bytes_per_second", NULL, "How fast these grow.", growth_of);
	}
	strbuf_puts(sb, "# EOF\n");
}

int out_openmetrics(const struct summary *s, size_t top, struct strbuf *sb)
{
	struct rows rows;
	int r;

	(void)top;
	if (summary_error(s))
		return summary_error(s);
	r = rows_make(s, &rows);
	if (r == 0) {
		put_process(sb, s, &rows.by_stack.view);
		put_all_groups(sb, &rows.by_stack.view);
	}
	rows_fini(&rows);
	return r < 0 ? r : strbuf_error(sb);
}

const struct report_format report_format_openmetrics = {
	.name = "openmetrics", .what = "gauges for Prometheus",
	.watch = out_openmetrics,
	.why_not = "it has the gauges of one watch",
};
