/* SPDX-License-Identifier: MIT */
/* mimalloc: a segment made by hand: which of its blocks are in lists, and what a thread has taken from them. */
#include "heap/mimalloc/mimalloc.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syscall.h>

#include <cmocka.h>

#include "tests/unit/memory_example.h"

#define CODE 0x7f0000000000u
#define DATA 0x7f0000100000u
#define HEAP (DATA + 0x40)
#define TLD (DATA + 0x1000)
#define STACK 0x7f0000400000u
#define SEGMENT 0x20000000000u
#define SLICE 0x10000u
#define COOKIE UINT64_C(0x123456789abcdef1)
#define THREAD 0x7f0000500740u
#define BLOCK 48u
#define START (SEGMENT + SLICE + 384)
#define LARGE (SEGMENT + 2 * SLICE)
#define AT(i) (START + (i) * BLOCK)
#define PROGRAM 0x550000000000u

struct heap {
	struct memory_example m;
	uint64_t *data, *segment, *stack;
};

static uint64_t *slice(struct heap *h, unsigned i)
{
	return h->segment + (264 + 80 * i) / 8;
}

/* The first word of block number @i leads to number @next; 0: to none. */
static void link_to(struct heap *h, unsigned i, unsigned next)
{
	h->segment[(AT(i) - SEGMENT) / 8] = next ? AT(next) : 0;
}

static void set_page(struct heap *h, unsigned i, uint32_t block, unsigned capacity, uint32_t used)
{
	uint64_t *p = slice(h, i);

	p[0] = 1;
	p[1] = (uint64_t)capacity << 16 | (uint64_t)capacity << 32;
	p[3] = used | (uint64_t)block << 32;
	p[6] = HEAP;
}

/*
 * Ten blocks of 48 bytes: 1 and 2 are free; 3 was freed since; 4 and 5 by another thread, 6 by another thread
 * and in the heap's list; 0, 7, 8, 9 are in use. A page with one block, and 509 slices that are free.
 */
static void init(struct heap *h)
{
	example_init(&h->m);
	(void)example_map(&h->m, SEGMENT - 0x1000, 0x1000, "rw-p", "");
	h->segment = example_map(&h->m, SEGMENT, 0x2000000, "rw-p", "");
	(void)example_map(&h->m, PROGRAM, 0x1000, "r-xp", "");
	(void)example_map(&h->m, CODE, 0x1000, "r-xp", "/lib/libmimalloc.so.2");
	h->data = example_map(&h->m, DATA, 0x2000, "rw-p", "/lib/libmimalloc.so.2");
	h->stack = example_map(&h->m, STACK, 0x2000, "rw-p", "");
	h->data[0x40 / 8] = TLD;
	h->data[(0x40 + 2864) / 8] = COOKIE;
	h->data[(0x40 + 2840) / 8] = AT(6);
	h->data[(0x1000 + 16) / 8] = HEAP;
	h->segment[208 / 8] = 2;
	h->segment[216 / 8] = COOKIE ^ SEGMENT;
	h->segment[224 / 8] = h->segment[248 / 8] = 512;
	h->segment[232 / 8] = 1;
	h->segment[256 / 8] = THREAD;
	slice(h, 0)[0] = 1;
	set_page(h, 1, BLOCK, 10, 7);
	slice(h, 1)[2] = AT(1);
	slice(h, 1)[4] = AT(3);
	slice(h, 1)[5] = AT(4) | 2;
	link_to(h, 1, 2);
	link_to(h, 4, 5);
	set_page(h, 2, 0xc000, 1, 1);
	slice(h, 3)[0] = 509;
	example_thread(&h->m, 1000, STACK + 0x100)->regs.orig_rax = SYS_read;
	h->m.s.threads[0].regs.fs_base = THREAD;
}

static void enter(struct heap *h)
{
	h->m.s.threads[0].regs.orig_rax = UINT64_MAX;
	h->m.s.threads[0].regs.rip = CODE + 0x100;
	h->stack[0x140 / 8] = PROGRAM + 0x10;
}

static void fini(struct heap *h, struct census *c)
{
	census_fini(c);
	example_fini(&h->m);
}

static void take(struct heap *h, struct census *c)
{
	example_seal(&h->m);
	census_init(c);
	assert_int_equal(mimalloc_census(&h->m.s, c), 0);
	assert_true(c->known);
}

static void assert_five(const struct census *c)
{
	static const taddr expected[] = { AT(0), AT(7), AT(8), AT(9), LARGE };

	assert_int_equal(c->nblocks, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(c->blocks[i].addr, expected[i]);
	assert_int_equal(c->blocks[0].size, BLOCK);
	assert_int_equal(c->blocks[4].size, 0xc000);
}

static void test_blocks(void **state)
{
	struct heap h;
	struct census c;

	(void)state;
	init(&h);
	take(&h, &c);
	assert_true(census_adds_up(&c));
	assert_five(&c);
	assert_int_equal(c.arenas->bins.blocks, 6);
	assert_int_equal(c.ninner, 0);
	fini(&h, &c);
}

/* The heap's list is in a register, or in a frame of mimalloc's. */
static void test_taken_from_the_heap(void **state)
{
	(void)state;
	for (unsigned in_frame = 0; in_frame < 2; in_frame++) {
		struct heap h;
		struct census c;

		init(&h);
		enter(&h);
		h.data[(0x40 + 2840) / 8] = 0;
		if (in_frame)
			h.stack[0x120 / 8] = AT(6);
		else
			h.m.s.threads[0].regs.r12 = AT(6);
		take(&h, &c);
		assert_true(census_adds_up(&c));
		assert_five(&c);
		fini(&h, &c);
	}
}

/* It is only in the program's frames: that says nothing. */
static void test_not_found(void **state)
{
	struct heap h;
	struct census c;

	(void)state;
	init(&h);
	enter(&h);
	h.data[(0x40 + 2840) / 8] = 0;
	h.stack[0x160 / 8] = AT(6);
	take(&h, &c);
	assert_false(census_adds_up(&c));
	assert_int_equal(c.nproblems, 0);
	fini(&h, &c);
}

static void test_taken_from_a_page(void **state)
{
	struct heap h;
	struct census c;

	(void)state;
	init(&h);
	enter(&h);
	slice(&h, 1)[5] = 2;
	h.m.s.threads[0].regs.rax = AT(4);
	take(&h, &c);
	assert_int_equal(c.unsure, 1);
	assert_int_equal(c.nproblems, 0);
	fini(&h, &c);
}

/*
 * A thread goes through the list of a page, and counts: it is at the second block, and its registers have all of
 * that. Without one of them it may as well be the program's list. The old list may be behind it.
 */
static void test_counted_list(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * 6; i++) {
		struct heap h;
		struct census c;
		struct user_regs_struct *r;

		init(&h);
		enter(&h);
		r = &h.m.s.threads[0].regs;
		slice(&h, 1)[5] = 2;
		if (i % 2)
			link_to(&h, 5, 3);
		r->rax = AT(4);
		r->rdi = i / 2 == 1 ? AT(4) : AT(5);
		r->rbx = SEGMENT + 264 + 80 + (i / 2 == 2 ? 80 : 0);
		r->rsi = i / 2 == 3 ? 0 : 10;
		r->rcx = i / 2 == 4 ? 3 : 2;
		/* a function that mimalloc calls */
		h.stack[0x148 / 8] = CODE + 0x200;
		r->rip = i / 2 == 5 ? PROGRAM : r->rip;
		take(&h, &c);
		assert_int_equal(c.nproblems, 0);
		assert_int_equal(census_adds_up(&c), i / 2 == 0);
		if (i / 2 == 0)
			assert_five(&c);
		else
			assert_int_equal(c.nblocks, 7);
		fini(&h, &c);
	}
}

/* memalign has given out an address inside of a block. */
static void test_inner(void **state)
{
	struct heap h;
	struct census c;

	(void)state;
	init(&h);
	slice(&h, 2)[1] |= UINT64_C(2) << 48;
	take(&h, &c);
	assert_true(census_is_inner(&c, LARGE + 0x40));
	assert_false(census_is_inner(&c, LARGE + 0x48));
	assert_false(census_is_inner(&c, AT(0)));
	fini(&h, &c);
}

static void corrupt_link(struct heap *h) { h->segment[(AT(1) - SEGMENT) / 8] = AT(2) + 8; }
static void corrupt_cut(struct heap *h) { link_to(h, 1, 0); }
static void corrupt_ring(struct heap *h) { link_to(h, 5, 4); }
static void corrupt_used(struct heap *h) { slice(h, 1)[3]++; }
static void corrupt_slices(struct heap *h) { slice(h, 3)[0] = 600; }
static void corrupt_size(struct heap *h) { set_page(h, 2, 0x1c000, 1, 1); }
static void corrupt_delayed(struct heap *h) { h->data[(0x40 + 2840) / 8] = 0; }
static void corrupt_pages(struct heap *h) { h->segment[208 / 8] = 3; }

static void test_corrupt(void **state)
{
	static void (*const all[])(struct heap *) = { corrupt_link,  corrupt_cut,  corrupt_ring,    corrupt_used,
						      corrupt_slices, corrupt_size, corrupt_delayed, corrupt_pages };

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct heap h;
		struct census c;

		init(&h);
		all[i](&h);
		take(&h, &c);
		assert_false(census_adds_up(&c));
		assert_true(c.nblocks >= 4);
		fini(&h, &c);
	}
}

static void test_no_cookie(void **state)
{
	struct heap h;
	struct census c;

	(void)state;
	init(&h);
	h.segment[216 / 8]++;
	example_seal(&h.m);
	census_init(&c);
	assert_int_equal(mimalloc_census(&h.m.s, &c), -ENOENT);
	fini(&h, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),		  cmocka_unit_test(test_taken_from_the_heap),
		cmocka_unit_test(test_not_found),	  cmocka_unit_test(test_taken_from_a_page),
		cmocka_unit_test(test_inner),		  cmocka_unit_test(test_corrupt),
		cmocka_unit_test(test_no_cookie),	  cmocka_unit_test(test_counted_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
