/* SPDX-License-Identifier: MIT */
/*
 * glibc_walk: heaps made by hand, of a page each: where the chunks lead, and how a heap that is not main's
 * ends. When such a heap is full and another one begins, the rest of its top gets fenceposts (sysmalloc), in
 * one of three ways:
 *
 *	left	what becomes of it
 *	32	16 | 0			two fenceposts
 *	48	32 | 0			a rest that is too small to be freed, and one fencepost
 *	more	a free chunk | 16 | 0
 *
 * tests/test_census.py tests the census of whole processes.
 */
#include "heap/glibc/glibc_walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/memory_example.h"

#define LO 0x7f0000000000u
#define SIZE 0x1000u
#define IN_USE GLIBC_PREV_INUSE
#define OF_OTHER GLIBC_FOREIGN_ARENA

static struct memory_example m;
static uint64_t *words;
static struct census census;
static struct glibc glibc;
static uint64_t end;	/* of the chunks that were put there */
static bool arena_busy;
static uint64_t last_freed;	/* 0: none */

static int setup(void **state)
{
	(void)state;
	example_init(&m);
	words = example_map(&m, LO, SIZE, "rw-p", "");
	end = 0;
	arena_busy = false;
	last_freed = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	census_blocks_trim(&census);
	census_fini(&census);
	free(glibc.arenas);
	free(glibc.regions);
	free(glibc.orphans);
	example_fini(&m);
	return 0;
}

static uint64_t *at(uint64_t offset)
{
	return &words[offset / sizeof(uint64_t)];
}

/* A chunk behind the last one; @flags say whether the one before it is in use. */
static void put(uint64_t size, uint64_t flags)
{
	at(end)[1] = size | flags;
	end += size;
}

/* The chunk before the next one is free: its size is in front of that one. */
static void put_after_free(uint64_t freed, uint64_t size)
{
	at(end)[0] = freed;
	put(size, OF_OTHER);
}

static void fill_up(uint64_t left)
{
	while (end + left < SIZE)
		put(end + left + 0x100 <= SIZE ? 0x100 : SIZE - left - end, IN_USE | OF_OTHER);
}

/* Arena 1's heap; @top is the offset of the top in this heap; 0: it is in another heap of the arena. */
static void walk(uint64_t top)
{
	const struct glibc_region r = {
		.lo = LO, .first = LO, .hi = LO + SIZE, .arena = 1, .ends_in_top = top != 0
	};

	example_seal(&m);
	census = (struct census){ .arenas = calloc(2, sizeof(*census.arenas)), .narenas = 2 };
	glibc = (struct glibc){ .s = &m.s, .c = &census, .cursor = snapshot_cursor_of(&m.s),
				.arenas = calloc(2, sizeof(*glibc.arenas)), .narenas = 2 };
	assert_true(census.arenas && glibc.arenas);
	/* there are no bins to compare with */
	glibc.arenas[0].edges_known = glibc.arenas[1].edges_known = true;
	glibc.arenas[1].busy = arena_busy;
	glibc.arenas[1].last_freed = last_freed;
	glibc.arenas[1].top = top ? LO + top : LO + (64ull << 20);
	assert_int_equal(glibc_add_region(&glibc, &r), 0);
	assert_int_equal(glibc_walk(&glibc), 0);
}

/*
 * There are no problems, every byte is accounted for, and @other of them are the ends of the allocator's
 * heap.
 */
static void assert_whole(size_t blocks, size_t freed, uint64_t top, uint64_t other)
{
	const struct census_arena *a = &census.arenas[1];

	if (census.nproblems)
		fail_msg("%s", census.problem.what);
	assert_int_equal(census.nblocks, blocks);
	assert_int_equal(a->used.blocks, blocks);
	assert_int_equal(a->bins.blocks, freed);
	assert_int_equal(a->top_bytes, top);
	assert_int_equal(a->other_bytes, other);
	assert_int_equal(a->walked_bytes, SIZE);
	assert_int_equal(a->used.bytes + a->bins.bytes + a->top_bytes + a->other_bytes, SIZE);
	assert_int_equal(census.nareas, 1);
	assert_true(census.areas[0].lo == LO && census.areas[0].hi == LO + SIZE &&
		    census.areas[0].arena == 1);
}

static void chunks_and_a_top(void **state)
{
	(void)state;
	put(0x40, IN_USE | OF_OTHER);
	put(0x60, IN_USE | OF_OTHER);
	put_after_free(0x60, 0x30);
	put(SIZE - end, IN_USE);
	walk(0xd0);
	assert_whole(2, 1, SIZE - 0xd0, 0);
	assert_true(census.blocks[0].addr == LO + 0x10 && census.blocks[0].size == 0x38);
	assert_true(census.blocks[1].addr == LO + 0xb0 && census.blocks[1].size == 0x28);
}

static void two_fenceposts(void **state)
{
	(void)state;
	fill_up(32);
	put(16, IN_USE);
	put(0, IN_USE);
	walk(0);
	assert_whole(16, 0, 0, 32);
}

/* The fencepost has no second one before it, and the rest in front of it is not a block. */
static void a_rest_that_is_too_small(void **state)
{
	(void)state;
	fill_up(48);
	put(32, IN_USE);
	at(end)[0] = 32;
	put(0, IN_USE);
	walk(0);
	assert_whole(16, 0, 0, 48);
	assert_int_equal(census.blocks[15].addr, LO + 0xf00 + 16);
}

static void a_free_rest(void **state)
{
	(void)state;
	fill_up(0x80);
	put(0x60, IN_USE);
	put_after_free(0x60, 16);
	put(0, IN_USE);
	walk(0);
	assert_whole(16, 1, 0, 32);
}

/* A chunk of size 0 is valid only at the very end of a heap. */
static void a_head_of_nothing(void **state)
{
	(void)state;
	fill_up(0x200);
	put(32, IN_USE);
	put(0, IN_USE);
	walk(0);
	assert_int_equal(census.nproblems, 1);
	assert_int_equal(census.problem.at, LO + SIZE - 0x200 + 32);
}

/* The heap should contain the top, and does not. */
static void no_top_where_one_should_be(void **state)
{
	(void)state;
	fill_up(48);
	put(32, IN_USE);
	put(0, IN_USE);
	walk(0x10);
	assert_true(census.nproblems > 0);
}

/*
 * realloc has made the chunk at 0x40 smaller and has not yet written the head of the rest, at 0xa0: the old
 * word there is larger than the rest, and would lead past the block at 0x120.
 */
static void put_a_realloc_at_work(uint64_t old_head)
{
	put(0x40, IN_USE | OF_OTHER);
	put(0x60, IN_USE | OF_OTHER);
	put(0x80, IN_USE | OF_OTHER);
	put(0x40, IN_USE | OF_OTHER);
	put(0x40, IN_USE | OF_OTHER);
	put(SIZE - end, IN_USE);
	at(0xa0)[1] = old_head;
}

static void have_registers(taddr chunk, taddr rest, uint64_t size, taddr next)
{
	struct snapshot_thread *t = example_thread(&m, 1, LO + SIZE);

	t->regs.orig_rax = (unsigned long long)-1;
	t->regs.r13 = chunk;
	t->regs.rsi = rest;
	t->regs.rdx = size;
	t->regs.r15 = next;
}

static void a_rest_without_its_head(void **state)
{
	(void)state;
	put_a_realloc_at_work(0xc0 | IN_USE | OF_OTHER);
	have_registers(LO + 0x40, LO + 0xa0, 0x80 | IN_USE, LO + 0x120);
	arena_busy = true;
	walk(0x1a0);
	assert_whole(4, 1, SIZE - 0x1a0, 0);
	assert_int_equal(census.blocks[2].addr, LO + 0x130);
	assert_int_equal(census.repaired, 1);
}

/* The registers alone are not enough: the arena must be busy, and all four values must be there. */
static void registers_that_say_less(void **state)
{
	(void)state;
	put_a_realloc_at_work(0xc0 | IN_USE | OF_OTHER);
	have_registers(LO + 0x40, LO + 0xa0, 0x80 | IN_USE, LO + 0x120);
	arena_busy = false;
	walk(0x1a0);
	assert_whole(4, 0, SIZE - 0x1a0, 0);
	assert_int_equal(census.blocks[2].addr, LO + 0xb0);
}

static void no_chunk_in_a_register(void **state)
{
	(void)state;
	put_a_realloc_at_work(0xc0 | IN_USE | OF_OTHER);
	have_registers(LO, LO + 0xa0, 0x80 | IN_USE, LO + 0x120);
	arena_busy = true;
	walk(0x1a0);
	assert_whole(4, 0, SIZE - 0x1a0, 0);
	assert_int_equal(census.repaired, 0);
}

/* The registers agree with the heads: nothing is under way. */
static void a_rest_that_has_its_head(void **state)
{
	(void)state;
	put_a_realloc_at_work(0x80 | IN_USE | OF_OTHER);
	have_registers(LO + 0x40, LO + 0xa0, 0x80 | IN_USE, LO + 0x120);
	arena_busy = true;
	walk(0x1a0);
	assert_whole(5, 0, SIZE - 0x1a0, 0);
	assert_int_equal(census.repaired, 0);
}

/*
 * A free chunk has been cut in two, and this is complete: the first part, at 0x40, is what malloc returns,
 * the rest is free. In the middle of a block further up, old words look like the end of the uncut chunk, and
 * a register has the distance to it by chance.
 */
static void words_like_the_end_of_a_cut(void **state)
{
	struct snapshot_thread *t;

	(void)state;
	put(0x40, IN_USE | OF_OTHER);
	put(0x40, IN_USE | OF_OTHER);
	put(0x60, IN_USE | OF_OTHER);
	put_after_free(0x60, 0x100);
	put(SIZE - end, IN_USE);
	at(0x140)[0] = 0x100;
	at(0x140)[1] = 0x40 | OF_OTHER;
	t = example_thread(&m, 1, LO + SIZE);
	t->regs.orig_rax = (unsigned long long)-1;
	t->regs.rax = LO + 0x50;
	t->regs.rbp = 0xc0;
	arena_busy = true;
	last_freed = LO + 0x80;
	walk(0x1e0);
	assert_whole(3, 1, SIZE - 0x1e0, 0);
	assert_int_equal(census.repaired, 0);
}

int main(void)
{
#define walk_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		walk_test(chunks_and_a_top),
		walk_test(two_fenceposts),
		walk_test(a_rest_that_is_too_small),
		walk_test(a_free_rest),
		walk_test(a_head_of_nothing),
		walk_test(no_top_where_one_should_be),
		walk_test(a_rest_without_its_head),
		walk_test(registers_that_say_less),
		walk_test(no_chunk_in_a_register),
		walk_test(a_rest_that_has_its_head),
		walk_test(words_like_the_end_of_a_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
