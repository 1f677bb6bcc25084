/* SPDX-License-Identifier: MIT */
#include "report/text/text_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/format_text.h"
#include "report/words/memory_growth.h"
#include "report/model/target_ended.h"
#include "report/model/text_parts.h"
#include "report/text/groups/text_label.h"

#define MUCH_MAPPED (16u << 20)	/* addresses: without memory behind them they cost little */
#define MANY 5u			/* threads or descriptors more than at the start that are worth a line */
#define MUCH_CODE (64u << 10)	/* copied pages that are worth some words: an exact watch has fewer */
#define ROWS 10u
#define COLUMN_PID 9
#define COLUMN_RSS 11
#define COLUMN_GROWTH 12
#define NAME_WIDTH 60

static void put_change(struct strbuf *sb, int64_t bytes)
{
	strbuf_putc(sb, bytes < 0 ? '-' : '+');
	format_size(sb, (uint64_t)(bytes < 0 ? -bytes : bytes));
}

/* --- children --- */

static int by_growth(const void *a, const void *b)
{
	const struct summary_memory *x = *(const struct summary_memory *const *)a,
				    *y = *(const struct summary_memory *const *)b;
	const int64_t gx = summary_memory_growth(x), gy = summary_memory_growth(y);

	if (gx != gy)
		return gx < gy ? 1 : -1;
	if (summary_memory_rss(x) != summary_memory_rss(y))
		return summary_memory_rss(x) < summary_memory_rss(y) ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* The children that still exist, and can be watched. */
struct children {
	const struct summary_memory **all;	/* most growth first; the caller frees it */
	size_t n, ended;
};

static struct children children_of(const struct summary *s, struct strbuf *sb)
{
	struct children c = { .all = calloc(s->nmemories + 1, sizeof(const struct summary_memory *)) };

	if (!c.all)
		sb->err = sb->err ? sb->err : -ENOMEM;
	for (size_t i = 0; c.all && i < s->nmemories; i++) {
		if (s->memories[i].pid == s->target.pid)
			continue;
		if (summary_memory_ended(s, &s->memories[i]))
			c.ended++;
		else
			c.all[c.n++] = &s->memories[i];
	}
	if (c.n)
		qsort(c.all, c.n, sizeof(const struct summary_memory *), by_growth);
	return c;
}

/*
 * Do the children come first? If no watched function was called here, or if one of them has grown by more
 * than is live here.
 */
static bool children_first(const struct summary *s, const struct summary_memory *most)
{
	const int64_t grew = summary_memory_growth(most);

	return !s->run.events || (grew >= MEMORY_GROWTH_MUCH && (uint64_t)grew > s->totals.live_bytes);
}

static void put_child(struct strbuf *sb, const struct summary_memory *m)
{
	cleanup_strbuf struct strbuf cell = STRBUF_INIT;

	strbuf_printf(&cell, "%d", (int)m->pid);
	format_right(sb, &cell, COLUMN_PID);
	format_size(&cell, summary_memory_rss(m));
	format_right(sb, &cell, COLUMN_RSS);
	if (m->npoints > 1)
		put_change(&cell, summary_memory_growth(m));
	else
		strbuf_puts(&cell, "seen once");
	format_right(sb, &cell, COLUMN_GROWTH);
	strbuf_puts(sb, "  ");
	format_cut(sb, m->name, NAME_WIDTH);
	strbuf_putc(sb, '\n');
}

static void put_how_long(struct strbuf *sb, const struct summary *s)
{
	const double seconds = s->run.seconds < 10 ? 10 : s->run.seconds;

	strbuf_puts(sb, " -d ");
	format_seconds(sb, (double)(uint64_t)seconds);
}

static void put_ended(struct strbuf *sb, const struct children *c)
{
	if (c->ended)
		strbuf_printf(sb, " (%zu more ended meanwhile)", c->ended);
}

/* A child that was seen once may have grown by any amount before. */
static const char *which(const struct children *c)
{
	if (c->n == 1)
		return "it";
	return summary_memory_growth(c->all[0]) > 0 ? "the one that grew most" : "one of them";
}

static void put_children(struct strbuf *sb, const struct summary *s, const struct children *c)
{
	strbuf_puts(sb, "\nIt has ");
	if (c->n == 1)
		strbuf_puts(sb, "a child process, which was not watched");
	else
		strbuf_printf(sb, "%s%zu child processes, which were not watched",
			      c->n < MEMORY_CHILDREN ? "" : "at least ", c->n);
	put_ended(sb, c);
	strbuf_printf(sb, ":\n\n%*s%*s%*s  process\n", COLUMN_PID, "pid", COLUMN_RSS, "RSS", COLUMN_GROWTH,
		      "growth");
	for (size_t i = 0; i < c->n && i < ROWS; i++)
		put_child(sb, c->all[i]);
	if (c->n > ROWS)
		strbuf_printf(sb, "%*s\n", COLUMN_PID, "...");
	strbuf_printf(sb, "  to watch %s: mmattach -p %d", which(c), (int)c->all[0]->pid);
	put_how_long(sb, s);
	strbuf_putc(sb, '\n');
}

static void put_children_line(struct strbuf *sb, const struct children *c)
{
	text_label(sb, "children");
	strbuf_printf(sb, "%s%zu, not watched", c->n < MEMORY_CHILDREN ? "" : "at least ", c->n);
	put_ended(sb, c);
	if (summary_memory_growth(c->all[0]) > 0) {
		strbuf_printf(sb, "; %d grew%s by ", (int)c->all[0]->pid, c->n == 1 ? "" : " most,");
		format_size(sb, (uint64_t)summary_memory_growth(c->all[0]));
		strbuf_printf(sb, " (mmattach -p %d)", (int)c->all[0]->pid);
	}
	strbuf_putc(sb, '\n');
}

/* --- unexplained growth --- */

static void put_explained(struct strbuf *sb, const struct summary *s, const struct summary_memory *m)
{
	format_percent(sb, (double)summary_memory_explained(s), (double)memory_growth_of(s, m));
}

/* Of a process that grew. Blocks may be in memory that it had before, so they may be more than the growth. */
static void put_explanation(struct strbuf *sb, const struct summary *s, const struct summary_memory *m)
{
	const uint64_t live = summary_memory_explained(s);

	if (live >= (uint64_t)memory_growth_of(s, m)) {
		strbuf_puts(sb, "; live blocks, ");
		format_size(sb, live);
		strbuf_puts(sb, ", explain all of the growth");
		return;
	}
	strbuf_puts(sb, "; live blocks explain ");
	format_size(sb, live);
	strbuf_puts(sb, " of the growth (");
	put_explained(sb, s, m);
	strbuf_putc(sb, ')');
}

/* Did malloc's own heap grow with it? */
static bool is_heap(const struct summary_memory *m, uint64_t rest)
{
	const struct memory_point *first = &m->points[0], *last = &m->points[m->npoints - 1];

	return first->heap && last->heap > first->heap && last->heap - first->heap >= rest / 2;
}

/*
 * Ends the line with a command for more, unless this watch was of @family: then it was that command. Nor if the
 * process is no longer there.
 */
static void put_command(struct strbuf *sb, const struct summary *s, const char *family, const char *option,
			const struct summary_memory *m, const char *shows)
{
	bool useless = target_ended(s);

	for (size_t i = 0; i < s->nfamilies; i++)
		useless |= !strcmp(s->families[i].name, family);
	if (!useless)
		strbuf_printf(sb, " (mmattach %s -p %d %s)", option, (int)m->pid, shows);
	strbuf_putc(sb, '\n');
}

static void put_rest(struct strbuf *sb, const struct summary *s, const struct summary_memory *m)
{
	const uint64_t rest = (uint64_t)memory_growth_of(s, m) - summary_memory_explained(s);

	text_label(sb, "");
	strbuf_puts(sb, "the rest, ");
	format_size(sb, rest);
	if (is_heap(m, rest)) {
		strbuf_puts(sb, ": malloc's heap grew, by memory that was freed since or lies between blocks");
		if (!target_ended(s))
			strbuf_printf(sb, " (mmattach scan -p %d)", (int)m->pid);
		strbuf_putc(sb, '\n');
		return;
	}
	strbuf_puts(sb, ": pages used for the first time, or mappings that are not malloc's");
	put_command(sb, s, "growth", "--growth", m, "shows whose");
}

/* By how much its mappings grew that have no memory behind them: what has is counted as memory. */
static uint64_t grew_empty(const struct summary_memory *m)
{
	const struct memory_point *first = &m->points[0], *last = &m->points[m->npoints - 1];
	const uint64_t mapped = last->mapped > first->mapped ? last->mapped - first->mapped : 0;
	const int64_t grew = summary_memory_growth(m);

	return grew <= 0 ? mapped : mapped > (uint64_t)grew ? mapped - (uint64_t)grew : 0;
}

static bool many_more(uint64_t first, uint64_t last)
{
	return first && last >= first + MANY;
}

/* What else a program may leak. The stacks of threads that are not joined are addresses, mostly. */
static void put_others(struct strbuf *sb, const struct summary *s, const struct summary_memory *m)
{
	const struct memory_point *first = &m->points[0], *last = &m->points[m->npoints - 1];

	if (many_more(first->threads, last->threads)) {
		text_label(sb, "threads");
		strbuf_printf(sb, "%" PRIu64 " at the start, %" PRIu64 " at the end", first->threads, last->threads);
		put_command(sb, s, "thread", "--family thread", m, "shows which are not joined");
	}
	if (many_more(first->descriptors, last->descriptors)) {
		text_label(sb, "files");
		strbuf_printf(sb, "%" PRIu64 " open descriptors at the start, %" PRIu64 " at the end",
			      first->descriptors, last->descriptors);
		put_command(sb, s, "fd", "--family fd", m, "shows which are not closed");
	}
	if (first->mapped && grew_empty(m) >= MUCH_MAPPED) {
		text_label(sb, "addresses");
		put_change(sb, (int64_t)(last->mapped - first->mapped));
		strbuf_puts(sb, " of mappings; those of threads that are not joined are kept");
		put_command(sb, s, "thread", "--family thread", m, "shows these threads");
	}
}

static void put_code(struct strbuf *sb, uint64_t copied)
{
	if (copied < MUCH_CODE)
		return;
	strbuf_puts(sb, " (");
	format_size(sb, copied);
	strbuf_puts(sb, " of it pages of code, copied for the traps)");
}

static void put_memory(struct strbuf *sb, const struct summary *s, const struct summary_memory *m)
{
	const struct memory_point *first = &m->points[0], *last = &m->points[m->npoints - 1];

	text_label(sb, "memory");
	strbuf_puts(sb, "RSS ");
	format_size(sb, summary_memory_rss(m));
	if (m->npoints > 1) {
		strbuf_puts(sb, ": anonymous ");
		put_change(sb, (int64_t)(last->anonymous - first->anonymous));
		put_code(sb, s->run.code_copied);
		if (last->shared != first->shared) {
			strbuf_puts(sb, ", shared ");
			put_change(sb, (int64_t)(last->shared - first->shared));
		}
		strbuf_puts(sb, ", files ");
		put_change(sb, (int64_t)(last->file - first->file));
		if (last->swapped != first->swapped) {
			strbuf_puts(sb, ", swapped ");
			put_change(sb, (int64_t)(last->swapped - first->swapped));
		}
	}
	if (memory_growth_of(s, m) >= MEMORY_GROWTH_MUCH && text_counts_blocks(s)) {
		put_explanation(sb, s, m);
	}
	strbuf_putc(sb, '\n');
	if (memory_growth_unexplained(s, m))
		put_rest(sb, s, m);
	put_others(sb, s, m);
}

/* --- the runtime --- */

static const struct advice {
	const char *runtime, *text, *what_to_do;
} advices[] = {
	{ "CPython", "small objects are in arenas that Python maps, not in malloc's blocks",
	  "PYTHONMALLOC=malloc at its start shows each; or tracemalloc" },
	{ "JVM", "Java objects are in a heap that the JVM maps; what native code mallocs is watched",
	  "jcmd %d GC.class_histogram counts them" },
	{ "Go", "Go's objects are in a heap that its runtime maps; what cgo mallocs is watched",
	  "net/http/pprof and go tool pprof show it" },
	{ "V8", "JavaScript objects are in V8's heap, which it maps; what native code mallocs is watched",
	  "a heap snapshot shows them (node --heapsnapshot-signal)" },
};

static void put_runtime(struct strbuf *sb, const struct summary *s)
{
	for (size_t i = 0; s->runtime && i < sizeof(advices) / sizeof(*advices); i++) {
		const struct advice *a = &advices[i];
		const char *pid = strstr(a->what_to_do, "%d");

		if (strcmp(s->runtime, a->runtime))
			continue;
		text_label(sb, "runtime");
		strbuf_printf(sb, "%s: %s: ", a->runtime, a->text);
		strbuf_append(sb, a->what_to_do, pid ? (size_t)(pid - a->what_to_do) : strlen(a->what_to_do));
		if (pid)
			strbuf_printf(sb, "%d%s", (int)s->target.pid, pid + 2);
		strbuf_putc(sb, '\n');
	}
}

/* --- all --- */

void text_memory_answer(struct strbuf *sb, const struct summary *s)
{
	const struct summary_memory *m = summary_memory_of_target(s);

	if (!memory_growth_unexplained(s, m))
		return;
	strbuf_puts(sb, "resident memory grew by ");
	format_size(sb, (uint64_t)memory_growth_of(s, m));
	strbuf_puts(sb, " meanwhile; live blocks explain ");
	put_explained(sb, s, m);
	strbuf_puts(sb, " of that: see memory at the end of this report\n");
}

void text_memory_children(struct strbuf *sb, const struct summary *s)
{
	const struct children c = children_of(s, sb);

	if (c.n && children_first(s, c.all[0]))
		put_children(sb, s, &c);
	free(c.all);
}

bool text_memory_children_grow(const struct summary *s)
{
	for (size_t i = 0; i < s->nmemories; i++)
		if (s->memories[i].pid != s->target.pid && !summary_memory_ended(s, &s->memories[i]) &&
		    summary_memory_growth(&s->memories[i]) > 0)
			return true;
	return false;
}

void text_memory_head(struct strbuf *sb, const struct summary *s)
{
	const struct summary_memory *m = summary_memory_of_target(s);
	const struct children c = children_of(s, sb);

	if (m)
		put_memory(sb, s, m);
	put_runtime(sb, s);
	if (c.n && !children_first(s, c.all[0]))
		put_children_line(sb, &c);
	free(c.all);
}
