/* SPDX-License-Identifier: MIT */
/*
 * formats: the forms in which reports are printed. A format is a folder here, which defines report_format_NAME, and its line in the
 * list below: the options, their help and whoever prints know formats by this table alone.
 *
 * What a format has no function for is refused while the options are read, before a target is touched: found out later, a target
 * would have been paused, or watched for eight hours, for nothing.
 */
#ifndef MM_FORMATS_H
#define MM_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* In the order in which help lists them; the first is what is printed where none is asked for. */
#define REPORT_FORMATS(X)	\
	X(text)			\
	X(json)			\
	X(csv)			\
	X(folded)		\
	/* a new one above */

struct summary;
struct diff;
struct scan_report;

/*
 * The functions append a report to @sb: 0, or -ENOMEM also if what is to be printed is not whole. Of @top groups (0: all) where that is a
 * matter of reading; of all where programs read it. NULL: there is no such report in this form.
 */
struct report_format {
	const char *name;
	int (*watch)(const struct summary *s, size_t top, struct strbuf *sb);	/* of a watch, and of its trace */
	int (*diff)(const struct diff *d, size_t top, struct strbuf *sb);
	int (*scan)(const struct scan_report *r, size_t top, struct strbuf *sb);
	const char *why_not;	/* why a function is NULL: "it is made of ..." */
	bool for_people;	/* other text may stand behind it; what was asked of single blocks is answered instead of the report */
	bool has_singles;	/* it has room for single blocks and objects */
};

#define X(name) extern const struct report_format report_format_##name;
REPORT_FORMATS(X)
#undef X

/* "text|json|csv", for a table of constants. */
#define REPORT_FORMAT_ALTERNATIVE(name) "|" #name
#define REPORT_FORMAT_ALTERNATIVES (&("" REPORT_FORMATS(REPORT_FORMAT_ALTERNATIVE))[1])

#define REPORT_FORMAT_DEFAULT (report_formats[0])
extern const struct report_format *const report_formats[];	/* NULL behind the last */

const struct report_format *report_format_find(const char *name);	/* NULL: there is none */

typedef bool report_format_is(const struct report_format *f);
report_format_is report_format_any, report_format_of_watch, report_format_of_diff, report_format_of_scan, report_format_for_people,
	report_format_has_singles;

/* "text, json and csv": those of which @is holds, @last before the last of them. */
void report_formats_list(struct strbuf *sb, report_format_is *is, const char *last);

#endif
