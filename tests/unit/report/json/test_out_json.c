/* SPDX-License-Identifier: MIT */
/*
 * out_json: compared byte for byte where that is easy. With the argument "print" it prints the example, which
 * tests/test_report.py then parses.
 */
#include "report/json/out_json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/refs_example.h"
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

/* Each object has its counts in the order of the call sites. */
static void object_example(struct summary *s)
{
	struct summary_use taken = example_use(1, 4, 2, 4, 4, in_leaky, 3),
			   dropped = example_use(2, 2, 2, 0, 0, in_done, 1);
	uint64_t counts[][2] = { { 1, 0 }, { 3, 2 } };
	struct summary_object all[] = { { 0x7f0a00001010, 1, counts[0] }, { 0x7f0a00001080, 2, counts[1] } };

	families_example(s);
	s->per_object = true;
	summary_add_refs(s, &(struct summary_refs){ .family = "dict",
						    .objects = 2,
						    .net = 1,
						    .acquired = &taken,
						    .nacquired = 1,
						    .released = &dropped,
						    .nreleased = 1,
						    .all = all,
						    .nall = 2 });
	summary_sort(s);
}

static int print_example(void (*make)(struct summary *s))
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	make(&s);
	int err = out_json(&s, 0, &sb);
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
		cmocka_unit_test(a_start_that_cannot_be),
	};

	if (argc > 1 && !strcmp(argv[1], "print"))
		return print_example(report_example);
	if (argc > 1 && !strcmp(argv[1], "print-refs"))
		return print_example(object_example);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
