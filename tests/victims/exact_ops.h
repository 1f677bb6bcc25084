/* SPDX-License-Identifier: MIT */
/*
 * exact_ops: the operations of exact.cc, each of which allocates, changes or frees blocks and accounts for
 * it.
 *
 * A worker holds blocks in slots. one_op picks a slot: an empty one is filled by one of the takers, a full
 * one goes to one of the users; a few calls in a hundred are calls that fail, or free(NULL). The tally is in
 * the words of the report, as exact.cc says.
 */
#ifndef EXACT_OPS_H
#define EXACT_OPS_H

#include <atomic>
#include <dlfcn.h>
#include <malloc.h>
#include <new>
#include <pthread.h>

#include "victim.h"

#define SLOTS 48
#define MAILBOX 16
#define MMAPPED (200u << 10)	/* above glibc's mmap threshold */

struct held {
	void *block;
	size_t requested;
	bool counted;	/* allocated since the begin mark */
};

enum call { MALLOC, CALLOC, REALLOC, POSIX_MEMALIGN, MEMALIGN, FREE, CALLS };
static const char *const call_names[CALLS] = { "malloc",	 "calloc",   "realloc",
					       "posix_memalign", "memalign", "free" };

struct tally {
	uint64_t allocs, frees, old_frees, null_frees, failures_missed;
	uint64_t calls[CALLS];
};

struct worker {
	pthread_t thread;
	uint64_t rng;
	struct held slots[SLOTS];
	struct tally tally;
	bool counting;
};

struct box {
	std::atomic_flag busy = ATOMIC_FLAG_INIT;
	struct held held = {};
};

static struct box mailbox[MAILBOX];

static size_t below(struct worker *w, size_t n)
{
	return victim_random(&w->rng) % n;
}

/* Mostly small; sometimes too large for the thread's cache; rarely mmapped. */
static size_t any_size(struct worker *w)
{
	switch (below(w, 64)) {
	case 0: return MMAPPED + below(w, 1u << 20);
	case 1: case 2: case 3: return 1040 + below(w, 30000);
	default: return 1 + below(w, 600);
	}
}

static void took(struct worker *w, struct held *h, enum call call, void *block, size_t requested)
{
	if (!block)
		victim_die("an allocation failed");
	escape(block);
	if (requested)
		*(char *)block = 1;
	h->block = block;
	h->requested = requested;
	h->counted = w->counting;
	w->tally.allocs++;
	w->tally.calls[call]++;
}

/* Account for @h as freed; the caller has freed it, by free or by realloc. */
static void gave(struct worker *w, struct held *h)
{
	w->tally.frees++;
	w->tally.old_frees += !h->counted;
	*h = {};
}

static void free_held(struct worker *w, struct held *h)
{
	void *block = h->block;

	gave(w, h);
	w->tally.calls[FREE]++;
	free(block);
}

static void must_fail(struct worker *w, void *block)
{
	escape(block);
	w->tally.failures_missed += block != NULL;
}

static void op_malloc(struct worker *w, struct held *h)
{
	size_t n = any_size(w);

	took(w, h, MALLOC, malloc(n), n);
}

static void op_malloc_zero(struct worker *w, struct held *h)
{
	took(w, h, MALLOC, malloc(0), 0);
}

static void op_calloc(struct worker *w, struct held *h)
{
	size_t n = any_size(w), each = 1 + below(w, 3);

	took(w, h, CALLOC, calloc(n, each), n * each);
}

/* Up to 0x50 bytes glibc clears the block inline; above that with memset, as its last call. */
static void op_calloc_small(struct worker *w, struct held *h)
{
	size_t n = 1 + below(w, 0x60);

	took(w, h, CALLOC, calloc(1, n), n);
}

static void op_posix_memalign(struct worker *w, struct held *h)
{
	static const size_t aligns[] = {8, 16, 64, 4096};
	size_t align = aligns[below(w, 4)], n = any_size(w);
	void *block = NULL;

	if (posix_memalign(&block, align, n) != 0 || (uintptr_t)block % align)
		victim_die("posix_memalign");
	took(w, h, POSIX_MEMALIGN, block, n);
}

static void op_aligned_alloc(struct worker *w, struct held *h)
{
	size_t align = (size_t)32 << below(w, 6), n = align * (1 + below(w, 9));

	took(w, h, MEMALIGN, aligned_alloc(align, n), n);
}

/* The alignment is no more than malloc's own: glibc forwards these calls to malloc. */
static void op_aligned_alloc_16(struct worker *w, struct held *h)
{
	size_t n = 16 * (1 + below(w, 9));

	took(w, h, MALLOC, aligned_alloc(16, n), n);
}

static void op_memalign(struct worker *w, struct held *h)
{
	size_t n = any_size(w);

	took(w, h, MEMALIGN, memalign((size_t)32 << below(w, 8), n), n);
}

static void op_valloc(struct worker *w, struct held *h)
{
	size_t n = any_size(w);

	took(w, h, MEMALIGN, valloc(n), n);
}

/*
 * A replacement malloc may not define this function: a block of libc's pvalloc would then reach a foreign
 * free.
 */
static bool has_own_pvalloc(void)
{
	static const bool own = []{
		Dl_info of_malloc, of_pvalloc;

		return dladdr((void *)malloc, &of_malloc) && dladdr((void *)pvalloc, &of_pvalloc) &&
		       of_malloc.dli_fbase == of_pvalloc.dli_fbase;
	}();
	return own;
}

static void op_pvalloc(struct worker *w, struct held *h)
{
	size_t n = 4096 * (1 + below(w, 3));

	if (!has_own_pvalloc())
		return op_valloc(w, h);
	took(w, h, MEMALIGN, pvalloc(n), n);
}

static void op_strdup(struct worker *w, struct held *h)
{
	char text[] = "strdup takes it from malloc, inside libc";
	char *p = text;

	escape(p);
	took(w, h, MALLOC, strdup(p), sizeof(text));
}

static void op_new(struct worker *w, struct held *h)
{
	size_t n = any_size(w);

	took(w, h, MALLOC, operator new(n), n);
}

static void op_new_array(struct worker *w, struct held *h)
{
	size_t n = any_size(w);

	took(w, h, MALLOC, new char[n], n);
}

static void op_new_nothrow(struct worker *w, struct held *h)
{
	size_t n = any_size(w);

	took(w, h, MALLOC, operator new(n, std::nothrow), n);
}

static void op_new_aligned(struct worker *w, struct held *h)
{
	size_t n = 64 * (1 + below(w, 5));

	took(w, h, MEMALIGN, operator new(n, std::align_val_t(64)), n);
}

static void op_realloc_null(struct worker *w, struct held *h)
{
	size_t n = any_size(w);
	void *none = NULL;

	escape(none);
	took(w, h, REALLOC, realloc(none, n), n);
}

static void op_reallocarray_null(struct worker *w, struct held *h)
{
	size_t n = any_size(w), each = 1 + below(w, 3);
	void *none = NULL;

	escape(none);
	took(w, h, REALLOC, reallocarray(none, n, each), n * each);
}

/* The operations on an empty slot. */
static void (*const takers[])(struct worker *, struct held *) = {
	op_malloc, op_malloc, op_malloc, op_malloc_zero, op_calloc, op_calloc_small, op_posix_memalign,
	op_aligned_alloc, op_aligned_alloc_16, op_memalign, op_valloc, op_pvalloc, op_strdup, op_new,
	op_new_array, op_new_nothrow, op_new_aligned, op_realloc_null, op_reallocarray_null,
};

static void resize(struct worker *w, struct held *h, size_t n)
{
	void *block = realloc(h->block, n);

	gave(w, h);
	took(w, h, REALLOC, block, n);
}

static void op_realloc_any(struct worker *w, struct held *h)
{
	resize(w, h, any_size(w));
}

static void op_realloc_same(struct worker *w, struct held *h)
{
	resize(w, h, h->requested ? h->requested : 1);
}

static void op_realloc_shrink(struct worker *w, struct held *h)
{
	resize(w, h, 1 + h->requested / 2);
}

/* The second resize is an mremap of a block that has a mapping of its own. */
static void op_realloc_mmapped(struct worker *w, struct held *h)
{
	resize(w, h, MMAPPED + below(w, 1u << 20));
	resize(w, h, MMAPPED + below(w, 4u << 20));
}

static void op_reallocarray(struct worker *w, struct held *h)
{
	size_t n = any_size(w);
	void *block = reallocarray(h->block, n, 2);

	gave(w, h);
	took(w, h, REALLOC, block, n * 2);
}

/* This frees; some allocators return a new block of size 0. */
static void op_realloc_zero(struct worker *w, struct held *h)
{
	void *block = realloc(h->block, 0);

	gave(w, h);
	if (block)
		took(w, h, REALLOC, block, 0);
	else
		w->tally.calls[REALLOC]++;
}

static void op_free(struct worker *w, struct held *h)
{
	free_held(w, h);
}

static void op_delete(struct worker *w, struct held *h)
{
	void *block = h->block;

	gave(w, h);
	w->tally.calls[FREE]++;
	operator delete(block);
}

/* A call that fails leaves the block as it was, and is not counted. */
static void op_realloc_fails(struct worker *w, struct held *h)
{
	volatile size_t huge = (size_t)PTRDIFF_MAX + 4096 + below(w, 4096);

	must_fail(w, realloc(h->block, huge));
	must_fail(w, reallocarray(h->block, huge, 16));
}

/* Leave the block for another thread, and take the one that was there. */
static void op_pass_on(struct worker *w, struct held *h)
{
	struct box *box = &mailbox[below(w, MAILBOX)];
	struct held other;

	while (box->busy.test_and_set(std::memory_order_acquire))
		;
	other = box->held;
	box->held = *h;
	*h = other;
	box->busy.clear(std::memory_order_release);
}

/* The operations on a full slot. */
static void (*const users[])(struct worker *, struct held *) = {
	op_realloc_any,	 op_realloc_same, op_realloc_shrink,
	op_reallocarray, op_realloc_zero, op_realloc_mmapped,
	op_free,	 op_free,	  op_free,
	op_free,	 op_free,	  op_free,
	op_delete,	 op_delete,	  op_realloc_fails,
	op_pass_on,	 op_pass_on,	  op_pass_on,
};

static void failing_calls(struct worker *w)
{
	volatile size_t huge = (size_t)PTRDIFF_MAX + 1 + below(w, 4096);
	void *none = NULL;

	must_fail(w, malloc(huge));
	must_fail(w, calloc(huge, 4));
	must_fail(w, aligned_alloc(64, huge));
	escape(none);
	must_fail(w, realloc(none, huge));
	w->tally.failures_missed += posix_memalign(&none, 24, 100) != EINVAL;
	w->tally.failures_missed += posix_memalign(&none, 64, huge) != ENOMEM;
}

static void free_null(struct worker *w)
{
	void *none = NULL;

	escape(none);
	free(none);
	w->tally.null_frees++;
}

static void one_op(struct worker *w)
{
	struct held *h = &w->slots[below(w, SLOTS)];
	size_t rare = below(w, 100);

	if (rare == 0)
		failing_calls(w);
	else if (rare == 1)
		free_null(w);
	else if (h->block)
		users[below(w, sizeof(users) / sizeof(*users))](w, h);
	else
		takers[below(w, sizeof(takers) / sizeof(*takers))](w, h);
}

#endif
