/* SPDX-License-Identifier: MIT */
#include "report/words/words_stopped.h"

#include <inttypes.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/model/stop_share.h"

#define LATE 0.95		/* of the time: a thread made its first call so late that its share is another one */

/* "48% (2.4s of 5s) of ": the share can be checked. */
static void put_share(struct strbuf *sb, const struct stop_share *share)
{
	format_percent(sb, share->stopped_s, share->time_s);
	strbuf_puts(sb, " (");
	format_seconds(sb, share->stopped_s);
	strbuf_puts(sb, " of ");
	format_seconds(sb, share->time_s);
	strbuf_puts(sb, ") of ");
}

static void put_worst(struct strbuf *sb, const struct summary_run *run, const char *which)
{
	struct stop_share worst;

	if (!stop_share_of_worst(run, &worst))
		return;
	put_share(sb, &worst);
	strbuf_printf(sb, "the thread %s\n", which);
}

static void put_hitting(struct strbuf *sb, const struct summary_run *run)
{
	struct stop_share hitting;

	if (!stop_share_of_hitting(run, &hitting))
		return;
	put_share(sb, &hitting);
	if (hitting.threads == 1)
		strbuf_puts(sb, "the thread that hit traps\n");
	else
		strbuf_printf(sb, "the %" PRIu64 " threads that hit traps, together\n", hitting.threads);
}

/* Runs that are merged are of different length: their time does not show how many threads there were. */
static void put_all(struct strbuf *sb, const struct stop_share *all, bool merged)
{
	put_share(sb, all);
	if (merged)
		strbuf_puts(sb, "all threads, together\n");
	else
		strbuf_printf(sb, "all threads, together: %" PRIu64 " on average\n", all->threads);
}

/*
 * Shares are clearer than a sum over threads, which may be much longer than the run; each has a line, that of one
 * thread first: over many idle threads a share is small however slow the others are.
 */
static void put_shares(struct strbuf *sb, const struct summary_run *run, bool merged)
{
	struct stop_share all;

	format_seconds(sb, run->stopped_seconds);
	if (!stop_share_of_all(run, &all)) {
		strbuf_puts(sb, ", all threads together\n");
	} else if (!merged && all.threads <= 1) {
		strbuf_puts(sb, ", ");
		format_percent(sb, all.stopped_s, all.time_s);
		strbuf_puts(sb, " of the time\n");
		if (run->worst_seconds < LATE * all.time_s)
			put_worst(sb, run, "that was stopped most");
	} else {
		strbuf_puts(sb, " in all\n");
		if (run->hitting != 1)
			put_worst(sb, run, "that was stopped most");
		put_hitting(sb, run);
		put_all(sb, &all, merged);
	}
}

/* gdb does not say for how long it stops threads; where the kernel takes the hits, none is stopped. */
static void put_unstopped(struct strbuf *sb, const struct summary_run *run)
{
	if (!strcmp(run->frontend, "gdb")) {
		strbuf_puts(sb, "for how long is not known: gdb does not report it\n");
		return;
	}
	strbuf_puts(sb, "no thread: calls were seen in the kernel, ");
	if (!(run->probed_seconds > 0)) {
		strbuf_puts(sb, "which takes some microseconds each\n");
		return;
	}
	strbuf_puts(sb, "which took at least ");
	format_seconds(sb, run->probed_seconds);
	strbuf_puts(sb, " of processor time in all\n");
	put_worst(sb, run, "that made most calls");
}

void words_stopped(struct strbuf *sb, const struct summary_run *run, bool merged)
{
	struct stop_share first;

	if (!summary_stops_known(run)) {
		put_unstopped(sb, run);
		return;
	}
	put_shares(sb, run, merged);
	if (stop_share_first(run, &first) && stop_share_slows(&first))
		strbuf_puts(sb, "it was slowed by more than that: how long threads waited for another one, "
				"or for a processor, is not counted\n");
}

/* --- in short --- */

static void put_whose(struct strbuf *more, bool worst, bool hitting, uint64_t threads)
{
	strbuf_puts(more, "of the time of ");
	if (hitting)
		format_count(more, threads, "thread");
	strbuf_puts(more, worst ? "the thread that it cost most" : hitting ? " that hit traps" : "all threads");
}

static void put_cost_not_known(struct strbuf *value, struct strbuf *more, const struct summary_run *run)
{
	strbuf_puts(value, "not known");
	strbuf_puts(more, !strcmp(run->frontend, "gdb") ? "for how long it was stopped" : "no thread was stopped");
}

void words_cost(struct strbuf *value, struct strbuf *more, const struct summary_run *run)
{
	const bool known = summary_stops_known(run);
	struct stop_share share;
	const bool worst = stop_share_of_worst(run, &share), hitting = !worst && stop_share_of_hitting(run, &share);

	if (!known && !worst) {
		put_cost_not_known(value, more, run);
		return;
	}
	if (!worst && !hitting && !stop_share_of_all(run, &share)) {
		format_seconds(value, run->stopped_seconds);
		strbuf_puts(more, "stopped, all threads together");
		return;
	}
	format_percent(value, share.stopped_s, share.time_s);
	put_whose(more, worst, hitting, share.threads);
	if (!known) {
		strbuf_puts(more, "; at least: the kernel's probes took it");
		return;
	}
	strbuf_puts(more, "; stopped for ");
	format_seconds(more, run->stopped_seconds);
	strbuf_puts(more, " in all");
}
