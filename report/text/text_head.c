/* SPDX-License-Identifier: MIT */
/* text_head: see text_head.h. A function for each line. */
#include "report/text/text_head.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "report/model/format_text.h"
#include "report/model/text_parts.h"
#include "report/text/groups/text_label.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_verdicts.h"
#include "report/text/groups/wrap.h"
#include "report/text/text_budget.h"
#include "report/text/text_memory.h"
#include "report/text/text_probes.h"

#define COMMAND_SHOWN 1000	/* characters */

bool text_head_time(struct strbuf *sb, int64_t ns)
{
	time_t seconds = ns / 1000000000;
	char text[64];
	struct tm tm;

	if (!ns || !localtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
		return false;
	strbuf_puts(sb, text);
	return true;
}

/* All of a command line may be megabytes. */
void text_head_command(struct strbuf *sb, const struct summary_target *t)
{
	cleanup_strbuf struct strbuf line = STRBUF_INIT;
	size_t shown;

	for (size_t i = 0; i < t->nargs && line.len <= 4 * COMMAND_SHOWN; i++) {
		strbuf_puts(&line, i ? " " : "");
		strbuf_text(&line, t->cmdline[i]);
	}
	if (!t->nargs)
		strbuf_text(&line, t->exe ? t->exe : "not known");
	if (strbuf_error(&line) && !sb->err)
		sb->err = strbuf_error(&line);
	shown = format_bytes(strbuf_str(&line), line.len, COMMAND_SHOWN);
	text_label(sb, "command");
	strbuf_append(sb, strbuf_str(&line), shown);
	strbuf_puts(sb, shown < line.len ? " ...\n" : "\n");
}

/* Imported files of other tools have no times. */
static void put_watched(struct strbuf *sb, const struct summary_run *run)
{
	cleanup_strbuf struct strbuf start = STRBUF_INIT;

	text_label(sb, "watched");
	if (run->seconds > 0)
		format_seconds(sb, run->seconds);
	else
		strbuf_puts(sb, "for a time not known");
	if (text_head_time(&start, run->start_ns))
		strbuf_printf(sb, " from %s", strbuf_str(&start));
	strbuf_puts(sb, ", ");
	strbuf_text(sb, run->mode);
	if (run->duty < 1 && !summary_is_sampled(run)) {
		strbuf_puts(sb, ", traps were planted ");
		format_percent(sb, run->duty, 1);
		strbuf_puts(sb, " of the time");
	}
	strbuf_puts(sb, ", by ");
	strbuf_text(sb, run->frontend);
	strbuf_putc(sb, '\n');
}

static void put_events(struct strbuf *sb, const struct summary *s)
{
	const struct summary_run *run = &s->run;
	uint64_t lost = summary_lost_total(s);

	text_label(sb, "events");
	strbuf_printf(sb, "%" PRIu64, run->events);
	if (run->seconds > 0)
		strbuf_printf(sb, " (%.0f/s)", (double)run->events / run->seconds);
	strbuf_puts(sb, lost ? ", " TEXT_RED "LOST" TEXT_PLAIN " " : ", none lost");
	for (size_t i = 0; i < run->nlost; i++) {
		strbuf_printf(sb, "%s%" PRIu64 " (", i ? ", " : "", run->lost[i].count);
		strbuf_text(sb, run->lost[i].reason);
		strbuf_putc(sb, ')');
	}
	if (run->stacks_cut) {
		strbuf_puts(sb, ", ");
		format_count(sb, run->stacks_cut, "stack");
		strbuf_puts(sb, " cut short");
	}
	if (run->stacks_lost) {
		strbuf_puts(sb, ", ");
		format_count(sb, run->stacks_lost, "stack");
		strbuf_puts(sb, " not followed to the end");
	}
	strbuf_putc(sb, '\n');
}

/* A share is clearer than a sum over threads, which may be much longer than the run. */
static void put_share(struct strbuf *sb, const struct summary_run *run)
{
	const double threads = run->thread_seconds / run->seconds;

	if (!(run->thread_seconds > 0)) {
		strbuf_puts(sb, ", all threads together");
		return;
	}
	strbuf_puts(sb, ", ");
	/* a program that mmattach starts is stopped before its watch begins */
	format_percent(sb, fmin(run->stopped_seconds, run->thread_seconds), run->thread_seconds);
	strbuf_puts(sb, " of the time");
	if (threads < 1.5)
		return;
	strbuf_puts(sb, " of ");
	format_count(sb, (uint64_t)(threads + 0.5), "thread");
	if (run->hitting_seconds > 0 && run->hitting_seconds < 0.9 * run->thread_seconds) {
		strbuf_puts(sb, "; ");
		format_percent(sb, run->hitting_stopped, run->hitting_seconds);
		if (run->hitting == 1)
			strbuf_puts(sb, " for the one that hit traps");
		else
			strbuf_printf(sb, " for the %" PRIu64 " that hit traps", run->hitting);
	}
}

static void put_stopped(struct strbuf *sb, const struct summary_run *run)
{
	if (!(run->seconds > 0))
		return;
	text_label(sb, "stopped");
	if (!summary_stops_known(run)) {
		strbuf_puts(sb, "for how long is not known: gdb does not report it\n");
		return;
	}
	format_seconds(sb, run->stopped_seconds);
	put_share(sb, run);
	strbuf_putc(sb, '\n');
}

static void put_totals(struct strbuf *sb, const struct summary_totals *t)
{
	text_label(sb, "calls");
	format_count(sb, t->allocs, "allocation");
	strbuf_puts(sb, ", ");
	format_count(sb, t->frees, "free");
	if (t->unmatched_frees)
		strbuf_printf(sb, ", %" PRIu64 " of blocks older than the watch", t->unmatched_frees);
	if (t->double_frees) {
		strbuf_puts(sb, ", ");
		text_mark_count(sb, t->double_frees, "DOUBLE FREE");
	}
	strbuf_putc(sb, '\n');
}

static void put_references(struct strbuf *sb, const struct summary *s, const struct summary_family *f)
{
	text_label(sb, "calls");
	if (s->nfamilies > 1) {
		strbuf_text(sb, f->name);
		strbuf_puts(sb, ": ");
	}
	format_count(sb, f->acquired, "reference");
	strbuf_printf(sb, " acquired, %" PRIu64 " released\n", f->released);
}

static void put_gap(struct strbuf *sb, const struct summary_gap *gap)
{
	strbuf_puts(sb, TEXT_RED);
	text_label(sb, "GAP");
	strbuf_puts(sb, TEXT_PLAIN "nothing was seen for ");
	format_seconds(sb, gap->seconds);
	strbuf_puts(sb, " from ");
	format_seconds(sb, gap->start_s);
	strbuf_puts(sb, gap->why ? " on: " : " on");
	strbuf_text(sb, gap->why);
	strbuf_putc(sb, '\n');
}

void text_head_hidden(struct strbuf *sb, const struct summary_hidden *h, const char *by)
{
	if (h->groups) {
		text_label(sb, "hidden");
		format_size(sb, h->bytes);
		strbuf_puts(sb, " in ");
		format_count(sb, h->blocks, "block");
		strbuf_puts(sb, " of ");
		format_count(sb, h->groups, "group");
		strbuf_printf(sb, ", by %s\n", by);
	}
	if (h->ref_groups) {
		text_label(sb, "hidden");
		format_count(sb, h->objects, "object");
		strbuf_puts(sb, " of ");
		format_count(sb, h->ref_groups, "group");
		strbuf_printf(sb, ", by %s\n", by);
	}
}

static void put_lines(struct strbuf *sb, const struct summary *s)
{
	text_head_command(sb, &s->target);
	put_watched(sb, &s->run);
	put_events(sb, s);
	put_stopped(sb, &s->run);
	text_memory_head(sb, s);
	text_verdicts_head(sb, &s->run.verdicts);
	if (summary_is_sampled(&s->run))
		text_budget(sb, s);
	else if (text_counts_blocks(s))
		put_totals(sb, &s->totals);
	for (size_t i = 0; i < s->nfamilies; i++)
		if (s->families[i].refs)
			put_references(sb, s, &s->families[i]);
	text_probes(sb, s);
	text_head_hidden(sb, &s->suppressed, "suppressions");
	text_head_hidden(sb, &s->filtered, "--older-than, --min-bytes, --show, --focus or --ignore");
	for (size_t i = 0; i < s->run.ngaps; i++)
		put_gap(sb, &s->run.gaps[i]);
	for (size_t i = 0; i < s->nnotes; i++)
		text_label_line(sb, "note", s->notes[i]);
}

void text_head(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf lines = STRBUF_INIT;

	put_lines(&lines, s);
	wrap(sb, &lines, s->columns ? s->columns : WRAP_WIDTH, WRAP_INDENT);
}
