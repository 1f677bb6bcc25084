/* SPDX-License-Identifier: MIT */
#include "report/formats.h"

const struct report_format *const report_formats[] = {
#define X(name) &report_format_##name,
	REPORT_FORMATS(X)
#undef X
	NULL
};

void report_formats_list(struct strbuf *sb, report_format_is *is, const char *last)
{
	size_t left = 0, n = 0;

	for (size_t i = 0; report_formats[i]; i++)
		left += is(report_formats[i]);
	for (size_t i = 0; report_formats[i]; i++) {
		if (!is(report_formats[i]))
			continue;
		strbuf_puts(sb, !n++ ? "" : left == 1 ? last : ", ");
		strbuf_puts(sb, report_formats[i]->name);
		left--;
	}
}

void report_formats_describe(struct strbuf *sb)
{
	strbuf_printf(sb, "%-13s%-17s%s\n", "format", "of", "what it is for");
	for (size_t i = 0; report_formats[i]; i++) {
		const struct report_format *f = report_formats[i];
		cleanup_strbuf struct strbuf of = STRBUF_INIT;

		strbuf_printf(&of, "%s%s%s", f->watch ? "watch" : "", f->diff ? " diff" : "", f->scan ? " scan" : "");
		strbuf_printf(sb, "%-13s%-17s%s\n", f->name, strbuf_str(&of), f->what);
	}
}

bool report_format_of_watch(const struct report_format *f)
{
	return f->watch;
}

bool report_format_of_diff(const struct report_format *f)
{
	return f->diff;
}

bool report_format_of_scan(const struct report_format *f)
{
	return f->scan;
}

bool report_format_for_people(const struct report_format *f)
{
	return f->for_people;
}

bool report_format_has_singles(const struct report_format *f)
{
	return f->has_singles;
}
