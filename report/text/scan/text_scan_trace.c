/* SPDX-License-Identifier: MIT */
/* text_scan_trace: see text_scan_trace.h. */
#include "report/text/scan/text_scan_trace.h"

#include <inttypes.h>

#include "report/model/format_text.h"
#include "report/text/groups/wrap.h"

static void put_time(struct strbuf *sb, const struct scan_trace *t)
{
	if (t->timed)
		format_seconds(sb, t->seconds);
	else
		strbuf_puts(sb, "a time that is not known");
}

/* Of an allocator whose blocks cannot be listed. */
static void put_instead(struct strbuf *sb, const struct scan_trace *t)
{
	strbuf_puts(sb, "these are only the blocks that were live when the watch ended, ");
	put_time(sb, t);
	strbuf_puts(sb, " before this scan: whether they are still allocated is not known, as the "
			"allocator's memory cannot be read\n");
}

static void put_end(struct strbuf *sb, const struct scan_trace *t)
{
	strbuf_puts(sb, "stacks are those of the watch, which ended ");
	put_time(sb, t);
	strbuf_printf(sb, " before this scan: %" PRIu64 " of its ", t->same);
	format_count(sb, t->live, "live block");
	strbuf_puts(sb, t->same == 1 ? " has" : " have");
	strbuf_puts(sb, " the same address and size now");
}

static void put_certain(struct strbuf *sb, const struct scan_trace *t)
{
	if (t->certain == t->same) {
		strbuf_puts(sb, t->same ? "; all of them were lost then already, so they are the same" : "");
		return;
	}
	if (t->certain)
		strbuf_printf(sb,
			      "; %" PRIu64 " were lost then already, so they are the same; the other "
			      "%" PRIu64,
			      t->certain, t->same - t->certain);
	else
		strbuf_puts(sb, "; these");
	strbuf_puts(sb, " may have been freed and allocated again since, by other code");
}

static void put_all(struct strbuf *sb, const struct scan_trace *t)
{
	if (t->instead) {
		put_instead(sb, t);
		return;
	}
	put_end(sb, t);
	put_certain(sb, t);
	if (t->resized) {
		strbuf_puts(sb, "; ");
		format_count(sb, t->resized, "other block");
		strbuf_puts(sb, t->resized == 1 ? " has" : " have");
		strbuf_puts(sb, " the address of one, but another size: shown without that stack");
	}
	strbuf_putc(sb, '\n');
}

void text_scan_trace(struct strbuf *sb, const struct scan_report *r)
{
	cleanup_strbuf struct strbuf line = STRBUF_INIT;

	if (!r->trace.there)
		return;
	put_all(&line, &r->trace);
	wrap(sb, &line, r->summary.columns ? r->summary.columns : WRAP_WIDTH, 0);
}
