/* SPDX-License-Identifier: MIT */
/* sampling_check: which rules a watch with a budget refuses, and why. */
#include "attach/sampling/sampling_check.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "attach/rules/rulefile.h"

#define FAMILY "family some\n"

/* What is said of the rules in @text, which are of @pack; NULL: the user's own. */
static int check(const char *pack, const char *text)
{
	struct ruleset rs = { 0 };
	struct rulefile_error err;
	int r;

	if (ruleset_add_text(&rs, "test", pack, text, strlen(text), &err))
		fail_msg("%s", err.text);
	r = sampling_check_rules(&rs);
	ruleset_fini(&rs);
	return r;
}

static void what_gives_out_blocks_of_malloc(void **state)
{
	(void)state;
	assert_int_equal(check(NULL, FAMILY "alloc get size=arg1\nfree put\n"), 0);
	assert_int_equal(check("libc", FAMILY "alloc get size=arg1\nrealloc change size=arg2\nfree put\n"), 0);
	assert_int_equal(check("glusterfs", FAMILY "realloc change size=arg2\n"), 0);
	/* a condition on what is freed does not matter: frees are not counted */
	assert_int_equal(check(NULL, FAMILY "alloc get size=arg1\nfree put if=arg1!=0\n"), 0);
}

static void blocks_that_are_none_of_malloc(void **state)
{
	static const char *const packs[] = { "dpdk", "mmap", "python" };

	(void)state;
	for (size_t i = 0; i < sizeof(packs) / sizeof(*packs); i++)
		assert_int_equal(check(packs[i], FAMILY "alloc get size=arg1\nfree put\n"), -EINVAL);
}

static void calls_of_which_more_is_needed_than_their_result(void **state)
{
	static const char two[] = FAMILY "alloc get size=arg1\nalloc other ptr=*arg1 size=arg2\n";

	(void)state;
	assert_int_equal(check(NULL, FAMILY "alloc get ptr=*arg1 size=arg2\n"), -EINVAL);
	assert_int_equal(check(NULL, FAMILY "alloc get size=arg1 if=arg2!=0\n"), -EINVAL);
	assert_int_equal(check(NULL, FAMILY "alloc get size=arg1\nin begin\n"), -EINVAL);
	/* those of a pack are left out, and a note says so */
	assert_int_equal(check(NULL, two), -EINVAL);
	assert_int_equal(check("libc", two), 0);
}

static void nothing_to_watch(void **state)
{
	(void)state;
	assert_int_equal(check(NULL, FAMILY "free put\n"), -EINVAL);
	assert_int_equal(check(NULL, "family some refs\nref get\nunref put\n"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_gives_out_blocks_of_malloc),
		cmocka_unit_test(blocks_that_are_none_of_malloc),
		cmocka_unit_test(calls_of_which_more_is_needed_than_their_result),
		cmocka_unit_test(nothing_to_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
