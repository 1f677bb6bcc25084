/* SPDX-License-Identifier: MIT */
/* rule: what is parsed, what is refused and where, and formatting. */
#include "attach/rules/ruletext.h"

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

/* The expression @e of @r as text. */
static void assert_expr(struct rule r, struct expr e, const char *text)
{
	char buf[128];

	expr_format(&e, &r.loads, buf, sizeof(buf));
	assert_string_equal(buf, text);
}

static void test_defaults(void **state)
{
	struct rule r = parsed("alloc malloc");

	(void)state;
	assert_int_equal(r.op, RULE_ALLOC);
	assert_int_equal(r.where, WHERE_NAME);
	assert_string_equal(r.name, "malloc");
	assert_expr(r, r.ptr, "ret");
	assert_int_equal(r.size.n, 0);
	assert_int_equal(r.tag.n, 0);
	assert_int_equal(r.nifs, 0);
	assert_false(r.own_condition);
	assert_false(r.builtin);
	assert_string_equal(r.module, "");
	assert_int_equal(r.skip, 0);
	r = parsed("free f");
	assert_expr(r, r.ptr, "arg1");
	r = parsed("realloc r");
	assert_expr(r, r.old, "arg1");
	assert_expr(r, r.ptr, "ret");
	r = parsed("protect p");
	assert_expr(r, r.ptr, "arg1");
	assert_expr(r, r.size, "arg2");
	assert_expr(r, r.prot, "arg3");
	r = parsed("ref r");
	assert_expr(r, r.ptr, "arg1");
	assert_expr(r, r.by, "1");
	assert_int_equal(r.count.n, 0);
	r = parsed("pool p");
	assert_expr(r, r.ptr, "ret");
	assert_int_equal(r.pool.n, 0);
	assert_true(rule_at_exit(&r) && rule_allocates(&r) && rule_is_of_pools(&r));
	r = parsed("reset r");
	assert_expr(r, r.ptr, "arg1");
	assert_expr(r, r.children, "1");
	assert_false(rule_at_exit(&r));
	r = parsed("move m pool=arg2");
	assert_expr(r, r.ptr, "arg1");
	assert_false(rule_at_exit(&r) || rule_needs_args(&r));
	r = parsed("alloc a pool=*(ret-8)");
	assert_true(rule_is_of_pools(&r) && !rule_needs_args(&r));
	r = parsed("alloc a pool=arg1");
	assert_true(rule_needs_args(&r));
	r = parsed("alloc a");
	assert_false(rule_is_of_pools(&r));
}

static void test_values(void **state)
{
	struct rule r = parsed("  alloc\tposix_memalign  if=i32(ret)==0 size=arg3 ptr=*arg1 \n");

	(void)state;
	assert_expr(r, r.ptr, "*arg1");
	assert_expr(r, r.size, "arg3");
	assert_expr(r, r.ifs[0], "i32(ret)==0");
	assert_int_equal(r.nifs, 1);
	assert_true(r.own_condition);
	r = parsed("realloc f old=arg2 size=arg3*8 ptr=*arg1 if=arg1!=0 if=arg2>3");
	assert_expr(r, r.old, "arg2");
	assert_expr(r, r.size, "arg3*8");
	assert_expr(r, r.ifs[1], "arg2>3");
	assert_int_equal(r.nifs, 2);
	r = parsed("unref f obj=ret by=arg2 count=*u32(ret+0x50) module=lib*.so.? skip=2");
	assert_expr(r, r.ptr, "ret");
	assert_expr(r, r.by, "arg2");
	assert_expr(r, r.count, "*u32(ret+0x50)");
	assert_string_equal(r.module, "lib*.so.?");
	assert_int_equal(r.skip, 2);
}

static void test_tags(void **state)
{
	struct rule r = parsed("alloc f tag=str(arg3+8)");

	(void)state;
	assert_true(r.tag_text);
	assert_true(r.loads.text);
	assert_expr(r, r.tag, "str(arg3+8)");
	r = parsed("alloc f tag=u32(arg3)");
	assert_false(r.tag_text);
	assert_expr(r, r.tag, "u32(arg3)");
}

/* One list of loads for all expressions of a rule. */
static void test_shared_loads(void **state)
{
	struct rule r = parsed("ref f count=*u32(arg1+8) if=*u32(arg1+8)!=0 if=*arg1!=0");

	(void)state;
	assert_int_equal(r.loads.n, 2);
	assert_int_equal(r.count.nodes[0].n, 0);
	assert_int_equal(r.ifs[0].nodes[0].n, 0);
	assert_int_equal(r.ifs[1].nodes[0].n, 1);
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
	assert_string_equal(r.build_id, "");
	r = parsed("from 0xffffffffffffffff");
	assert_true(r.addr == UINT64_MAX);
	r = parsed("in ovs-*@A22d31f0+0x16d4c5");
	assert_string_equal(r.name, "ovs-*");
	assert_string_equal(r.build_id, "a22d31f0");
	assert_int_equal(r.addr, 0x16d4c5);
	r = parsed("in f@@GLIBC_2.2");
	assert_int_equal(r.where, WHERE_NAME);
	assert_string_equal(r.name, "f@@GLIBC_2.2");
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
		{ "alloc", 6, "function" },
		{ "alloc size=arg1", 7, "function" },
		{ "alloc size=arg1+0x8", 7, "function" },
		{ "alloc malloc arg1", 14, "KEY=VALUE" },
		{ "alloc malloc size=", 19, "value" },
		{ "alloc malloc size=arg0", 22, "1 to 6" },
		{ "alloc malloc size=arg12", 23, "operator" },
		{ "alloc malloc size=arg1*", 24, "value" },
		{ "alloc malloc ptr=*u32(arg1*2)", 23, "complicated" },
		{ "alloc malloc size=arg1 size=arg2", 24, "twice" },
		{ "alloc malloc old=arg1", 14, "no old=" },
		{ "alloc malloc tag=str(arg1", 18, "value" },
		{ "alloc malloc tag=str()", 22, "value" },
		{ "alloc malloc tag=str(5)", 22, "complicated" },
		{ "alloc malloc tag=str(arg1)+1", 18, "value" },
		{ "free free tag=arg1", 11, "no tag=" },
		{ "free free skip=1", 11, "no skip=" },
		{ "ref f ptr=arg1", 7, "no ptr=" },
		{ "from f ptr=arg1", 8, "no ptr=" },
		{ "in f if=arg1", 6, "no if=" },
		{ "alloc f if=1 if=2 if=3 if=4", 27, "3 times" },
		{ "alloc malloc if=ret==0", 1, "ptr=*arg1" },
		{ "alloc malloc if=i32(ret)==0", 1, "ptr=*arg1" },
		{ "alloc f skip=", 14, "0 to 32" },
		{ "alloc f skip=33", 14, "0 to 32" },
		{ "alloc f skip=-1", 14, "0 to 32" },
		{ "alloc f module=", 16, "base name" },
		{ "free 0x", 6, "hexadecimal" },
		{ "free 0x12345678123456789", 6, "hexadecimal" },
		{ "free 0x12g", 6, "hexadecimal" },
		{ "free lib.so+12", 12, "+0xOFFSET" },
		{ "free +0x12", 6, "+0xOFFSET" },
		{ "free a@1234567+0x12", 8, "8 to 40" },
		{ "free a@1234567g+0x12", 15, "hexadecimal" },
		{ "free @12345678+0x12", 15, "+0xOFFSET" },
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
		{ "in a.so@ABCDEF01+0x10", "in a.so@abcdef01+0x10" },
		{ "pool p ptr=*arg1 pool=arg2 tag=str(arg3)", "pool p ptr=*arg1 pool=arg2 tag=str(arg3)" },
		{ "reset r children=1 ptr=arg1", "reset r" },
		{ "reset r children=0", "reset r children=0" },
		{ "move m ptr=arg2 pool=arg1", "move m ptr=arg2 pool=arg1" },
		{ "ref r by=1 obj=arg1 count=*u32(arg1+80)", "ref r count=*u32(arg1+0x50)" },
		{ "ref r skip=1 module=a*b if=arg1 obj=ret by=2",
		  "ref r obj=ret by=2 if=arg1 module=a*b skip=1" },
		{ "alloc m tag=str(arg3) size=arg1 if=arg1 if=arg2",
		  "alloc m size=arg1 tag=str(arg3) if=arg1 if=arg2" },
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

/* The parts of a call that a rule needs. */
static void test_needs(void **state)
{
	static const struct {
		const char *text;
		bool exit, args;
	} cases[] = {
		{ "alloc malloc size=arg1", true, false },
		{ "alloc p ptr=*arg1", true, true },
		{ "alloc p tag=str(arg3)", true, true },
		{ "alloc p if=arg2", true, true },
		{ "realloc r", true, true },
		{ "free f", false, false },
		{ "free f if=ret==0", true, true },
		{ "ref r count=*u32(arg1+8)", false, false },
		{ "ref r obj=ret", true, false },
		{ "ref r obj=ret if=ret!=0 count=*u32(ret)", true, false },
		{ "ref r obj=*ret by=arg2", true, true },
		{ "unref r by=*u8(*ret+1)", true, true },
		{ "from f", false, false },
		{ "in f", false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rule r = parsed(cases[i].text);

		assert_int_equal(rule_at_exit(&r), cases[i].exit);
		assert_int_equal(rule_needs_args(&r), cases[i].args);
	}
}

static void test_kinds(void **state)
{
	struct rule r = parsed("in f");

	(void)state;
	assert_true(rule_is_scope(&r));
	assert_false(rule_is_ref(&r));
	r = parsed("ref f obj=ret");
	assert_true(rule_is_birth(&r));
	r = parsed("ref f obj=ret+0");
	assert_false(rule_is_birth(&r));
	r = parsed("unref f obj=ret");
	assert_false(rule_is_birth(&r));
	r = parsed("unref f");
	assert_false(rule_is_scope(&r));
	assert_true(rule_is_ref(&r));
	r = parsed("free f");
	assert_false(rule_is_scope(&r) || rule_is_ref(&r));
}

static void test_holds_in(void **state)
{
	struct rule r = parsed("free f module=libje*.so.2");

	(void)state;
	assert_true(rule_holds_in(&r, "libjemalloc.so.2", ""));
	assert_false(rule_holds_in(&r, "libc.so.6", ""));
	r = parsed("free f");
	assert_true(rule_holds_in(&r, "libc.so.6", ""));
	r = parsed("free lib?.so.6+0x10");
	assert_true(rule_holds_in(&r, "libc.so.6", "aa"));
	assert_false(rule_holds_in(&r, "libcc.so.6", "aa"));
	r = parsed("free lib?.so.6@12345678+0x10");
	assert_true(rule_holds_in(&r, "libc.so.6", "123456789abcdef0"));
	assert_false(rule_holds_in(&r, "libc.so.6", "123456709abcdef0"));
	assert_false(rule_holds_in(&r, "libc.so.6", ""));
	assert_false(rule_holds_in(&r, "libm.so", "123456789abcdef0"));
}

static void test_function_alone(void **state)
{
	struct rule_error err;
	struct rule r = { 0 };

	(void)state;
	assert_int_equal(rule_parse_function("a.so+0x10 x", 9, &r, &err), 0);
	assert_int_equal(r.where, WHERE_OFFSET);
	assert_string_equal(r.name, "a.so");
	assert_int_equal(r.addr, 0x10);
	assert_int_equal(rule_parse_function("", 0, &r, &err), -EINVAL);
}

static void test_op_names(void **state)
{
	(void)state;
	assert_string_equal(rule_op_name(RULE_ALLOC), "alloc");
	assert_string_equal(rule_op_name(RULE_UNTIL), "until");
	assert_string_equal(rule_op_name(RULE_UNREF), "unref");
	assert_string_equal(rule_op_name(RULE_IN), "in");
	assert_string_equal(rule_op_name(RULE_PROTECT), "protect");
	assert_string_equal(rule_op_name(RULE_POOL), "pool");
	assert_string_equal(rule_op_name(RULE_RESET), "reset");
	assert_string_equal(rule_op_name(RULE_MOVE), "move");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),     cmocka_unit_test(test_values),
		cmocka_unit_test(test_tags),	     cmocka_unit_test(test_shared_loads),
		cmocka_unit_test(test_places),	     cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_name),    cmocka_unit_test(test_format),
		cmocka_unit_test(test_format_short), cmocka_unit_test(test_needs),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_holds_in),     cmocka_unit_test(test_function_alone),
		cmocka_unit_test(test_op_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
