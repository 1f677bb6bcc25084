/* SPDX-License-Identifier: MIT */
/*
 * formats: the forms in which reports are printed. A format is a folder here that defines report_format_NAME,
 * and a line in the list below. The options, their help and the code that prints know formats only from this
 * table.
 *
 * A format that lacks a function is refused while the options are read, before a target is touched. If that
 * were found later, a target would have been paused, or watched for eight hours, for nothing.
 */
#ifndef MM_FORMATS_H
#define MM_FORMATS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

/* In the order in which help lists them; the first one is the default. */
#define REPORT_FORMATS(X)	\
	X(text)			\
	X(json)			\
	X(csv)			\
	X(folded)		\
	X(html)			\
	X(pprof)		\
	X(speedscope)		\
	X(massif)		\
	X(heaptrack)		\
	X(valgrind)		\
	X(openmetrics)		\
	/* a new one above */

struct summary;
struct diff;
struct scan_report;

/*
 * Each function appends a report to @sb and returns 0 or -ENOMEM, the latter also if the data to be printed
 * is incomplete. Formats for people print @top groups (0: all); formats for programs print all groups. NULL:
 * this format has no such report.
 */
struct report_format {
	const char *name;
	const char *what;	/* one line: what it is for */
	/* Of a watch, and of its trace. */
	int (*watch)(const struct summary *s, size_t top, struct strbuf *sb);
	int (*diff)(const struct diff *d, size_t top, struct strbuf *sb);
	int (*scan)(const struct scan_report *r, size_t top, struct strbuf *sb);
	const char *why_not;	/* why a function is NULL: "it is made of ..." */
	/* Other text may follow it; an answer about single blocks replaces the report. */
	bool for_people;
	bool has_singles;	/* it can show single blocks and objects */
	bool has_freed;		/* it has all that was allocated, also by stacks none of whose blocks is live */
	bool is_binary;		/* for no terminal */
};

#define X(name) extern const struct report_format report_format_##name;
REPORT_FORMATS(X)
#undef X

/* "text|json|csv": the names, in the order of report_formats, for a table of constants. */
#define REPORT_FORMAT_ALTERNATIVE(name) "|" #name
#define REPORT_FORMAT_ALTERNATIVES (&("" REPORT_FORMATS(REPORT_FORMAT_ALTERNATIVE))[1])

#define REPORT_FORMAT_DEFAULT (report_formats[0])
extern const struct report_format *const report_formats[];	/* NULL after the last */

typedef bool report_format_is(const struct report_format *f);
report_format_is report_format_of_watch, report_format_of_diff, report_format_of_scan,
	report_format_for_people, report_format_has_singles;

/* A line for each: its name, what can be printed so, what it is for. */
void report_formats_describe(struct strbuf *sb);

/* "text, json and csv": the formats for which @is returns true, with @last before the last of them. */
void report_formats_list(struct strbuf *sb, report_format_is *is, const char *last);

#endif
