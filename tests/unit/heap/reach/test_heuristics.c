/* SPDX-License-Identifier: MIT */
/* heuristics: each of valgrind's, with sizes as requested and as the allocator rounds them. */
#include "heap/reach/heuristics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap/reach/reach.h"
#include "tests/unit/memory_example.h"

#define HEAP 0x7f0000000000u
#define DATA 0x7f0000010000u	/* a file's, read only: tables */
#define CODE 0x7f0000020000u

struct place {
	struct memory_example m;
	uint64_t *heap, *data;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	example_init(&p->m);
	p->m.s.live = true;
	p->heap = example_map(&p->m, HEAP, 0x4000, "rw-p", "[heap]");
	p->data = example_map(&p->m, DATA, 0x1000, "r--p", "/lib/x.so");
	example_gap(&p->m, CODE, 0x1000, "r-xp", "/lib/x.so");
	example_seal(&p->m);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;

	example_fini(&p->m);
	free(p);
	return 0;
}

static bool holds(struct place *p, uint64_t size, uint64_t offset, unsigned which, bool exact)
{
	const struct block b = { HEAP + 16, size };

	return heuristic_holds(&p->m.s, &b, b.addr + offset, which, exact);
}

static void test_string(void **state)
{
	struct place *p = *state;

	p->heap[2] = 5;		/* length */
	p->heap[3] = 20;	/* capacity: 45 bytes were requested, 56 are usable */
	assert_true(holds(p, 45, 24, REACH_STDSTRING, true));
	assert_false(holds(p, 46, 24, REACH_STDSTRING, true));
	assert_true(holds(p, 56, 24, REACH_STDSTRING, false));
	assert_false(holds(p, 72, 24, REACH_STDSTRING, false));
	assert_false(holds(p, 40, 24, REACH_STDSTRING, false));
	assert_false(holds(p, 56, 32, REACH_STDSTRING, false));
	assert_false(holds(p, 56, 24, REACH_ALL & ~REACH_STDSTRING, false));
	p->heap[2] = 21;
	assert_false(holds(p, 45, 24, REACH_STDSTRING, true));
	p->heap[3] = UINT64_MAX - 20;	/* with 24 and 1 it would overflow to a small number */
	assert_false(holds(p, 24, 24, REACH_STDSTRING, false));
}

static void test_length(void **state)
{
	struct place *p = *state;

	p->heap[2] = 32;	/* 40 were requested */
	assert_true(holds(p, 40, 8, REACH_LENGTH64, true));
	assert_false(holds(p, 41, 8, REACH_LENGTH64, true));
	assert_true(holds(p, 40, 8, REACH_LENGTH64, false));
	assert_false(holds(p, 56, 8, REACH_LENGTH64, false));
	assert_false(holds(p, 40, 16, REACH_LENGTH64, false));
	p->heap[2] = 0;
	assert_false(holds(p, 8, 8, REACH_LENGTH64, true));
	p->heap[2] = UINT64_MAX;
	assert_false(holds(p, 24, 8, REACH_LENGTH64, false));
}

static void test_array(void **state)
{
	struct place *p = *state;

	p->heap[2] = 7;		/* elements of 40: 288, of which 296 are usable */
	assert_true(holds(p, 288, 8, REACH_NEWARRAY, true));
	assert_false(holds(p, 289, 8, REACH_NEWARRAY, true));
	assert_true(holds(p, 296, 8, REACH_NEWARRAY, false));
	assert_false(holds(p, 296, 16, REACH_NEWARRAY, false));
	p->heap[2] = 0;
	assert_false(holds(p, 296, 8, REACH_NEWARRAY, false));
	p->heap[2] = 100;	/* for elements of one byte it would be 108, for two bytes 208 */
	assert_false(holds(p, 296, 8, REACH_NEWARRAY, false));
	p->heap[2] = UINT64_MAX;
	assert_false(holds(p, 24, 8, REACH_NEWARRAY, false));
}

/* A chunk with a mapping of its own: the requested size may be a page less. */
static void test_pages(void **state)
{
	struct place *p = *state;

	p->heap[2] = 1 << 18;
	assert_true(holds(p, (1 << 18) + 4080, 8, REACH_LENGTH64, false));
	assert_false(holds(p, (1 << 18) + 4096 + 4080, 8, REACH_LENGTH64, false));
	assert_false(holds(p, (1 << 18) + 2000, 8, REACH_LENGTH64, false));
}

static void test_parts(void **state)
{
	struct place *p = *state;

	p->data[2] = CODE + 16;
	p->data[3] = 0;
	p->data[4] = CODE + 32;
	p->data[10] = CODE + 48;
	p->data[11] = CODE + 64;
	p->heap[2] = DATA + 16;
	p->heap[5] = DATA + 80;
	assert_true(holds(p, 56, 24, REACH_MULTIPLE, false));
	assert_false(holds(p, 56, 32, REACH_MULTIPLE, false));
	assert_false(holds(p, 56, 20, REACH_MULTIPLE, false));
	p->data[11] = HEAP;	/* not code */
	assert_false(holds(p, 56, 24, REACH_MULTIPLE, false));
	p->data[11] = 0;	/* one function pointer is not a vtable */
	for (size_t i = 12; i < 512; i++)
		p->data[i] = 0;
	assert_false(holds(p, 56, 24, REACH_MULTIPLE, false));
	p->heap[5] = DATA + 4096 - 8;	/* the last word of the mapping */
	p->data[511] = CODE;
	assert_false(holds(p, 56, 24, REACH_MULTIPLE, false));
	p->heap[5] = 24;		/* a number */
	assert_false(holds(p, 56, 24, REACH_MULTIPLE, false));
}

/* A table with @n slots of 32 bytes, of which the first and the last are used; as hashbrown 0.12 to 0.15 has it. */
static uint64_t make_table(struct place *p, uint64_t n)
{
	uint8_t *slots = (uint8_t *)&p->heap[2] + n * 32;

	memset(slots, 0xff, n + 16);
	slots[0] = 0x17;
	slots[n - 1] = 0x05;
	memcpy(slots + (n < 16 ? 16 : n), slots, n < 16 ? n : 16);
	return n * 32 + n + 16;
}

static void test_hash_table(void **state)
{
	struct place *p = *state;
	uint8_t *heap = (uint8_t *)&p->heap[2];

	for (uint64_t n = 4; n <= 128; n *= 2) {
		const uint64_t size = make_table(p, n), rounded = (size + 8 + 15) / 16 * 16 - 8;

		assert_true(holds(p, size, n * 32, REACH_HASH_TABLE, true));
		assert_true(holds(p, rounded, n * 32, REACH_HASH_TABLE, false));
		assert_false(holds(p, size, n * 32, REACH_ALL | REACH_HEADER, true));
		/* what an allocator with other sizes gives */
		assert_true(holds(p, size + size / 4, n * 32, REACH_HASH_TABLE, false));
		assert_false(holds(p, 2 * size + 2, n * 32, REACH_HASH_TABLE, true));
		assert_false(holds(p, size, n * 32 - 16, REACH_HASH_TABLE, true));
		/* the copy differs */
		heap[n * 32 + (n < 16 ? 16 : n)] ^= 1;
		assert_false(holds(p, size, n * 32, REACH_HASH_TABLE, true));
	}
	/* all the same: zeros, or ones, as in an array or a bitmap */
	memset(heap, 0, 4096);
	assert_false(holds(p, 32 * 32 + 32 + 16, 32 * 32, REACH_HASH_TABLE, true));
	memset(heap, 0xff, 4096);
	assert_false(holds(p, 32 * 32 + 32 + 16, 32 * 32, REACH_HASH_TABLE, true));
}

static void test_sds(void **state)
{
	struct place *p = *state;
	uint8_t *heap = (uint8_t *)&p->heap[2];

	/* "hello", with the length in the kind */
	memcpy(heap, "\x28hello", 7);
	assert_true(holds(p, 24, 1, REACH_SDS, false));
	assert_false(holds(p, 24, 1, REACH_ALL | REACH_HEADER, false));
	assert_false(holds(p, 6, 1, REACH_SDS, true));
	/* numbers of a byte: 5 of 10 */
	memcpy(heap, "\5\12\1hello", 9);
	assert_true(holds(p, 14, 3, REACH_SDS, true));
	assert_false(holds(p, 13, 3, REACH_SDS, true));
	assert_false(holds(p, 14, 4, REACH_SDS, true));
	heap[1] = 4;	/* longer than its room */
	assert_false(holds(p, 14, 3, REACH_SDS, true));
	/* numbers of eight bytes */
	p->heap[2] = 5;
	p->heap[3] = 100;
	memcpy(heap + 16, "\4hello", 7);
	assert_true(holds(p, 120, 17, REACH_SDS, false));
	heap[22] = 'x';	/* no end */
	assert_false(holds(p, 120, 17, REACH_SDS, false));
	p->heap[3] = UINT64_MAX;
	heap[22] = 0;
	assert_false(holds(p, 120, 17, REACH_SDS, false));
	/* zeros */
	memset(heap, 0, 128);
	assert_false(holds(p, 120, 17, REACH_SDS, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_string, setup, teardown),
		cmocka_unit_test_setup_teardown(test_length, setup, teardown),
		cmocka_unit_test_setup_teardown(test_array, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hash_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sds, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
