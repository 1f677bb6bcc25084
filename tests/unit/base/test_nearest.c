/* SPDX-License-Identifier: MIT */
/* nearest: what counts as one error, what is near, and which name is taken. */
#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static size_t errors(const char *a, const char *b)
{
	const size_t n = nearest_errors(a, strlen(a), b, strlen(b));

	assert_int_equal(nearest_errors(b, strlen(b), a, strlen(a)), n);
	return n;
}

static void what_is_an_error(void **state)
{
	static const char longest[] = "1234567890123456789012345678901";

	(void)state;
	assert_int_equal(errors("", ""), 0);
	assert_int_equal(errors("report", "report"), 0);
	assert_int_equal(errors("report", "reporT"), 1);
	assert_int_equal(errors("report", "repor"), 1);
	assert_int_equal(errors("report", "rreport"), 1);
	assert_int_equal(errors("report", "reprot"), 1);
	assert_int_equal(errors("report", "erport"), 1);
	assert_int_equal(errors("report", "reprt"), 1);
	assert_int_equal(errors("report", "erprot"), 2);
	assert_int_equal(errors("ca", "abc"), 3);
	assert_int_equal(errors("", "abc"), 3);
	assert_int_equal(errors(longest, longest), 0);
	assert_true(errors(longest, "12345678901234567890123456789012") == SIZE_MAX);
}

/* NULL: none is near. */
static void assert_nearest(const char *word, const char *expected)
{
	static const char *const names[] = { "no",     "yes",	      "auto",	     "report",
					     "repair", "stack-bytes", "suppressions" };
	struct nearest near = nearest_to(word, strlen(word));

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_try(&near, names[i], strlen(names[i]));
	if (!expected) {
		assert_null(near.name);
		return;
	}
	assert_non_null(near.name);
	assert_string_equal(near.name, expected);
	assert_int_equal(near.len, strlen(expected));
}

static void what_is_near(void **state)
{
	(void)state;
	assert_nearest("report", "report");
	assert_nearest("reprot", "report");
	assert_nearest("repir", "repair");
	assert_nearest("rep", "report");
	assert_nearest("re", NULL);
	assert_nearest("stack", "stack-bytes");
	assert_nearest("stakc-byte", "stack-bytes");
	assert_nearest("supressoins", "suppressions");
	assert_nearest("on", "no");
	assert_nearest("yse", "yes");
	assert_nearest("atuo", "auto");
	assert_nearest("maybe", NULL);
	assert_nearest("x", NULL);
	assert_nearest("", NULL);
	assert_nearest("reportreportreportreportreportreport", NULL);
}

/* The word is a part of a longer text, as in --show defnite,possible. */
static void a_part_of_a_text(void **state)
{
	struct nearest near = nearest_to("yse,no", 3);

	(void)state;
	nearest_try(&near, "yes|no", 3);
	assert_int_equal(near.len, 3);
	assert_string_equal(near.name, "yes|no");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_an_error),
		cmocka_unit_test(what_is_near),
		cmocka_unit_test(a_part_of_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
