/* SPDX-License-Identifier: MIT */
/* freed_sizes: which sizes are asked for, and that none is while events come faster than they are read. */
#include "attach/watch/freed_sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "attach/control/link.h"
#include "attach/target/modules.h"

#define BLOCK 0x20000u

static unsigned asked;

/* A heap in which each block begins at a multiple of 64, and has that size; above 64 KiB one is large. */
static bool born(struct block_heap *h, const struct block_hit *hit, struct block_birth *out)
{
	(void)h;
	asked++;
	*out = (struct block_birth){ .addr = hit->addr & ~63ull, .usable = hit->addr < 0x10000 ? 1u << 20 : 64 };
	return true;
}

static struct block_heap heap = { .born = born };
static struct module ours = { .lo = 0x400000 }, other = { .lo = 0x500000 };
static struct link keeper;
static struct freed_sizes sizes;

static int setup(void **state)
{
	(void)state;
	asked = 0;
	keeper.shared = calloc(1, sizeof(*keeper.shared));
	assert_non_null(keeper.shared);
	ring_init(&keeper.shared->ring, keeper.shared->ring_bytes, SHARED_RING);
	sizes = (struct freed_sizes){ .heap = &heap, .module = ours.lo, .link = &keeper };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(keeper.shared);
	return 0;
}

static void of_small_whole_blocks_of_the_allocator(void **state)
{
	(void)state;
	assert_int_equal(freed_sizes_of(&sizes, &ours, BLOCK), 64);
	assert_int_equal(freed_sizes_of(&sizes, &ours, BLOCK + 8), 0);
	assert_int_equal(freed_sizes_of(&sizes, &ours, 0x8000), 0);
	assert_int_equal(asked, 3);
	assert_int_equal(freed_sizes_of(&sizes, &other, BLOCK), 0);
	assert_int_equal(freed_sizes_of(&sizes, NULL, BLOCK), 0);
	assert_int_equal(asked, 3);
}

static void none_while_a_quarter_is_unread(void **state)
{
	struct record *r;

	(void)state;
	while (!ring_is_crowded(&keeper.shared->ring)) {
		r = ring_reserve(&keeper.shared->ring, 4096);
		assert_non_null(r);
		r->kind = RECORD_HIT;
		ring_commit(&keeper.shared->ring, r, 4096);
	}
	assert_int_equal(freed_sizes_of(&sizes, &ours, BLOCK), 0);
	assert_int_equal(asked, 0);
	while (ring_is_crowded(&keeper.shared->ring)) {
		const struct record *old = ring_peek(&keeper.shared->ring);

		assert_non_null(old);
		ring_consume(&keeper.shared->ring, old);
	}
	assert_int_equal(freed_sizes_of(&sizes, &ours, BLOCK), 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(of_small_whole_blocks_of_the_allocator, setup, teardown),
		cmocka_unit_test_setup_teardown(none_while_a_quarter_is_unread, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
