/* SPDX-License-Identifier: MIT */
/*
 * No allocator is found where there is none: memory with lists, rings and tables as any program has them, among
 * zeros, in a process without one. Allocators are found by structure, so each of these has some words right.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <syscall.h>

#include <cmocka.h>

#include "heap/allocators.h"
#include "heap/census_blocks.h"
#include "heap/python/pymalloc.h"
#include "tests/unit/memory_example.h"

#define DATA 0x550000100000u
#define DATA_BYTES 0x8000u
#define HEAP 0x20000000000u		/* where mimalloc could have a segment, too */
#define HEAP_BYTES 0x20000u
#define IMAGES 3000u

struct image {
	struct memory_example m;
	uint64_t *data, *heap;
	uint64_t rng;
};

static uint64_t below(struct image *im, uint64_t n)
{
	im->rng ^= im->rng << 13;
	im->rng ^= im->rng >> 7;
	im->rng ^= im->rng << 17;
	return (im->rng >> 11) % n;
}

static uint64_t *word_at(struct image *im, taddr at)
{
	return at - HEAP < HEAP_BYTES ? im->heap + (at - HEAP) / 8 : im->data + (at - DATA) / 8;
}

/* An address with 256 bytes behind it, often one at a page's or a cache line's beginning. */
static taddr any_place(struct image *im)
{
	static const uint64_t align[] = { 8, 16, 64, 4096 };
	const bool heap = below(im, 2);
	const uint64_t at = below(im, (heap ? HEAP_BYTES : DATA_BYTES) - 256);

	return (heap ? HEAP : DATA) + (at & ~(align[below(im, 4)] - 1));
}

static uint64_t small(struct image *im)
{
	const uint64_t kind = below(im, 3);

	return kind == 0 ? UINT64_C(1) << below(im, 8) : below(im, 70) * (kind == 1 ? 1 : 32);
}

/* A ring of up to five nodes, with next and previous at any distance, and numbers beside them. */
static void put_ring(struct image *im)
{
	const bool usual = below(im, 2);	/* where chunks and spans have links */
	const unsigned n = 1 + (unsigned)below(im, 5), next = usual ? 2 : (unsigned)below(im, 6),
		       prev = usual ? 3 : (unsigned)below(im, 6);
	taddr nodes[5];

	for (unsigned i = 0; i < n; i++) {
		nodes[i] = any_place(im);
		for (unsigned k = 0; k < 6; k++)
			word_at(im, nodes[i])[k] = small(im);
	}
	for (unsigned i = 0; i < n; i++) {
		word_at(im, nodes[i])[next] = nodes[(i + 1) % n];
		word_at(im, nodes[(i + 1) % n])[prev] = nodes[i];
	}
}

/* Two structs that lead to each other, or one that leads to itself. */
static void put_pair(struct image *im)
{
	const taddr a = any_place(im), b = below(im, 2) ? any_place(im) : a;

	word_at(im, a)[below(im, 32)] = b;
	word_at(im, b)[below(im, 32)] = a;
}

/* Numbers that grow, of either width. */
static void put_table(struct image *im)
{
	uint64_t *const words = word_at(im, any_place(im));
	const uint64_t step = 8 + 8 * below(im, 4), upper = below(im, 2) ? step << 31 : 0;

	for (unsigned i = 0; i < 32; i++)
		words[i] = i * step + upper * (2 * i + 1);
}

static void put_words(struct image *im)
{
	uint64_t *const words = word_at(im, any_place(im));
	const uint64_t kind = below(im, 3);

	for (unsigned i = 0; i < 32; i++)
		words[i] = kind == 0 ? small(im) : kind == 1 ? any_place(im) : below(im, UINT64_MAX);
}

static void make(struct image *im, unsigned number)
{
	static void (*const put[])(struct image *) = { put_ring, put_ring, put_ring, put_pair, put_table, put_words };

	im->rng = 88172645463325252u + number * 7919;
	example_init(&im->m);
	im->data = example_map(&im->m, DATA, DATA_BYTES, "rw-p", "/bin/program");
	im->heap = example_map(&im->m, HEAP, HEAP_BYTES, "rw-p", "");
	/* a few among zeros, or many */
	for (uint64_t n = 2 + below(im, UINT64_C(1) << below(im, 9)); n; n--)
		put[below(im, sizeof(put) / sizeof(*put))](im);
	example_thread(&im->m, 1000, 0x7ffc00001000)->regs.orig_rax = number % 2 ? UINT64_MAX : SYS_read;
	im->m.s.threads[0].regs.fs_base = HEAP + 0x1000;
	example_seal(&im->m);
}

static void test_nothing_is_found(void **state)
{
	(void)state;
	for (unsigned i = 0; i < IMAGES; i++) {
		struct image im;

		make(&im, i);
		for (const struct allocator *a = allocators; a->name; a++) {
			struct census c;

			census_init(&c);
			if (a->take(&im.m.s, &c) != -ENOENT || c.known || *c.unread)
				fail_msg("image %u: %s %s", i, a->name, c.unread);
			census_fini(&c);
		}
		example_fini(&im.m);
	}
}

/* Blocks of any place: none of them is CPython's table of arenas. */
static void test_no_arenas(void **state)
{
	(void)state;
	for (unsigned i = 0; i < IMAGES; i++) {
		struct snapshot_range *all;
		struct census c;
		struct image im;
		size_t n;

		make(&im, i);
		census_init(&c);
		assert_true(census_blocks_reserve(&c, HEAP_BYTES / 1024));
		for (taddr at = HEAP; at < HEAP + HEAP_BYTES; at += 1024)
			assert_true(census_blocks_add(&c, at, 1024));
		assert_int_equal(pymalloc_arenas(&im.m.s, &c, pymalloc_sizes_of(i % 2 ? 9 : 12), &all, &n), 0);
		assert_int_equal(n, 0);
		free(all);
		census_fini(&c);
		example_fini(&im.m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_found),
		cmocka_unit_test(test_no_arenas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
