/* SPDX-License-Identifier: MIT */
/*
 * out_heaptrack: see out_heaptrack.h. Of each group
 *
 *	stays	blocks that are live at the end, from the time on from which so many were
 *	goes	those that were freed: some are held for a while, as many as the series has more; the others pass, one
 *		after the other, evenly over the watch
 *
 * The reader takes a free for that of a temporary block if the last allocation has the same number. What goes has
 * two numbers that mean the same to it: one to be allocated by, one to be freed by.
 */
#include "report/heaptrack/out_heaptrack.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/export/export.h"
#include "report/formats.h"
#include "report/heaptrack/heaptrack_traces.h"
#include "report/model/text_parts.h"

#define VERSION "10400 3"	/* of heaptrack, and of its format */
#define PAGE 4096u
#define STEPS 32u		/* times at which something changes */
#define MOST 4000000u		/* allocations in the file; of more, each stands for several */

struct account {
	uint64_t nstays, size;	/* blocks that stay, */
	uint64_t larger;	/* of which so many are a byte larger than this */
	uint32_t stays_id;	/* allocation info of the larger ones; of the others it is the next one */
	uint64_t made;		/* of what stays, until now */
	uint64_t ngoes, goes_size;
	uint32_t goes_id;	/* to allocate it; the next one is to free it */
	uint64_t gone;		/* of what goes: allocated until now, also if it is held */
	uint64_t held;
};

struct writer {
	struct strbuf *sb;
	const struct summary *summary;
	struct account *accounts;	/* by index of the group */
	uint32_t infos;			/* the number of the next one */
	uint64_t each;			/* allocation of the file stands for so many */
};

/* --- what there is --- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Blocks of a stack that were freed, and their bytes; with its first group. */
static struct summary_sum freed(const struct summary *s, const struct summary_group *g)
{
	const struct export_values its = export_values(s, g);
	const uint64_t *of = its.of;

	if (!g->sampled)
		return g->split ? (struct summary_sum){ 0, 0 } : (struct summary_sum){ g->frees, g->bytes_returned };
	return (struct summary_sum){ of[EXPORT_ALLOC_BLOCKS] - smaller(of[EXPORT_ALLOC_BLOCKS], of[EXPORT_LIVE_BLOCKS]),
				     of[EXPORT_ALLOC_BYTES] - smaller(of[EXPORT_ALLOC_BYTES], of[EXPORT_LIVE_BYTES]) };
}

static bool is_memory(const struct summary *s, const struct summary_group *g)
{
	return !text_family_is_plain(summary_family(s, g->family));
}

static void find_each(struct writer *w)
{
	const struct summary *s = w->summary;
	double all = 0;

	for (size_t i = 0; i < s->ngroups; i++)
		if (is_memory(s, &s->groups[i]))
			all += (double)export_values(s, &s->groups[i]).of[EXPORT_LIVE_BLOCKS] +
			       (double)freed(s, &s->groups[i]).blocks;
	w->each = all > MOST ? (uint64_t)ceil(all / MOST) : 1;
}

static uint64_t scaled(const struct writer *w, uint64_t n)
{
	return n / w->each + (n % w->each > 0);
}

static void put_info(struct writer *w, uint64_t size, uint32_t trace)
{
	strbuf_printf(w->sb, "a %" PRIx64 " %" PRIx32 "\n", size, trace);
	w->infos++;
}

static void open_account(struct writer *w, struct heaptrack_traces *traces, size_t i)
{
	const struct summary_group *g = &w->summary->groups[i];
	const struct export_values its = export_values(w->summary, g);
	const struct summary_sum goes = freed(w->summary, g);
	struct account *a = &w->accounts[i];
	uint32_t trace;

	if (!is_memory(w->summary, g) || (!its.of[EXPORT_LIVE_BLOCKS] && !goes.blocks))
		return;
	a->nstays = scaled(w, its.of[EXPORT_LIVE_BLOCKS]);
	a->size = a->nstays ? its.of[EXPORT_LIVE_BYTES] / a->nstays : 0;
	a->larger = a->nstays ? its.of[EXPORT_LIVE_BYTES] % a->nstays : 0;
	a->ngoes = scaled(w, goes.blocks);
	a->goes_size = goes.blocks ? goes.bytes / goes.blocks : 0;
	trace = heaptrack_trace(traces, &g->stack);
	a->stays_id = w->infos;
	put_info(w, a->size + 1, trace);
	put_info(w, a->size, trace);
	a->goes_id = w->infos;
	put_info(w, a->goes_size, trace);
	put_info(w, a->goes_size, trace);
}

/* --- events --- */

static void put_event(struct writer *w, char what, uint32_t info)
{
	strbuf_printf(w->sb, "%c %" PRIx32 "\n", what, info);
}

static void put_stays(struct writer *w, struct account *a, uint64_t upto)
{
	for (; a->made < upto && !w->sb->err; a->made++)
		put_event(w, '+', a->stays_id + (a->made >= a->larger));
}

static void put_goes(struct writer *w, struct account *a)
{
	put_event(w, '+', a->goes_id);
	a->gone++;
}

static void put_gone(struct writer *w, const struct account *a)
{
	put_event(w, '-', a->goes_id + 1);
}

/* Hold @n of what goes. */
static void hold(struct writer *w, struct account *a, uint64_t n)
{
	for (; a->held > n && !w->sb->err; a->held--)
		put_gone(w, a);
	for (; a->held < n && a->gone < a->ngoes && !w->sb->err; a->held++)
		put_goes(w, a);
}

/* So many of what goes were allocated by now; what is not held passes. */
static void pass(struct writer *w, struct account *a, uint64_t due)
{
	while (a->gone < due && !w->sb->err) {
		put_goes(w, a);
		put_gone(w, a);
	}
}

static uint64_t live_at(const struct summary_group *g, double seconds)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < g->npoints && g->series[i].seconds <= seconds; i++)
		bytes = g->series[i].bytes;
	return bytes;
}

/* So many of the blocks that stay are live at @seconds: no more than at any later time. */
static uint64_t stay_at(const struct summary_group *g, const struct account *a, double seconds)
{
	uint64_t bytes = live_at(g, seconds);

	for (size_t i = 0; i < g->npoints; i++)
		if (g->series[i].seconds > seconds)
			bytes = smaller(bytes, g->series[i].bytes);
	return a->size ? smaller(a->nstays, bytes / (a->size + (a->larger > 0))) : a->nstays;
}

/* And so many of those that go are held then. */
static uint64_t hold_at(const struct summary_group *g, const struct account *a, unsigned step, double seconds)
{
	const uint64_t bytes = live_at(g, seconds), staying = stay_at(g, a, seconds) * a->size;

	return step < STEPS && a->goes_size && bytes > staying ? (bytes - staying) / a->goes_size : 0;
}

static uint64_t due_at(const struct account *a, unsigned step)
{
	return step == STEPS ? a->ngoes : (uint64_t)((double)a->ngoes * step / STEPS);
}

static void let_go(struct writer *w, size_t i, unsigned step, double seconds)
{
	struct account *a = &w->accounts[i];

	hold(w, a, smaller(a->held, hold_at(&w->summary->groups[i], a, step, seconds)));
}

static void advance(struct writer *w, size_t i, unsigned step, double seconds)
{
	const struct summary_group *g = &w->summary->groups[i];
	struct account *a = &w->accounts[i];

	hold(w, a, hold_at(g, a, step, seconds));
	pass(w, a, due_at(a, step));
	put_stays(w, a, step == STEPS ? a->nstays : stay_at(g, a, seconds));
}

/* What is no longer held is freed before anything is allocated, so that no peak is made that was none. */
static void put_events(struct writer *w)
{
	const struct summary *s = w->summary;
	const double seconds = isfinite(s->run.seconds) && s->run.seconds > 0 ? s->run.seconds : 0;

	for (unsigned step = 1; step <= STEPS; step++) {
		const double now = seconds * step / STEPS;

		for (size_t i = 0; i < s->ngroups; i++)
			let_go(w, i, step, now);
		for (size_t i = 0; i < s->ngroups; i++)
			advance(w, i, step, now);
		strbuf_printf(w->sb, "c %" PRIx64 "\n", (uint64_t)(now * 1000));
	}
}

/* --- all --- */

/* The number of the machine's pages is not known, but without it no resident memory is shown. */
static void put_head(const struct writer *w)
{
	strbuf_puts(w->sb, "v " VERSION "\nX ");
	export_command(w->sb, w->summary);
	strbuf_printf(w->sb, "\nI %x 1\nA\n", PAGE);
	if (w->each > 1)
		strbuf_printf(w->sb, "# each allocation stands for %" PRIu64 "\n", w->each);
	strbuf_puts(w->sb, "a 0 1\n");	/* number 0, which the reader takes for no allocation */
}

static void put_memory(const struct summary *s, struct strbuf *sb)
{
	const struct summary_memory *m = summary_memory_of_target(s);

	if (m)
		strbuf_printf(sb, "R %" PRIx64 "\n", summary_memory_rss(m) / PAGE);
}

int out_heaptrack(const struct summary *s, size_t top, struct strbuf *sb)
{
	struct writer w = { .sb = sb, .summary = s, .infos = 1 };
	struct heaptrack_traces traces;
	int r;

	(void)top;
	if (summary_error(s))
		return summary_error(s);
	w.accounts = calloc(s->ngroups + 1, sizeof(*w.accounts));
	if (!w.accounts)
		return -ENOMEM;
	find_each(&w);
	put_head(&w);
	heaptrack_traces_init(&traces, sb);
	for (size_t i = 0; i < s->ngroups; i++)
		open_account(&w, &traces, i);
	put_events(&w);
	put_memory(s, sb);
	r = heaptrack_traces_fini(&traces);
	free(w.accounts);
	return r ? r : strbuf_error(sb);
}

const struct report_format report_format_heaptrack = {
	.name = "heaptrack", .what = "for heaptrack_print and heaptrack_gui",
	.watch = out_heaptrack, .has_freed = true,
	.why_not = "it is made of the allocations and frees of one watch",
};
