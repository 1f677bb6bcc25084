/* SPDX-License-Identifier: MIT */
/* wrap: where lines are broken, what stays as it is. */
#include "report/text/groups/wrap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define WIDTH 20
#define INDENT 6

static void assert_wrapped(const char *lines, const char *expected)
{
	struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;

	strbuf_puts(&in, lines);
	wrap(&out, &in, WIDTH, INDENT);
	assert_int_equal(strbuf_error(&out), 0);
	assert_string_equal(strbuf_str(&out), expected);
	strbuf_fini(&in);
	strbuf_fini(&out);
}

static void what_fits_stays(void **state)
{
	(void)state;
	assert_wrapped("", "");
	assert_wrapped("\n\n", "\n\n");
	assert_wrapped("  abc one  two three\n", "  abc one  two three\n");
	assert_wrapped("  abc\n  def  x\n", "  abc\n  def  x\n");
}

static void long_lines_go_on_below(void **state)
{
	(void)state;
	assert_wrapped("  abc one two three four\n", "  abc one two three\n      four\n");
	assert_wrapped("  abc one two three four five six seven eight nine\n  def\n",
		       "  abc one two three\n      four five six\n      seven eight\n      nine\n  def\n");
	/* blanks between words stay, but where a line is broken */
	assert_wrapped("         12  alloc  malloc\n", "         12  alloc\n      malloc\n");
	assert_wrapped("  abc one two    three   four\n", "  abc one two\n      three   four\n");
}

/* The first word is behind its label, however long; nothing is broken within. */
static void words_longer_than_a_line(void **state)
{
	(void)state;
	assert_wrapped("  abc /a/path/that/is/long/as/it/is\n", "  abc /a/path/that/is/long/as/it/is\n");
	assert_wrapped("  abc /a/path/that/is/long/as/it/is and more\n",
		       "  abc /a/path/that/is/long/as/it/is\n      and more\n");
	assert_wrapped("  abc see /a/path/that/is/long/as/it/is and\n",
		       "  abc see\n      /a/path/that/is/long/as/it/is\n      and\n");
	assert_wrapped("averyveryverylonglabel text\n", "averyveryverylonglabel\n      text\n");
}

static void no_line_ends_in_a_blank(void **state)
{
	(void)state;
	assert_wrapped("  abc   \n", "  abc\n");
	assert_wrapped("      \n", "\n");
	assert_wrapped("  abc one two three      \n", "  abc one two three\n");
	assert_wrapped("  abc one two three              four   \n", "  abc one two three\n      four\n");
}

/* A character is as wide as another, whatever it takes in UTF-8. */
static void characters_not_bytes(void **state)
{
	(void)state;
	assert_wrapped("  \xc3\xa4\xc3\xb6\xc3\xbc \xe2\x82\xac\xe2\x82\xac\xe2\x82\xac two three\n",
		       "  \xc3\xa4\xc3\xb6\xc3\xbc \xe2\x82\xac\xe2\x82\xac\xe2\x82\xac two three\n");
	assert_wrapped(
		"  \xc3\xa4\xc3\xb6\xc3\xbc \xe2\x82\xac\xe2\x82\xac\xe2\x82\xac two three x\n",
		"  \xc3\xa4\xc3\xb6\xc3\xbc \xe2\x82\xac\xe2\x82\xac\xe2\x82\xac two three\n      x\n");
}

static void an_error_is_handed_on(void **state)
{
	struct strbuf in = STRBUF_INIT, out = STRBUF_INIT;

	(void)state;
	in.err = -ENOMEM;
	wrap(&out, &in, WIDTH, INDENT);
	assert_int_equal(strbuf_error(&out), -ENOMEM);
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_stays),
		cmocka_unit_test(long_lines_go_on_below),
		cmocka_unit_test(words_longer_than_a_line),
		cmocka_unit_test(no_line_ends_in_a_blank),
		cmocka_unit_test(characters_not_bytes),
		cmocka_unit_test(an_error_is_handed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
