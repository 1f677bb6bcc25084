/* SPDX-License-Identifier: MIT */
/*
 * The census of glibc by versions: for each layout a process made by hand (tests/unit/glibc_example.h), of
 * which the census must list the live blocks, and nothing else; and what no version has is not guessed.
 *
 * tests/test_census.py does the same with the versions that there are packages of. Red Hat's 2.28 has had
 * three kinds of tcaches, by the release of its package: with a key (41), with larger counts (78), and as
 * 2.34 has them (215).
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "heap/glibc/glibc_census.h"
#include "tests/unit/glibc_example.h"

#define OLD .bins = 0x70, .fastbins = 0x10, .counts = 0x28, .mapped = 0x38, .heap_info = 0x20
#define SINCE_2_35 .bins = 0x70, .fastbins = 0x10, .counts = 0x3c, .mapped = 0x50, .heap_info = 0x30
#define SMALL_COUNTS .lists = 64, .count_bytes = 1
#define LARGE_COUNTS .lists = 64, .count_bytes = 2
#define HARDENED .key = KEY_RANDOM, .mangled = true

static const struct glibc_version versions[] = {
	{ "2.26", "glibc 2.26 or before", .bins = 0x68, .fastbins = 0x08, .counts = 0x28, .mapped = 0x38,
	  .heap_info = 0x20, SMALL_COUNTS },
	{ "2.28", "glibc 2.27 to 2.29", OLD, SMALL_COUNTS },
	{ "2.28-41.el8", "glibc 2.27 to 2.29", OLD, SMALL_COUNTS, .key = KEY_OWN },
	{ "2.28-78.el8", "glibc 2.30 or 2.31", OLD, LARGE_COUNTS, .key = KEY_OWN },
	{ "2.28-215.el8", "glibc 2.32 to 2.41", OLD, LARGE_COUNTS, HARDENED },
	{ "2.32", "glibc 2.32 to 2.41", OLD, LARGE_COUNTS, .key = KEY_OWN, .mangled = true },
	{ "2.34", "glibc 2.32 to 2.41", OLD, LARGE_COUNTS, HARDENED },
	{ "2.35", "glibc 2.32 to 2.41", SINCE_2_35, LARGE_COUNTS, HARDENED },
	{ "2.39", "glibc 2.32 to 2.41", SINCE_2_35, LARGE_COUNTS, HARDENED },
	{ "2.42", "glibc 2.42", SINCE_2_35, .lists = 76, .count_bytes = 2, .slots = true, HARDENED },
};
#define VERSIONS (sizeof(versions) / sizeof(*versions))

#define MAIN_SIZE 0x21000u
#define OTHER_SIZE 0x8000u
#define MAPPED_SIZE 0x23000u
#define MAPPED_BEFORE 0x1000u
/* the numbers of bins; small ones are for a size each, and the first large ones for 64 bytes */
#define UNSORTED 1u
#define SMALL_BIN(size) ((size) / 16)
#define LARGE_BIN(size) (48 + (size) / 64)

static struct glibc_example e;
static struct census c;
static struct snapshot_thread *first, *second;
static taddr tcaches[2];

static int setup(void **state)
{
	example_glibc(&e, *state);
	census_init(&c);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	census_fini(&c);
	example_fini(&e.m);
	return 0;
}

/* --- heaps --- */

/* Lists of one, of several, and for the largest size; a live block behind each. */
static void put_cached(struct example_heap *h, taddr tcache)
{
	static const uint64_t sizes[] = { 0x30, 0x20, 0x30, 0x410, 0x30 };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		example_to_tcache(&e, tcache, example_put(&e, h, sizes[i], IN_TCACHE));
		(void)example_put(&e, h, sizes[i], LIVE);
	}
}

static void put_fast(struct example_heap *h)
{
	static const uint64_t sizes[] = { 0x40, 0x80, 0x40, 0x20 };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		example_to_fastbin(&e, h->arena, example_put(&e, h, sizes[i], IN_FASTBIN));
	(void)example_put(&e, h, 0x50, LIVE);
}

static void put_free(struct example_heap *h)
{
	static const struct {
		uint64_t size;
		unsigned bin;
	} all[] = { { 0x90, UNSORTED }, { 0x100, SMALL_BIN(0x100) }, { 0x500, LARGE_BIN(0x500) },
		    { 0x420, UNSORTED }, { 0x520, LARGE_BIN(0x520) } };

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		example_to_bin(&e, h->arena, all[i].bin, example_put(&e, h, all[i].size, IN_BIN));
		(void)example_put(&e, h, 0x20 + 0x410 * i, LIVE);
	}
}

static void put_main(void)
{
	struct example_heap h = example_main_heap(&e, MAIN_SIZE);

	first = example_add_thread(&e);
	tcaches[0] = example_tcache(&e, &h, first);
	put_cached(&h, tcaches[0]);
	put_fast(&h);
	put_free(&h);
	example_top(&e, &h);
}

/* Another arena, with two heaps. */
static void put_other(void)
{
	struct example_heap h = example_other_heap(&e, 0, OTHER_SIZE), next;

	second = example_add_thread(&e);
	tcaches[1] = example_tcache(&e, &h, second);
	put_cached(&h, tcaches[1]);
	put_free(&h);
	example_full(&e, &h);
	next = example_other_heap(&e, 1, OTHER_SIZE);
	put_fast(&next);
	put_free(&next);
	example_top(&e, &next);
}

static void put_all(void)
{
	put_main();
	put_other();
	example_mapped(&e, MAPPED_SIZE, 0);
	example_mapped(&e, 2 * MAPPED_SIZE, MAPPED_BEFORE - 16);
}

/* --- the census --- */

static void take(void)
{
	int err;

	example_ready(&e);
	err = glibc_census(&e.m.s, &c);
	assert_true(!err || err == -ENOENT);
}

static void assert_sum(const struct census_sum *a, const struct census_sum *b)
{
	assert_int_equal(a->blocks, b->blocks);
	assert_int_equal(a->bytes, b->bytes);
}

static void assert_arenas(void)
{
	assert_int_equal(c.narenas, e.narenas);
	for (size_t i = 0; i < c.narenas; i++) {
		const struct census_arena *is = &c.arenas[i];
		const struct example_arena *was = &e.arenas[i];

		assert_int_equal(is->at, was->at);
		assert_sum(&is->used, &was->used);
		assert_sum(&is->fast, &was->fast);
		assert_sum(&is->tcache, &was->tcache);
		assert_sum(&is->bins, &was->bins);
		assert_int_equal(is->system_bytes, was->system_mem);
		assert_int_equal(is->walked_bytes, was->system_mem);
		assert_int_equal(is->used.bytes + is->fast.bytes + is->tcache.bytes + is->bins.bytes +
					 is->top_bytes + is->other_bytes,
				 was->system_mem);
	}
}

/* All live blocks, and nothing else. */
static void assert_blocks(void)
{
	qsort(c.blocks, c.nblocks, sizeof(*c.blocks), block_order);
	qsort(e.live, e.nlive, sizeof(*e.live), block_order);
	assert_int_equal(c.nblocks, e.nlive);
	for (size_t i = 0; i < c.nblocks; i++) {
		assert_int_equal(c.blocks[i].addr, e.live[i].addr);
		assert_int_equal(c.blocks[i].size, e.live[i].size);
	}
}

static void assert_exact(void)
{
	if (c.nproblems)
		fail_msg("%s", c.problem.what);
	if (!census_adds_up(&c))
		fail_msg("%s", c.doubt.what);
	assert_string_equal(c.layout, e.v->layout);
	assert_blocks();
	assert_arenas();
	assert_int_equal(c.nown, e.nown);
	assert_int_equal(c.repaired, 0);
	assert_int_equal(c.unseen_bytes, 0);
	assert_int_equal(c.foreign_bytes, 0);
}

static void to_the_block(void **state)
{
	(void)state;
	put_all();
	take();
	assert_exact();
	assert_int_equal(c.mmapped.blocks, 2);
	assert_int_equal(c.mmapped.bytes, 3 * MAPPED_SIZE);
	assert_int_equal(c.mmapped_claimed, 3 * MAPPED_SIZE);
	assert_int_equal(c.mmapped_chunks_claimed, 2);
}

static void one_arena(void **state)
{
	(void)state;
	put_main();
	take();
	assert_exact();
}

/* --- the layout is this version's, and no other one's --- */

static void the_layout(void **state)
{
	struct glibc g = { .s = &e.m.s, .c = &c };

	(void)state;
	put_all();
	example_ready(&e);
	g.cursor = snapshot_cursor_of(&e.m.s);
	assert_int_equal(glibc_find(&g), 0);
	c.arenas = calloc(g.narenas, sizeof(*c.arenas));
	assert_non_null(c.arenas);
	assert_int_equal(glibc_find_regions(&g), 0);
	assert_int_equal(glibc_find_mapped(&g), 0);
	assert_int_equal(glibc_mark_cached(&g), 0);
	assert_int_equal(g.layout.bins, e.v->bins);
	assert_int_equal(g.layout.fastbins, e.v->fastbins);
	assert_int_equal(g.layout.heap_info, e.v->heap_info);
	assert_int_equal(g.layout.heap_max, EXAMPLE_HEAP_MAX);
	assert_true(g.layout.links_seen);
	assert_int_equal(g.layout.mangled, e.v->mangled);
	assert_non_null(g.layout.tcache);
	assert_int_equal(g.layout.tcache->bins, e.v->lists);
	assert_int_equal(g.layout.tcache->count_bytes, e.v->count_bytes);
	assert_int_equal(g.layout.tcache->slots, e.v->slots);
	assert_int_equal(g.param.at, EXAMPLE_PARAM + e.v->mapped);
	assert_int_equal(g.param.n_mmaps, 2);
	assert_int_equal(g.key, e.v->key == KEY_NONE ? 0 : e.v->key == KEY_OWN ? tcaches[1] : EXAMPLE_RANDOM);
	glibc_fini(&g);
}

static void assert_refused(const char *why)
{
	assert_false(census_adds_up(&c));
	if (!strstr(c.problem.what, why) && !strstr(c.doubt.what, why))
		fail_msg("not \"%s\", but \"%s\", \"%s\"", why, c.problem.what, c.doubt.what);
}

/* Each form of a tcache in a chunk that is another one's, and in one that none has. */
static void tcaches_of_another_size(void **state)
{
	const struct glibc_version *v = e.v;

	for (size_t i = 0; i <= VERSIONS; i++) {
		const uint64_t size = i < VERSIONS ? example_tcache_chunk(&versions[i]) : 0x350;

		if (size <= example_tcache_chunk(v))
			continue;
		(void)teardown(state);
		example_glibc(&e, v);
		census_init(&c);
		e.tcache_chunk = size;
		put_all();
		take();
		assert_refused("no thread has a tcache of a form that is known");
	}
}

/* The links of one thread's lists are of the other kind. */
static void links_of_both_kinds(void **state)
{
	struct glibc_version v = *e.v;

	(void)state;
	put_main();
	v.mangled = !v.mangled;
	e.v = &v;
	put_other();
	take();
	assert_refused("corrupt: ");
}

/* The bins are 8 bytes further than in any version. */
static void another_malloc_state(void **state)
{
	struct glibc_version v = *e.v;

	(void)teardown(state);
	v.bins += 8;
	if (v.bins == versions[1].bins)
		v.bins += 8;
	example_glibc(&e, &v);
	census_init(&c);
	put_all();
	take();
	assert_false(c.known);
	assert_int_equal(c.nblocks, 0);
	assert_refused("no malloc of glibc was found");
}

static void another_heap_info(void **state)
{
	struct glibc_version v = *e.v;

	(void)state;
	v.heap_info = 0x40;
	e.v = &v;
	put_all();
	take();
	assert_refused("an arena that does not lie at the beginning of a heap");
}

/* What malloc counts is then not known, and not compared; all else is as it was. */
static void another_malloc_par(void **state)
{
	struct glibc_version v = *e.v;

	(void)teardown(state);
	v.counts -= 8;
	example_glibc(&e, &v);
	census_init(&c);
	put_all();
	take();
	assert_exact();
	assert_int_equal(c.mmapped.blocks, 2);
	assert_int_equal(c.mmapped_claimed, UINT64_MAX);
}

/* --- malloc_par --- */

/* mallopt(M_MMAP_MAX): fewer are allowed than there are already, and there have been more. */
static void few_mappings_are_allowed(void **state)
{
	for (uint32_t allowed = 0; allowed < 3; allowed++) {
		const struct glibc_version *v = e.v;

		(void)teardown(state);
		example_glibc(&e, v);
		census_init(&c);
		put_all();
		*example_word(&e, EXAMPLE_PARAM + v->mapped + 8) = 3 * e.mapped_bytes;
		example_counts(&e, 2, 6, allowed, true);
		take();
		assert_exact();
		assert_int_equal(c.mmapped_chunks_claimed, 2);
	}
}

/* There has been one, and there is none now. */
static void no_mapping_any_more(void **state)
{
	(void)state;
	put_main();
	*example_word(&e, EXAMPLE_PARAM + e.v->mapped + 8) = MAPPED_SIZE;
	example_counts(&e, 0, 1, 65536, false);
	take();
	assert_exact();
	assert_int_equal(c.mmapped_chunks_claimed, 0);
}

/* Other variables that are like it, but for the beginning of the heap, which is in libc's file. */
static void words_like_malloc_par(void **state)
{
	static const uint64_t words[] = { 0, 0, EXAMPLE_DATA, 32, 120, 8, 0 };

	(void)state;
	put_all();
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		*example_word(&e, EXAMPLE_DATA + 0x2000 + 8 * i) = words[i];
	take();
	assert_exact();
	assert_int_equal(c.mmapped_chunks_claimed, 2);
}

/* --- keys --- */

/*
 * A link in a tcache was overwritten. The rest of its list is found by the key; where there is none, what
 * blocks and free chunks have in common is the program's.
 */
static void a_lost_list(void **state)
{
	const taddr head = example_list(&e, 0, 0x30);
	taddr chunk;

	(void)state;
	put_all();
	chunk = *example_word(&e, tcaches[1] + head);
	*example_word(&e, chunk) = example_link(&e, chunk, 0x10);
	take();
	assert_refused("corrupt: ");
	/* the second and the third of the list */
	assert_int_equal(c.nblocks, e.nlive + (e.v->key == KEY_NONE ? 2 : 0));
}

/* A thread ends: it has given up its tcache, and has not yet emptied it. */
static void a_thread_that_ends(void **state)
{
	(void)state;
	put_all();
	*example_word(&e, second->regs.fs_base - EXAMPLE_SLOT) = 0;
	e.m.s.threads[1].regs.orig_rax = UINT64_MAX;
	take();
	if (e.v->key == KEY_NONE) {
		assert_refused("what looks like the tcache of a thread that ends");
	} else {
		assert_exact();
	}
}

/* --- all --- */

static const struct {
	const char *name;
	CMUnitTestFunction f;
} each[] = {
	{ "to_the_block", to_the_block },
	{ "one_arena", one_arena },
	{ "the_layout", the_layout },
	{ "tcaches_of_another_size", tcaches_of_another_size },
	{ "links_of_both_kinds", links_of_both_kinds },
	{ "another_malloc_state", another_malloc_state },
	{ "another_heap_info", another_heap_info },
	{ "another_malloc_par", another_malloc_par },
	{ "few_mappings_are_allowed", few_mappings_are_allowed },
	{ "no_mapping_any_more", no_mapping_any_more },
	{ "words_like_malloc_par", words_like_malloc_par },
	{ "a_lost_list", a_lost_list },
	{ "a_thread_that_ends", a_thread_that_ends },
};
#define TESTS (sizeof(each) / sizeof(*each))

int main(void)
{
	static char names[VERSIONS * TESTS][64];
	struct CMUnitTest tests[VERSIONS * TESTS];

	for (size_t i = 0; i < VERSIONS * TESTS; i++) {
		const struct glibc_version *v = &versions[i / TESTS];

		snprintf(names[i], sizeof(names[i]), "%s: %s", v->name, each[i % TESTS].name);
		tests[i] = (struct CMUnitTest)cmocka_unit_test_prestate_setup_teardown(
			each[i % TESTS].f, setup, teardown, (void *)(uintptr_t)v);
		tests[i].name = names[i];
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
