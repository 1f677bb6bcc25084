/* SPDX-License-Identifier: MIT */
/* out_csv: see out_csv.h. */
#include "report/csv/out_csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "report/csv/csv.h"
#include "report/formats.h"

#define HEAD                                                                                                 \
	"family,blocks,bytes,bytes_direct,allocs,frees,oldest_s,youngest_s,verdict,"                         \
	"growth,bytes_per_minute,since_s,stack_end," CSV_WHERE ",tag,net,indirect_blocks,indirect_bytes,"    \
	"turnover,seen,followed,allocs_per_minute,kept_bytes_per_minute,kept_bytes_low,kept_bytes_high,"     \
	"share_kept,share_age_s,half_s,"                                                                     \
	"at_least,may_keep_bytes_per_minute,bytes_taken,bytes_returned,"           \
	"processes,worst_process,worst_bytes"

/* A value that is not known, or that has no bound, is an empty cell. */
static void put_known(struct strbuf *sb, double value, bool known)
{
	if (known && isfinite(value))
		csv_real(sb, ",", value);
	else
		strbuf_putc(sb, ',');
}

/* Empty cells if the run is not sampled. */
static void put_sample(struct strbuf *sb, const struct summary_sample *s)
{
	const struct survival *v = s ? &s->survival : NULL;

	if (!v) {
		strbuf_puts(sb, ",,,,,,,,,,,,");
		return;
	}
	csv_string(sb, ",", survival_name(v->kind));
	csv_number(sb, ",", s->seen);
	csv_number(sb, ",", v->followed);
	csv_real(sb, ",", s->allocs.value);
	put_known(sb, s->kept_bytes.value, v->kind != SURVIVAL_UNKNOWN);
	csv_real(sb, ",", s->kept_bytes.low);
	put_known(sb, s->kept_bytes.high, true);
	csv_real(sb, ",", v->share);
	csv_real(sb, ",", v->age_s);
	put_known(sb, v->half_s, v->half_s > 0);
	csv_string(sb, ",", s->allocs.at_least ? "true" : "false");
	csv_real(sb, ",", s->may_keep_bytes.value);
}

/* Only for families of ranges; empty cells for the others. */
static void put_range(struct strbuf *sb, bool is_range, const struct summary_group *g)
{
	if (!is_range) {
		strbuf_puts(sb, ",,");
		return;
	}
	csv_number(sb, ",", g->bytes_taken);
	csv_number(sb, ",", g->bytes_returned);
}

/* Of a merged trace; empty cells for others. */
static void put_shares(struct strbuf *sb, const struct summary *s, const struct summary_group *g)
{
	const struct summary_share *worst = g ? summary_worst_share(g) : NULL;
	const struct fact_process *its = worst ? &s->processes[worst->process].its : NULL;
	cleanup_strbuf struct strbuf name = STRBUF_INIT;

	if (!worst) {
		strbuf_puts(sb, ",,,");
		return;
	}
	strbuf_printf(&name, "%s (%d)", its->comm ? its->comm : "", its->pid);
	if (its->host)
		strbuf_printf(&name, " on %s", its->host);
	if (its->labels)
		strbuf_printf(&name, ", %s", its->labels);
	csv_number(sb, ",", g->nshares);
	csv_string(sb, ",", strbuf_str(&name));
	csv_number(sb, ",", worst->bytes);
}

static void put_group(struct strbuf *sb, const struct summary *s, const struct summary_group *g)
{
	csv_string(sb, "", g->family);
	csv_number(sb, ",", g->blocks);
	csv_number(sb, ",", g->bytes);
	csv_number(sb, ",", g->bytes_direct);
	csv_number(sb, ",", g->allocs);
	csv_number(sb, ",", g->frees);
	csv_real(sb, ",", g->oldest_s);
	csv_real(sb, ",", g->youngest_s);
	csv_string(sb, ",", verdict_name(g->verdict));
	csv_string(sb, ",", growth_name(g->growth.shape));
	csv_real(sb, ",", g->growth.bytes_per_minute);
	csv_real(sb, ",", g->growth.since_s);
	csv_string(sb, ",", summary_stack_end_name(g->stack.end));
	csv_where(sb, ",", &g->stack);
	csv_string(sb, ",", g->tag);
	strbuf_puts(sb, ",");
	csv_number(sb, ",", g->kind.indirect_blocks);
	csv_number(sb, ",", g->kind.indirect_bytes);
	put_sample(sb, g->sampled);
	put_range(sb, summary_family(s, g->family)->ranges, g);
	put_shares(sb, s, g);
	csv_end(sb);
}

static uint64_t sum(const struct summary_use *uses, size_t n)
{
	uint64_t all = 0;

	for (size_t i = 0; i < n; i++)
		all += uses[i].count;
	return all;
}

/*
 * Objects use the columns of blocks: their number, the references acquired and released on them, and the most
 * suspect call site.
 */
static void put_refs(struct strbuf *sb, const struct summary_refs *r)
{
	static const struct summary_use none;
	const struct summary_use *u = r->nacquired ? r->acquired : r->nreleased ? r->released : &none;

	csv_string(sb, "", r->family);
	csv_number(sb, ",", r->objects);
	strbuf_puts(sb, ",0,0");
	csv_number(sb, ",", sum(r->acquired, r->nacquired));
	csv_number(sb, ",", sum(r->released, r->nreleased));
	csv_real(sb, ",", r->oldest_s);
	csv_real(sb, ",", r->youngest_s);
	csv_string(sb, ",", verdict_name(VERDICT_UNKNOWN));
	csv_string(sb, ",", growth_name(r->growth.shape));
	csv_real(sb, ",", r->growth.bytes_per_minute);
	csv_real(sb, ",", r->growth.since_s);
	csv_string(sb, ",", summary_stack_end_name(u->stack.end));
	csv_where(sb, ",", &u->stack);
	csv_string(sb, ",", NULL);
	strbuf_printf(sb, ",%" PRId64 ",0,0", r->net);
	put_sample(sb, NULL);
	put_range(sb, false, NULL);
	put_shares(sb, NULL, NULL);
	csv_end(sb);
}

int out_csv(const struct summary *s, size_t top, struct strbuf *sb)
{
	(void)top;
	if (summary_error(s))
		return summary_error(s);
	strbuf_puts(sb, HEAD);
	csv_end(sb);
	for (size_t i = 0; i < s->ngroups; i++)
		put_group(sb, s, &s->groups[i]);
	for (size_t i = 0; i < s->nrefs; i++)
		put_refs(sb, &s->refs[i]);
	return strbuf_error(sb);
}

/* --- a difference --- */

static void put_diff_refs(struct strbuf *sb, const struct diff_refs *d)
{
	const struct summary_use *u = diff_refs_use(d->refs);

	csv_string(sb, "", diff_change_name(d->change));
	csv_string(sb, ",", d->refs->family);
	csv_number(sb, ",", d->old_objects);
	strbuf_puts(sb, ",0");
	csv_number(sb, ",", d->new_objects);
	strbuf_puts(sb, ",0");
	csv_where(sb, ",", &u->stack);
	csv_string(sb, ",", NULL);
	csv_end(sb);
}

int out_diff_csv(const struct diff *d, size_t top, struct strbuf *sb)
{
	(void)top;
	if (diff_error(d))
		return diff_error(d);
	strbuf_puts(sb, "change,family,old_blocks,old_bytes,new_blocks,new_bytes," CSV_WHERE ",tag");
	csv_end(sb);
	for (size_t i = 0; i < d->ngroups; i++) {
		const struct diff_group *g = &d->groups[i];

		csv_string(sb, "", diff_change_name(g->change));
		csv_string(sb, ",", g->group->family);
		csv_number(sb, ",", g->old_blocks);
		csv_number(sb, ",", g->old_bytes);
		csv_number(sb, ",", g->new_blocks);
		csv_number(sb, ",", g->new_bytes);
		csv_where(sb, ",", &g->group->stack);
		csv_string(sb, ",", g->group->tag);
		csv_end(sb);
	}
	for (size_t i = 0; i < d->nrefs; i++)
		put_diff_refs(sb, &d->refs[i]);
	return strbuf_error(sb);
}

/* --- a scan --- */

#define SCAN_HEAD                                                                                            \
	"verdict,label,class,class_module,blocks,bytes,indirect_blocks,indirect_bytes,size_low,size_high,"   \
	"content,sample,"                                                                                    \
	"stack_end," CSV_WHERE ",tag"

static void put_scan_group(struct strbuf *sb, const struct summary_group *g)
{
	csv_string(sb, "", verdict_name(g->verdict));
	csv_string(sb, ",", g->kind.label);
	csv_string(sb, ",", g->kind.class_name);
	csv_string(sb, ",", g->kind.module);
	csv_number(sb, ",", g->blocks);
	csv_number(sb, ",", g->bytes);
	csv_number(sb, ",", g->kind.indirect_blocks);
	csv_number(sb, ",", g->kind.indirect_bytes);
	csv_number(sb, ",", g->kind.size_low);
	csv_number(sb, ",", g->kind.size_high);
	csv_string(sb, ",", g->kind.content);
	strbuf_printf(sb, ",\"0x%" PRIx64 "\"", g->nsamples ? g->samples[0] : 0);
	csv_string(sb, ",", summary_stack_end_name(g->stack.end));
	csv_where(sb, ",", &g->stack);
	csv_string(sb, ",", g->tag);
	csv_end(sb);
}

int out_scan_csv(const struct scan_report *r, size_t top, struct strbuf *sb)
{
	(void)top;
	if (scan_error(r))
		return scan_error(r);
	strbuf_puts(sb, SCAN_HEAD);
	csv_end(sb);
	for (size_t i = 0; i < r->summary.ngroups; i++)
		put_scan_group(sb, &r->summary.groups[i]);
	return strbuf_error(sb);
}

/* --- all --- */

const struct report_format report_format_csv = {
	.name = "csv", .watch = out_csv, .diff = out_diff_csv, .scan = out_scan_csv,
};
