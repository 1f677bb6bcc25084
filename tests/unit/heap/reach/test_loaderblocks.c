/* SPDX-License-Identifier: MIT */
/*
 * loaderblocks: the loader's tables of each thread are found, whatever stack the thread is on, and its tables
 * of loaded objects.
 */
#include "heap/reach/loaderblocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/memory_example.h"

#define TLS 0x7f0000900000u
#define SELF (TLS + 0x740)
#define HEAP 0x550000000000u
#define BLOCK (HEAP + 0x100)	/* the table's */
#define BLOCK_SIZE 0x218u
#define OTHER (HEAP + 0x400)
#define MAIN_STACK 0x7ffc00000000u
#define ELSEWHERE 0x7f0000a00000u
#define LOADER 0x7f0000b00000u	/* its data */

struct process {
	struct memory_example m;
	struct census c;
	uint64_t *tls, *heap, *loader;
	struct census_arena arena;
	struct census_area area;
};

/* One thread, with its sp at @sp; it has variables below its struct pthread, and a table from malloc. */
static void init(struct process *p, taddr sp)
{
	const struct block blocks[] = { { BLOCK, BLOCK_SIZE }, { OTHER, 0x88 } };

	memset(p, 0, sizeof(*p));
	example_init(&p->m);
	p->tls = example_map(&p->m, TLS, 0x2000, "rw-p", "");
	p->heap = example_map(&p->m, HEAP, 0x1000, "rw-p", "[heap]");
	(void)example_map(&p->m, ELSEWHERE, 0x1000, "rw-p", "");
	p->loader = example_map(&p->m, LOADER, 0x1000, "rw-p", "/lib/ld.so");
	(void)example_map(&p->m, MAIN_STACK, 0x8000, "rw-p", "[stack]");
	p->tls[0x740 / 8] = p->tls[0x750 / 8] = SELF;
	p->tls[0x748 / 8] = BLOCK + 16;
	p->heap[0x100 / 8] = 30;		/* there is room for so many modules */
	p->heap[0x120 / 8] = TLS + 0x80;	/* the first one's variables */
	example_thread(&p->m, 1000, sp)->regs.fs_base = SELF;
	example_seal(&p->m);
	p->area = (struct census_area){ HEAP, HEAP + 0x1000, 0 };
	p->arena.head_bytes = 8;
	p->arena.used = (struct census_sum){ 2, BLOCK_SIZE + 8 + 0x90 };
	p->c.known = true;
	p->c.nblocks = 2;
	p->c.blocks = calloc(2, sizeof(*blocks));
	assert_non_null(p->c.blocks);
	memcpy(p->c.blocks, blocks, sizeof(blocks));
	p->c.nareas = p->c.narenas = 1;
	p->c.areas = &p->area;
	p->c.arenas = &p->arena;
}

static void fini(struct process *p)
{
	free(p->c.blocks);
	free(p->c.own);
	example_fini(&p->m);
}

static void assert_set_apart(struct process *p)
{
	assert_int_equal(loaderblocks_set_apart(&p->m.s, &p->c), 0);
	assert_int_equal(p->c.nblocks, 1);
	assert_int_equal(p->c.blocks[0].addr, OTHER);
	assert_int_equal(p->c.nown, 1);
	assert_int_equal(p->c.own[0].addr, BLOCK);
	assert_int_equal(p->c.own[0].size, BLOCK_SIZE);
	assert_int_equal(p->arena.used.blocks, 1);
	assert_int_equal(p->arena.used.bytes, 0x90);
	assert_int_equal(p->arena.other_bytes, BLOCK_SIZE + 8);
}

/* For the main thread, the loader's first table is its own; malloc's comes when libraries are opened. */
static void test_main_thread(void **state)
{
	struct process p;

	(void)state;
	init(&p, MAIN_STACK + 0x6000);
	assert_set_apart(&p);
	fini(&p);
}

/* A signal handler on a stack of its own, or a coroutine. */
static void test_on_another_stack(void **state)
{
	struct process p;

	(void)state;
	init(&p, ELSEWHERE + 0x800);
	assert_set_apart(&p);
	fini(&p);
}

/* A block that is too short for a table of that length is the program's. */
static void test_too_long(void **state)
{
	struct process p;

	(void)state;
	init(&p, MAIN_STACK + 0x6000);
	p.heap[0x100 / 8] = BLOCK_SIZE / 16;
	assert_int_equal(loaderblocks_set_apart(&p.m.s, &p.c), 0);
	assert_int_equal(p.c.nblocks, 2);
	assert_int_equal(p.c.nown, 0);
	fini(&p);
}

/*
 * No thread has a table of its own; the block has one of objects, with @entries, at the next multiple of 128,
 * to which the loader's data points.
 */
static void init_objects(struct process *p, uint64_t entries)
{
	const size_t at = 0x180;

	init(p, MAIN_STACK + 0x6000);
	p->tls[0x748 / 8] = 0;
	p->c.blocks[0].addr = HEAP + 0x110;
	p->c.blocks[0].size = BLOCK_SIZE;
	p->heap[at / 8 + 1] = HEAP + 0x110;
	p->heap[at / 8 + 2] = 2;
	p->heap[at / 8 + 3] = entries;
	p->loader[5] = HEAP + at;
}

static void assert_objects(struct process *p, size_t apart)
{
	assert_int_equal(loaderblocks_set_apart(&p->m.s, &p->c), 0);
	assert_int_equal(p->c.nown, apart);
	assert_int_equal(p->c.nblocks, 2 - apart);
	if (apart)
		assert_int_equal(p->c.own[0].addr, HEAP + 0x110);
	fini(p);
}

static void test_objects(void **state)
{
	struct process p;

	(void)state;
	init_objects(&p, 12);
	assert_objects(&p, 1);
}

/* More entries than fit, more in use than there are, another block's address; no pointer. */
static void test_no_objects(void **state)
{
	struct process p;

	(void)state;
	init_objects(&p, 13);
	assert_objects(&p, 0);
	init_objects(&p, 1);
	assert_objects(&p, 0);
	init_objects(&p, 12);
	p.heap[0x188 / 8] = OTHER;
	assert_objects(&p, 0);
	init_objects(&p, 12);
	p.loader[5] = HEAP + 0x110;
	assert_objects(&p, 0);
}

/* The older table, in the other block, has its place from the newer one alone. */
static void test_older_objects(void **state)
{
	struct process p;

	(void)state;
	init_objects(&p, 12);
	p.heap[0x180 / 8] = OTHER;
	p.heap[OTHER % 0x1000 / 8 + 1] = OTHER;
	assert_objects(&p, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_thread),
		cmocka_unit_test(test_on_another_stack),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_no_objects),
		cmocka_unit_test(test_older_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
