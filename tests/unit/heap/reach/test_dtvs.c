/* SPDX-License-Identifier: MIT */
/* dtvs: the loader's tables of each thread are found, whatever stack the thread is on. */
#include "heap/reach/dtvs.h"

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

struct process {
	struct memory_example m;
	struct census c;
	uint64_t *tls, *heap;
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
	assert_int_equal(dtvs_set_apart(&p->m.s, &p->c), 0);
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
	assert_int_equal(dtvs_set_apart(&p.m.s, &p.c), 0);
	assert_int_equal(p.c.nblocks, 2);
	assert_int_equal(p.c.nown, 0);
	fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_main_thread),
		cmocka_unit_test(test_on_another_stack),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
