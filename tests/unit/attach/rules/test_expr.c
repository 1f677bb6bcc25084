/* SPDX-License-Identifier: MIT */
/* expr: what is parsed, what it reads and evaluates to, what is refused and where, and formatting. */
#include "attach/rules/expr.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct expr_loads loads;

static struct expr parsed(const char *text)
{
	struct expr_error err = { 0 };
	struct expr e;

	loads = (struct expr_loads){ 0 };
	if (expr_parse(text, strlen(text), &e, &loads, &err))
		fail_msg("\"%s\": at %zu: %s", text, err.offset, err.message);
	return e;
}

/* Of a call f(10, 20, 30, -1, 0, 6) that returned 0x1ffffffff. */
static const struct expr_values call = { .args = { 10, 20, 30, UINT64_MAX, 0, 6 }, .ret = 0x1ffffffff };

static void test_values(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {
		{ "7", 7 },			{ "0x1F", 31 },
		{ "18446744073709551615", -1 },	{ "-0x8000000000000000", INT64_MIN },
		{ "arg1", 10 },			{ "arg6", 6 },
		{ "ret", 0x1ffffffff },		{ "-arg1", -10 },
		{ "--arg1", 10 },		{ "arg1*arg2", 200 },
		{ "1+2*3", 7 },			{ "(1+2)*3", 9 },
		{ "10-3-2", 5 },		{ "10-(3-2)", 9 },
		{ "arg1-arg2", -10 },		{ "arg2--1", 21 },
		{ "u32(ret)", 0xffffffff },	{ "i32(ret)", -1 },
		{ "i8(0x80)", -128 },		{ "u8(0x180)", 0x80 },
		{ "i16(0xffff)", -1 },		{ "u16(-1)", 0xffff },
		{ "u64(arg4)", -1 },		{ "i64(ret)", 0x1ffffffff },
		{ "arg1==10", 1 },		{ "arg1!=10", 0 },
		{ "arg4<0", 1 },		{ "arg4>0", 0 },
		{ "arg1<=10", 1 },		{ "arg1>=11", 0 },
		{ "1<2==1", 1 },		{ "6&3", 2 },
		{ "6&2==2", 0 },		{ "(6&2)==2", 1 },
		{ "i32(ret)>=0", 0 },		{ "arg1+1<arg2*2", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct expr e = parsed(cases[i].text);
		uint64_t value;

		assert_true(expr_eval(&e, &loads, &call, &value));
		if (value != (uint64_t)cases[i].value)
			fail_msg("%s: %#lx", cases[i].text, (unsigned long)value);
		assert_int_equal(loads.n, 0);
	}
}

static void assert_load(unsigned i, struct expr_load want)
{
	struct expr_load l = loads.all[i];

	assert_in_range(i, 0, loads.n - 1);
	assert_int_equal(l.base, want.base);
	assert_int_equal(l.index, want.index);
	assert_int_equal(l.scale, want.scale);
	assert_int_equal(l.width, want.width);
	assert_int_equal(l.sign, want.sign);
	assert_int_equal(l.disp, want.disp);
}

#define LOAD(text, ...) do { \
	struct expr e_ = parsed(text); \
	assert_true(expr_is_load(&e_)); \
	assert_load(e_.nodes[0].n, (struct expr_load){ __VA_ARGS__ }); \
} while (0)

static void test_addresses(void **state)
{
	(void)state;
	LOAD("*arg1", .base = EXPR_BASE_ARG1, .width = 8);
	LOAD("*ret", .base = EXPR_BASE_RET, .width = 8);
	LOAD("*u32(arg1+0x50)", .base = EXPR_BASE_ARG1, .disp = 0x50, .width = 4);
	LOAD("*i16(arg3-2)", .base = EXPR_BASE_ARG3, .disp = -2, .width = 2, .sign = true);
	LOAD("*i64(arg3)", .base = EXPR_BASE_ARG3, .width = 8);
	LOAD("*(8+arg6)", .base = EXPR_BASE_ARG6, .disp = 8, .width = 8);
	LOAD("*u8(arg1+arg2*4)", .base = EXPR_BASE_ARG1, .index = EXPR_BASE_ARG2, .scale = 4, .width = 1);
	LOAD("*u8(8*(arg2+1)+ret)", .base = EXPR_BASE_RET, .index = EXPR_BASE_ARG2, .scale = 8, .disp = 8,
	     .width = 1);
	LOAD("*(arg2+arg1)", .base = EXPR_BASE_ARG2, .index = EXPR_BASE_ARG1, .scale = 1, .width = 8);
	LOAD("*(arg2+arg2+arg1)", .base = EXPR_BASE_ARG1, .index = EXPR_BASE_ARG2, .scale = 2, .width = 8);
	LOAD("*(arg2+arg1-arg2)", .base = EXPR_BASE_ARG1, .width = 8);
	LOAD("*(arg1--8)", .base = EXPR_BASE_ARG1, .disp = 8, .width = 8);
	LOAD("*(-(8-arg1))", .base = EXPR_BASE_ARG1, .disp = -8, .width = 8);
}

static void test_chains(void **state)
{
	(void)state;
	LOAD("**arg1", .base = EXPR_BASE_LOAD0, .width = 8);
	assert_load(0, (struct expr_load){ .base = EXPR_BASE_ARG1, .width = 8 });
	LOAD("*u32(*(arg1+8)+*u8(arg2)*2-4)", .base = EXPR_BASE_LOAD0, .index = EXPR_BASE_LOAD1, .scale = 2,
	     .disp = -4, .width = 4);
	assert_load(1, (struct expr_load){ .base = EXPR_BASE_ARG2, .width = 1 });
	LOAD("****arg1", .base = EXPR_BASE_LOAD2, .width = 8);
	/* the same address is read once */
	(void)parsed("*arg1+*arg1*2");
	assert_int_equal(loads.n, 1);
	(void)parsed("*u32(arg1)+*i32(arg1)");
	assert_int_equal(loads.n, 2);
}

static void test_loaded_values(void **state)
{
	struct expr_values v = { .args = { 1, 2 }, .loads = { 0xfffffff0, 5 }, .read = 3 };
	struct expr e = parsed("*i32(arg1)*2+*u32(arg2)");
	uint64_t value;

	(void)state;
	assert_true(expr_eval(&e, &loads, &v, &value));
	assert_true((int64_t)value == -27);
	v.read = 1;
	assert_false(expr_eval(&e, &loads, &v, &value));
	v.read = 2;
	assert_false(expr_eval(&e, &loads, &v, &value));
	e = (struct expr){ 0 };
	assert_false(expr_eval(&e, &loads, &v, &value));
}

static void test_text_load(void **state)
{
	struct expr_values v = { .read = 15 };
	struct expr_error err;
	struct expr e;
	uint64_t value;

	(void)state;
	(void)parsed("*arg3");
	assert_int_equal(expr_parse_text("arg3+1", 6, &e, &loads, &err), 0);
	assert_true(loads.text);
	assert_true(expr_is_load(&e));
	assert_load(1, (struct expr_load){ .base = EXPR_BASE_ARG3, .disp = 1 });
	assert_false(expr_eval(&e, &loads, &v, &value));
	assert_int_equal(expr_parse_text("arg2", 4, &e, &loads, &err), -EINVAL);
}

static void test_questions(void **state)
{
	static const struct {
		const char *text;
		bool args, ret;
	} cases[] = {
		{ "5", false, false },	  { "arg2", true, false },	{ "ret", false, true },
		{ "*ret", false, true },  { "**arg1", true, false },	{ "*(*ret+8*arg6)", true, true },
		{ "*u8(ret+arg1)", true, true }, { "-**ret==0", false, true },
	};
	struct expr e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		e = parsed(cases[i].text);
		assert_int_equal(expr_uses_args(&e, &loads), cases[i].args);
		assert_int_equal(expr_uses_ret(&e, &loads), cases[i].ret);
	}
	e = parsed("arg2");
	assert_true(expr_is_arg(&e, 2));
	assert_false(expr_is_arg(&e, 1));
	assert_false(expr_is_ret(&e));
	e = parsed("ret+0");
	assert_false(expr_is_ret(&e));
}

static void test_refused(void **state)
{
	static const struct {
		const char *text;
		size_t offset;
		const char *word;	/* in the message */
	} cases[] = {
		{ "", 0, "value" },
		{ "arg0", 3, "1 to 6" },
		{ "arg7", 3, "1 to 6" },
		{ "arg", 3, "1 to 6" },
		{ "arg12", 4, "operator" },
		{ "1+", 2, "value" },
		{ "1 +2", 1, "operator" },
		{ "(1", 2, ")" },
		{ "1)", 1, "operator" },
		{ "()", 1, "value" },
		{ "u32(1", 5, ")" },
		{ "u33(1)", 0, "value" },
		{ "*", 1, "value" },
		{ "*u32", 1, "value" },
		{ "0x", 2, "hexadecimal" },
		{ "18446744073709551616", 0, "64 bits" },
		{ "0x10000000000000000", 2, "64 bits" },
		{ "1=1", 1, "operator" },
		{ "1<<2", 2, "value" },
		{ "5%2", 1, "operator" },
		/* addresses */
		{ "*5", 1, "complicated" },
		{ "1+*(arg1*2)", 3, "complicated" },
		{ "*(arg1*arg2)", 1, "complicated" },
		{ "*u8(arg1+arg2+arg3)", 4, "complicated" },
		{ "*(arg1-arg2)", 1, "complicated" },
		{ "*(arg1+256*arg2)", 1, "complicated" },
		{ "*(arg1+0x80000000)", 1, "complicated" },
		{ "*u32(arg1)*2+*(i32(arg1))", 14, "complicated" },
		{ "*(*i32(arg1)+arg2)", 1, "complicated" },
		{ "*(arg1==2)", 1, "complicated" },
		{ "*(arg1-arg1)", 1, "complicated" },
		/* limits */
		{ "*arg1+*arg2+*arg3+*arg4+*arg5", 25, "loads" },
		{ "1+1+1+1+1+1+1", 13, "too long" },
		{ "((((((((((((((((1))))))))))))))))", 16, "too deep" },
		{ "----------------1", 16, "too deep" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct expr_error err = { 0 };
		struct expr e;

		loads = (struct expr_loads){ 0 };
		if (expr_parse(cases[i].text, strlen(cases[i].text), &e, &loads, &err) != -EINVAL ||
		    err.offset != cases[i].offset || !strstr(err.message, cases[i].word))
			fail_msg("\"%s\": at %zu, \"%s\"", cases[i].text, err.offset, err.message);
	}
}

/* Nothing behind @len is read. */
static void test_length(void **state)
{
	struct expr_error err;
	struct expr e;

	(void)state;
	loads = (struct expr_loads){ 0 };
	assert_int_equal(expr_parse("arg12", 4, &e, &loads, &err), 0);
	assert_true(expr_is_arg(&e, 1));
	assert_int_equal(expr_parse("arg1+2", 5, &e, &loads, &err), -EINVAL);
	assert_int_equal(err.offset, 5);
}

static void test_format(void **state)
{
	static const struct {
		const char *text, *formatted;	/* NULL: the same */
	} cases[] = {
		{ "arg1*arg2", NULL },		     { "*arg1", NULL },
		{ "*u64(arg1)", "*arg1" },	     { "*(arg1+8)", "*u64(arg1+8)" },
		{ "*u32(arg1+0x50)", NULL },	     { "*u32(arg1+80)", "*u32(arg1+0x50)" },
		{ "*u32(arg1-16)", "*u32(arg1-0x10)" }, { "*u8(arg2*4+arg1)", "*u8(arg1+arg2*4)" },
		{ "**arg1", NULL },		     { "*u32(**ret+arg1*255-1)", NULL },
		{ "i32(ret)>=0", NULL },	     { "u64(ret)", "ret" },
		{ "(1+arg1)*3", NULL },		     { "((1+(arg1*3)))", "1+arg1*3" },
		{ "1-(arg1-3)", NULL },		     { "(1-arg1)-3", "1-arg1-3" },
		{ "-(arg1+1)", NULL },		     { "(-arg1)*2", "-arg1*2" },
		{ "(arg1&7)==0", NULL },	     { "arg1&(7==0)", "arg1&7==0" },
		{ "10000", "0x2710" },		     { "ret==-1", NULL },
		{ "arg1--3", NULL },		     { "-0x8000000000000000", NULL },
		{ "(arg1<arg2)<arg3", "arg1<arg2<arg3" }, { "arg1<(arg2<arg3)", NULL },
	};
	char buf[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct expr e = parsed(cases[i].text);
		const char *want = cases[i].formatted ? cases[i].formatted : cases[i].text;

		assert_int_equal(expr_format(&e, &loads, buf, sizeof(buf)), strlen(want));
		assert_string_equal(buf, want);
	}
}

static void test_format_short(void **state)
{
	struct expr e = parsed("arg1*arg2");
	char buf[6];

	(void)state;
	assert_int_equal(expr_format(&e, &loads, buf, sizeof(buf)), 9);
	assert_string_equal(buf, "arg1*");
	e = (struct expr){ 0 };
	assert_int_equal(expr_format(&e, &loads, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
}

static void test_equal(void **state)
{
	struct expr a = parsed("i32(ret)>=1"), b = parsed("(i32(ret))>=1");

	(void)state;
	assert_true(expr_equal(&a, &b));
	b = parsed("i32(ret)>=2");
	assert_false(expr_equal(&a, &b));
	b = parsed("u32(ret)>=1");
	assert_false(expr_equal(&a, &b));
	b = parsed("ret>=1");
	assert_false(expr_equal(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	      cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_chains),	      cmocka_unit_test(test_loaded_values),
		cmocka_unit_test(test_text_load),     cmocka_unit_test(test_questions),
		cmocka_unit_test(test_refused),	      cmocka_unit_test(test_length),
		cmocka_unit_test(test_format),	      cmocka_unit_test(test_format_short),
		cmocka_unit_test(test_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
