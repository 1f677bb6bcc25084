/* SPDX-License-Identifier: MIT */
/* report_filters: see report_filters.h. */
#include "attach/reporting/report_filters.h"

#include "base/duration.h"
#include "base/verdict.h"
#include "report/model/format_text.h"

static void put_option(struct strbuf *out, const char *name)
{
	strbuf_puts(out, out->len ? ", " : "");
	strbuf_puts(out, name);
	strbuf_putc(out, ' ');
}

static void put_all(const struct option_list *list, const char *name, struct strbuf *out)
{
	for (size_t i = 0; i < list->n; i++) {
		put_option(out, name);
		strbuf_text(out, list->all[i]);
	}
}

static void put_verdicts(unsigned verdicts, struct strbuf *out)
{
	const char *separator = "";

	if (!verdicts)
		return;
	put_option(out, "--show");
	for (unsigned v = 0; v < VERDICT_COUNT; v++) {
		if (!(verdicts >> v & 1))
			continue;
		strbuf_puts(out, separator);
		strbuf_puts(out, verdict_name((enum verdict)v));
		separator = ",";
	}
}

void report_filters_text(const struct options *opt, struct strbuf *out)
{
	const struct options_shown *shown = &opt->shown;
	char text[DURATION_TEXT];

	put_all(&shown->focus, "--focus", out);
	put_all(&shown->ignore, "--ignore", out);
	put_verdicts(shown->verdicts, out);
	if (shown->older_than_ns) {
		put_option(out, "--older-than");
		strbuf_puts(out, duration_format(shown->older_than_ns, text, sizeof(text)));
	}
	if (shown->min_bytes) {
		put_option(out, "--min-bytes");
		format_size(out, shown->min_bytes);
	}
}
