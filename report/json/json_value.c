/* SPDX-License-Identifier: MIT */
#include "report/json/json_value.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "report/json/json.h"

/* --- numbers and strings --- */

static void put_real(struct strbuf *sb, double value)
{
	strbuf_printf(sb, "%.6f", isfinite(value) ? value : 0.0);
}

static void put_bound(struct strbuf *sb, double value)
{
	if (isfinite(value))
		put_real(sb, value);
	else
		strbuf_puts(sb, "null");
}

/* Also of a negative time, which a damaged trace may have, the fraction of the second is positive. */
static void put_time(struct strbuf *sb, int64_t ns)
{
	int64_t ms = ns / 1000000;
	time_t seconds = (ms < 0 ? ms - 999 : ms) / 1000;
	char text[64] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	strbuf_printf(sb, "\"%s.%03dZ\"", text, (int)(ms - seconds * 1000));
}

static void put_part(struct strbuf *sb, const char *text, size_t n)
{
	cleanup_strbuf struct strbuf part = STRBUF_INIT;

	strbuf_append(&part, text, n);
	strbuf_json(sb, strbuf_str(&part));
}

/* "host=a1,pod=x" as an object. */
static void put_labels(struct strbuf *sb, const char *labels)
{
	strbuf_putc(sb, '{');
	for (const char *at = labels ? labels : ""; *at; at += *at == ',') {
		const size_t n = strcspn(at, ","), key = strcspn(at, "=,");

		strbuf_puts(sb, at == labels ? "" : ", ");
		put_part(sb, at, key);
		strbuf_puts(sb, ": ");
		put_part(sb, at + key + (key < n), n - key - (key < n));
		at += n;
	}
	strbuf_putc(sb, '}');
}

/* --- lists --- */

static void put_strings(struct strbuf *sb, const struct field_list *list)
{
	const char *const *all = list->base;

	strbuf_putc(sb, '[');
	for (size_t i = 0; i < list->n; i++) {
		strbuf_puts(sb, i ? ", " : "");
		strbuf_json(sb, all[i]);
	}
	strbuf_putc(sb, ']');
}

static void put_addresses(struct strbuf *sb, const struct field_list *list)
{
	const taddr *all = list->base;

	strbuf_putc(sb, '[');
	for (size_t i = 0; i < list->n; i++)
		strbuf_printf(sb, "%s\"0x%" PRIx64 "\"", i ? ", " : "", all[i]);
	strbuf_putc(sb, ']');
}

static void put_numbers(struct strbuf *sb, const struct field_numbers *n)
{
	strbuf_putc(sb, '[');
	for (size_t i = 0; !n->next && i < n->n; i++)
		strbuf_printf(sb, "%s%" PRIu64, i ? ", " : "", n->all[i]);
	for (size_t i = n->next ? n->first : 0; i; i = n->next[i - 1])
		strbuf_printf(sb, "%s%zu", i == n->first ? "" : ", ", i - 1);
	strbuf_putc(sb, ']');
}

static void put_counts(struct strbuf *sb, const struct field_list *list)
{
	const struct summary_lost *all = list->base;

	strbuf_putc(sb, '{');
	for (size_t i = 0; i < list->n; i++)
		json_number(sb, i ? ", " : "", all[i].reason, all[i].count);
	strbuf_putc(sb, '}');
}

/* --- sums, intervals, courses --- */

static void put_sum(struct strbuf *sb, const struct summary_sum *sum)
{
	strbuf_printf(sb, "{\"blocks\": %" PRIu64 ", \"bytes\": %" PRIu64 "}", sum->blocks, sum->bytes);
}

static void put_sums(struct strbuf *sb, const struct summary_sum sums[VERDICT_COUNT])
{
	for (size_t v = 0; v < VERDICT_COUNT; v++) {
		json_key(sb, v ? ", " : "{", verdict_name(v));
		put_sum(sb, &sums[v]);
	}
	strbuf_putc(sb, '}');
}

static void put_interval(struct strbuf *sb, const double *values, unsigned n)
{
	strbuf_putc(sb, '[');
	for (unsigned i = 0; i < n; i++) {
		strbuf_puts(sb, i ? ", " : "");
		put_bound(sb, values[i]);
	}
	strbuf_putc(sb, ']');
}

/* Points on a level line between their neighbours say nothing that a curve would not show. */
static bool is_needless(const struct growth_point *series, size_t i, size_t n)
{
	return i > 0 && i + 1 < n && series[i].bytes == series[i - 1].bytes &&
	       series[i].bytes == series[i + 1].bytes;
}

static void put_series(struct strbuf *sb, const struct field_points *points, bool for_page)
{
	const char *separator = "";

	strbuf_putc(sb, '[');
	for (size_t i = 0; i < points->n; i++) {
		const struct growth_point *p = &points->all[i];

		if (for_page && is_needless(points->all, i, points->n))
			continue;
		strbuf_puts(sb, separator);
		strbuf_printf(sb, for_page ? "[%.6g,%" PRIu64 "]" : "[%.6f, %" PRIu64 "]",
			      isfinite(p->seconds) ? p->seconds : 0.0, p->bytes);
		separator = for_page ? "," : ", ";
	}
	strbuf_putc(sb, ']');
}

static void put_resident(struct strbuf *sb, const struct field_list *list)
{
	const struct memory_point *all = list->base;

	strbuf_putc(sb, '[');
	for (size_t i = 0; i < list->n; i++)
		strbuf_printf(sb, "%s[%.6f, %" PRIu64 "]", i ? ", " : "", all[i].at_us / 1e6,
			      all[i].anonymous + all[i].file + all[i].shared);
	strbuf_putc(sb, ']');
}

/* A bin as [from, blocks, bytes]; ages in seconds. Empty ones are left out. */
static void put_histogram(struct strbuf *sb, const struct field_histogram *h)
{
	size_t n = 0;

	strbuf_putc(sb, '[');
	for (unsigned i = 0; i < HISTOGRAM_BINS; i++) {
		if (!h->of->bins[i].blocks)
			continue;
		strbuf_puts(sb, n++ ? ", [" : "[");
		if (h->seconds)
			strbuf_printf(sb, "%.6f", (double)histogram_from(i) * 1e-6);
		else
			strbuf_printf(sb, "%" PRIu64, histogram_from(i));
		strbuf_printf(sb, ", %" PRIu64 ", %" PRIu64 "]", h->of->bins[i].blocks, h->of->bins[i].bytes);
	}
	strbuf_putc(sb, ']');
}

/* --- all --- */

static bool is_null(const struct field *f, const struct field_value *v)
{
	return v->null || (f->type == FIELD_STRING_OR_NULL && !v->s) ||
	       (f->type == FIELD_REAL_OR_NULL && !isfinite(v->r));
}

static void put_composed(struct strbuf *sb, const struct field *f, const struct field_value *v, bool for_page)
{
	switch (f->type) {
	case FIELD_STRINGS: put_strings(sb, &v->list); break;
	case FIELD_ADDRESSES: put_addresses(sb, &v->list); break;
	case FIELD_NUMBERS: put_numbers(sb, &v->numbers); break;
	case FIELD_COUNTS: put_counts(sb, &v->list); break;
	case FIELD_LABELS: put_labels(sb, v->s); break;
	case FIELD_SUM: put_sum(sb, &v->sum); break;
	case FIELD_SUMS: put_sums(sb, v->object); break;
	case FIELD_INTERVAL: put_interval(sb, v->interval, 3); break;
	case FIELD_BOUNDS: put_interval(sb, v->interval + 1, 2); break;
	case FIELD_INTS: strbuf_printf(sb, "[%" PRId64 ", %" PRId64 "]", v->ints[0], v->ints[1]); break;
	case FIELD_SERIES:
	case FIELD_SERIES_OR_NULL: put_series(sb, &v->points, for_page); break;
	case FIELD_RESIDENT: put_resident(sb, &v->list); break;
	case FIELD_HISTOGRAM: put_histogram(sb, &v->histogram); break;
	default: break;
	}
}

void json_value(struct strbuf *sb, const struct field *f, const struct field_value *v, bool for_page)
{
	if (is_null(f, v)) {
		strbuf_puts(sb, "null");
		return;
	}
	switch (f->type) {
	case FIELD_UINT:
	case FIELD_BYTES:
	case FIELD_UINT_OR_NULL: strbuf_printf(sb, "%" PRIu64, v->u); break;
	case FIELD_INT:
	case FIELD_INT_OR_NULL: strbuf_printf(sb, "%" PRId64, v->i); break;
	case FIELD_REAL:
	case FIELD_SECONDS:
	case FIELD_REAL_OR_NULL: put_real(sb, v->r); break;
	case FIELD_SHARE: strbuf_printf(sb, "%.9f", isfinite(v->r) ? v->r : 0.0); break;
	case FIELD_BOOL: strbuf_puts(sb, v->b ? "true" : "false"); break;
	case FIELD_STRING:
	case FIELD_STRING_OR_NULL: strbuf_json(sb, v->s ? v->s : ""); break;
	case FIELD_MADE: strbuf_json(sb, strbuf_str(&v->made)); break;
	case FIELD_WORD:
	case FIELD_WORD_OR_NULL: strbuf_json(sb, f->words->name((unsigned)v->u)); break;
	case FIELD_ADDRESS: strbuf_printf(sb, "\"0x%" PRIx64 "\"", v->u); break;
	case FIELD_TIME: put_time(sb, v->i); break;
	default: put_composed(sb, f, v, for_page);
	}
}
