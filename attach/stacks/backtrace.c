/* SPDX-License-Identifier: MIT */
#include "attach/stacks/backtrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "attach/stacks/python/python.h"
#include "attach/stacks/ruby/ruby.h"
#include "base/log.h"

bool backtrace_holds(enum unwinders which)
{
	return which != UNWINDER_CFI;
}

static int open_oracles(struct backtrace *b, pid_t pid)
{
	int r = 0;

	if (b->which == UNWINDER_DWFL || b->which == UNWINDER_CHECK)
		r = unwind_dwfl_new(pid, &b->dwfl);
	if (r == 0 && (b->which == UNWINDER_LIBUNWIND || b->which == UNWINDER_CHECK))
		r = unwind_libunwind_new(pid, &b->libunwind);
	return r;
}

static void want_scripts(struct backtrace *b, const struct backtrace_options *opt)
{
	if (opt->python)
		scripts_want(&b->scripts, &python_language, &b->python.base);
	if (opt->ruby)
		scripts_want(&b->scripts, &ruby_language, &b->ruby.base);
	scripts_modules_changed(&b->scripts);
}

int backtrace_new(pid_t pid, struct modules *ms, struct shared *shared, struct defs *defs,
		  const struct backtrace_options *opt, struct backtrace **out)
{
	struct backtrace *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->which = opt->which;
	b->shared = shared;
	b->depth = opt->depth;
	script_places_init(&b->places);
	scripts_init(&b->scripts, ms, shared, &b->places);
	stacks_init(&b->stacks, ms, defs, &b->places);
	slice_size_init(&b->slices, shared);
	r = unwinder_new(ms, &b->cfi);
	if (r == 0) {
		unwinder_follow_jit(b->cfi, pid);
		want_scripts(b, opt);
		r = open_oracles(b, pid);
	}
	if (r < 0) {
		backtrace_free(b);
		return r;
	}
	*out = b;
	return 0;
}

void backtrace_free(struct backtrace *b)
{
	if (!b)
		return;
	unwinder_free(b->cfi);
	unwind_dwfl_free(b->dwfl);
	unwind_libunwind_free(b->libunwind);
	stacks_fini(&b->stacks);
	scripts_fini(&b->scripts);
	script_places_fini(&b->places);
	free(b);
}

void backtrace_modules_changed(struct backtrace *b)
{
	unwinder_modules_changed(b->cfi);
	if (b->dwfl)
		unwind_dwfl_modules_changed(b->dwfl);
	if (b->libunwind)
		unwind_libunwind_modules_changed(b->libunwind);
	stacks_modules_changed(&b->stacks);
	scripts_modules_changed(&b->scripts);
}

void backtrace_moved(struct backtrace *b, pid_t pid)
{
	unwinder_follow_jit(b->cfi, pid);
	backtrace_modules_changed(b);
}

void backtrace_forget(struct backtrace *b)
{
	unwinder_forget(b->cfi);
	scripts_forget(&b->scripts);
	stacks_modules_changed(&b->stacks);
}

/* --- where the walk begins --- */

struct start {
	struct user_regs_struct regs;
	bool returned;		/* regs are the caller's */
	bool at_caller;		/* and the hit was in the caller, too */
	uint32_t drop;		/* first frames, of watched functions: to be left out */
};

/* Frames that are left out do not count towards the depth. */
static uint32_t walk_depth(const struct backtrace *b, const struct start *st)
{
	return b->depth + st->drop < UNWIND_MAX ? b->depth + st->drop : UNWIND_MAX;
}

static void find_start(const struct record_hit *hit, const struct site *s, uint32_t skip, struct start *st)
{
	*st = (struct start){ .regs = hit->regs, .drop = skip };
	if (s->flags & (SITE_AFTER | SITE_BEHIND)) {
		st->returned = true;
		st->at_caller = true;
		return;
	}
	/* an exit is a `ret`: the function has restored what it had saved */
	if (!(s->flags & SITE_EXIT) || s->sp_delta || hit->slice_len < 8) {
		st->drop++;
		return;
	}
	memcpy(&st->regs.rip, hit->slice, 8);
	st->regs.rsp += 8;
	st->returned = true;
}

/* --- the oracles --- */

static void log_stack(const char *name, const struct unwind_stack *st)
{
	for (uint32_t i = 0; i < st->n; i++)
		log_debug(UNWIND, "  %-9s %2u " PRItaddr "%s", name, i,
			  (taddr)(st->frames[i] & ~UNWIND_EXACT),
			  st->frames[i] & UNWIND_EXACT ? " exact" : "");
	log_debug(UNWIND, "  %-9s %s", name, unwind_end_text(st->end));
}

static bool same(const struct unwind_stack *a, const struct unwind_stack *b)
{
	return a->n == b->n && memcmp(a->frames, b->frames, a->n * sizeof(a->frames[0])) == 0;
}

static void compare(struct backtrace *b, const struct record_hit *hit, const struct unwind_stack *ours,
		    const struct unwind_stack *dwfl, const struct unwind_stack *libunwind)
{
	b->check.compared++;
	if (!same(dwfl, libunwind))
		b->check.oracles_differ++;
	else if (!same(ours, dwfl))
		b->check.ours_differs++;
	else
		return;
	log_debug(UNWIND, "thread %u, site %u: stacks differ", hit->head.tid, hit->head.site);
	log_stack("cfi", ours);
	log_stack("dwfl", dwfl);
	log_stack("libunwind", libunwind);
}

/* --- one stack --- */

/* Read what the slice does not have, of a thread that is held. */
static int read_target(void *ctx, taddr addr, void *buf, size_t n)
{
	const struct record_hit *hit = ctx;
	struct iovec here = { buf, n }, there = { (void *)(uintptr_t)addr, n };

	/* by the thread's own id: the process's first thread may have ended */
	return process_vm_readv(hit->head.tid, &here, 1, &there, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

static void walk_ours(struct backtrace *b, const struct record_hit *hit, const struct start *st, bool waits,
		      struct unwind_stack *out)
{
	const struct unwind_from from = {
		.regs = &st->regs, .returned = st->returned, .slice = hit->slice, .slice_len = hit->slice_len,
		.slice_addr = hit->regs.rsp, .read = waits ? read_target : NULL,
		.ctx = (void *)(uintptr_t)hit,
	};

	unwind(b->cfi, &from, walk_depth(b, st), out);
}

/* false: the thread was not held until the end, and the frames may be wrong. */
static bool walk_waiting(struct backtrace *b, const struct record_hit *hit, const struct start *st,
			 struct unwind_stack *out)
{
	struct unwind_stack dwfl, libunwind;

	if (!shared_is_held(b->shared, hit))
		return false;
	if (b->dwfl)
		unwind_dwfl(b->dwfl, &st->regs, st->returned, walk_depth(b, st), &dwfl);
	if (b->libunwind)
		unwind_libunwind(b->libunwind, &st->regs, st->returned, walk_depth(b, st), &libunwind);
	if (b->which == UNWINDER_CHECK)
		walk_ours(b, hit, st, true, out);
	else
		*out = b->dwfl ? dwfl : libunwind;
	out->has_sps = b->which == UNWINDER_CHECK;
	if (!shared_is_held(b->shared, hit))
		return false;
	if (b->which == UNWINDER_CHECK)
		compare(b, hit, out, &dwfl, &libunwind);
	return true;
}

/* Would a longer slice have helped? */
static enum unwind_end why_cut(const struct record_hit *hit, taddr missed)
{
	taddr behind = missed - (hit->regs.rsp + hit->slice_len);

	if (behind >= SLICE_MAX)
		return UNWIND_ELSEWHERE;
	/* the memory ended there, not the copy */
	return hit->head.flags & RECORD_CUT ? UNWIND_LOST : UNWIND_CUT;
}

/* The frames were walked by gdb already; the first is where the hit was. */
static void copy_frames(const struct backtrace *b, const struct record_hit *hit, const struct start *st,
			struct unwind_stack *out)
{
	uint32_t all = hit->slice_len / sizeof(out->frames[0]), most = walk_depth(b, st);
	uint32_t first = st->returned && !st->at_caller && all > 1, n = all - first;

	out->n = n < most ? n : most;
	out->end = n > most ? UNWIND_DEEP : UNWIND_WHOLE;
	out->guessed = out->has_sps = false;
	memcpy(out->frames, hit->slice + first * sizeof(out->frames[0]), out->n * sizeof(out->frames[0]));
	if (st->returned)
		out->frames[0] &= ~UNWIND_EXACT;
}

static void walk_slice(struct backtrace *b, struct slice_size *slices, const struct record_hit *hit,
		       const struct start *st, struct unwind_stack *out)
{
	walk_ours(b, hit, st, false, out);
	if (out->end == UNWIND_CUT)
		out->end = why_cut(hit, out->missed);
	slice_size_learn(slices, hit, out);
}

static void walk(struct backtrace *b, const struct record_hit *hit, const struct start *st,
		 struct unwind_stack *out)
{
	if (hit->head.flags & RECORD_FRAMES) {
		copy_frames(b, hit, st, out);
		return;
	}
	if (backtrace_holds(b->which)) {
		if (walk_waiting(b, hit, st, out))
			return;
		b->too_late++;
	}
	walk_slice(b, &b->slices, hit, st, out);
}

static void count(struct backtrace *b, const struct unwind_stack *st)
{
	b->cut += st->end == UNWIND_CUT || st->end == UNWIND_ELSEWHERE;
	b->lost += st->end == UNWIND_LOST;
	b->guessed += st->guessed;
}

/* What was found on a stack may look like a frame of a script. Only those below make such. */
static void drop_scripts(struct unwind_stack *st)
{
	for (uint32_t i = 0; i < st->n; i++)
		if (st->frames[i] & UNWIND_EXACT)
			st->frames[i] &= ~UNWIND_SCRIPT;
}

/* Leave out the first @drop frames, and put @returned before the others: if there is no room, the last one goes. */
static void begin_with(struct unwind_stack *st, uint32_t drop, taddr returned)
{
	const uint32_t room = UNWIND_MAX - (returned != 0);
	uint32_t n;

	drop = drop < st->n ? drop : st->n;
	n = st->n - drop;
	if (n > room) {
		n = room;
		st->end = UNWIND_DEEP;
	}
	memmove(st->frames + (returned != 0), st->frames + drop, n * sizeof(st->frames[0]));
	if (returned)
		st->frames[0] = returned | UNWIND_EXACT;
	st->n = n + (returned != 0);
}

/* @tag: number + 1, or FACT_NONE. */
static int number_of(struct backtrace *b, const struct record_hit *hit, const struct start *start,
		     const struct backtrace_frames *which, uint32_t tag, struct unwind_stack *st, uint32_t *number)
{
	drop_scripts(st);
	if (scripts_put(&b->scripts, hit, walk_depth(b, start), st) < 0)
		return -ENOMEM;
	begin_with(st, start->drop, which->returned);
	return stacks_intern(&b->stacks, st->frames, st->n, st->end, tag, number);
}

int backtrace_of(struct backtrace *b, const struct record_hit *hit, const struct site *s,
		 const struct backtrace_frames *which, const char *tag, uint32_t *number)
{
	uint32_t tagged = FACT_NONE;
	struct unwind_stack st;
	struct start start;

	if (tag && stacks_tag(&b->stacks, tag, &tagged) < 0)
		return -ENOMEM;
	find_start(hit, s, which->skip, &start);
	walk(b, hit, &start, &st);
	count(b, &st);
	return number_of(b, hit, &start, which, tagged, &st, number);
}

int backtrace_by_others(struct backtrace *b, struct slice_size *slices, const struct record_hit *hit,
			const struct site *s, const struct backtrace_frames *which, uint32_t *number)
{
	struct unwind_stack st;
	struct start start;

	find_start(hit, s, which->skip, &start);
	walk_slice(b, slices, hit, &start, &st);
	return number_of(b, hit, &start, which, FACT_NONE, &st, number);
}

void backtrace_skip(struct backtrace *b, stacks_skipped *skipped, void *ctx)
{
	b->stacks.skipped = skipped;
	b->stacks.skipped_ctx = ctx;
}
