/* SPDX-License-Identifier: MIT */
#include "attach/watch/watch_line.h"

#include <unistd.h>

#include "attach/control/link.h"
#include "attach/events/tally.h"
#include "attach/watch/watch.h"
#include "base/duration.h"
#include "base/statusline.h"
#include "base/strbuf.h"
#include "base/terminal.h"
#include "report/model/format_text.h"
#include "report/model/stop_share.h"

#define HALF_NS 10000000000ull
#define FIRST_NS 5000000000ull		/* before that, a growth per minute would be a wild guess */
#define BETWEEN 2			/* blanks between two parts */

/* In this order on the line. */
enum part { TIME, EVENTS, LIVE, GROWTH, HINT, STOPPED, PARTS };

static void put_time(struct strbuf *sb, const struct watch *w, uint64_t now)
{
	char text[DURATION_TEXT];

	strbuf_puts(sb, duration_format((now - w->start_ns) / 1000000000 * 1000000000, text, sizeof(text)));
	if (w->line.duration_ns)
		strbuf_printf(sb, "/%s", duration_format(w->line.duration_ns, text, sizeof(text)));
}

static void put_events(struct strbuf *sb, uint64_t n)
{
	if (n < 10000)
		format_count(sb, n, "event");
	else if (n < 1000000)
		strbuf_printf(sb, "%.0fk events", (double)n / 1e3);
	else
		strbuf_printf(sb, "%.1fM events", (double)n / 1e6);
}

/* With a budget only some blocks are known, so they say nothing about all bytes. */
static void put_live(struct strbuf *sb, const struct watch *w, const struct ledger *l)
{
	format_count(sb, l->held_blocks, "block");
	if (w->sampling) {
		strbuf_puts(sb, " tracked");
		return;
	}
	strbuf_puts(sb, ", ");
	format_size(sb, l->held_bytes);
	strbuf_puts(sb, " live");
}

static void put_growth(struct strbuf *sb, struct watch *w, uint64_t bytes, uint64_t now)
{
	struct watch_line *line = &w->line;
	double minutes, more;

	if (!line->before.at_ns)
		line->before = line->half = (struct watch_line_then){ w->start_ns, 0 };
	minutes = (double)(now - line->before.at_ns) / 60e9;
	more = (double)bytes - (double)line->before.bytes;
	if (!w->sampling && now - w->start_ns >= FIRST_NS) {
		strbuf_putc(sb, more < 0 ? '-' : '+');
		format_rate(sb, (more < 0 ? -more : more) / minutes, false);
	}
	if (now - line->half.at_ns < HALF_NS)
		return;
	line->before = line->half;
	line->half = (struct watch_line_then){ now, bytes };
}

/* As the report will say it. What a budget has spent is more than the hits came to. */
static struct summary_run stopped_until(const struct watch *w, uint64_t now)
{
	struct shared *sh = w->link->shared;
	const uint64_t stopped_ns = w->sampling ? atomic_load(&sh->budget.spent_ns)
						: atomic_load(&sh->counts.served_ns);

	return (struct summary_run){
		.seconds = (double)(now - w->start_ns) / 1e9,
		.stopped_seconds = (double)stopped_ns / 1e9,
		.thread_seconds = (double)w->thread_ns / 1e9,
		.hitting = atomic_load(&sh->counts.have_hit),
		.hitting_seconds = (double)w->hitting_ns / 1e9,
		.hitting_stopped = (double)atomic_load(&sh->counts.hit_served_ns) / 1e9,
	};
}

static void put_stopped(struct strbuf *sb, const struct watch *w, uint64_t now)
{
	const struct summary_run run = stopped_until(w, now);
	struct stop_share share;

	if (w->sampling) {
		strbuf_puts(sb, "stopped ");
		format_percent(sb, run.stopped_seconds, run.seconds);
		strbuf_puts(sb, " of the time so far");
		return;
	}
	if (!stop_share_first(&run, &share))
		return;
	strbuf_puts(sb, "stopped ");
	format_percent(sb, share.stopped_s, share.time_s);
	strbuf_puts(sb, " of the time");
}

/* The most important parts that fit into @columns. */
static void choose(const struct strbuf parts[PARTS], size_t columns, bool chosen[PARTS])
{
	static const enum part by_importance[PARTS] = { TIME, LIVE, EVENTS, GROWTH, HINT, STOPPED };
	size_t used = 0;

	for (size_t i = 0; i < PARTS; i++) {
		const enum part p = by_importance[i];
		const size_t more = parts[p].len + (used ? BETWEEN : 0);

		chosen[p] = parts[p].len && used + more <= columns;
		used += chosen[p] ? more : 0;
	}
}

static void show(const struct strbuf parts[PARTS])
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	bool chosen[PARTS];

	choose(parts, terminal_columns(STDERR_FILENO) - 1, chosen);
	for (size_t i = 0; i < PARTS; i++) {
		if (!chosen[i])
			continue;
		strbuf_pad(&sb, ' ', sb.len ? BETWEEN : 0);
		strbuf_puts(&sb, strbuf_str(&parts[i]));
	}
	statusline_show(strbuf_str(&sb));
}

void watch_line_show(struct watch *w, uint64_t now_ns)
{
	const struct ledger *l = &w->tally->recorder->ledger;
	struct strbuf parts[PARTS] = { 0 };

	if (w->line.held || !statusline_is_open())
		return;
	put_time(&parts[TIME], w, now_ns);
	put_events(&parts[EVENTS], w->tally->events);
	put_live(&parts[LIVE], w, l);
	put_growth(&parts[GROWTH], w, l->held_bytes, now_ns);
	strbuf_puts(&parts[HINT], "Ctrl-C ends");
	put_stopped(&parts[STOPPED], w, now_ns);
	show(parts);
	for (size_t i = 0; i < PARTS; i++)
		strbuf_fini(&parts[i]);
}
