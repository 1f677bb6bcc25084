/* SPDX-License-Identifier: MIT */
/*
 * stacks of a target that has opened and closed more modules than 16 bits can count. Modules are made up
 * here: real ones would be too many, and stacks calls only these functions of modules.h.
 */
#include "attach/stacks/stacks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODULES 70000u
#define CODE 0x400000u

static struct module all[MODULES];
static size_t known;	/* modules so far; the last of them is mapped at CODE */

size_t modules_count(const struct modules *ms)
{
	(void)ms;
	return known;
}

struct module *modules_at(const struct modules *ms, size_t i)
{
	(void)ms;
	return &all[i];
}

struct module *modules_find(const struct modules *ms, taddr addr)
{
	(void)ms;
	(void)addr;
	return known ? &all[known - 1] : NULL;
}

const char *module_build_id(const struct module *m, char buf[MODULE_BUILD_ID_TEXT])
{
	(void)m;
	buf[0] = '\0';
	return buf;
}

#define NONE UINT32_MAX	/* nothing is mapped there */

/*
 * Module @number is mapped where the last one was; returns the number of the module in which stacks puts the
 * frame.
 */
static uint32_t module_of_stack_in(struct stacks *s, uint32_t number)
{
	const taddr pc = CODE + 100;
	uint32_t stack, frame;
	const struct defs_frame *f;

	known = number + 1;
	stacks_modules_changed(s);
	assert_int_equal(stacks_intern(s, &pc, 1, UNWIND_WHOLE, FACT_NONE, &stack), 0);
	assert_int_equal(defs_path(s->defs, stack, &frame, 1), 1);
	f = &s->defs->frames[frame];
	assert_int_equal(f->pc, pc);
	return f->module == DEFS_NONE ? NONE : s->defs->modules[f->module].number;
}

static void more_than_16_bits_count(void **state)
{
	static const uint32_t numbers[] = { NONE, 0, 1, 65534, 65535, 65536, 65537, 69999 };
	struct stacks s;
	struct defs defs;

	(void)state;
	for (size_t i = 0; i < MODULES; i++)
		all[i] = (struct module){
			.path = "plugin.so", .name = "plugin.so", .lo = CODE, .hi = CODE + 4096, .dev = 1,
			.ino = i + 1,
		};
	defs_init(&defs);
	stacks_init(&s, NULL, &defs, NULL);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		assert_int_equal(module_of_stack_in(&s, numbers[i]), numbers[i]);
	stacks_fini(&s);
	defs_fini(&defs);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(more_than_16_bits_count) };

	return cmocka_run_group_tests_name("stacks_modules", tests, NULL, NULL);
}
