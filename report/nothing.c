/* SPDX-License-Identifier: MIT */
/* nothing: see nothing.h. The first reason that holds is the one that is given; what was missed is said besides. */
#include "report/nothing.h"

#include <stdbool.h>

#include "report/words.h"

#define SHORT_SECONDS 30

static bool any_watched(const struct summary_run *run)
{
	for (size_t i = 0; i < run->nprobes; i++)
		if (run->probes[i].module && !run->probes[i].note)
			return true;
	return run->nprobes == 0;
}

static void put_unseen(struct strbuf *sb, const struct summary *s)
{
	if (!any_watched(&s->run))
		strbuf_puts(sb, "None of the functions below could be watched, so nothing was seen. If the process has another allocator,\n"
			    "name its functions with --probe; `mmattach probes -p PID` shows what is found in a process.\n");
	else if (s->totals.frees + s->totals.unmatched_frees)
		strbuf_puts(sb, "Blocks were released, but none was allocated while it was watched: watch for longer (-d).\n");
	else
		strbuf_puts(sb, "None of the watched functions was called. Either the process did nothing, or it allocates in another\n"
			    "way: `mmattach probes -p PID` shows what is found in it, and --probe names other functions.\n");
}

static void put_clean(struct strbuf *sb, const struct summary *s)
{
	strbuf_puts(sb, "All that was allocated while it was watched was released again.\n");
	if (s->run.seconds > 0 && s->run.seconds < SHORT_SECONDS) {
		words_seconds(sb, s->run.seconds);
		strbuf_puts(sb, " is not long, though: a slow leak shows only in a longer watch (-d 10m).\n");
	}
}

void nothing_put(struct strbuf *sb, const struct summary *s)
{
	if (s->suppressed.groups || s->filtered.groups)
		strbuf_puts(sb, "All that is kept is hidden by suppressions or by options: see below.\n");
	else if (!s->totals.allocs)
		put_unseen(sb, s);
	else if (!s->totals.live_blocks)
		put_clean(sb, s);
	if (summary_lost_total(s) || s->run.ngaps)
		strbuf_puts(sb, "Some of what it did was missed, and what was allocated then is not here: see below.\n");
}
