/* SPDX-License-Identifier: MIT */
/* out_json: see out_json.h. */
#include "report/json/out_json.h"

#include "report/fields/fields.h"
#include "report/fields/source.h"
#include "report/formats.h"
#include "report/json/json_object.h"

static void put_report(const struct summary *s, const struct scan_report *scan, struct json_frames *frames,
		       struct strbuf *sb)
{
	struct report_source source;
	int r = report_source_make(s, &source);

	source.its.scan = scan;
	source.its.page = frames;
	if (r == 0)
		json_object_open(sb, &fields_report, &source.its, s, frames);
	else
		sb->err = r;
	report_source_fini(&source);
}

void json_summary(const struct summary *s, struct json_frames *frames, struct strbuf *sb)
{
	put_report(s, NULL, frames, sb);
}

void json_scan(const struct scan_report *r, struct json_frames *frames, struct strbuf *sb)
{
	put_report(&r->summary, r, frames, sb);
}

void json_diff(const struct diff *d, struct json_frames *frames, struct strbuf *sb)
{
	const struct field_source source = { .diff = d, .page = frames };

	json_object_open(sb, &fields_diff, &source, d, frames);
}

static int end(struct strbuf *sb)
{
	strbuf_puts(sb, "}\n");
	return strbuf_error(sb);
}

int out_json(const struct summary *s, size_t top, struct strbuf *sb)
{
	(void)top;
	if (summary_error(s))
		return summary_error(s);
	json_summary(s, NULL, sb);
	return end(sb);
}

int out_diff_json(const struct diff *d, size_t top, struct strbuf *sb)
{
	(void)top;
	if (diff_error(d))
		return diff_error(d);
	json_diff(d, NULL, sb);
	return end(sb);
}

int out_scan_json(const struct scan_report *r, size_t top, struct strbuf *sb)
{
	(void)top;
	if (scan_error(r))
		return scan_error(r);
	json_scan(r, NULL, sb);
	return end(sb);
}

const struct report_format report_format_json = {
	.name = "json", .what = "everything, for programs: doc/json.md",
	.watch = out_json, .diff = out_diff_json, .scan = out_scan_json, .has_singles = true,
};
