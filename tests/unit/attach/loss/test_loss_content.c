/* SPDX-License-Identifier: MIT */
/* What lost blocks are, by what is in them (attach/loss/loss_content.h). */
#include "attach/loss/loss_content.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "attach/target/modules.h"

#define HEAP 0x30000000ull

static const char maps[] = "30000000-30010000 rw-p 00000000 00:00 0\n";

static char heap[0x10000];
static struct snapshot copy;

static int setup(void **state)
{
	(void)state;
	memset(heap, 0, sizeof(heap));
	snapshot_init(&copy);
	return procmaps_parse(maps, sizeof(maps) - 1, &copy.maps) ||
	       snapshot_add_piece(&copy, HEAP, sizeof(heap), heap) || snapshot_seal(&copy);
}

static int teardown(void **state)
{
	(void)state;
	snapshot_fini(&copy);
	return 0;
}

static void put(struct loss *l, unsigned n, uint64_t from, uint64_t size)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(loss_add(l, HEAP + from + i * 0x100, size), 0);
}

static void says(struct loss *later, const char *text)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	struct loss earlier = { 0 };
	struct loss_sum sum;

	loss_between(&earlier, later, &sum);
	assert_int_equal(loss_content_put(&sb, later, &sum, &copy, NULL), 0);
	assert_string_equal(strbuf_str(&sb), text);
	loss_fini(later);
}

/* Most bytes come first, and of each size it is said what is in it. */
static void sizes_and_what_is_in_them(void **state)
{
	struct loss lost = { 0 };

	(void)state;
	put(&lost, 20, 0x1000, 40);
	put(&lost, 1, 0x8000, 24);
	put(&lost, 3, 0x9000, 120);
	for (unsigned i = 0; i < 20; i++)
		strcpy(heap + 0x1000 + i * 0x100, "acl rule of ports");
	strcpy(heap + 0x8000, "\xff\xfe\xfd\xfc\xfb\xfa\xf9\xf8");
	says(&lost, "20 of 40 bytes (text: \"acl rule of ports\"), 3 of 120 (zeros), 1 of 24");
}

static void nothing_is_nothing(void **state)
{
	struct loss lost = { 0 };

	(void)state;
	says(&lost, "");
}

static void without_a_copy(void **state)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	struct loss earlier = { 0 }, later = { 0 };
	struct loss_sum sum;

	(void)state;
	put(&later, 2, 0x1000, 40);
	put(&later, 1, 0x8000, 24);
	loss_between(&earlier, &later, &sum);
	assert_int_equal(loss_content_put(&sb, &later, &sum, NULL, NULL), 0);
	assert_string_equal(strbuf_str(&sb), "2 of 40 bytes, 1 of 24");
	loss_fini(&later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sizes_and_what_is_in_them, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_nothing, setup, teardown),
		cmocka_unit_test(without_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
