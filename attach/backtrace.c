/* SPDX-License-Identifier: MIT */
#include "attach/backtrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>

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

int backtrace_new(pid_t pid, struct modules *ms, struct shared *shared, const struct backtrace_options *opt,
		  struct backtrace **out)
{
	struct backtrace *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	b->which = opt->which;
	b->pid = pid;
	b->hold_ns = shared->hold_ns;
	b->depth = opt->depth;
	stacks_init(&b->stacks, ms);
	slices_init(&b->slices, shared);
	r = unwinder_new(ms, &b->cfi);
	if (r == 0) {
		unwinder_follow_jit(b->cfi, pid);
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
}

void backtrace_nobody_waits(struct backtrace *b)
{
	b->over = true;
}

void backtrace_forget(struct backtrace *b)
{
	unwinder_forget(b->cfi);
	stacks_fini(&b->stacks);
	stacks_init(&b->stacks, b->stacks.modules);
}

/* --- where the walk begins --- */

struct start {
	struct user_regs_struct regs;
	bool returned;		/* regs are the caller's */
	bool own_frame;		/* the first frame is the watched function's */
};

static void find_start(const struct record_hit *hit, const struct site *s, struct start *st)
{
	*st = (struct start){ .regs = hit->regs };
	if (s->flags & SITE_AFTER) {
		st->returned = true;
		return;
	}
	/* an exit is a `ret`: what the function had saved it has restored */
	if (s->flags & SITE_ENTRY || s->sp_delta || hit->slice_len < 8) {
		st->own_frame = true;
		return;
	}
	memcpy(&st->regs.rip, hit->slice, 8);
	st->regs.rsp += 8;
	st->returned = true;
}

/* --- the oracles --- */

static void say_stack(const char *who, const struct unwind_stack *st)
{
	for (uint32_t i = 0; i < st->n; i++)
		log_debug(UNWIND, "  %-9s %2u " PRItaddr "%s", who, i, (taddr)(st->frames[i] & ~UNWIND_EXACT),
			  st->frames[i] & UNWIND_EXACT ? " exact" : "");
	log_debug(UNWIND, "  %-9s %s", who, unwind_end_text(st->end));
}

static bool same(const struct unwind_stack *a, const struct unwind_stack *b)
{
	return a->n == b->n && memcmp(a->frames, b->frames, a->n * sizeof(a->frames[0])) == 0;
}

static void compare(struct backtrace *b, const struct record_hit *hit, const struct start *st,
		    const struct unwind_stack *ours)
{
	struct unwind_stack dwfl, libunwind;

	unwind_dwfl(b->dwfl, &st->regs, st->returned, b->depth, &dwfl);
	unwind_libunwind(b->libunwind, &st->regs, st->returned, b->depth, &libunwind);
	b->check.compared++;
	if (!same(&dwfl, &libunwind))
		b->check.oracles_differ++;
	else if (!same(ours, &dwfl))
		b->check.ours_differs++;
	else
		return;
	log_debug(UNWIND, "thread %u, site %u: stacks differ", hit->head.tid, hit->head.site);
	say_stack("cfi", ours);
	say_stack("dwfl", &dwfl);
	say_stack("libunwind", &libunwind);
}

/* --- one stack --- */

/* Does the thread still stand where it was hit? With a good margin, for its time may be up while we look. */
static bool still_waits(const struct backtrace *b, const struct record_hit *hit)
{
	struct timespec now;

	if (b->over || !(hit->head.flags & RECORD_HELD))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec - hit->head.time_ns < b->hold_ns / 2;
}

/* Of a thread that waits: what the slice does not have. */
static int read_target(void *ctx, taddr addr, void *buf, size_t n)
{
	const struct backtrace *b = ctx;
	struct iovec here = { buf, n }, there = { (void *)(uintptr_t)addr, n };

	return process_vm_readv(b->pid, &here, 1, &there, 1, 0) == (ssize_t)n ? 0 : -EFAULT;
}

static void walk(struct backtrace *b, const struct record_hit *hit, const struct start *st, struct unwind_stack *out)
{
	bool waits = backtrace_holds(b->which) && still_waits(b, hit);
	const struct unwind_from from = {
		.regs = &st->regs, .returned = st->returned, .slice = hit->slice, .slice_len = hit->slice_len,
		.slice_addr = hit->regs.rsp, .read = waits ? read_target : NULL, .ctx = b,
	};

	switch (waits ? b->which : UNWINDER_CFI) {
	case UNWINDER_DWFL:
		unwind_dwfl(b->dwfl, &st->regs, st->returned, b->depth, out);
		return;
	case UNWINDER_LIBUNWIND:
		unwind_libunwind(b->libunwind, &st->regs, st->returned, b->depth, out);
		return;
	case UNWINDER_CFI:
	case UNWINDER_CHECK:
		unwind(b->cfi, &from, b->depth, out);
		slices_learn(&b->slices, hit, out->used, out->end == UNWIND_CUT);
		break;
	}
	if (waits && b->which == UNWINDER_CHECK)
		compare(b, hit, st, out);
}

static void count(struct backtrace *b, const struct unwind_stack *st)
{
	b->cut += st->end == UNWIND_CUT;
	b->lost += st->end == UNWIND_LOST;
	b->deep += st->end == UNWIND_DEEP;
	b->guessed += st->guessed;
}

int backtrace_of(struct backtrace *b, const struct record_hit *hit, const struct site *s, bool skip, uint32_t *number)
{
	struct unwind_stack st;
	struct start start;
	uint32_t drop;

	find_start(hit, s, &start);
	walk(b, hit, &start, &st);
	count(b, &st);
	drop = start.own_frame + skip;
	if (drop > st.n)
		drop = st.n;
	return stacks_intern(&b->stacks, st.frames + drop, st.n - drop, st.end, number);
}
