/* SPDX-License-Identifier: MIT */
/* out_json: compared byte for byte where that is easy; tests/test_report.py reads what test_formats prints. */
#include "report/json/out_json.h"

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
	assert_int_equal(out_json(&s, 0, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb), "\"schema\": 1}"));
	assert_non_null(strstr(strbuf_str(&sb), "\"cmdline\": []"));
	assert_non_null(strstr(strbuf_str(&sb), "\"lost\": {}"));
	assert_non_null(
		strstr(strbuf_str(&sb),
		       "\"groups\": [],\n\"refs\": [],\n\"families\": [],\n\"rows\": [],\n\"ref_rows\": [],\n\"double_frees\": [],\n"));
	assert_non_null(strstr(strbuf_str(&sb), "\"suppressions_used\": [],\n\"notes\": []}\n"));
	strbuf_fini(&sb);
	summary_fini(&s);
}

static void no_infinity(void **state)
{
	struct growth_point point = { (double)NAN, 1, 0 };
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	(void)state;
	summary_init(&s);
	s.run.seconds = (double)INFINITY;
	s.run.stopped_seconds = (double)NAN;
	summary_add_group(
		&s, &(struct summary_group){ .series = &point,
					     .npoints = 1,
					     .growth = { GROWTH_GROWS, (double)INFINITY, (double)NAN } });
	assert_int_equal(out_json(&s, 0, &sb), 0);
	assert_non_null(strstr(
		strbuf_str(&sb),
		"\"bytes_per_minute\": 0.000000, \"between\": [null, null], \"since_s\": 0.000000, \"replaced_per_minute\": 0.000000}, \"series\": [[0.000000, 1]]"));
	assert_non_null(strstr(strbuf_str(&sb), "\"seconds\": 0.000000"));
	assert_non_null(strstr(strbuf_str(&sb), "\"stopped_s\": 0.000000"));
	strbuf_fini(&sb);
	summary_fini(&s);
}

/* Before 1970, as a damaged trace may have it. */
static void a_start_that_cannot_be(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	(void)state;
	summary_init(&s);
	s.run.start_ns = -1;
	assert_int_equal(out_json(&s, 0, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb), "\"start\": \"1970-01-01T00:00:00.000Z\""));
	s.run.start_ns = -1000000;
	strbuf_reset(&sb);
	assert_int_equal(out_json(&s, 0, &sb), 0);
	assert_non_null(strstr(strbuf_str(&sb), "\"start\": \"1969-12-31T23:59:59.999Z\""));
	strbuf_fini(&sb);
	summary_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_lists),
		cmocka_unit_test(no_infinity),
		cmocka_unit_test(a_start_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
