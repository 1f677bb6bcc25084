/* SPDX-License-Identifier: MIT */
/* text_format: the text reports, as entries for report/formats.h. */
#include "report/formats.h"
#include "report/text/groups/text_lookup.h"
#include "report/text/out_diff_text.h"
#include "report/text/out_text.h"
#include "report/text/scan/out_scan_text.h"

static int watch(const struct summary *s, size_t top, struct strbuf *sb)
{
	return s->lookup ? text_lookup(s, top, sb) : out_text(s, top, sb);
}

const struct report_format report_format_text = {
	.name = "text", .what = "the report to read",
	.watch = watch, .diff = out_diff_text, .scan = out_scan_text, .for_people = true,
	.has_singles = true,
};
