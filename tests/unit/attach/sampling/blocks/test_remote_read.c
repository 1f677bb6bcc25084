/* SPDX-License-Identifier: MIT */
/*
 * remote_read: what the words of a target may lead to: memory, none, or addresses that no process can have. The
 * process that is read is this one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/sampling/blocks/remote_read.h"

#define END (1ull << 47)

static uint64_t here[2] = { 0x1234, 0x5678 };

/* One word that leads nowhere must not end the reading of the others. */
static void beyond_a_process(void **state)
{
	const taddr far[] = { END, END + 8, 0x7ffffffff008, UINT64_MAX - 7, 1ull << 63 };
	struct remote_read g;

	(void)state;
	assert_int_equal(remote_read_open(&g, getpid()), 0);
	for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++) {
		uint64_t words[2] = { 0 }, none = 0;
		struct remote_read_piece pieces[] = {
			remote_read_piece(far[i], &none, sizeof(none)),
			remote_read_piece((taddr)(uintptr_t)here, words, sizeof(words)),
		};

		assert_int_equal(remote_read_now(&g, pieces, 2), 0);
		assert_int_equal(pieces[0].got, REMOTE_READ_FAILED);
		assert_true(remote_read_has(&pieces[1]) && !memcmp(words, here, sizeof(here)));
	}
	remote_read_close(&g);
}

/* Reading it would create the page. */
static void what_was_never_touched(void **state)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char in_memory = 1;
	uint64_t word;
	struct remote_read_piece piece = remote_read_piece((taddr)(uintptr_t)page, &word, sizeof(word));
	struct remote_read g;

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(remote_read_open(&g, getpid()), 0);
	assert_int_equal(remote_read_now(&g, &piece, 1), 0);
	assert_int_equal(piece.got, REMOTE_READ_ABSENT);
	assert_int_equal(mincore(page, 4096, &in_memory), 0);
	assert_false(in_memory & 1);
	remote_read_close(&g);
	munmap(page, 4096);
}

static void a_few_words(void **state)
{
	const taddr at = (taddr)(uintptr_t)here;
	uint64_t words[2] = { 0 };

	(void)state;
	assert_true(remote_read_words(getpid(), at, words, sizeof(words)));
	assert_memory_equal(words, here, sizeof(here));
	assert_false(remote_read_words(getpid(), at + 1, words, 8));
	assert_false(remote_read_words(getpid(), 0, words, 8));
	assert_false(remote_read_words(getpid(), END - 4096, words, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beyond_a_process),
		cmocka_unit_test(what_was_never_touched),
		cmocka_unit_test(a_few_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
