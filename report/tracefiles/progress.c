/* SPDX-License-Identifier: MIT */
/* progress: see progress.h. */
#include "report/tracefiles/progress.h"

#include <inttypes.h>

#include "base/strbuf.h"

#define CALLS_PER_LOOK 4096	/* the clock is read in one of so many calls */

void progress_reading(struct progress *p, const char *name, uint64_t at, uint64_t size, uint64_t events)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	if (p->calls++ % CALLS_PER_LOOK || !statusline_due(&p->work))
		return;
	strbuf_puts(&sb, "reading ");
	strbuf_text(&sb, name);
	strbuf_puts(&sb, ": ");
	if (size)
		strbuf_printf(&sb, "%.0f %%, ", at < size ? 100. * (double)at / (double)size : 100.);
	if (events < 1000000)
		strbuf_printf(&sb, "%" PRIu64 " events", events);
	else
		strbuf_printf(&sb, "%.1f million events", (double)events / 1e6);
	statusline_show(strbuf_str(&sb));
}
