/* SPDX-License-Identifier: MIT */
/*
 * out_json: byte for byte for what is easily said so. With the argument
 * "print" it prints the example, which tests/test_report.py then parses.
 */
#include "report/out_json.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/report_example.h"

static void empty_lists(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	(void)state;
	summary_init(&s);
	assert_int_equal(out_json(&s, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb), "\"schema\": 1}"));
	assert_non_null(strstr(strbuf_str(&sb), "\"cmdline\": []"));
	assert_non_null(strstr(strbuf_str(&sb), "\"lost\": {}"));
	assert_non_null(strstr(strbuf_str(&sb), "\"groups\": [],\n\"refs\": [],\n\"notes\": []}\n"));
	strbuf_fini(&sb);
	summary_fini(&s);
}

static void no_infinity(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	(void)state;
	summary_init(&s);
	s.run.seconds = (double)INFINITY;
	s.run.stopped_seconds = (double)NAN;
	assert_int_equal(out_json(&s, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb), "\"seconds\": 0.000000"));
	assert_non_null(strstr(strbuf_str(&sb), "\"stopped_seconds\": 0.000000"));
	strbuf_fini(&sb);
	summary_fini(&s);
}

static void a_summary_with_holes_is_not_printed(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	(void)state;
	summary_init(&s);
	s.err = -ENOMEM;
	assert_int_equal(out_json(&s, &sb), -ENOMEM);
	assert_int_equal(sb.len, 0);
	summary_fini(&s);
}

static int print_example(void)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	report_example(&s);
	int err = out_json(&s, &sb);
	fputs(strbuf_str(&sb), stdout);
	strbuf_fini(&sb);
	summary_fini(&s);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_lists),
		cmocka_unit_test(no_infinity),
		cmocka_unit_test(a_summary_with_holes_is_not_printed),
	};

	if (argc > 1 && !strcmp(argv[1], "print"))
		return print_example();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
