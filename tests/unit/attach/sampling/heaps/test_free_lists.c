/* SPDX-License-Identifier: MIT */
/* Lists of free blocks, in our own memory: which blocks are in one, and when that is not known. */
#include "attach/sampling/heaps/free_lists.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define BLOCKS 8u
#define KIND 7u
#define OTHER 8u

struct example {
	uint64_t source[3];		/* the first block, how many there are, and something else */
	uint64_t blocks[BLOCKS][4];
	unsigned readings, change;	/* the source changes in so many readings */
	struct free_lists f;
	struct remote_read g;
};

static struct example e;

static taddr block(unsigned i)
{
	return (uintptr_t)e.blocks[i];
}

static void lead(void *ctx, struct free_lists *f, const struct free_source *s, const uint64_t *words)
{
	(void)ctx;
	assert_int_equal(s->what, 3);
	e.readings++;
	free_lists_list(f, words[0]);
	if (words[1])
		free_lists_count(f, words[1]);
	e.source[2] += e.readings <= e.change;
}

/* Blocks 0, 1, ... up to @n - 1 lead to each other; the source counts @count. */
static void make(unsigned n, uint64_t count)
{
	e = (struct example){ .source = { (uintptr_t)e.blocks[0], count } };
	for (unsigned i = 0; i + 1 < n; i++)
		e.blocks[i][0] = block(i + 1);
	assert_int_equal(remote_read_open(&e.g, getpid()), 0);
	free_lists_init(&e.f, lead, &e);
	free_lists_begin(&e.f);
	assert_int_equal(free_lists_source(&e.f, &(struct free_source){ (uintptr_t)e.source, 24, 3, KIND }), 0);
}

static enum free_lists_answer answer_of(unsigned i)
{
	enum free_lists_answer a;

	assert_int_equal(free_lists_ask(&e.f, block(i), KIND, OTHER), 0);
	assert_int_equal(free_lists_read(&e.f, &e.g), 0);
	a = free_lists_answer(&e.f, block(i));
	free_lists_fini(&e.f);
	remote_read_close(&e.g);
	return a;
}

static void in_a_list(void **state)
{
	(void)state;
	make(5, 5);
	assert_int_equal(answer_of(4), LISTED_YES);
	/* two readings have found it */
	assert_int_equal(e.readings, 2);
	make(5, 5);
	assert_int_equal(answer_of(0), LISTED_YES);
}

static void in_none(void **state)
{
	(void)state;
	make(5, 5);
	assert_int_equal(answer_of(5), LISTED_NO);
	assert_int_equal(e.readings, 1);
}

/* A block of a live list of the program's that a stale link has led to. */
static void other_than_counted(void **state)
{
	(void)state;
	make(5, 3);
	assert_int_equal(answer_of(4), LISTED_UNSURE);
	make(5, 6);
	assert_int_equal(answer_of(4), LISTED_UNSURE);
	make(5, 6);
	assert_int_equal(answer_of(6), LISTED_UNSURE);
}

static void uncounted(void **state)
{
	(void)state;
	make(5, 0);
	assert_int_equal(answer_of(3), LISTED_YES);
}

static void endless(void **state)
{
	(void)state;
	make(5, 0);
	e.blocks[4][0] = block(0);
	assert_int_equal(answer_of(3), LISTED_UNSURE);
	make(5, 0);
	e.blocks[4][0] = 3;
	assert_int_equal(answer_of(3), LISTED_UNSURE);
	make(5, 0);
	e.blocks[4][0] = UINT64_C(1) << 62;
	assert_int_equal(answer_of(6), LISTED_UNSURE);
}

static void source_changes(void **state)
{
	(void)state;
	make(5, 0);
	e.change = 100;
	assert_int_equal(answer_of(3), LISTED_UNSURE);
	make(5, 0);
	e.change = 100;
	assert_int_equal(answer_of(6), LISTED_UNSURE);
}

/* Twice, and then no more: the other readings count. */
static void source_has_changed(void **state)
{
	(void)state;
	make(5, 5);
	e.change = 2;
	assert_int_equal(answer_of(3), LISTED_YES);
	assert_int_equal(e.readings, 4);
	make(5, 5);
	e.change = 2;
	assert_int_equal(answer_of(6), LISTED_NO);
}

/* One source more than is read: of its kind only what was found in another one is known. */
static void too_many(void **state)
{
	static uint64_t empty[3];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		make(5, 5);
		e.change = 0;
		for (unsigned k = 0; k < FREE_LISTS_SOURCES; k++)
			assert_int_equal(free_lists_source(&e.f, &(struct free_source){ (uintptr_t)empty, 24, 3, KIND }), 0);
		assert_int_equal(answer_of(i ? 4 : 6), i ? LISTED_YES : LISTED_UNSURE);
	}
}

static void pauses(void **state)
{
	(void)state;
	make(5, 5);
	assert_true(free_lists_may_read(&e.f));
	assert_int_equal(free_lists_ask(&e.f, block(1), KIND, OTHER), 0);
	assert_int_equal(free_lists_answer(&e.f, block(1)), LISTED_UNSURE);
	assert_int_equal(free_lists_read(&e.f, &e.g), 0);
	assert_true(e.f.rest_until_ns > 0);
	free_lists_fini(&e.f);
	remote_read_close(&e.g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_list), cmocka_unit_test(in_none), cmocka_unit_test(other_than_counted),
		cmocka_unit_test(uncounted), cmocka_unit_test(endless), cmocka_unit_test(source_changes),
		cmocka_unit_test(source_has_changed), cmocka_unit_test(too_many),
		cmocka_unit_test(pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
