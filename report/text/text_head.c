/* SPDX-License-Identifier: MIT */
/* text_head: see text_head.h. A function for each line. */
#include "report/text/text_head.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "report/model/format_text.h"
#include "report/model/text_parts.h"
#include "report/words/words_stopped.h"
#include "report/text/groups/text_builds.h"
#include "report/text/groups/text_label.h"
#include "report/text/groups/text_mark.h"
#include "report/text/groups/text_verdicts.h"
#include "report/text/groups/wrap.h"
#include "report/text/text_budget.h"
#include "report/text/text_memory.h"
#include "report/text/text_probes.h"
#include "report/text/text_processes.h"
#include "trace/endnote.h"

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

/* If that is not the engine that was asked for; none: ptrace. */
static void put_why_engine(struct strbuf *sb, const struct summary_run *run, bool merged)
{
	const char *asked = run->engine ? run->engine : "ptrace";

	if (!run->other || merged || (strcmp(asked, "auto") && !strcmp(asked, run->frontend)) ||
	    (!strcmp(asked, "auto") && !strcmp(run->frontend, "uprobe")))
		return;
	strbuf_puts(sb, ", as ");
	strbuf_text(sb, run->other);
}

/* Imported files of other tools have no times. */
static void put_watched(struct strbuf *sb, const struct summary_run *run, bool merged)
{
	cleanup_strbuf struct strbuf start = STRBUF_INIT;

	text_label(sb, "watched");
	if (run->seconds > 0) {
		strbuf_puts(sb, merged ? "each for up to " : "");
		format_seconds(sb, run->seconds);
	} else {
		strbuf_puts(sb, "for a time not known");
	}
	if (text_head_time(&start, run->start_ns))
		strbuf_printf(sb, merged ? ", the first from %s" : " from %s", strbuf_str(&start));
	strbuf_puts(sb, ", ");
	if (run->sample_bytes) {
		strbuf_puts(sb, "one block for each ");
		format_size(sb, run->sample_bytes);
	} else {
		strbuf_text(sb, run->mode);
		strbuf_puts(sb, merged && !strcmp(run->mode, "several") ? " modes" : "");
	}
	if (run->duty < 1 && !summary_is_sampled(run)) {
		strbuf_puts(sb, ", traps were planted ");
		format_percent(sb, run->duty, 1);
		strbuf_puts(sb, " of the time");
	}
	strbuf_puts(sb, ", by ");
	strbuf_text(sb, run->frontend);
	strbuf_puts(sb, merged && !strcmp(run->frontend, "several") ? " engines" : "");
	put_why_engine(sb, run, merged);
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

static void put_stopped(struct strbuf *sb, const struct summary_run *run, bool merged)
{
	cleanup_strbuf struct strbuf lines = STRBUF_INIT;
	const char *line;

	if (!(run->seconds > 0))
		return;
	words_stopped(&lines, run, merged);
	line = strbuf_str(&lines);
	for (size_t n; *line; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		text_label(sb, line == strbuf_str(&lines) ? "stopped" : "");
		strbuf_append(sb, line, n);
		strbuf_putc(sb, '\n');
	}
}

static void put_older(struct strbuf *sb, const struct summary_totals *t)
{
	const uint64_t unknown = summary_older_unknown(t);

	strbuf_printf(sb, ", %" PRIu64 " of blocks older than the watch", t->unmatched_frees);
	if (!t->older_blocks)
		return;
	strbuf_puts(sb, " (");
	format_size(sb, t->older_bytes);
	if (unknown)
		strbuf_printf(sb, ", and %" PRIu64 " of unknown size", unknown);
	strbuf_putc(sb, ')');
}

static void put_totals(struct strbuf *sb, const struct summary_totals *t)
{
	text_label(sb, "calls");
	format_count(sb, t->allocs, "allocation");
	strbuf_puts(sb, ", ");
	format_count(sb, t->frees, "free");
	if (t->unmatched_frees)
		put_older(sb, t);
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

static void put_by(struct strbuf *sb, const char *by)
{
	strbuf_puts(sb, ", by ");
	strbuf_text(sb, by ? by : "options");
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
		put_by(sb, by);
	}
	if (h->ref_groups) {
		text_label(sb, "hidden");
		format_count(sb, h->objects, "object");
		strbuf_puts(sb, " of ");
		format_count(sb, h->ref_groups, "group");
		put_by(sb, by);
	}
}

static void put_lines(struct strbuf *sb, const struct summary *s)
{
	text_processes_head(sb, s);
	if (!summary_is_merged(s) || s->target.exe)
		text_head_command(sb, &s->target);
	put_watched(sb, &s->run, summary_is_merged(s));
	put_events(sb, s);
	put_stopped(sb, &s->run, summary_is_merged(s));
	text_memory_head(sb, s);
	text_verdicts_head(sb, s);
	if (summary_is_sampled(&s->run))
		text_budget(sb, s);
	else if (text_counts_blocks(s))
		put_totals(sb, &s->totals);
	for (size_t i = 0; i < s->nfamilies; i++)
		if (s->families[i].refs)
			put_references(sb, s, &s->families[i]);
	text_probes(sb, s);
	text_builds(sb, s);
	text_head_hidden(sb, &s->suppressed, "suppressions");
	text_head_hidden(sb, &s->filtered, s->filters);
	for (size_t i = 0; i < s->run.ngaps; i++)
		put_gap(sb, &s->run.gaps[i]);
	for (size_t i = 0; i < s->nnotes; i++)
		/* the first lines have these: that it is an interim report, that the target ended */
		if ((!s->interim || strncmp(s->interim, s->notes[i], strlen(s->notes[i]))) &&
		    !endnote_is(s->notes[i]))
			text_label_line(sb, "note", s->notes[i]);
}

void text_head(struct strbuf *sb, const struct summary *s)
{
	cleanup_strbuf struct strbuf lines = STRBUF_INIT;

	put_lines(&lines, s);
	wrap(sb, &lines, s->columns ? s->columns : WRAP_WIDTH, WRAP_INDENT);
}
