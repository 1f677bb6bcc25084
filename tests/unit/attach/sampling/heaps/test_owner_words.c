/* SPDX-License-Identifier: MIT */
/* owner_words: which words of a block its owner has written, as far as looks show. */
#include "attach/sampling/heaps/owner_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#define ADDR 0x10000u

static struct tracked_block block;

static void born(uint64_t bytes, bool has_words)
{
	const struct block_hit hit = { .addr = ADDR, .words = { 1, 2 }, .has_words = has_words };

	block = (struct tracked_block){ 0 };
	owner_words_born(&hit, bytes, &block.state);
}

/* The state after a look that has read these. */
static struct chunkstate look(uint64_t first, uint64_t second, uint32_t n)
{
	struct block_look l = { .b = &block, .addr = ADDR };

	owner_words_look(&l, (uint64_t[]){ first, second }, n);
	block.state = l.now;
	return l.now;
}

static void nothing_is_written_at_first(void **state)
{
	(void)state;
	born(64, true);
	assert_true(block.state.blank && block.state.link);
	assert_int_equal(block.state.nwords, 2);
	born(8, true);
	assert_int_equal(block.state.nwords, 1);
	born(64, false);
	assert_false(block.state.blank || block.state.link);
	assert_int_equal(block.state.nwords, 0);
}

static void a_word_that_has_changed_was_written(void **state)
{
	(void)state;
	born(64, true);
	assert_true(look(1, 2, 2).blank);
	assert_true(block.state.link);
	/* the second one: the first is still what it was */
	assert_false(look(1, 3, 2).blank);
	assert_true(block.state.link);
	/* and it stays so, also where nothing changes any more */
	assert_false(look(1, 3, 2).blank);
	assert_false(look(4, 3, 2).link);
	assert_false(look(4, 3, 2).link);
}

static void what_was_not_read_is_not_known_to_have_changed(void **state)
{
	(void)state;
	born(64, true);
	assert_true(look(9, 9, 0).blank);
	assert_true(block.state.link);
	assert_int_equal(block.state.nwords, 0);
}

static void a_block_without_words_is_never_blank(void **state)
{
	(void)state;
	born(64, false);
	assert_false(look(1, 2, 2).blank);
	assert_false(look(1, 2, 2).blank);
}

static void words_are_read_once_more(void **state)
{
	uint64_t words[OWNER_WORDS] = { 5, 6 };

	(void)state;
	assert_true(owner_words_still(getpid(), (uintptr_t)words, (uint64_t[]){ 5, 6 }, 2));
	assert_true(owner_words_still(getpid(), (uintptr_t)words, (uint64_t[]){ 5, 7 }, 1));
	assert_false(owner_words_still(getpid(), (uintptr_t)words, (uint64_t[]){ 5, 7 }, 2));
	assert_false(owner_words_still(getpid(), 8, words, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_written_at_first),
		cmocka_unit_test(a_word_that_has_changed_was_written),
		cmocka_unit_test(what_was_not_read_is_not_known_to_have_changed),
		cmocka_unit_test(a_block_without_words_is_never_blank),
		cmocka_unit_test(words_are_read_once_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
