/* SPDX-License-Identifier: MIT */
/* Which chains a thread may be moving: a span, a central list and a thread cache made by hand. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "heap/tcmalloc/tcmalloc.h"
#include "tests/unit/memory_example.h"

#define CODE 0x7f0000000000u
#define DATA 0x7f0000100000u
#define CACHE 0x7f0000200000u
#define STACK 0x7f0000400000u
#define SPAN 0x20000000000u
#define THREAD 0x7f0000500740u
#define CLASS 1u
#define BATCH 4u
#define SIZE 64u
#define BLOCKS 128u
#define AT(i) (SPAN + (i) * SIZE)
#define CENTRAL (DATA + CLASS * TCMALLOC_CENTRAL_BYTES)

static struct {
	struct memory_example m;
	struct census c;
	struct tcmalloc g;
	struct tcmalloc_span span;
	struct tcmalloc_cache cache;
	uint64_t bits[BLOCKS / 64];
	uint64_t *data, *words, *stack, *blocks;
	struct snapshot_thread *thread;
} t;

/* Blocks 5, 6 and 7 are a chain, in no list; the thread is inside of tcmalloc, and nothing leads to them. */
static int setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	example_init(&t.m);
	(void)example_map(&t.m, CODE, 0x1000, "r-xp", "/lib/libtcmalloc.so.4");
	t.data = example_map(&t.m, DATA, 0x2000, "rw-p", "/lib/libtcmalloc.so.4");
	t.words = example_map(&t.m, CACHE, 0x1000, "rw-p", "");
	t.stack = example_map(&t.m, STACK, 0x2000, "rw-p", "");
	t.blocks = example_map(&t.m, SPAN, BLOCKS * SIZE, "rw-p", "");
	t.thread = example_thread(&t.m, 1000, STACK);
	t.thread->regs.fs_base = THREAD;
	t.thread->regs.rip = CODE + 0x100;
	t.thread->regs.orig_rax = UINT64_MAX;
	t.blocks[5 * SIZE / 8] = AT(6);
	t.blocks[6 * SIZE / 8] = AT(7);
	census_init(&t.c);
	t.span = (struct tcmalloc_span){
		.lo = SPAN, .bytes = BLOCKS * SIZE, .blocks = BLOCKS, .used = BLOCKS, .class = CLASS
	};
	t.cache = (struct tcmalloc_cache){ .at = CACHE, .thread = THREAD };
	t.g = (struct tcmalloc){
		.s = &t.m.s, .c = &t.c, .data_lo = DATA, .data_hi = DATA + 0x2000, .classes[CLASS] = { SIZE, 1, BATCH },
		.nclasses = CLASS + 1, .page_shift = 13, .central = DATA, .caches = &t.cache, .ncaches = 1,
		.spans = &t.span, .nspans = 1, .bits = t.bits, .nbits = BLOCKS,
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	census_fini(&t.c);
	example_fini(&t.m);
	return 0;
}

/* The number of doubts. */
static size_t look(void)
{
	if (!t.g.file) {
		example_seal(&t.m);
		t.g.cursor = snapshot_cursor_of(&t.m.s);
		t.g.file = procmaps_find(&t.m.s.maps, CODE);
	}
	t.c.unsure = 0;
	tcmalloc_look_for_chains(&t.g);
	return t.c.unsure;
}

static void nothing_leads_to_a_chain(void **state)
{
	(void)state;
	assert_int_equal(look(), 0);
}

static void in_a_register_or_on_the_stack(void **state)
{
	(void)state;
	t.thread->regs.rbx = AT(5);
	assert_int_equal(look(), 1);
	t.thread->regs.rbx = 0;
	t.stack[3] = AT(5);
	assert_int_equal(look(), 1);
	t.thread->regs.rip = STACK;	/* not in tcmalloc: these are the program's */
	assert_int_equal(look(), 0);
}

/* The count is lowered, and the address of the chain is read one instruction later. */
static void counted_as_taken_and_not_read_yet(void **state)
{
	uint64_t *chain = &t.data[(CENTRAL + TCMALLOC_CHAINS - DATA) / 8],
		 *used = &t.data[(CENTRAL + TCMALLOC_CHAINS_USED - DATA) / 8];

	(void)state;
	*used = 2;
	chain[2 * 2] = AT(5);
	assert_int_equal(look(), 0);
	t.thread->regs.r12 = CENTRAL + 8;
	assert_int_equal(look(), 1);
	t.thread->regs.r12 = CENTRAL + TCMALLOC_CENTRAL_BYTES;	/* another class's */
	assert_int_equal(look(), 0);
	t.thread->regs.r12 = CENTRAL;
	*used = 3;
	assert_int_equal(look(), 0);
	*used = TCMALLOC_CHAINS_MOST;
	assert_int_equal(look(), 0);
}

static void what_is_no_chain(void **state)
{
	(void)state;
	t.thread->regs.rbx = AT(7);	/* a single block */
	assert_int_equal(look(), 0);
	t.thread->regs.rbx = AT(5);
	t.blocks[7 * SIZE / 8] = AT(8);
	t.blocks[8 * SIZE / 8] = AT(9);	/* more than are moved at once */
	assert_int_equal(look(), 0);
	t.blocks[8 * SIZE / 8] = 0;
	assert_int_equal(look(), 1);
	t.bits[0] = 1u << 8;		/* it ends in a list */
	assert_int_equal(look(), 0);
	t.bits[0] = 0;
	t.words[CLASS * TCMALLOC_LIST_BYTES / 8] = AT(20);	/* the cache has blocks: it needs none */
	assert_int_equal(look(), 0);
}

/* It counts more than it has: the end of a chain may be what stays in it. */
static void a_cache_that_lacks_some(void **state)
{
	(void)state;
	t.cache.lacks = true;
	t.thread->regs.rbx = AT(5);
	t.blocks[7 * SIZE / 8] = AT(8);
	t.bits[0] = 1u << 8;
	assert_int_equal(look(), 1);
	t.cache.thread++;	/* no thread of those that are known; then this one has no cache */
	assert_int_equal(look(), 1);
	t.thread->regs.rbx = 0;
	assert_int_equal(look(), 1);
	t.cache.lacks = false;
	assert_int_equal(look(), 0);
}

int main(void)
{
#define hand_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		hand_test(nothing_leads_to_a_chain),
		hand_test(in_a_register_or_on_the_stack),
		hand_test(counted_as_taken_and_not_read_yet),
		hand_test(what_is_no_chain),
		hand_test(a_cache_that_lacks_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
