/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_census: memory of a jemalloc made by hand, in both versions and both forms of the page map, and what a
 * stop in the middle of its work, or a corrupt one, looks like. tests/test_census_jemalloc.py tests the census of
 * whole processes.
 */
#include "heap/jemalloc/jemalloc_census.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap/census_blocks.h"
#include "heap/jemalloc/jemalloc.h"
#include "tests/unit/memory_example.h"

#define CODE 0x555555400000u
#define DATA 0x555555600000u
#define BASE 0x7f0000000000u		/* jemalloc's own memory: a table, a leaf, extents */
#define BASE_SIZE 0x600000u
#define TABLE (BASE + 0x1000)
#define LEAF (BASE + 0x200000)
#define EXTENTS (BASE + 0x500000)
#define HEAP 0x7f1234400000u
#define TLS 0x7f2000000000u
#define FS (TLS + 0x3000)
#define SLAB HEAP			/* a page of 32 bytes */
#define LARGE (HEAP + 0x1000)		/* five pages, of which 16 KiB are a block */
#define FREE (HEAP + 0x6000)		/* dirty */
#define STACKS (HEAP + 0x8000)		/* a slab of one region: the thread's cache */
#define CLASS_32 2u
#define CLASS_4K 28u
#define CLASS_16K 36u

struct made {
	struct memory_example m;
	struct census c;
	bool is_53, is_57;
	uint64_t *data, *base, *heap, *tls;
};

static uint64_t *at(struct made *p, taddr where)
{
	if (where >= TLS)
		return &p->tls[(where - TLS) / 8];
	if (where >= HEAP)
		return &p->heap[(where - HEAP) / 8];
	return where >= BASE ? &p->base[(where - BASE) / 8] : &p->data[(where - DATA) / 8];
}

static taddr extent_at(unsigned i)
{
	return EXTENTS + i * 128;
}

/* The elements of the map for the first and the last page. */
static void put_elements(struct made *p, taddr extent, taddr lo, uint64_t size, unsigned class, bool slab)
{
	const taddr ends[] = { lo, lo + size - JEMALLOC_PAGE };

	for (unsigned i = 0; i < 2; i++) {
		if (!p->is_57) {
			*at(p, LEAF + (ends[i] >> 12 & 0x3ffff) * 8) = extent | (uint64_t)class << 48 | slab;
			continue;
		}
		*at(p, LEAF + (ends[i] >> 12 & 0x7fff) * 16) = extent;
		*at(p, LEAF + (ends[i] >> 12 & 0x7fff) * 16 + 8) =
			p->is_53 ? class << 5 | slab : class | (uint64_t)slab << 32;
	}
}

static void put_extent(struct made *p, unsigned i, taddr addr, uint64_t size, unsigned class, bool slab,
		       unsigned state, unsigned nfree)
{
	uint64_t *x = at(p, extent_at(i));
	const taddr lo = addr & ~(taddr)(JEMALLOC_PAGE - 1);

	x[0] = 1 | (slab ? EXTENT_SLAB : 0) |
	       (p->is_53 ? (uint64_t)state << 17 | (uint64_t)class << 20 | (uint64_t)nfree << 28
			 : (uint64_t)state << 16 | (uint64_t)class << 18 | (uint64_t)nfree << 26);
	x[1] = addr;
	x[2] = size;
	put_elements(p, extent_at(i), lo, size, class, slab);
}

static void put_root(struct made *p)
{
	if (p->is_57) {
		*at(p, DATA + 0x40 + (HEAP >> 42) * 8) = TABLE;
		*at(p, TABLE + (HEAP >> 27 & 0x7fff) * 8) = LEAF;
	} else {
		*at(p, DATA + 0x40 + (HEAP >> 30) * 8) = LEAF;
	}
}

/* A cache in the thread's TLS: bin number 2, of 32 bytes, has the regions 5 and 6. */
static void put_cache(struct made *p)
{
	const taddr cache = FS - 0x2000, stack = STACKS + 0x88, top = stack - 16;

	*at(p, top) = SLAB + 5 * 32;
	*at(p, top + 8) = SLAB + 6 * 32;
	if (!p->is_53) {
		*at(p, cache + 936) = cache + 16;
		*at(p, cache + 944) = cache + 1000;
		for (unsigned i = 0; i < 3; i++) {
			*at(p, cache + 16 + i * 24) = i == 2 ? UINT64_C(2) << 32 : 0;
			*at(p, cache + 16 + i * 24 + 16) = STACKS + 0x8 + (i + 1) * 0x40 - (i == 2) * 0x40;
		}
		*at(p, cache + 16 + 1 * 24 + 16) = STACKS + 0x50;
		*at(p, cache + 16 + 2 * 24 + 16) = stack;
		return;
	}
	const taddr slow = cache - 0x100;

	*at(p, cache) = slow;
	*at(p, slow + 160) = STACKS;
	*at(p, slow + 168) = cache;
	for (unsigned i = 0; i < 3; i++) {
		const taddr end = i == 2 ? stack : STACKS + 8 + (i + 1) * 0x20;

		*at(p, cache + 8 + i * 24) = i == 2 ? top : end;
		*at(p, cache + 8 + i * 24 + 16) = (end & 0xffff) << 32;
	}
	*at(p, stack) = 0xa7a7a7a7a7a7a7a7;
}

/* Regions 0 to 9 of the slab are in use, two of them in the cache; one large block; the cache itself. */
static void make(struct made *p, bool is_53, bool is_57)
{
	*p = (struct made){ .is_53 = is_53, .is_57 = is_57 };
	example_init(&p->m);
	example_gap(&p->m, CODE, 0x1000, "r-xp", "/program");
	p->data = example_map(&p->m, DATA, 0x201000, "rw-p", "/program");
	p->base = example_map(&p->m, BASE, BASE_SIZE, "rw-p", "");
	p->heap = example_map(&p->m, HEAP, 0x10000, "rw-p", "");
	p->tls = example_map(&p->m, TLS, 0x4000, "rw-p", "");
	example_thread(&p->m, 1000, TLS + 0x3800)->regs.fs_base = FS;
	*at(p, BASE) = BASE_SIZE;
	*at(p, BASE + 24) = BASE + 0x5f0000;
	*at(p, BASE + 32) = 0x10000;
	put_root(p);
	put_extent(p, 0, SLAB, 0x1000, CLASS_32, true, EXTENT_ACTIVE, 118);
	put_extent(p, 1, LARGE + 0x240, 0x5000, CLASS_16K, false, EXTENT_ACTIVE, 0);
	put_extent(p, 2, FREE, 0x2000, 232, false, EXTENT_DIRTY, 0);
	put_extent(p, 3, STACKS, 0x1000, CLASS_4K, true, EXTENT_ACTIVE, 0);
	*at(p, extent_at(0) + 64) = ~UINT64_C(0x3ff);
	*at(p, extent_at(0) + 72) = UINT64_MAX;
	put_cache(p);
}

static int take(struct made *p)
{
	example_seal(&p->m);
	census_init(&p->c);
	return jemalloc_census(&p->m.s, &p->c);
}

static void end(struct made *p)
{
	census_fini(&p->c);
	example_fini(&p->m);
}

static void expect_all(const struct made *p)
{
	static const unsigned regions[] = { 0, 1, 2, 3, 4, 7, 8, 9 };

	assert_true(p->c.known);
	assert_int_equal(p->c.nproblems, 0);
	assert_int_equal(p->c.nblocks, 9);
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(p->c.blocks[i].addr, SLAB + regions[i] * 32);
		assert_int_equal(p->c.blocks[i].size, 32);
	}
	assert_int_equal(p->c.blocks[8].addr, LARGE + 0x240);
	assert_int_equal(p->c.blocks[8].size, 16384);
}

static void test_all(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct made p;

		make(&p, i & 1, i & 2);
		assert_int_equal(take(&p), 0);
		expect_all(&p);
		assert_true(census_adds_up(&p.c));
		assert_string_equal(p.c.layout, i & 1 ? "jemalloc 5.3" : "jemalloc 5.2");
		assert_int_equal(p.c.narenas, 1);
		assert_int_equal(p.c.arenas[0].used.blocks, 9);
		assert_int_equal(p.c.arenas[0].tcache.blocks, 2);
		assert_int_equal(p.c.arenas[0].bins.blocks, 118);
		assert_int_equal(p.c.arenas[0].top_bytes, 0x2000);
		assert_int_equal(p.c.arenas[0].walked_bytes, 0x9000);
		/* neither the extents' pointers to blocks nor those in caches are roots */
		assert_non_null(census_area_at(&p.c, extent_at(1)));
		assert_non_null(census_area_at(&p.c, STACKS + 0x78));
		assert_null(census_area_at(&p.c, DATA));
		end(&p);
	}
}

/* What a thread at work leaves for a moment: it does not add up, and what is certain is listed. */
static void test_at_work(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		const unsigned what = i / 2;
		struct made p;

		make(&p, i & 1, false);
		if (what == 0)		/* a cached region is free already: the cache is being emptied */
			*at(&p, extent_at(0) + 64) |= 1 << 5;
		else if (what == 1)	/* the bitmap was changed, the count not yet */
			*at(&p, extent_at(0) + 64) |= 1 << 9;
		else if (what == 2)	/* a region is in a cache twice */
			*at(&p, STACKS + 0x78) = SLAB + 6 * 32;
		else			/* the element has another class than the extent */
			put_elements(&p, extent_at(0), SLAB, 0x1000, CLASS_32 + 1, true);
		assert_int_equal(take(&p), 0);
		assert_true(p.c.known && p.c.unsure);
		assert_false(census_adds_up(&p.c));
		assert_int_equal(p.c.nproblems, 0);
		end(&p);
	}
}

/* The bin is empty, its thread works on it, and the last slot has a block: it may be on its way there. */
static void test_filling(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const taddr cache = FS - 0x2000, bin = cache + 8 + 2 * 24;
		struct made p;

		make(&p, true, false);
		*at(&p, bin) = STACKS + 0x88;
		p.m.s.threads[0].regs.rbx = i ? bin : 0;
		assert_int_equal(take(&p), 0);
		assert_int_equal(p.c.nblocks, 11);
		assert_int_equal(census_adds_up(&p.c), !i);
		end(&p);
	}
}

/* The stack has grown, but the freed block is not in it yet: what was there is not in the cache. */
static void test_being_put(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct made p;

		make(&p, true, false);
		p.m.s.threads[0].regs.rip = CODE + 16;
		p.m.s.threads[0].regs.r11 = STACKS + 0x78;
		p.m.s.threads[0].regs.rdi = SLAB + (i ? 5 : 1) * 32;
		assert_int_equal(take(&p), 0);
		assert_int_equal(p.c.nblocks, i ? 9 : 10);
		end(&p);
	}
}

static void test_corrupt(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		const unsigned what = i / 2;
		struct made p;

		make(&p, i & 1, false);
		if (what == 0)		/* no slab has blocks of that size */
			put_extent(&p, 0, SLAB, 0x1000, CLASS_16K, true, EXTENT_ACTIVE, 118);
		else if (what == 1)	/* larger than its extent */
			put_extent(&p, 1, LARGE, 0x5000, CLASS_16K + 9, false, EXTENT_ACTIVE, 0);
		else			/* an extent of no size */
			at(&p, extent_at(1))[2] = 0;
		assert_int_equal(take(&p), 0);
		assert_true(p.c.known && p.c.nproblems);
		assert_non_null(strstr(p.c.problem.what, what == 2 ? "no extent for" : "cannot have class"));
		assert_false(census_adds_up(&p.c));
		end(&p);
	}
}

/* Bits that are those of neither version; and a second page map, whose blocks are not listed. */
static void test_unread(void **state)
{
	struct made p;
	uint64_t *more;

	(void)state;
	make(&p, true, false);
	for (unsigned i = 0; i < 4; i++)
		at(&p, extent_at(i))[0] ^= UINT64_C(0x55) << 18;
	assert_int_equal(take(&p), -ENOENT);
	assert_non_null(strstr(p.c.unread, "jemalloc is there, but its layout is not known: "));
	end(&p);
	make(&p, true, false);
	more = example_map(&p.m, TLS + 0x400000, 0x201000, "rw-p", "/library");
	more[8 + (HEAP >> 30)] = LEAF;
	assert_int_equal(take(&p), 0);
	expect_all(&p);
	assert_non_null(strstr(p.c.unread, "jemalloc is there more than once: "));
	end(&p);
}

static void test_none(void **state)
{
	struct made p;

	(void)state;
	make(&p, true, false);
	*at(&p, DATA + 0x40 + (HEAP >> 30) * 8) = HEAP;
	assert_int_equal(take(&p), -ENOENT);
	assert_false(p.c.known);
	assert_string_equal(p.c.unread, "");
	end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),	 cmocka_unit_test(test_at_work), cmocka_unit_test(test_filling),
		cmocka_unit_test(test_being_put), cmocka_unit_test(test_corrupt), cmocka_unit_test(test_unread),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
