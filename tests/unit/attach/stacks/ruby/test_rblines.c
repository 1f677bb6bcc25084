/* SPDX-License-Identifier: MIT */
/* rblines: indexes made of random positions, against a search from the beginning; damaged ones. */
#include "attach/stacks/ruby/rblines.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/attach/stacks/ruby/made_ruby.h"

#define POSITIONS 2000u
#define FIRST 54u
#define BLOCK 512u
#define BLOCKS ((POSITIONS - FIRST) / BLOCK + 1)

/* As Ruby has it: how many lines begin up to each of the first positions, and blocks. */
struct index {
	uint64_t first[6];
	struct {
		uint32_t rank, unused;
		uint64_t word_ranks, bits[8];
	} blocks[BLOCKS];
};

static int mem;
static struct line lines[POSITIONS];
static struct index made;
static bool begins[POSITIONS];

static int setup(void **state)
{
	(void)state;
	mem = open("/proc/self/mem", O_RDONLY);
	return mem < 0;
}

static int teardown(void **state)
{
	(void)state;
	return close(mem);
}

static void add_first(uint32_t position, uint32_t rank)
{
	made.first[position / 9] |= (uint64_t)rank << position % 9 * 7;
}

static void add_bit(uint32_t position, uint32_t before, uint32_t *of_block)
{
	const uint32_t at = position - FIRST, block = at / BLOCK, word = at % BLOCK / 64;

	if (at % BLOCK == 0) {
		made.blocks[block].rank = before;
		*of_block = before;
	} else if (at % 64 == 0) {
		made.blocks[block].word_ranks |= (uint64_t)(before - *of_block) << (word - 1) * 9;
	}
	made.blocks[block].bits[word] |= (uint64_t)begins[position] << at % 64;
}

/* One of @every positions begins a line; the first always does. How many lines. */
static uint32_t make_index(int every)
{
	uint32_t n = 0, of_block = 0;

	memset(&made, 0, sizeof(made));
	for (uint32_t i = 0; i < POSITIONS; i++) {
		begins[i] = i == 0 || rand() % every == 0;
		if (begins[i])
			lines[n].line = 1000 + 3 * n;
		if (i >= FIRST)
			add_bit(i, n, &of_block);
		n += begins[i];
		if (i < FIRST)
			add_first(i, n);
	}
	return n;
}

static void against_a_search(void **state)
{
	(void)state;
	srand(1);
	for (int every = 1; every < 40; every += 3) {
		const struct rb_lines l = { (uintptr_t)lines, make_index(every), (uintptr_t)&made };
		uint32_t n = 0;

		for (uint32_t i = 0; i < POSITIONS; i++) {
			n += begins[i];
			assert_int_equal(rb_lines_at(mem, &l, i), 1000 + 3 * (n - 1));
		}
	}
}

static void of_one_line(void **state)
{
	const struct rb_lines one = { (uintptr_t)lines, 1, 0 }, none = { (uintptr_t)lines, 0, 0 };

	(void)state;
	lines[0].line = 41;
	assert_int_equal(rb_lines_at(mem, &one, 0), 41);
	assert_int_equal(rb_lines_at(mem, &one, 5000), 41);
	assert_int_equal(rb_lines_at(mem, &none, 0), 0);
}

/* What is not there has no line; of what was damaged, no line outside of the table is read. */
static void damaged(void **state)
{
	const struct rb_lines lost = { 16, 5, (uintptr_t)&made }, no_index = { (uintptr_t)lines, 5, 16 };
	const struct rb_lines few = { (uintptr_t)lines, 3, (uintptr_t)&made };

	(void)state;
	make_index(1);
	assert_int_equal(rb_lines_at(mem, &lost, 1), 0);
	assert_int_equal(rb_lines_at(mem, &no_index, 1), 0);
	assert_int_equal(rb_lines_at(mem, &no_index, 100), 0);
	assert_int_equal(rb_lines_at(mem, &few, 2), 1006);
	assert_int_equal(rb_lines_at(mem, &few, 3), 0);
	assert_int_equal(rb_lines_at(mem, &few, 1999), 0);
	memset(&made, 0, sizeof(made));
	assert_int_equal(rb_lines_at(mem, &few, 1), 0);
	assert_int_equal(rb_lines_at(mem, &few, 100), 0);
	for (int i = 0; i < 2000; i++) {
		uint32_t line;

		for (size_t k = 0; k < sizeof(made); k++)
			((uint8_t *)&made)[k] = (uint8_t)rand();
		line = rb_lines_at(mem, &few, (uint32_t)rand() % POSITIONS);
		assert_true(!line || (line >= 1000 && line <= 1006));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_a_search),
		cmocka_unit_test(of_one_line),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
