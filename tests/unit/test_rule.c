/* SPDX-License-Identifier: MIT */
/* rule: what is parsed, what is refused and where, and back to text. */
#include "attach/probes/rule.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct rule parsed(const char *text)
{
	struct rule_error err = { 0 };
	struct rule r;

	if (rule_parse(text, &r, &err))
		fail_msg("\"%s\": column %zu: %s", text, err.column, err.message);
	return r;
}

static void assert_value(struct rule_value v, enum rule_value_kind kind, int a, int b)
{
	assert_int_equal(v.kind, kind);
	assert_int_equal(v.a, a);
	assert_int_equal(v.b, b);
}

static void test_defaults(void **state)
{
	struct rule r = parsed("alloc malloc");

	(void)state;
	assert_int_equal(r.op, RULE_ALLOC);
	assert_int_equal(r.where, WHERE_NAME);
	assert_string_equal(r.name, "malloc");
	assert_value(r.ptr, VALUE_RET, 0, 0);
	assert_value(r.size, VALUE_NONE, 0, 0);
	assert_false(r.if_ret_zero);
	assert_false(r.builtin);
	assert_value(parsed("free f").ptr, VALUE_ARG, 1, 0);
	assert_value(parsed("realloc r").old, VALUE_ARG, 1, 0);
	assert_value(parsed("realloc r").ptr, VALUE_RET, 0, 0);
}

static void test_values(void **state)
{
	struct rule r = parsed("  alloc\tposix_memalign  if=ret==0 size=arg3 ptr=*arg1 \n");

	(void)state;
	assert_value(r.ptr, VALUE_LOAD, 1, 0);
	assert_value(r.size, VALUE_ARG, 3, 0);
	assert_true(r.if_ret_zero);
	assert_value(parsed("alloc c size=arg6*arg2").size, VALUE_PRODUCT, 6, 2);
	assert_value(parsed("free f ptr=arg4").ptr, VALUE_ARG, 4, 0);
	assert_value(parsed("realloc f old=arg2 size=arg3").old, VALUE_ARG, 2, 0);
}

static void test_places(void **state)
{
	struct rule r = parsed("free 0x7fff12AB");

	(void)state;
	assert_int_equal(r.where, WHERE_ADDRESS);
	assert_int_equal(r.addr, 0x7fff12ab);
	r = parsed("alloc libstdc++.so.6+0x1f0 size=arg1");
	assert_int_equal(r.where, WHERE_OFFSET);
	assert_string_equal(r.name, "libstdc++.so.6");
	assert_int_equal(r.addr, 0x1f0);
	r = parsed("from 0xffffffffffffffff");
	assert_true(r.addr == UINT64_MAX);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		size_t column;
		const char *word;	/* in the message */
	} cases[] = {
		{ "", 1, "alloc" },
		{ "   ", 4, "alloc" },
		{ "allocate malloc", 1, "alloc" },
		{ "ref dict_ref obj=arg1", 1, "alloc" },
		{ "alloc", 6, "function" },
		{ "alloc size=arg1", 7, "function" },
		{ "alloc malloc arg1", 14, "KEY=VALUE" },
		{ "alloc malloc size=", 19, "argN" },
		{ "alloc malloc size=arg0", 19, "argN" },
		{ "alloc malloc size=arg7", 19, "argN" },
		{ "alloc malloc size=arg12", 19, "argN" },
		{ "alloc malloc size=arg1*", 19, "argN" },
		{ "alloc malloc size=*arg1", 19, "argN" },
		{ "alloc malloc size=ret", 19, "argN" },
		{ "alloc malloc ptr=arg1", 18, "*argN" },
		{ "alloc malloc size=arg1 size=arg2", 24, "twice" },
		{ "alloc malloc old=arg1", 14, "no old=" },
		{ "free free size=arg1", 11, "no size=" },
		{ "free free ptr=ret", 15, "argN" },
		{ "free free if=ret==0", 14, "alloc" },
		{ "from f ptr=arg1", 8, "no ptr=" },
		{ "alloc pm ptr=*arg1 if=ret==1", 23, "ret==0" },
		{ "alloc malloc if=ret==0", 1, "ptr=*argN" },
		{ "free 0x", 6, "hexadecimal" },
		{ "free 0x12345678123456789", 6, "hexadecimal" },
		{ "free 0x12g", 6, "hexadecimal" },
		{ "free lib.so+12", 12, "+0xOFFSET" },
		{ "free +0x12", 6, "+0xOFFSET" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rule_error err = { 0 };
		struct rule r;

		if (rule_parse(cases[i].text, &r, &err) != -EINVAL || err.column != cases[i].column ||
		    !strstr(err.message, cases[i].word))
			fail_msg("\"%s\": column %zu, \"%s\"", cases[i].text, err.column, err.message);
	}
}

static void test_long_name(void **state)
{
	char text[300] = "free ";
	struct rule_error err;
	struct rule r;

	(void)state;
	memset(text + 5, 'x', RULE_NAME_MAX - 1);
	assert_int_equal(rule_parse(text, &r, &err), 0);
	assert_int_equal(strlen(r.name), RULE_NAME_MAX - 1);
	text[5 + RULE_NAME_MAX - 1] = 'x';
	assert_int_equal(rule_parse(text, &r, &err), -EINVAL);
}

static void test_format(void **state)
{
	static const struct {
		const char *text, *formatted;
	} cases[] = {
		{ "alloc malloc size=arg1", "alloc malloc size=arg1" },
		{ "alloc  malloc ptr=ret", "alloc malloc" },
		{ "alloc c size=arg1*arg2", "alloc c size=arg1*arg2" },
		{ "alloc p if=ret==0 size=arg3 ptr=*arg1", "alloc p ptr=*arg1 size=arg3 if=ret==0" },
		{ "free f ptr=arg1", "free f" },
		{ "realloc r old=arg2 size=arg3", "realloc r old=arg2 size=arg3" },
		{ "until 0xAB", "until 0xab" },
		{ "from a.so+0x10", "from a.so+0x10" },
	};
	char buf[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rule r = parsed(cases[i].text);

		assert_int_equal(rule_format(&r, buf, sizeof(buf)), strlen(cases[i].formatted));
		assert_string_equal(buf, cases[i].formatted);
	}
}

static void test_format_short(void **state)
{
	struct rule r = parsed("alloc malloc size=arg1");
	char buf[8];

	(void)state;
	assert_int_equal(rule_format(&r, buf, sizeof(buf)), strlen("alloc malloc size=arg1"));
	assert_string_equal(buf, "alloc m");
}

/* The built-in rules are what their own text parses to. */
static void test_libc(void **state)
{
	size_t n;
	const struct rule *rules = rule_libc(&n);
	char buf[256];

	(void)state;
	assert_true(n >= 9);
	for (size_t i = 0; i < n; i++) {
		struct rule again;

		assert_true(rules[i].builtin);
		rule_format(&rules[i], buf, sizeof(buf));
		again = parsed(buf);
		assert_int_equal(again.op, rules[i].op);
		assert_string_equal(again.name, rules[i].name);
		assert_value(again.ptr, rules[i].ptr.kind, rules[i].ptr.a, rules[i].ptr.b);
		assert_value(again.size, rules[i].size.kind, rules[i].size.a, rules[i].size.b);
		assert_value(again.old, rules[i].old.kind, rules[i].old.a, rules[i].old.b);
		assert_int_equal(again.if_ret_zero, rules[i].if_ret_zero);
	}
}

static void test_op_names(void **state)
{
	(void)state;
	assert_string_equal(rule_op_name(RULE_ALLOC), "alloc");
	assert_string_equal(rule_op_name(RULE_UNTIL), "until");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),   cmocka_unit_test(test_values),
		cmocka_unit_test(test_places),	   cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_name),  cmocka_unit_test(test_format),
		cmocka_unit_test(test_format_short), cmocka_unit_test(test_libc),
		cmocka_unit_test(test_op_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
