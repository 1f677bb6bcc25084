/* SPDX-License-Identifier: MIT */
/*
 * formats: their alternatives in order, listed in a sentence; a format that lacks a report gives the reason; and
 * what all have in common. With the name of a format it prints the example run, or the one that is named behind it;
 * tests and goldens read these.
 */
#include "report/formats.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/model/summary.h"
#include "tests/unit/refs_example.h"
#include "tests/unit/report_example.h"

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
	assert_list(report_format_has_singles, " and ", "text, json and html");
	assert_list(report_format_of_scan, " and ", "text, json, csv and html");
	assert_list(report_format_of_watch, " or ", "text, json, csv, folded, html, pprof, speedscope, massif, heaptrack, valgrind or openmetrics");
	assert_list(is_no_format, " and ", "");
	assert_string_equal(REPORT_FORMAT_ALTERNATIVES, "text|json|csv|folded|html|pprof|speedscope|massif|heaptrack|valgrind|openmetrics");
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

/* An incomplete report would be believed. */
static void a_summary_with_holes_is_not_printed(void **state)
{
	(void)state;
	for (size_t i = 0; report_formats[i]; i++) {
		struct strbuf sb = STRBUF_INIT;
		struct summary s;

		report_example(&s);
		s.err = -ENOMEM;
		assert_int_equal(report_formats[i]->watch(&s, 0, &sb), -ENOMEM);
		assert_int_equal(sb.len, 0);
		strbuf_fini(&sb);
		summary_fini(&s);
	}
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

static void only_references(struct summary *s)
{
	summary_init(s);
	refs_example_run(s);
}

static const struct {
	const char *name;
	void (*make)(struct summary *s);
} examples[] = {
	{ "", report_example },
	{ "empty", summary_init },	/* nothing was seen */
	{ "refs", only_references },
	{ "families", families_example },
	{ "objects", object_example },
};

static int print_example(const char *name, const char *which)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;
	size_t example = 0;
	int err = 1;

	while (strcmp(examples[example].name, which) != 0)
		if (++example == sizeof(examples) / sizeof(*examples))
			return 1;
	examples[example].make(&s);
	for (size_t i = 0; report_formats[i]; i++)
		if (!strcmp(report_formats[i]->name, name))
			err = report_formats[i]->watch(&s, 0, &sb);
	fwrite(strbuf_str(&sb), 1, sb.len, stdout);
	strbuf_fini(&sb);
	summary_fini(&s);
	return err ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_listed_in_words),
		cmocka_unit_test(alternatives_are_in_the_order_of_the_formats),
		cmocka_unit_test(what_one_lacks_has_a_reason),
		cmocka_unit_test(a_summary_with_holes_is_not_printed),
	};

	if (argc > 1)
		return print_example(argv[1], argc > 2 ? argv[2] : "");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
