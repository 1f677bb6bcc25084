/* SPDX-License-Identifier: MIT */
/*
 * engine_choice: functions of this very process, whose exits are jumps that lead anywhere: their end is seen at the
 * return address, by ptrace.
 */
#include "attach/watch/engine_choice.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/rules/rulefile.h"
#include "attach/rules/ruletext.h"
#include "attach/target/modules.h"

/* Never run; pvalloc is one of the C library's names. */
#define CODE(name) __attribute__((naked, noinline, used)) void name(void); \
	void name(void) { __asm__("jmp *%rax\n"); }
CODE(odd_alloc)
CODE(pvalloc)

static struct rule rule;
static struct rule_family family;
static const struct ruleset rules = { .rules = &rule, .nrules = 1, .families = &family, .nfamilies = 1 };
static struct modules *modules;
static int mem;

static int setup(void **state)
{
	(void)state;
	mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	return mem < 0 || modules_new(getpid(), &modules) < 0;
}

static int teardown(void **state)
{
	(void)state;
	modules_free(modules);
	return close(mem);
}

/* Is it a reason to go by ptrace? @builtin: the rule is from a pack. */
static bool is_reason(const char *text, bool builtin, const char *family_name)
{
	const struct plan_options by_kernel = { .kernel = true };
	struct rule_error err;
	char why[400] = "";
	int r;

	assert_int_equal(rule_parse(text, &rule, &err), 0);
	rule.builtin = builtin;
	strcpy(family.name, family_name);
	r = engine_choice_sees_less(modules, &rules, &by_kernel, mem, why, sizeof(why));
	assert_in_range(r, 0, 1);
	assert_int_equal(r, why[0] != 0);
	return r;
}

static void what_was_asked_for(void **state)
{
	(void)state;
	assert_true(is_reason("alloc odd_alloc", false, "own"));
	assert_true(is_reason("alloc odd_alloc", false, "libc"));
	assert_true(is_reason("alloc odd_alloc", true, "openssl"));
	assert_false(is_reason("alloc not_there", false, "own"));
}

/* As mi_realpath of libmimalloc: a watch of a program that does not call it must not become slower for it. */
static void what_nothing_calls(void **state)
{
	(void)state;
	assert_false(is_reason("alloc odd_alloc", true, "libc"));
	assert_true(is_reason("alloc pvalloc", true, "libc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_asked_for, setup, teardown),
		cmocka_unit_test_setup_teardown(what_nothing_calls, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
