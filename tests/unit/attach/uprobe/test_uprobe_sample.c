/* SPDX-License-Identifier: MIT */
/* uprobe_sample: which rules can be sampled, by which arguments; and the distances between chosen bytes. */
#include "attach/uprobe/uprobe_sample.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "attach/rules/ruletext.h"

static struct uprobe_choice choice(const char *text)
{
	struct uprobe_choice c;
	struct rule_error e;
	struct rule r;

	assert_int_equal(rule_parse(text, &r, &e), 0);
	assert_int_equal(uprobe_sample_choice(&r, &c), 0);
	return c;
}

static void functions_of_the_heap(void **state)
{
	struct uprobe_choice c = choice("alloc malloc size=arg1");

	(void)state;
	assert_int_equal(c.kind, UPROBE_ALLOC);
	assert_int_equal(c.size, 1);
	assert_int_equal(c.times, 0);
	assert_int_equal(c.address, UPROBE_RESULT);
	c = choice("alloc calloc size=arg1*arg2");
	assert_int_equal(c.size, 1);
	assert_int_equal(c.times, 2);
	c = choice("realloc realloc size=arg2");
	assert_int_equal(c.kind, UPROBE_REALLOC);
	assert_int_equal(c.old, 1);
	assert_int_equal(c.size, 2);
	c = choice("alloc posix_memalign ptr=*arg1 size=arg3 if=i32(ret)==0");
	assert_int_equal(c.address, UPROBE_LOAD0);
	assert_int_equal(c.size, 3);
	c = choice("alloc strdup");
	assert_int_equal(c.kind, UPROBE_ALLOC);
	assert_int_equal(c.size, 0);
	c = choice("free free");
	assert_int_equal(c.kind, UPROBE_FREE);
	assert_int_equal(c.address, 1);
	c = choice("free g_slice_free1 ptr=arg2");
	assert_int_equal(c.address, 2);
	assert_int_equal(choice("from begin").kind, UPROBE_ALL_CALLS);
}

static void what_is_known_too_late(void **state)
{
	static const char *const rules[] = {
		"alloc open ptr=u32(ret) if=i32(ret)>=0", "alloc get size=*u64(arg1)", "alloc make size=arg1+arg2",
		"alloc pipe ptr=*u32(arg1) also=*u32(arg1+4)", "free close ptr=u32(arg1)", "ref get", "unref put",
		"alloc make size=arg1*arg2*arg3", "realloc grow", "free close if=i32(ret)==0", "free put if=arg2==1",
	};
	struct uprobe_choice c;
	struct rule_error e;
	struct rule r;

	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		assert_int_equal(rule_parse(rules[i], &r, &e), 0);
		if (uprobe_sample_choice(&r, &c) != -ENOTSUP)
			fail_msg("%s", rules[i]);
	}
}

/* Those of the distribution they represent: the mean, the variance, and how many are longer than some values. */
static void distances_are_exponential(void **state)
{
	static uint32_t d[UPROBE_STEPS];
	double sum = 0, squares = 0;
	unsigned longer[4] = { 0 };

	(void)state;
	uprobe_sample_distances(d);
	for (unsigned i = 0; i < UPROBE_STEPS; i++) {
		const double x = (double)d[i] / UPROBE_STEP_ONE;

		sum += x;
		squares += x * x;
		for (unsigned k = 0; k < 4; k++)
			longer[k] += x > k + 1;
	}
	assert_true(fabs(sum / UPROBE_STEPS - 1) < 1e-3);
	assert_true(fabs(squares / UPROBE_STEPS - 2) < 0.02);
	for (unsigned k = 0; k < 4; k++)
		assert_true(fabs((double)longer[k] / UPROBE_STEPS - exp(-(k + 1.0))) < 1e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_the_heap),
		cmocka_unit_test(what_is_known_too_late),
		cmocka_unit_test(distances_are_exponential),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
