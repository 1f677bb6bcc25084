/* SPDX-License-Identifier: MIT */
/*
 * refowners: which module a call site belongs to: with the library in between, without another module,
 * without any.
 */
#include "report/refs/refowners.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LIBRARY "/usr/lib/libglusterfs.so.0"
#define OTHER "/usr/lib/libother.so"

static struct summary_frame frame(const char *module)
{
	return (struct summary_frame){ .module = module };
}

static struct ledger_probe probes[] = {
	{ .family = 3, .module = LIBRARY }, { .family = 3, .module = NULL }, { .family = 4, .module = OTHER },
};
static struct ledger ledger = { .probes = probes, .nprobes = 3 };
static struct refowners owners;

static int setup(void **state)
{
	(void)state;
	refowners_init(&owners, &ledger, 3);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	refowners_fini(&owners);
	return 0;
}

/* NULL: not known. */
static const char *owner(const struct summary_frame *frames, size_t n, size_t wrappers)
{
	uint32_t number = 99;
	const struct stack_view stack = { .frames = (struct summary_frame *)frames, .depth = n,
					  .wrappers = wrappers };

	assert_int_equal(refowners_find(&owners, &stack, &number), 0);
	assert_true(number < owners.n);
	return owners.all[number];
}

static void the_library_takes_for_its_caller(void **state)
{
	const struct summary_frame frames[] = { frame(LIBRARY), frame(LIBRARY), frame("/x/leaky.so"),
						frame(LIBRARY), frame("/x/fuse.so") };

	(void)state;
	assert_string_equal(owner(frames, 5, 0), "/x/leaky.so");
	assert_string_equal(owner(&frames[2], 3, 0), "/x/leaky.so");
	assert_string_equal(owner(&frames[2], 3, 1), "/x/fuse.so");
}

static void watched_for_another_family(void **state)
{
	const struct summary_frame frames[] = { frame(OTHER), frame("/x/leaky.so") };

	(void)state;
	assert_string_equal(owner(frames, 2, 0), OTHER);
}

static void nobody_else(void **state)
{
	const struct summary_frame frames[] = { frame(LIBRARY), frame(LIBRARY) };

	(void)state;
	assert_string_equal(owner(frames, 2, 0), LIBRARY);
	assert_null(owner(frames, 0, 0));
}

/* Code of no file is a caller as well: it is not passed over. */
static void code_of_no_file(void **state)
{
	const struct summary_frame frames[] = { frame(LIBRARY), frame(NULL), frame("/x/fuse.so") };

	(void)state;
	assert_null(owner(frames, 3, 0));
}

static void the_same_number_for_the_same(void **state)
{
	char again[] = "/x/leaky.so";
	const struct summary_frame frames[] = { frame("/x/leaky.so"), frame("/x/fuse.so"), frame(again),
						frame(NULL), frame(NULL) };
	uint32_t numbers[5];

	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(refowners_find(&owners,
						&(struct stack_view){
							.frames = (struct summary_frame *)&frames[i],
							.depth = 1 },
						&numbers[i]),
				 0);
	assert_int_equal(numbers[0], numbers[2]);
	assert_int_equal(numbers[3], numbers[4]);
	assert_int_not_equal(numbers[0], numbers[1]);
	assert_int_equal(owners.n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_library_takes_for_its_caller, setup, teardown),
		cmocka_unit_test_setup_teardown(watched_for_another_family, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_else, setup, teardown),
		cmocka_unit_test_setup_teardown(code_of_no_file, setup, teardown),
		cmocka_unit_test_setup_teardown(the_same_number_for_the_same, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
