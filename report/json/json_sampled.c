/* SPDX-License-Identifier: MIT */
#include "report/json/json_sampled.h"

#include <math.h>

#include "report/json/json.h"
#include "report/model/unknown_reason.h"

void json_budget(struct strbuf *sb, const struct summary_budget *b)
{
	if (!b->told)
		return;
	json_key(sb, ",\n  ", "budget");
	json_real(sb, "{", "promise", b->promise);
	json_real(sb, ", ", "spent", b->wall_s > 0 ? b->spent_s / b->wall_s : 0);
	json_real(sb, ", ", "worst_ten_seconds", b->worst);
	json_real(sb, ", ", "stopped_seconds", b->spent_s);
	json_number(sb, ", ", "closed", b->closed);
	json_real(sb, ", ", "closed_seconds", b->closed_s);
	json_number(sb, ", ", "sites", b->sites);
	json_number(sb, ", ", "sites_hit", b->hit);
	json_number(sb, ", ", "settled", b->settled);
	json_number(sb, ", ", "candidates", b->candidates);
	json_number(sb, ", ", "unfound", b->unfound);
	strbuf_putc(sb, '}');
}

static void put_bound(struct strbuf *sb, const char *separator, double value)
{
	strbuf_puts(sb, separator);
	if (isfinite(value))
		strbuf_printf(sb, "%.6f", value);
	else
		strbuf_puts(sb, "null");
}

static void put_interval(struct strbuf *sb, const char *separator, const char *name, double value, double low,
			 double high)
{
	json_list(sb, separator, name);
	put_bound(sb, "", value);
	put_bound(sb, ", ", low);
	put_bound(sb, ", ", high);
	strbuf_putc(sb, ']');
}

static void put_estimate(struct strbuf *sb, const char *separator, const char *name, const struct estimate *e)
{
	put_interval(sb, separator, name, e->value, e->low, e->high);
}

/* If it is not known how much of a group stays live, the value is null, so that it cannot be added up. */
static void put_kept(struct strbuf *sb, const char *name, const struct survival *v, const struct estimate *e)
{
	put_interval(sb, ", ", name, v->kind == SURVIVAL_UNKNOWN ? NAN : e->value, e->low, e->high);
}

static void put_estimates(struct strbuf *sb, const struct summary_sample *s)
{
	const struct survival *v = &s->survival;

	json_key(sb, ", ", "estimate");
	put_estimate(sb, "{", "allocs_per_minute", &s->allocs);
	put_kept(sb, "kept_blocks_per_minute", v, &s->kept_blocks);
	put_kept(sb, "kept_bytes_per_minute", v, &s->kept_bytes);
	put_estimate(sb, ", ", "may_keep_blocks_per_minute", &s->may_keep_blocks);
	put_estimate(sb, ", ", "may_keep_bytes_per_minute", &s->may_keep_bytes);
	put_interval(sb, ", ", "share_kept", v->share, v->low, v->high);
	json_bool(sb, ", ", "at_least", s->allocs.at_least);
	json_real(sb, ", ", "share_age_s", v->age_s);
	json_real(sb, ", ", "needed_age_s", v->min_age_s);
	json_number(sb, ", ", "followed", v->followed);
	json_number(sb, ", ", "followed_to_share_age", v->old);
	json_real(sb, ", ", "share_seen", s->sees);
	json_real_or_null(sb, ", ", "half_s", v->half_s > 0 ? v->half_s : INFINITY);
	strbuf_putc(sb, '}');
}

/* Steps that no block has reached are left out. */
static void put_survival(struct strbuf *sb, const struct survival_step *steps)
{
	json_list(sb, ", ", "survival");
	for (unsigned i = 0; i < SURVIVAL_STEPS && steps[i].at_risk; i++) {
		json_real(sb, i ? ", {" : "{", "age_s", survival_age_s(i));
		json_number(sb, ", ", "at_risk", steps[i].at_risk);
		json_number(sb, ", ", "gone", steps[i].gone);
		json_number(sb, ", ", "unknown", steps[i].unknown);
		strbuf_putc(sb, '}');
	}
	strbuf_putc(sb, ']');
}

void json_sample(struct strbuf *sb, const struct summary_sample *s)
{
	json_number(sb, ", ", "seen", s->seen);
	json_string(sb, ", ", "turnover", survival_name(s->survival.kind));
	json_text(sb, ", ", "why_unknown",
		  s->survival.kind == SURVIVAL_UNKNOWN ? unknown_name(unknown_reason(s)) : NULL);
	put_estimates(sb, s);
	put_survival(sb, s->steps);
}

static void put_bounds(struct strbuf *sb, const char *name, double low, double high)
{
	json_list(sb, ", ", name);
	put_bound(sb, "", low);
	put_bound(sb, ", ", high);
	strbuf_putc(sb, ']');
}

void json_bounds(struct strbuf *sb, const struct summary_group *g)
{
	const struct summary_bounds b = summary_bounds_of(g);

	json_key(sb, ", ", "estimated_from");
	json_number(sb, "{", "sampled_blocks", g->sample_of.seen);
	put_bounds(sb, "blocks", b.blocks_low, b.blocks_high);
	put_bounds(sb, "bytes", b.bytes_low, b.bytes_high);
	strbuf_putc(sb, '}');
}
