/* SPDX-License-Identifier: MIT */
/* strbuf: growth, sticky out-of-memory errors, and escapes that are safe against hostile names. */
#include "base/strbuf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void grows(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	assert_string_equal(strbuf_str(&sb), "");
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&sb, "%03d", i);
	assert_int_equal(sb.len, 3000);
	assert_int_equal(strlen(strbuf_str(&sb)), 3000);
	assert_memory_equal(sb.s + 2997, "999", 4);
	strbuf_reset(&sb);
	strbuf_pad(&sb, ' ', 3);
	strbuf_putc(&sb, 'x');
	strbuf_append(&sb, NULL, 0);
	assert_string_equal(strbuf_str(&sb), "   x");
	strbuf_fini(&sb);
	assert_string_equal(strbuf_str(&sb), "");
}

static void gives_away(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	char *s = strbuf_steal(&sb);
	assert_string_equal(s, "");
	free(s);
	strbuf_puts(&sb, "abc");
	s = strbuf_steal(&sb);
	assert_string_equal(s, "abc");
	assert_string_equal(strbuf_str(&sb), "");
	free(s);
}

static void want_of_memory_is_sticky(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	strbuf_puts(&sb, "kept");
	strbuf_pad(&sb, 'x', SIZE_MAX / 2);
	assert_int_equal(strbuf_error(&sb), -ENOMEM);
	strbuf_puts(&sb, "ignored");
	assert_string_equal(strbuf_str(&sb), "kept");
	assert_null(strbuf_steal(&sb));
	assert_int_equal(strbuf_error(&sb), 0);
}

struct escape {
	const char *in, *out;
};

static void check(void (*escape)(struct strbuf *, const char *), const struct escape *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct strbuf sb = STRBUF_INIT;
		escape(&sb, e[i].in);
		assert_string_equal(strbuf_str(&sb), e[i].out);
		strbuf_fini(&sb);
	}
}

#define FFFD "\xef\xbf\xbd"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void json_controls(void **state)
{
	static const struct escape e[] = {
		{ "\xc2\x9b"
		  "2J",
		  "\"\\u009b2J\"" },
		{ "\xe2\x80\xae", "\"\\u202e\"" },
		{ "\xe2\x80\x8b\xef\xbb\xbf", "\"\\u200b\\ufeff\"" },
		{ "\xe2\x80\xa8", "\"\\u2028\"" },
		{ "\xc2\xa0\xe2\x82\xac", "\"\xc2\xa0\xe2\x82\xac\"" },
	};

	(void)state;
	check(strbuf_json, e, COUNT(e));
}

static void json(void **state)
{
	static const struct escape e[] = {
		{ NULL, "null" },
		{ "", "\"\"" },
		{ "a\"b\\c/", "\"a\\\"b\\\\c/\"" },
		{ "\n\t\r\x01\x7f", "\"\\n\\t\\u000d\\u0001\\u007f\"" },
		{ "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8d\xba",
		  "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8d\xba\"" },
		{ "\xff", "\"" FFFD "\"" },
		{ "a\xc3", "\"a" FFFD "\"" }, /* cut off */
		{ "\xe2\x82", "\"" FFFD FFFD "\"" },
		{ "\xc0\x80", "\"" FFFD FFFD "\"" }, /* overlong */
		{ "\xe0\x80\x80", "\"" FFFD FFFD FFFD "\"" },
		{ "\xed\xa0\x80", "\"" FFFD FFFD FFFD "\"" }, /* surrogate */
		{ "\xf4\x90\x80\x80", "\"" FFFD FFFD FFFD FFFD "\"" }, /* above U+10FFFF */
		{ "\xf0\x80\x80\x80", "\"" FFFD FFFD FFFD FFFD "\"" },
	};

	(void)state;
	check(strbuf_json, e, COUNT(e));
}

static void text(void **state)
{
	static const struct escape e[] = {
		{ NULL, "" },
		{ "plain \xc3\xbc", "plain \xc3\xbc" },
		{ "\x1b[2J", "\\x1b[2J" },
		{ "a\nb\x7f", "a\\x0ab\\x7f" },
		{ "\xc2\x9b", "\\xc2\\x9b" },			/* CSI in one character */
		{ "\xe2\x80\xae" "evil", "\\xe2\\x80\\xae" "evil" },	/* right to left from here */
		{ "\xff", "\\xff" },
	};

	(void)state;
	check(strbuf_text, e, COUNT(e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),
		cmocka_unit_test(gives_away),
		cmocka_unit_test(want_of_memory_is_sticky),
		cmocka_unit_test(json),
		cmocka_unit_test(json_controls),
		cmocka_unit_test(text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
