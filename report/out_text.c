/* SPDX-License-Identifier: MIT */
/*
 * out_text: see out_text.h. A function for each line of the head, and for each part of a group.
 */
#include "report/out_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"

/* "1 block", "2 blocks". */
static void put_count(struct strbuf *sb, uint64_t n, const char *what)
{
	strbuf_printf(sb, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

/* Exact while that is short, then three or four digits. */
static void put_size(struct strbuf *sb, uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double n = (double)bytes / 1024;
	size_t unit = 0;

	if (bytes < 10000) {
		strbuf_printf(sb, "%" PRIu64 " B", bytes);
		return;
	}
	for (; n >= 1024 && unit < 5; unit++)
		n /= 1024;
	strbuf_printf(sb, "%.*f %s", n < 100 ? 1 : 0, n, units[unit]);
}

static void put_seconds(struct strbuf *sb, double seconds)
{
	char text[DURATION_TEXT];
	uint64_t ns = seconds > 0 && seconds < 9e9 ? (uint64_t)(seconds * 1e9) : 0;

	strbuf_puts(sb, duration_format(ns, text, sizeof(text)));
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* "<0.1%", "0.4%", "80%": a decimal only where it says something, and never 0 for what is there. */
static void put_percent(struct strbuf *sb, double part, double whole)
{
	double p = percent(part, whole);

	if (p > 0 && p < 0.1)
		strbuf_puts(sb, "<0.1%");
	else
		strbuf_printf(sb, "%.*f%%", p > 0 && p < 9.95 ? 1 : 0, p);
}

/* Begins a line of the head: "  command   ". */
static void label(struct strbuf *sb, const char *name)
{
	strbuf_printf(sb, "  %-9s ", name);
}

static void put_answer(struct strbuf *sb, const struct summary *s)
{
	strbuf_text(sb, s->target.comm ? s->target.comm : "the process");
	strbuf_printf(sb, " (%d) kept ", (int)s->target.pid);
	put_count(sb, s->totals.live_blocks, "block");
	strbuf_puts(sb, ", ");
	put_size(sb, s->totals.live_bytes);
	strbuf_puts(sb, ", of ");
	put_count(sb, s->totals.allocs, "allocation");
	strbuf_puts(sb, " in ");
	put_seconds(sb, s->run.seconds);
	strbuf_puts(sb, "\n\n");
}

static void put_command(struct strbuf *sb, const struct summary_target *t)
{
	label(sb, "command");
	for (size_t i = 0; i < t->nargs; i++) {
		strbuf_puts(sb, i ? " " : "");
		strbuf_text(sb, t->cmdline[i]);
	}
	if (!t->nargs)
		strbuf_text(sb, t->exe);
	strbuf_putc(sb, '\n');
}

static void put_watched(struct strbuf *sb, const struct summary_run *run)
{
	time_t seconds = run->start_ns / 1000000000;
	char text[64] = "";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm);
	label(sb, "watched");
	put_seconds(sb, run->seconds);
	strbuf_printf(sb, " from %s, %s", text, run->mode);
	if (run->duty < 1) {
		strbuf_puts(sb, ", traps stood ");
		put_percent(sb, run->duty, 1);
		strbuf_puts(sb, " of the time");
	}
	strbuf_printf(sb, ", by %s\n", run->frontend);
}

static void put_events(struct strbuf *sb, const struct summary *s)
{
	const struct summary_run *run = &s->run;
	uint64_t lost = summary_lost_total(s);

	label(sb, "events");
	strbuf_printf(sb, "%" PRIu64, run->events);
	if (run->seconds > 0)
		strbuf_printf(sb, " (%.0f/s)", (double)run->events / run->seconds);
	strbuf_puts(sb, lost ? ", LOST " : ", none lost");
	for (size_t i = 0; i < run->nlost; i++) {
		strbuf_printf(sb, "%s%" PRIu64 " (", i ? ", " : "", run->lost[i].count);
		strbuf_text(sb, run->lost[i].reason);
		strbuf_putc(sb, ')');
	}
	if (run->stacks_cut) {
		strbuf_puts(sb, ", ");
		put_count(sb, run->stacks_cut, "stack");
		strbuf_puts(sb, " cut short");
	}
	if (run->stacks_lost) {
		strbuf_puts(sb, ", ");
		put_count(sb, run->stacks_lost, "stack");
		strbuf_puts(sb, " not followed to the end");
	}
	strbuf_putc(sb, '\n');
}

/* A sum over threads, which may well be more than the time of the run. */
static void put_stopped(struct strbuf *sb, const struct summary_run *run)
{
	label(sb, "stopped");
	put_seconds(sb, run->stopped_seconds);
	strbuf_puts(sb, ", all threads together\n");
}

static void put_totals(struct strbuf *sb, const struct summary_totals *t)
{
	label(sb, "calls");
	put_count(sb, t->allocs, "allocation");
	strbuf_puts(sb, ", ");
	put_count(sb, t->frees, "free");
	if (t->unmatched_frees)
		strbuf_printf(sb, ", %" PRIu64 " of blocks older than the watch", t->unmatched_frees);
	if (t->double_frees) {
		strbuf_puts(sb, ", ");
		put_count(sb, t->double_frees, "DOUBLE FREE");
	}
	strbuf_putc(sb, '\n');
}

static void put_probe(struct strbuf *sb, const struct summary_probe *p)
{
	label(sb, "");
	strbuf_printf(sb, "%10" PRIu64 "  ", p->hits);
	strbuf_text(sb, p->rule);
	if (p->module) {
		strbuf_puts(sb, "  in ");
		strbuf_text(sb, p->module);
	}
	if (p->note || !p->module) {
		strbuf_puts(sb, "  NOT WATCHED: ");
		strbuf_text(sb, p->note ? p->note : "no such function in the target");
	}
	strbuf_putc(sb, '\n');
}

static void put_gaps_and_notes(struct strbuf *sb, const struct summary *s)
{
	for (size_t i = 0; i < s->run.ngaps; i++) {
		const struct summary_gap *gap = &s->run.gaps[i];
		label(sb, "GAP");
		strbuf_puts(sb, "nothing was seen for ");
		put_seconds(sb, gap->seconds);
		strbuf_puts(sb, " from ");
		put_seconds(sb, gap->start_s);
		strbuf_puts(sb, gap->why ? " on: " : " on");
		strbuf_text(sb, gap->why);
		strbuf_putc(sb, '\n');
	}
	for (size_t i = 0; i < s->nnotes; i++) {
		label(sb, "note");
		strbuf_text(sb, s->notes[i]);
		strbuf_putc(sb, '\n');
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void put_frame(struct strbuf *sb, size_t i, const struct summary_frame *f)
{
	strbuf_printf(sb, "    #%zu ", i);
	strbuf_text(sb, f->function ? f->function : "??");
	strbuf_puts(sb, " (");
	if (f->module) {
		strbuf_text(sb, base_name(f->module));
		strbuf_printf(sb, "+0x%" PRIx64, f->offset);
	} else {
		strbuf_printf(sb, PRItaddr, f->pc);
	}
	strbuf_puts(sb, f->inlined ? ", inlined)" : ")");
	if (f->file) {
		strbuf_putc(sb, ' ');
		strbuf_text(sb, f->file);
		if (f->line > 0)
			strbuf_printf(sb, ":%d", f->line);
	}
	strbuf_putc(sb, '\n');
}

static void put_ages(struct strbuf *sb, const struct summary_group *g)
{
	strbuf_puts(sb, ", ");
	if (g->blocks > 1) {
		put_seconds(sb, g->youngest_s);
		strbuf_puts(sb, " to ");
	}
	put_seconds(sb, g->oldest_s);
	strbuf_puts(sb, " old");
}

static void put_group(struct strbuf *sb, const struct summary_group *g, uint64_t live_bytes)
{
	strbuf_putc(sb, '\n');
	put_size(sb, g->bytes);
	strbuf_puts(sb, " (");
	put_percent(sb, (double)g->bytes, (double)live_bytes);
	strbuf_puts(sb, ") in ");
	put_count(sb, g->blocks, "block");
	strbuf_printf(sb, " of %" PRIu64 " allocated here", g->allocs);
	put_ages(sb, g);
	if (g->verdict != VERDICT_UNKNOWN)
		strbuf_printf(sb, ", %s", summary_verdict_name(g->verdict));
	strbuf_putc(sb, '\n');
	for (size_t i = 0; i < g->depth; i++)
		put_frame(sb, i, &g->stack[i]);
	if (g->stack_end != STACK_WHOLE)
		strbuf_printf(sb, "    ... %s\n", summary_stack_end_text(g->stack_end));
	else if (!g->depth)
		strbuf_puts(sb, "    (no stack)\n");
}

static void put_groups(struct strbuf *sb, const struct summary *s, size_t top)
{
	size_t shown = top && top < s->ngroups ? top : s->ngroups;
	uint64_t rest = 0;

	for (size_t i = 0; i < shown; i++)
		put_group(sb, &s->groups[i], s->totals.live_bytes);
	if (shown == s->ngroups)
		return;
	for (size_t i = shown; i < s->ngroups; i++)
		rest += s->groups[i].bytes;
	strbuf_putc(sb, '\n');
	put_count(sb, s->ngroups - shown, "more group");
	strbuf_puts(sb, " with ");
	put_size(sb, rest);
	strbuf_puts(sb, " not shown (--top 0 shows all)\n");
}

int out_text(const struct summary *s, size_t top, struct strbuf *sb)
{
	if (summary_error(s))
		return summary_error(s);
	put_answer(sb, s);
	put_command(sb, &s->target);
	put_watched(sb, &s->run);
	put_events(sb, s);
	put_stopped(sb, &s->run);
	put_totals(sb, &s->totals);
	for (size_t i = 0; i < s->run.nprobes; i++)
		put_probe(sb, &s->run.probes[i]);
	put_gaps_and_notes(sb, s);
	put_groups(sb, s, top);
	return strbuf_error(sb);
}
