/* SPDX-License-Identifier: MIT */
/*
 * formats: their alternatives in order, listed in a sentence; and a format that lacks a report gives the
 * reason.
 */
#include "report/formats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_list(report_format_is *is, const char *last, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	report_formats_list(&sb, is, last);
	assert_string_equal(strbuf_str(&sb), want);
	strbuf_fini(&sb);
}

static bool is_no_format(const struct report_format *f)
{
	return !f;
}

static void they_are_listed_in_words(void **state)
{
	(void)state;
	assert_list(report_format_for_people, " and ", "text");
	assert_list(report_format_has_singles, " and ", "text and json");
	assert_list(report_format_of_scan, " and ", "text, json and csv");
	assert_list(report_format_of_watch, " or ", "text, json, csv or folded");
	assert_list(is_no_format, " and ", "");
	assert_string_equal(REPORT_FORMAT_ALTERNATIVES, "text|json|csv|folded");
}

/* --format finds a format by its place in the list. */
static void alternatives_are_in_the_order_of_the_formats(void **state)
{
	const char *at = REPORT_FORMAT_ALTERNATIVES;

	(void)state;
	assert_ptr_equal(REPORT_FORMAT_DEFAULT, &report_format_text);
	for (size_t i = 0; report_formats[i]; i++) {
		size_t n = strcspn(at, "|");

		assert_int_equal(strlen(report_formats[i]->name), n);
		assert_memory_equal(report_formats[i]->name, at, n);
		at += n + (at[n] == '|');
	}
	assert_string_equal(at, "");
}

static void what_one_lacks_has_a_reason(void **state)
{
	(void)state;
	for (size_t i = 0; report_formats[i]; i++)
		if (!report_formats[i]->watch || !report_formats[i]->diff || !report_formats[i]->scan)
			assert_non_null(report_formats[i]->why_not);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_listed_in_words),
		cmocka_unit_test(alternatives_are_in_the_order_of_the_formats),
		cmocka_unit_test(what_one_lacks_has_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
