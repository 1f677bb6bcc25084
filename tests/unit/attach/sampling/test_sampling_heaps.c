/* SPDX-License-Identifier: MIT */
/* A malloc that is not known when the watch begins: here this process's own, Debian's jemalloc, preloaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/sampling/sampling_heaps.h"

#define JEMALLOC "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"

static bool has_jemalloc;

static struct block_hit hit_of(void *block)
{
	return (struct block_hit){ .addr = (uintptr_t)block };
}

static void without_a_strange_block_it_is_not_looked_for(void **state)
{
	struct sampling_heaps h = { .looks = 2 };

	(void)state;
	sampling_heaps_again(&h, getpid());
	assert_int_equal(h.looks, 2);
}

static void a_jemalloc_that_begins_later_is_found(void **state)
{
	struct sampling_heaps h = { .looks = 20 };
	struct block_birth birth;
	struct block_hit hit;
	void *block, *large;

	(void)state;
	if (!has_jemalloc)
		skip();
	block = malloc(100);
	hit = hit_of(block);
	/* this process reads its own memory, and allocates meanwhile: what it reads may just be changing */
	for (unsigned i = 0; i < 20 && !h.other; i++) {
		assert_false(sampling_heaps_born(&h, &hit, &birth));
		sampling_heaps_again(&h, getpid());
	}
	assert_non_null(h.other);
	assert_int_equal(h.looks, 0);
	assert_true(sampling_heaps_born(&h, &hit, &birth));
	assert_ptr_equal(birth.heap, h.other);
	assert_int_equal(birth.bytes, 112);
	/* what a wrapper returned that keeps a header of varying length in front */
	hit = (struct block_hit){ .addr = (uintptr_t)block - 2, .inside = (uintptr_t)block + 3 };
	assert_true(sampling_heaps_born(&h, &hit, &birth));
	assert_true(birth.addr == (uintptr_t)block && birth.has_start);
	large = malloc(1 << 20);
	hit = (struct block_hit){ .addr = (uintptr_t)large + 8, .inside = (uintptr_t)large + 17 };
	assert_true(sampling_heaps_born(&h, &hit, &birth) && birth.addr == (uintptr_t)large);
	free(large);
	sampling_heaps_close(&h);
	free(block);
}

/* The process that runs the test has no jemalloc: the looks have an end. */
static void it_is_looked_for_so_many_times(void **state)
{
	struct sampling_heaps h = { .looks = 2 };
	struct block_hit hit = hit_of(NULL);
	struct block_birth birth;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		assert_false(sampling_heaps_born(&h, &hit, &birth));
		sampling_heaps_again(&h, getppid());
	}
	assert_int_equal(h.looks, 0);
	assert_null(h.other);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_strange_block_it_is_not_looked_for),
		cmocka_unit_test(it_is_looked_for_so_many_times),
		cmocka_unit_test(a_jemalloc_that_begins_later_is_found),
	};

	(void)argc;
	has_jemalloc = getenv("LD_PRELOAD") && access(JEMALLOC, R_OK) == 0;
#ifdef __SANITIZE_ADDRESS__	/* its malloc is the sanitizer's */
	return cmocka_run_group_tests(tests, NULL, NULL);
#endif
	if (!has_jemalloc && access(JEMALLOC, R_OK) == 0 && setenv("LD_PRELOAD", JEMALLOC, 1) == 0)
		execv("/proc/self/exe", argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
