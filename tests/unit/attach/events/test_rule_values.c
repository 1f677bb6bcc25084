/* SPDX-License-Identifier: MIT */
/*
 * rule_values: the values of rules, at hits made by hand: read, null, not read, and in a call whose beginning
 * was not seen.
 */
#include "attach/events/rule_values.h"
#include "attach/rules/ruletext.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct site entry = { .flags = SITE_ENTRY | SITE_EMIT, .result = EMU_RAX };
static const struct site leaves = { .flags = SITE_EXIT | SITE_EMIT, .result = EMU_RDI };

static struct rule rule;
static struct record_hit hit;
static struct rule_values v;

static void set_rule(const char *text)
{
	struct rule_error err;

	assert_int_equal(rule_parse(text, &rule, &err), 0);
	hit = (struct record_hit){ .args = { 1, 2, 3, 4, 5, 6 } };
}

static void read_at(const struct site *s, bool own)
{
	rule_values_read(&hit, s, &rule, own, &v);
}

static uint64_t value_of(const struct expr *e)
{
	uint64_t value;

	assert_true(rule_values_get(&v, e, &value));
	return value;
}

static bool is_known(const struct expr *e)
{
	return rule_values_get(&v, e, &(uint64_t){ 0 });
}

static void arguments_are_the_calls(void **state)
{
	(void)state;
	set_rule("alloc f size=arg2*arg3");
	hit.head.flags = RECORD_CLOSES;
	hit.regs.rdi = 0xabc;
	read_at(&leaves, true);
	assert_int_equal(value_of(&rule.size), 6);
	assert_int_equal(value_of(&rule.ptr), 0xabc);
	/* at an end whose beginning was not seen, the registers may have any value */
	hit.head.flags = RECORD_STATIC;
	read_at(&leaves, true);
	assert_false(is_known(&rule.size));
	assert_int_equal(value_of(&rule.ptr), 0xabc);
	/* at the entry they hold the arguments */
	read_at(&entry, true);
	assert_int_equal(value_of(&rule.size), 6);
}

static void loads(void **state)
{
	(void)state;
	set_rule("alloc f ptr=*arg3 size=*i32(arg1+8)");
	hit.head.flags = RECORD_CLOSES;
	hit.loads[0] = 0xa000;
	hit.loads[1] = 0xfffffff6;
	hit.loads_read = 1;
	read_at(&leaves, true);
	assert_int_equal(value_of(&rule.ptr), 0xa000);
	assert_false(is_known(&rule.size));
	hit.loads_read = 3;
	read_at(&leaves, true);
	assert_int_equal((int64_t)value_of(&rule.size), -10);
	/* a null pointer gives 0, whatever the record has */
	hit.loads_read = 2;
	hit.loads_null = 1;
	read_at(&leaves, true);
	assert_int_equal(value_of(&rule.ptr), 0);
	/* the values that another site asked for are not ours */
	read_at(&leaves, false);
	assert_false(is_known(&rule.ptr));
}

static void conditions(void **state)
{
	(void)state;
	set_rule("alloc f ptr=*arg3 if=i32(ret)==0 if=arg1==1 if=*arg2==7");
	hit.head.flags = RECORD_CLOSES;
	hit.regs.rdi = 0x5a5a00000000;
	hit.loads[1] = 7;
	hit.loads_read = 3;
	read_at(&leaves, true);
	assert_int_equal(rule_values_hold(&v), HOLDS);
	hit.loads_read = 1;
	read_at(&leaves, true);
	assert_int_equal(rule_values_hold(&v), HOLDS_UNREAD);
	/* the first condition that does not hold decides, whether or not the later ones were read */
	hit.regs.rdi = 12;
	read_at(&leaves, true);
	assert_int_equal(rule_values_hold(&v), HOLDS_NOT);
}

static enum rule_values_tagged tag(const char **text)
{
	static char buf[RULE_VALUES_TAG];

	return rule_values_tag(&v, buf, text);
}

static void tags_of_text(void **state)
{
	const char *text = "";

	(void)state;
	set_rule("alloc f size=*arg1 tag=str(arg3)");
	hit.head.flags = RECORD_CLOSES;
	strcpy(hit.text, "inode_t");
	hit.loads_read = 3;
	read_at(&leaves, true);
	assert_int_equal(tag(&text), TAGGED);
	assert_string_equal(text, "inode_t");
	hit.loads_read = 1;
	read_at(&leaves, true);
	assert_int_equal(tag(&text), TAGGED_UNREAD);
	assert_null(text);
	hit.loads_null = 2;
	read_at(&leaves, true);
	assert_int_equal(tag(&text), TAGGED_NOT);
	assert_null(text);
}

static void tags_of_numbers(void **state)
{
	const char *text;

	(void)state;
	set_rule("alloc f tag=arg1-arg2");
	hit.head.flags = RECORD_CLOSES;
	read_at(&leaves, true);
	assert_int_equal(tag(&text), TAGGED);
	assert_string_equal(text, "-1");
	hit.head.flags = RECORD_STATIC;
	read_at(&leaves, true);
	assert_int_equal(tag(&text), TAGGED_UNREAD);
	set_rule("alloc f");
	read_at(&leaves, true);
	assert_int_equal(tag(&text), TAGGED_NOT);
	assert_null(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_the_calls),
		cmocka_unit_test(loads),
		cmocka_unit_test(conditions),
		cmocka_unit_test(tags_of_text),
		cmocka_unit_test(tags_of_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
