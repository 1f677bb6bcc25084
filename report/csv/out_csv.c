/* SPDX-License-Identifier: MIT */
/* out_csv: see out_csv.h. */
#include "report/csv/out_csv.h"

#include "report/csv/csv.h"
#include "report/fields/fields.h"
#include "report/fields/source.h"
#include "report/formats.h"

static int put_lines(const struct summary *s, unsigned in, struct csv_table *t, struct strbuf *sb)
{
	struct report_source source;
	int r = report_source_make(s, &source);

	csv_head(t, sb);
	for (size_t i = 0; i < s->ngroups && r == 0; i++)
		csv_line(t, &source.its, 0, &s->groups[i], sb);
	for (size_t i = 0; i < s->nrefs && r == 0 && in == FIELD_CSV; i++)
		csv_line(t, &source.its, 1, &s->refs[i], sb);
	report_source_fini(&source);
	return r ? r : strbuf_error(sb);
}

static int put_report(const struct summary *s, unsigned in, struct strbuf *sb)
{
	struct csv_table t;
	int r = csv_init(&t, in, &fields_group, in == FIELD_CSV ? &fields_refs : NULL);

	r = r ? r : put_lines(s, in, &t, sb);
	csv_fini(&t);
	return r;
}

int out_csv(const struct summary *s, size_t top, struct strbuf *sb)
{
	(void)top;
	return summary_error(s) ? summary_error(s) : put_report(s, FIELD_CSV, sb);
}

int out_scan_csv(const struct scan_report *r, size_t top, struct strbuf *sb)
{
	(void)top;
	return scan_error(r) ? scan_error(r) : put_report(&r->summary, FIELD_SCAN, sb);
}

int out_diff_csv(const struct diff *d, size_t top, struct strbuf *sb)
{
	const struct field_source source = { .diff = d };
	struct csv_table t;
	int r;

	(void)top;
	if (diff_error(d))
		return diff_error(d);
	r = csv_init(&t, FIELD_CSV, &fields_change, &fields_ref_change);
	if (r == 0)
		csv_head(&t, sb);
	for (size_t i = 0; i < d->ngroups && r == 0; i++)
		csv_line(&t, &source, 0, &d->groups[i], sb);
	for (size_t i = 0; i < d->nrefs && r == 0; i++)
		csv_line(&t, &source, 1, &d->refs[i], sb);
	csv_fini(&t);
	return r ? r : strbuf_error(sb);
}

static int describe(const char *what, unsigned in, const struct fields *a, const struct fields *b,
		    struct strbuf *sb)
{
	struct csv_table t;
	int r = csv_init(&t, in, a, b);

	strbuf_printf(sb, "\n## of %s\n\n", what);
	if (r == 0)
		csv_describe(&t, sb);
	csv_fini(&t);
	return r;
}

int out_csv_describe(struct strbuf *sb)
{
	int r;

	strbuf_puts(sb, "# Columns of CSV\n");
	r = describe("a watch", FIELD_CSV, &fields_group, &fields_refs, sb);
	r = r ? r : describe("a comparison", FIELD_CSV, &fields_change, &fields_ref_change, sb);
	r = r ? r : describe("a scan", FIELD_SCAN, &fields_group, NULL, sb);
	return r ? r : strbuf_error(sb);
}

const struct report_format report_format_csv = {
	.name = "csv", .what = "a table for spreadsheets and scripts",
	.watch = out_csv, .diff = out_diff_csv, .scan = out_scan_csv,
};
