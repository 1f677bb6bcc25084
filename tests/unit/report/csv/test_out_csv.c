/* SPDX-License-Identifier: MIT */
/* out_csv: no name can break a line or a cell, or be a formula. */
#include "report/csv/out_csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/report_example.h"

static void cell(const char *name, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_csv(&sb, name);
	assert_string_equal(strbuf_str(&sb), want);
	strbuf_fini(&sb);
}

static void cells_are_safe(void **state)
{
	(void)state;
	cell(NULL, "\"\"");
	cell("", "\"\"");
	cell("f<a, b>(\"x\")", "\"f<a, b>(\"\"x\"\")\"");
	cell("a\r\nb\tc\x01", "\"a\\x0d\\x0ab\\x09c\\x01\"");
	cell("\xff\xc3\xbc", "\"\\xff\xc3\xbc\"");
	cell("=1+1", "\"'=1+1\"");
	cell("+f", "\"'+f\"");
	cell("-[NSObject init]", "\"'-[NSObject init]\"");
	cell("@SUM(A1)", "\"'@SUM(A1)\"");
	cell("  =1", "\"'  =1\"");
	cell("   ", "\"   \"");
	cell("operator=", "\"operator=\"");
	cell("\"=1", "\"\"\"=1\"");
}

static void a_line_for_each_group(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;
	size_t lines = 0;

	(void)state;
	report_example(&s);
	assert_int_equal(out_csv(&s, 0, &sb), 0);
	for (size_t i = 0; i < sb.len; i++) {
		lines += sb.s[i] == '\n';
		assert_true(sb.s[i] != '\n' || sb.s[i - 1] == '\r');
	}
	assert_int_equal(lines, 1 + s.ngroups);
	assert_non_null(strstr(strbuf_str(&sb), "\r\n3,\"libc\",\"\",1,1.000000,1.000000,24,24.000000,24.000000,24,1,0,"));
	assert_non_null(strstr(strbuf_str(&sb), ",\"\",\"whole\",\"\",\"\",0,\"\",\"\",\"\",\"(no stack)\",\"unknown\",1,24,0.000021518,"
						"\"unknown\",0.000000,,,,,,,\r\n"));
	strbuf_fini(&sb);
	summary_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_are_safe),
		cmocka_unit_test(a_line_for_each_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
