/* SPDX-License-Identifier: MIT */
#include "attach/scan/scan_watched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/reporting/tracenames.h"
#include "base/log.h"
#include "report/ledger/live.h"
#include "report/tracefiles/replay.h"

#define SLACK 64	/* usable bytes beyond the requested ones, if the trace has exact sizes */

/*
 * In a sampled run few blocks of an allocation site would get a stack; the others would look as if allocated
 * elsewhere.
 */
static int refuse_sampled(const struct ledger *l)
{
	if (!ledger_is_sampled(l))
		return 0;
	log_error("the trace is of a sampled run (--budget), which has tracked only a few blocks of each "
		  "allocation site");
	log_hint("without --with-trace blocks are grouped by class and size; a trace without --budget has "
		 "them all");
	return -EINVAL;
}

int scan_watched_open(const struct options *opt, struct scan_watched *out)
{
	const struct replay_options replay = { 0 };
	int r;

	*out = (struct scan_watched){ 0 };
	if (!opt->with_traces.n)
		return 0;
	out->there = true;
	r = replay_files(opt->with_traces.all, opt->with_traces.n, &replay, &out->ledger);
	if (r < 0)
		return r;
	r = refuse_sampled(&out->ledger);
	if (r == 0)
		r = ledger_settle(&out->ledger);
	if (r == 0)
		r = tracenames_run(&out->ledger, NULL, false);
	if (r < 0 && r != -EINVAL)
		log_error_errno(r, "cannot read the trace");
	return r;
}

void scan_watched_close(struct scan_watched *w)
{
	if (w->there)
		ledger_fini(&w->ledger);
	free(w->blocks);
	*w = (struct scan_watched){ 0 };
}

bool scan_watched_is_of(const struct scan_watched *w, int pid)
{
	if (!w->there || !pid || !w->ledger.target.pid || w->ledger.target.pid == pid)
		return true;
	log_error("the trace is of process %d (%s), not of %d", (int)w->ledger.target.pid,
		  w->ledger.target.comm ? w->ledger.target.comm : "?", pid);
	log_hint("without --with-trace blocks are grouped by class and size");
	return false;
}

/* The sizes of the trace are usable sizes, as those of the scan are, or requested sizes. */
static bool fits(const struct live_block *held, const struct block *b)
{
	return held->size <= b->size && b->size - held->size <= SLACK + held->size / 4;
}

uint32_t scan_watched_stack(const struct scan_watched *w, const struct block *b)
{
	struct live_block held;

	if (!w->there)
		return SCAN_NO_STACK;
	for (size_t i = 0; i < w->ledger.nbooks; i++)
		if (defs_is_of_blocks(&w->ledger.defs.families[i]) && w->ledger.books[i].live &&
		    live_get(w->ledger.books[i].live, b->addr, &held) && fits(&held, b))
			return held.stack;
	return SCAN_NO_STACK;
}

/* --- as blocks --- */

static size_t count(const struct ledger *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->nbooks; i++)
		if (defs_is_of_blocks(&l->defs.families[i]) && l->books[i].live)
			n += live_count(l->books[i].live);
	return n;
}

static void collect_live(const struct live *live, struct scan_watched *w)
{
	struct live_block b;
	taddr addr;

	for (size_t at = 0; live_next(live, &at, &addr, &b);)
		if (b.size && addr + b.size > addr)
			w->blocks[w->nblocks++] = (struct block){ addr, b.size };
}

/* Blocks of one family may lie in blocks of another; of overlapping ones the first stays. */
static void drop_overlaps(struct scan_watched *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->nblocks; i++)
		if (!kept || w->blocks[kept - 1].addr + w->blocks[kept - 1].size <= w->blocks[i].addr)
			w->blocks[kept++] = w->blocks[i];
	w->nblocks = kept;
}

int scan_watched_blocks(struct scan_watched *w)
{
	if (!w->there)
		return 0;
	w->blocks = calloc(count(&w->ledger) + 1, sizeof(*w->blocks));
	if (!w->blocks)
		return -ENOMEM;
	for (size_t i = 0; i < w->ledger.nbooks; i++)
		if (defs_is_of_blocks(&w->ledger.defs.families[i]) && w->ledger.books[i].live)
			collect_live(w->ledger.books[i].live, w);
	qsort(w->blocks, w->nblocks, sizeof(*w->blocks), block_order);
	drop_overlaps(w);
	return 0;
}
