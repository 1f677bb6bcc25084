/* SPDX-License-Identifier: MIT */
/*
 * oldmusl: a state and a region made by hand: where the state is found, and where not (torn lists, another
 * allocator's, random words); searches end, whatever the sizes are.
 */
#include "heap/musl/oldmusl.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <syscall.h>

#include <cmocka.h>

#include "tests/unit/memory_example.h"

#define CODE 0x550000000000u
#define DATA 0x550000100000u
#define STATE (DATA + 0x48)
#define REGION 0x550001000000u
#define PAGE 0x1000u
#define CHUNK(i) (REGION + 16 + (i) * 64)	/* all chunks but the last have 64 bytes */
#define BIN 1u					/* of chunks of that size */
#define CHUNKS 20u
#define RANDOM_IMAGES 200u

struct heap {
	struct memory_example m;
	uint64_t *data, *region;
};

static uint64_t *chunk_at(struct heap *h, unsigned i)
{
	return h->region + (CHUNK(i) - REGION) / 8;
}

static uint64_t *bin(struct heap *h, unsigned i)
{
	return h->data + (STATE - DATA) / 8 + 3 * i;
}

/* Chunk number @i is @used, in both its sizes. */
static void set_chunk(struct heap *h, unsigned i, bool used)
{
	chunk_at(h, i)[1] = chunk_at(h, i + 1)[0] = 64 | used;
}

/* Two free chunks are the list of bin number @i. */
static void set_list(struct heap *h, unsigned i, unsigned first, unsigned last)
{
	const taddr sentinel = STATE + 24 * i;

	bin(h, i)[2] = CHUNK(first);
	bin(h, i)[3] = CHUNK(last);
	chunk_at(h, first)[2] = CHUNK(last);
	chunk_at(h, first)[3] = chunk_at(h, last)[2] = sentinel;
	chunk_at(h, last)[3] = CHUNK(first);
}

/* Of the chunks of a region 2 and 5 are free, and in bin 1; bin 3 was used once, and is empty. */
static void init(struct heap *h)
{
	example_init(&h->m);
	(void)example_map(&h->m, CODE, PAGE, "r-xp", "/bin/static");
	h->data = example_map(&h->m, DATA, PAGE, "rw-p", "/bin/static");
	h->region = example_map(&h->m, REGION, PAGE, "rw-p", "[heap]");
	chunk_at(h, 0)[0] = OLDMUSL_USED;
	for (unsigned i = 0; i < CHUNKS; i++)
		set_chunk(h, i, i != 2 && i != 5);
	chunk_at(h, CHUNKS)[1] = OLDMUSL_USED;
	*bin(h, 0) = UINT64_C(1) << BIN;
	set_list(h, BIN, 2, 5);
	bin(h, 3)[2] = bin(h, 3)[3] = STATE + 24 * 3;
	example_thread(&h->m, 1000, 0x7ffc00001000)->regs.orig_rax = SYS_read;
}

static void enter(struct heap *h)
{
	h->m.s.threads[0].regs.orig_rax = UINT64_MAX;
	h->m.s.threads[0].regs.rip = CODE + 0x100;
}

/* The result, of which @c must be freed. */
static int take(struct heap *h, struct census *c)
{
	example_seal(&h->m);
	census_init(c);
	return oldmusl_census(&h->m.s, c);
}

static void fini(struct heap *h, struct census *c)
{
	census_fini(c);
	example_fini(&h->m);
}

static void test_blocks(void **state)
{
	struct heap h;
	struct census c;

	(void)state;
	init(&h);
	assert_int_equal(take(&h, &c), 0);
	assert_true(census_adds_up(&c));
	assert_int_equal(c.arenas->at, STATE);
	assert_int_equal(c.nblocks, CHUNKS - 2);
	assert_int_equal(c.blocks[0].addr, CHUNK(0) + OLDMUSL_HEAD);
	assert_int_equal(c.blocks[0].size, 64 - OLDMUSL_HEAD);
	assert_int_equal(c.arenas->bins.blocks, 2);
	fini(&h, &c);
}

/* --- no state --- */

static void no_map(struct heap *h) { *bin(h, 0) = 0; }
static void map_of_others(struct heap *h) { *bin(h, 0) = UINT64_C(1) << 7; }
static void map_of_more(struct heap *h) { *bin(h, 0) = 0xff; }
static void map_of_an_empty(struct heap *h) { *bin(h, 0) |= UINT64_C(1) << 3; }
static void no_lock(struct heap *h) { bin(h, 40)[1] = 77; }
static void other_words(struct heap *h) { bin(h, 40)[2] = 0x1234567; }
static void other_bin(struct heap *h)
{
	*bin(h, 0) = 1;
	bin(h, BIN)[2] = bin(h, BIN)[3] = 0;
	set_list(h, 0, 2, 5);
}

/* As tcmalloc has free spans: the length in pages where a chunk has its size, and the same links. */
static void spans(struct heap *h)
{
	for (unsigned i = 2; i <= 5; i += 3) {
		chunk_at(h, i)[0] = CHUNK(i) >> 13;
		chunk_at(h, i)[1] = 8;
	}
}

static void spans_in_their_bin(struct heap *h)
{
	spans(h);
	other_bin(h);
}

static void test_no_state(void **state)
{
	static void (*const all[])(struct heap *) = { no_map, map_of_others, map_of_more, map_of_an_empty, no_lock,
						      other_words, other_bin, spans, spans_in_their_bin };

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct heap h;
		struct census c;

		init(&h);
		all[i](&h);
		assert_int_equal(take(&h, &c), -ENOENT);
		assert_false(c.known);
		fini(&h, &c);
	}
}

/* --- torn lists --- */

/* Threads are changing @torn other lists, which do not lead back: two may be so. */
static int take_torn(unsigned torn, struct heap *h, struct census *c)
{
	init(h);
	enter(h);
	for (unsigned i = 0; i < torn; i++) {
		bin(h, 10 + i)[2] = CHUNK(9);
		bin(h, 10 + i)[3] = STATE + 24 * (10 + i);
	}
	return take(h, c);
}

static void test_torn_lists(void **state)
{
	(void)state;
	for (unsigned torn = 0; torn < 5; torn++) {
		struct heap h;
		struct census c;

		assert_int_equal(take_torn(torn, &h, &c), torn <= 2 ? 0 : -ENOENT);
		assert_int_equal(c.nproblems, 0);
		assert_int_equal(c.nblocks, torn <= 2 ? CHUNKS - 2 : 0);
		fini(&h, &c);
	}
}

/* --- anything --- */

static uint64_t random_word(uint64_t *rng)
{
	*rng ^= *rng << 13;
	*rng ^= *rng >> 7;
	*rng ^= *rng << 17;
	return *rng;
}

/* What there is in a heap: nothing, small numbers, sizes, addresses of chunks, bins and words; or any. */
static uint64_t likely_word(uint64_t *rng)
{
	const uint64_t r = random_word(rng) >> 8;

	switch (r % 8) {
	case 0: case 1: return 0;
	case 2: return r >> 8 & 3;
	case 3: return (r >> 8) % 40 * 32 | (r >> 16 & 1);
	case 4: return CHUNK((r >> 8) % CHUNKS);
	case 5: return STATE + 24 * ((r >> 8) % OLDMUSL_BINS);
	case 6: return DATA + (r >> 8) % PAGE;
	default: return random_word(rng);
	}
}

/* From the first words on to a whole image of random words: it ends, and nothing is listed twice. */
static void test_random_words(void **state)
{
	uint64_t rng = 88172645463325252u;

	(void)state;
	for (unsigned i = 0; i < RANDOM_IMAGES; i++) {
		struct heap h;
		struct census c;

		init(&h);
		if (i % 2)
			enter(&h);
		for (unsigned k = 0; k < (i < 150 ? 1 + i / 10 : 2000); k++) {
			uint64_t *const words = random_word(&rng) % 2 ? h.data : h.region;

			words[random_word(&rng) % (PAGE / 8)] = likely_word(&rng);
		}
		(void)take(&h, &c);
		for (size_t k = 1; k < c.nblocks; k++)
			assert_true(c.blocks[k - 1].addr + c.blocks[k - 1].size <= c.blocks[k].addr);
		fini(&h, &c);
	}
}

/* Each page could begin with a torn chunk: the next one is looked for, but not in all memory for each page. */
static void test_searches_end(void **state)
{
	const uint64_t size = UINT64_C(4) << 20;
	struct heap h;
	struct census c;
	uint64_t *words;

	(void)state;
	init(&h);
	enter(&h);
	words = example_map(&h.m, REGION + 0x1000000, size, "rw-p", "");
	for (uint64_t i = 0; i < size / 8; i += 4) {
		words[i + 2] = OLDMUSL_USED;
		words[i + 3] = 64 | OLDMUSL_USED;
	}
	assert_int_equal(take(&h, &c), 0);
	assert_int_equal(c.nblocks, CHUNKS - 2);
	fini(&h, &c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),	     cmocka_unit_test(test_no_state),
		cmocka_unit_test(test_torn_lists),   cmocka_unit_test(test_random_words),
		cmocka_unit_test(test_searches_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
