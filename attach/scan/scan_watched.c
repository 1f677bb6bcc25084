/* SPDX-License-Identifier: MIT */
#include "attach/scan/scan_watched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/reporting/tracenames.h"
#include "base/log.h"
#include "report/names/expand.h"
#include "report/names/wrappers.h"
#include "report/ledger/live.h"
#include "report/tracefiles/replay.h"

#define LARGE (64u << 10)	/* smaller blocks have no mapping of their own, if no option lowers that */
#define SLACK 64	/* usable bytes beyond the requested ones, if the trace has exact sizes */

/* --- opening --- */

static bool has_blocks(const struct ledger *l, size_t book)
{
	return defs_is_of_blocks(&l->defs.families[book]) && l->books[book].live;
}

/*
 * Usable sizes of glibc end in 8 (chunks of a multiple of 16, less one word), those of large blocks with a
 * mapping of their own in 0. Requested sizes (--sizes exact) do not all do that.
 */
static bool are_usable(const struct live *live)
{
	struct live_block b;
	taddr addr;

	for (size_t at = 0; live_next(live, &at, &addr, &b);)
		if (b.size % 16 != 8 && (b.size % 16 || b.size < LARGE))
			return false;
	return true;
}

static int learn_sizes(struct scan_watched *w)
{
	const struct ledger *l = &w->ledger;

	w->usable = calloc(l->nbooks + 1, sizeof(*w->usable));
	if (!w->usable)
		return -ENOMEM;
	for (size_t i = 0; i < l->nbooks; i++)
		w->usable[i] = has_blocks(l, i) && are_usable(l->books[i].live);
	return 0;
}

/* The blocks of several processes are not in the memory of one. */
static int refuse_merged(const struct ledger *l)
{
	if (!ledger_is_merged(l))
		return 0;
	log_error("--with-trace: a merged trace has sums of many processes, and no single blocks");
	log_hint("give the trace of this process");
	return -EINVAL;
}

/*
 * In a sampled run few blocks of an allocation site would get a stack; the others would look as if allocated
 * elsewhere.
 */
static int refuse_sampled(const struct ledger *l)
{
	if (!ledger_is_sampled(l) && !l->run.sample_bytes)
		return 0;
	log_error("the trace is of a sampled run (%s), which has only a few blocks of each allocation site",
		  l->run.sample_bytes ? "--sample" : "--budget");
	log_hint("without --with-trace blocks are grouped by class and size; a trace without %s has them all",
		 l->run.sample_bytes ? "--sample" : "--budget");
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
		r = refuse_merged(&out->ledger);
	if (r == 0)
		r = ledger_settle(&out->ledger);
	if (r == 0)
		r = tracenames_run(&out->ledger, NULL, false);
	if (r == 0)
		r = learn_sizes(out);
	if (r < 0 && r != -EINVAL)
		log_error_errno(r, "cannot read the trace");
	return r;
}

void scan_watched_close(struct scan_watched *w)
{
	if (w->there)
		ledger_fini(&w->ledger);
	free(w->blocks);
	free(w->usable);
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

/* --- is it the same block? --- */

static bool fits(const struct live_block *held, const struct block *b, bool usable)
{
	if (usable)
		return held->size == b->size;
	return held->size <= b->size && b->size - held->size <= SLACK + held->size / 4;
}

static bool was_lost(const struct live_block *held)
{
	return held->verdict == VERDICT_DEFINITE || held->verdict == VERDICT_INDIRECT;
}

uint32_t scan_watched_stack(const struct scan_watched *w, const struct block *b, enum scan_watched_is *is)
{
	struct live_block held;

	*is = SCAN_WATCHED_NOT;
	for (size_t i = 0; w->there && i < w->ledger.nbooks; i++) {
		if (!has_blocks(&w->ledger, i) || !live_get(w->ledger.books[i].live, b->addr, &held))
			continue;
		if (fits(&held, b, w->usable[i])) {
			*is = was_lost(&held) ? SCAN_WATCHED_CERTAIN : SCAN_WATCHED_SAME;
			return held.stack;
		}
		*is = SCAN_WATCHED_RESIZED;
	}
	return SCAN_NO_STACK;
}

int scan_watched_expand(const struct scan_watched *w, uint32_t stack, struct stack_view *out)
{
	const struct ledger *l = &w->ledger;
	int r = expand_stack(&l->defs, stack, out);

	if (r < 0)
		return r;
	wrappers_mark(out->frames, out->depth, l->skips, l->nskips);
	out->wrappers = wrappers_count(out->frames, out->depth);
	return 0;
}

uint64_t scan_watched_count(const struct scan_watched *w)
{
	const struct ledger *l = &w->ledger;
	uint64_t n = 0;

	for (size_t i = 0; i < l->nbooks; i++)
		if (has_blocks(l, i))
			n += live_count(l->books[i].live);
	return n;
}

int64_t scan_watched_end_ns(const struct scan_watched *w)
{
	const struct ledger *l = &w->ledger;

	return l->run.start_ns ? l->run.start_ns + (int64_t)l->now_us * 1000 : 0;
}

/* --- as blocks --- */

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
	w->blocks = calloc(scan_watched_count(w) + 1, sizeof(*w->blocks));
	if (!w->blocks)
		return -ENOMEM;
	for (size_t i = 0; i < w->ledger.nbooks; i++)
		if (has_blocks(&w->ledger, i))
			collect_live(w->ledger.books[i].live, w);
	qsort(w->blocks, w->nblocks, sizeof(*w->blocks), block_order);
	drop_overlaps(w);
	return 0;
}
