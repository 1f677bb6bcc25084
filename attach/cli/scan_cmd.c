/* SPDX-License-Identifier: MIT */
#include "attach/cli/scan_cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "attach/cli/scan_live.h"
#include "attach/scan/scan_content.h"
#include "attach/scan/scan_core.h"
#include "attach/scan/scan_groups.h"
#include "attach/scan/scan_pointers.h"
#include "attach/scan/scan_python.h"
#include "attach/target/openfiles.h"
#include "base/log.h"
#include "heap/allocators.h"

#define MANY 100	/* blocks */

/* --- what there is --- */

static struct summary_sum sum_of(const struct census_sum *s)
{
	return (struct summary_sum){ s->blocks, s->bytes };
}

static void add_arena(struct scan_report *r, const struct census_arena *a)
{
	scan_add_arena(r, &(struct scan_arena){
		.at = a->at, .allocator = a->allocator, .system_bytes = a->system_bytes, .walked_bytes = a->walked_bytes,
		.used = sum_of(&a->used),
		.fast = sum_of(&a->fast), .tcache = sum_of(&a->tcache), .bins = sum_of(&a->bins),
		.top_bytes = a->top_bytes,
		.other_bytes = a->other_bytes,
	});
}

/* "glibc's malloc and jemalloc" */
static const char *text_of_listed(struct scan *sc)
{
	const struct census *c = &sc->census;
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < c->nlisted; i++)
		strbuf_printf(&sb, "%s%s", i ? " and " : "", allocators_text(c->listed[i]));
	return summary_string(&sc->report.summary, strbuf_str(&sb));
}

/* Why no blocks are listed. */
static void explain_unknown(struct scan *sc)
{
	struct scan_heap *heap = &sc->report.heap;
	cleanup_strbuf struct strbuf why = STRBUF_INIT;

	if (*sc->census.unread) {
		heap->layout = summary_string(&sc->report.summary, sc->census.unread);
		return;
	}
	if (!heap->other) {
		heap->layout = summary_string(&sc->report.summary, sc->census.problem.what);
		return;
	}
	strbuf_printf(&why, "its allocator is %s, which a scan cannot read", heap->other);
	heap->layout = summary_string(&sc->report.summary, strbuf_str(&why));
}

static void add_heap(struct scan *sc)
{
	const struct census *c = &sc->census;
	struct scan_report *r = &sc->report;
	struct summary_verdicts *v = &r->summary.run.verdicts;

	r->heap.known = v->census = c->known;
	if (!c->known) {
		explain_unknown(sc);
		return;
	}
	v->allocator = r->heap.layout = summary_string(&r->summary, c->layout);
	r->heap.listed = text_of_listed(sc);
	if (r->heap.other)
		summary_note(&r->summary, "these are only blocks of %s: those of %s are not listed",
			     r->heap.listed, r->heap.other);
	if (*c->unread)
		summary_note(&r->summary, "%s", c->unread);
	r->heap.adds_up = census_adds_up(c);
	r->heap.mmapped = sum_of(&c->mmapped);
	r->heap.mmapped_claimed = c->mmapped_claimed;
	r->heap.foreign_bytes = c->foreign_bytes;
	r->heap.unseen_bytes = c->unseen_bytes;
	for (size_t i = 0; i < c->narenas; i++)
		add_arena(r, &c->arenas[i]);
	if (c->others)
		summary_note(&r->summary,
			     "the C library is loaded more than once (dlmopen), each with a malloc of its "
			     "own: these are only the blocks of the one that has allocated most; %zu more %s "
			     "%" PRIu64 " bytes from the system",
			     c->others, c->others == 1 ? "has" : "have", c->others_bytes);
	if (c->nproblems)
		scan_add_problem(r, c->problem.at, c->problem.what);
	r->more_problems = c->nproblems ? c->nproblems - 1 : 0;
}

static void add_memory(struct scan *sc)
{
	const struct snapshot *s = &sc->snapshot;

	sc->report.memory = (struct scan_memory){ .copied = s->bytes, .swapped = s->swapped, .missing = s->missing };
	if (!sc->report.core)
		sc->report.summary.run.verdicts.bytes = s->bytes;
}

/* Without a census, only the blocks of the trace are known. */
static int choose_blocks(struct scan *sc)
{
	int r = 0;

	if (!sc->census.known)
		r = scan_watched_blocks(&sc->watched);
	sc->blocks = sc->census.known ? sc->census.blocks : sc->watched.blocks;
	sc->nblocks = sc->census.known ? sc->census.nblocks : sc->watched.nblocks;
	return r;
}

/* --- verdicts --- */

static int add_doubts(struct scan *sc, const struct reach_input *in)
{
	cleanup_strbuf struct strbuf doubts = STRBUF_INIT;
	size_t n = reach_doubts(in, &sc->reach, &doubts);
	const char *at = strbuf_str(&doubts);

	if (strbuf_error(&doubts))
		return strbuf_error(&doubts);
	for (; n; n--, at += strlen(at) + 1)
		summary_add_doubt(&sc->report.summary, at);
	return 0;
}

static int judge(struct scan *sc)
{
	const struct reach_input in = scan_reach_input(sc);
	struct summary_verdicts *v = &sc->report.summary.run.verdicts;
	int r;

	if (sc->opt->verdicts == VERDICTS_NO)
		v->why_not = "--verdicts no";
	else if (!sc->nblocks)
		v->why_not = "no block is known";
	if (v->why_not)
		return 0;
	r = reach_run(&in, &sc->reach);
	if (r == -E2BIG) {
		v->why_not = "there are too many blocks";
		return 0;
	}
	v->known = r == 0;
	return r == 0 ? add_doubts(sc, &in) : r;
}

static void note_watched(struct scan *sc)
{
	struct scan_trace *t = &sc->report.trace;
	const int64_t end_ns = scan_watched_end_ns(&sc->watched), now_ns = sc->report.summary.run.start_ns;

	if (!sc->watched.there)
		return;
	*t = (struct scan_trace){
		.there = true, .instead = !sc->census.known, .timed = end_ns && now_ns,
		.seconds = now_ns > end_ns ? (double)(now_ns - end_ns) / 1e9 : 0,
		.live = scan_watched_count(&sc->watched),
	};
	if (!sc->census.known)
		summary_note(&sc->report.summary, "only blocks of the trace have verdicts, whether or not "
						  "they are still allocated");
}

/* Python, GlusterFS and others begin each block with their own header, and use pointers behind it. */
static void note_headers(struct scan *sc)
{
	const struct summary_sum *possible = &sc->report.summary.run.verdicts.all[VERDICT_POSSIBLE];

	if (possible->blocks < MANY || possible->blocks < sc->report.summary.totals.live_blocks / 4)
		return;
	summary_note(&sc->report.summary, "many blocks are possibly lost, as pointers lead only to their "
					  "inside: in a program that puts a header of its own before each "
					  "block, that means little");
}

static int examine(struct scan *sc)
{
	int r = choose_blocks(sc);

	add_heap(sc);
	add_memory(sc);
	note_watched(sc);
	if (r == 0)
		r = judge(sc);
	if (r == 0)
		r = scan_classify(sc);
	if (r == 0)
		r = scan_groups_add(sc);
	note_headers(sc);
	if (r == 0)
		r = scan_python_add(sc);
	if (r == 0)
		r = scan_pointers_add(sc, sc->opt->single.who_points_at, sc->opt->single.nwho_points_at);
	if (r == 0)
		r = scan_error(&sc->report);
	if (r < 0) {
		log_error_errno(r, "cannot make the report");
	} else if (snapshot_damaged(&sc->snapshot)) {
		/* zeros were read where memory should have been */
		log_error("the core file, or a file of the program, was cut short while it was read: the "
			  "result would be wrong");
		r = -EIO;
	}
	return r;
}

/* --- all --- */

/* The copy of a process may be large, and in a pager its report may stay for long. */
static void drop_memory(struct scan *sc)
{
	scan_classes_free(sc);
	reach_fini(&sc->reach);
	census_fini(&sc->census);
	backing_fini(&sc->backing);
	snapshot_fini(&sc->snapshot);
}

static int print(struct scan *sc)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	int r;

	reporting_name_filters(&sc->reporting, &sc->report.summary);
	sc->report.summary.color = reporting_color(&sc->reporting);
	sc->report.summary.columns = reporting_columns(&sc->reporting);
	r = sc->opt->format->scan(&sc->report, sc->opt->shown.top, &sb);

	if (r == 0) {
		drop_memory(sc);
		sc->reporting.is_last = true;
		return reporting_print_text(&sc->reporting, strbuf_str(&sb), sb.len);
	}
	log_error_errno(r, "cannot make the report");
	return r;
}

static int look(struct scan *sc, int argc, char **argv)
{
	const struct scan_live live = {
		.opt = sc->opt, .target = &sc->target, .modules = &sc->modules, .snapshot = &sc->snapshot,
		.backing = &sc->backing,
		.census = &sc->census, .report = &sc->report,
	};
	int r = sc->opt->core ? scan_core(sc) : scan_live(&live, argc, argv);

	if (r < 0)
		return r;
	return scan_watched_is_of(&sc->watched, sc->snapshot.pid) ? 0 : -EINVAL;
}

/*
 * Was nothing found out, neither blocks nor what points at an address? That is a failure, though there is a
 * report.
 */
static int check_found(const struct scan *sc, bool listed)
{
	if (listed || sc->report.nanswers)
		return 0;
	if (report_format_for_people(sc->opt->format)) {
		log_error("the scan failed: no block could be listed, for the reason that the report gives");
		return -ENOTSUP;
	}
	log_error("no block could be listed: %s", sc->report.heap.layout);
	if (!scan_allocator_is_other(&sc->report))
		return -ENOTSUP;
	if (sc->opt->core)
		log_hint("a watch of the living process works with any allocator: mmattach -p PID -d 2m");
	else
		log_hint("a watch works with any allocator: mmattach -p %d -d 2m",
			 (int)sc->report.summary.target.pid);
	return -ENOTSUP;
}

/* Whether any group of the report is lost; suppressed ones are not in it. */
static bool any_lost(const struct scan *sc)
{
	for (size_t i = 0; i < sc->report.summary.ngroups; i++)
		if (summary_is_lost(sc->report.summary.groups[i].verdict))
			return true;
	return false;
}

static void close_scan(struct scan *sc)
{
	drop_memory(sc);
	scan_fini(&sc->report);
	scan_watched_close(&sc->watched);
	modules_free(sc->modules);
	target_fini(&sc->target);
	reporting_close(&sc->reporting);
}

int scan_cmd(const struct options *opt, int argc, char **argv)
{
	struct scan sc = { .opt = opt };
	bool listed;
	int r;

	/* with a ulimit -f, writing then fails with EFBIG, which is reported */
	signal(SIGXFSZ, SIG_IGN);
	openfiles_raise(NULL);
	scan_init(&sc.report);
	snapshot_init(&sc.snapshot);
	r = reporting_open(&sc.reporting, opt, opt->report ? opt->report : opt->output);
	if (r == 0)
		r = scan_watched_open(opt, &sc.watched);
	if (r == 0)
		r = look(&sc, argc, argv);
	if (r == 0)
		r = examine(&sc);
	/* the census is freed by print */
	listed = sc.census.known || sc.nblocks;
	if (r == 0)
		r = print(&sc);
	if (r == 0)
		r = check_found(&sc, listed);
	r = r < 0 ? 1 : any_lost(&sc) ? opt->error_exitcode : 0;
	close_scan(&sc);
	return r;
}
