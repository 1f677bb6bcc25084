/* SPDX-License-Identifier: MIT */
/*
 * sampling_targets: functions that end with a jump to a target become targets, in a file that is this program.
 */
#include "attach/sampling/sampling_targets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct rule rules[] = { { .family = 0 }, { .family = 0 }, { .family = 1 } };
static struct sampling_targets targets;
static struct planting planting;
static struct module *home;

/* Never run. Two wrappers, and functions that jump to them: in all cases, or not. */
#define CODE(name, text) __attribute__((naked, noinline, used)) static void name(void) { __asm__(text); }
CODE(one, "nop\n ret\n")
CODE(two, "nop\n ret\n")
CODE(to_one, "jmp.d32 one\n")
CODE(to_either, "test %edi, %edi\n jz.d32 one\n jmp.d32 two\n")
CODE(to_that, "jmp.d32 to_either\n")
CODE(to_one_or_none, "test %edi, %edi\n jz.d32 one\n ret\n")
/* 06 is no instruction: what follows it is not decoded */
CODE(to_one_or_unknown, "test %edi, %edi\n jz.d32 one\n .byte 0x06\n ret\n")

enum { MALLOC, ONE, TWO, GIVEN };

static taddr at(void (*function)(void))
{
	return (taddr)(uintptr_t)function - home->bias;
}

static int setup(void **state)
{
	(void)state;
	planting = (struct planting){ .rules = rules, .nrules = sizeof(rules) / sizeof(*rules) };
	assert_int_equal(modules_new(getpid(), &planting.modules), 0);
	home = modules_find(planting.modules, (taddr)(uintptr_t)one);
	assert_true(home && home->img);
	memset(&targets, 0, sizeof(targets));
	targets.planting = &planting;
	targets.n = GIVEN;
	targets.all[MALLOC] = (struct sampling_target){ .home = home, .addr = 1 };
	targets.all[ONE] = (struct sampling_target){ .home = home, .addr = at(one), .level = 1 };
	targets.all[TWO] = (struct sampling_target){ .home = home, .addr = at(two), .level = 1 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sampling_targets_fini(&targets);
	modules_free(planting.modules);
	return 0;
}

static const struct sampling_target *target_at(void (*function)(void))
{
	uint32_t i = sampling_targets_at(&targets, home, at(function));

	return i == SAMPLING_NONE ? NULL : &targets.all[i];
}

static void jumps_to_targets(void **state)
{
	(void)state;
	assert_int_equal(sampling_targets_tails(&targets, home, 0), 0);
	assert_true(target_at(to_one) && target_at(to_one)->level == 2);
	assert_true(target_at(to_either) && target_at(to_either)->level == 2);
	assert_true(target_at(to_that) && target_at(to_that)->level == 3);
	assert_true(!target_at(to_one_or_none) && !target_at(to_one_or_unknown));
	assert_int_equal(targets.n, GIVEN + 3);
	for (uint32_t i = GIVEN; i < targets.n; i++)
		assert_int_equal(sampling_targets_wrapper(&targets, i), home->bias + targets.all[i].addr);
	assert_int_equal(sampling_targets_wrapper(&targets, MALLOC), 0);
}

/* One of the two was found earlier. */
static void jumps_to_a_new_target(void **state)
{
	(void)state;
	targets.n = TWO;
	assert_int_equal(sampling_targets_tails(&targets, home, 0), 0);
	assert_true(target_at(to_one) && !target_at(to_either) && targets.n == GIVEN);
	targets.all[targets.n++] = (struct sampling_target){ .home = home, .addr = at(two), .level = 2 };
	assert_int_equal(sampling_targets_tails(&targets, home, GIVEN), 0);
	assert_true(target_at(to_either) && target_at(to_either)->level == 3);
	/* too many levels up */
	assert_true(!target_at(to_that) && targets.n == GIVEN + 2);
}

/* Where the block begins would depend on which of them has returned it. */
static void jumps_to_different_targets(void **state)
{
	(void)state;
	targets.all[TWO].delta = 16;
	assert_int_equal(sampling_targets_tails(&targets, home, 0), 0);
	assert_true(target_at(to_one) && !target_at(to_either) && !target_at(to_that));
	targets.all[TWO].delta = 0;
	targets.all[TWO].rule = 2;
	assert_int_equal(sampling_targets_tails(&targets, home, 0), 0);
	assert_true(!target_at(to_either));
	/* malloc and calloc, which have rules of their own */
	targets.all[TWO].rule = 1;
	assert_int_equal(sampling_targets_tails(&targets, home, 0), 0);
	assert_true(target_at(to_either) && target_at(to_that));
}

int main(void)
{
#define targets_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		targets_test(jumps_to_targets),
		targets_test(jumps_to_a_new_target),
		targets_test(jumps_to_different_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
