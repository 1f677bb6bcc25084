/* SPDX-License-Identifier: MIT */
/*
 * out_html: nothing of a report can be markup, and nothing but the page's own style and script may run. That the
 * page works is for tests/test_html.py.
 */
#include "report/html/out_html.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/html/html_page.h"
#include "tests/unit/report_example.h"

#define LARGEST (150 * 1000)
#define DATA "<script type=\"application/json\" id=\"report\">\n"

/* The data, NUL-terminated; the caller frees it. */
static char *data_of(struct summary *s)
{
	struct strbuf sb = STRBUF_INIT;
	char *data;

	assert_int_equal(out_html(s, 0, &sb), 0);
	assert_memory_equal(sb.s, html_page_before, html_page_before_size);
	assert_true(sb.len > html_page_before_size + html_page_behind_size);
	assert_string_equal(sb.s + sb.len - html_page_behind_size, html_page_behind);
	data = strndup(sb.s + html_page_before_size, sb.len - html_page_before_size - html_page_behind_size);
	assert_non_null(data);
	strbuf_fini(&sb);
	summary_fini(s);
	return data;
}

static void assert_has(const char *data, const char *want)
{
	if (!strstr(data, want))
		fail_msg("no %s in %s", want, data);
}

static size_t times(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

static void the_page_is_small(void **state)
{
	(void)state;
	assert_true(html_page_before_size + html_page_behind_size < LARGEST);
}

/* The parts that make puts together; the policy is in front of what it is about. */
static void the_page_has_its_parts(void **state)
{
	const char *before = html_page_before, *end = before + html_page_before_size - strlen(DATA);
	const char *policy = strstr(before, "default-src 'none'; script-src 'sha256-");

	(void)state;
	assert_non_null(policy);
	assert_true(policy < strstr(before, "<style>"));
	assert_null(strstr(before, "_HASH@"));
	assert_string_equal(end, DATA);
	assert_int_equal(strncmp(html_page_behind, "</script>\n<script>\n\"use strict\";\n",
				 strlen("</script>\n<script>\n\"use strict\";\n")), 0);
	assert_int_equal(times(html_page_behind, "<script"), 1);
	assert_int_equal(times(html_page_behind, "</script>"), 2);
}

static void the_example(void **state)
{
	struct summary s;
	char *data;

	(void)state;
	report_example(&s);
	data = data_of(&s);
	assert_int_equal(strncmp(data, "{\"mmattach\": {", strlen("{\"mmattach\": {")), 0);
	assert_string_equal(data + strlen(data) - 2, "}\n");
	assert_has(data, "\"answer\": [");
	assert_has(data, "\"stack\": [0,1,2]");
	assert_has(data, "\"bytes_allocated\": ");
	assert_has(data, "keep\\u003cint\\u003e");
	assert_null(strpbrk(data, "<>&"));
	free(data);
}

static void names_are_never_markup(void **state)
{
	struct summary_frame frame = { .function = "</script><script>alert(1)</script><!--&amp;" };
	struct summary s;
	char *data;

	(void)state;
	summary_init(&s);
	s.target.comm = "<b>";
	summary_add_group(&s, &(struct summary_group){ .bytes = 5, .tag = "]]>", .stack = { &frame, 1 } });
	data = data_of(&s);
	assert_null(strpbrk(data, "<>&"));
	assert_has(data, "\\u003c/script\\u003e\\u003cscript\\u003ealert(1)");
	assert_has(data, "\\u0026amp;");
	free(data);
}

/* The ends of a level line are kept, and where it is left. */
static void series_are_as_short_as_can_be(void **state)
{
	struct growth_point series[] = { { 1, 0, 0 }, { 2, 0, 0 }, { 3, 0, 0 }, { 4, 7, 0 }, { 5, 7, 0 }, { 6, 7, 0 }, { 7, 7, 0 } };
	struct summary s;
	char *data;

	(void)state;
	summary_init(&s);
	summary_add_group(&s, &(struct summary_group){ .bytes = 7, .series = series, .npoints = 7 });
	data = data_of(&s);
	assert_has(data, "\"series\": [[1,0],[3,0],[4,7],[7,7]]");
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_is_small),
		cmocka_unit_test(the_page_has_its_parts),
		cmocka_unit_test(the_example),
		cmocka_unit_test(names_are_never_markup),
		cmocka_unit_test(series_are_as_short_as_can_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
