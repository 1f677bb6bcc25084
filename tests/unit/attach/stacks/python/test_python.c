/* SPDX-License-Identifier: MIT */
/*
 * python: chains put into stacks: which frame begins a call of the evaluation loop, by each kind of
 * interpreter; stacks and chains that end early, or do not fit.
 */
#include "attach/stacks/python/python.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/stacks/python/runtime.h"
#include "attach/stacks/scripts/scripts.h"
#include "tests/unit/attach/stacks/python/made_code.h"

#define FUNCTIONS 6u
#define EVAL 0x401000u		/* to 0x402000 */
#define COLD 0x500000u		/* a part of it that the compiler has moved away */
#define C(n) (0x600000u + (n))
#define STACK 0x7ffe0000u
#define BEGINS 1		/* of a link's kind, before 3.12 */
#define SHIM 3			/* from 3.12 on */

static struct shared *shared;
static struct script_places places;
static struct python_runtime python;
static struct scripts scripts;
static struct text names[FUNCTIONS], file;
static struct bytes lines[FUNCTIONS];
static struct code_object objects[FUNCTIONS];
static struct unwind_stack stack;
static struct {
	struct record_hit rec;
	uint8_t slice[256];
	struct chain_link links[CHAIN_MAX];
} hit;

static int setup(void **state)
{
	(void)state;
	shared = calloc(1, sizeof(*shared));
	assert_non_null(shared);
	script_places_init(&places);
	python = (struct python_runtime){
		.base.loop = { EVAL, EVAL + 0x1000 }, .layout = *layouts_find(0x030b),
		.code_type = (uintptr_t)&type_object,
	};
	python_runtime_lay_out(&python);
	scripts_init(&scripts, NULL, shared, &places);
	scripts_want(&scripts, &python_language, &python.base);
	scripts.found = &scripts.all[0];
	scripts.state = SCRIPTS_ON;
	script_codes_begin(&scripts.codes, &python_language, &python.base);
	python.base.mem = scripts.mem = open("/proc/self/mem", O_RDONLY);
	make_text(&file, "a.py", 4, 1, true);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		const char name[] = { 'f', (char)('0' + i) };

		make_text(&names[i], name, 2, 1, true);
		make_code(&objects[i], &lines[i], &names[i], &file, 10 * i);
	}
	memset(&hit, 0, sizeof(hit));
	hit.rec.regs.rsp = STACK;
	hit.rec.slice_len = sizeof(hit.slice);
	hit.rec.chain_end = CHAIN_WHOLE;
	memset(&stack, 0, sizeof(stack));
	stack.end = UNWIND_WHOLE;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scripts_fini(&scripts);
	script_places_fini(&places);
	free(shared);
	return 0;
}

static void lay_out(enum layouts_entry entry)
{
	python.layout.entry = entry;
	python_runtime_lay_out(&python);
}

static void add_frame(taddr pc)
{
	stack.sps[stack.n] = STACK + 32 * stack.n;
	stack.frames[stack.n++] = pc;
}

/* Number @function, or a frame of no code. */
static void add_link(int function, uint16_t kind, taddr where)
{
	struct chain_link *l = (struct chain_link *)(uintptr_t)record_chain(&hit.rec) + hit.rec.chain_len++;

	*l = (struct chain_link){ .where = where | (uint64_t)kind << 48 };
	if (function < 0)
		return;
	l->code = (uintptr_t)&objects[function];
	l->at = (uintptr_t)&objects[function].bytecode[2];
}

static void merge(uint32_t max)
{
	assert_int_equal(scripts_put(&scripts, &hit.rec, max, &stack), 0);
}

/* As "c1 f2 f3 c2": C frames and functions of the script. */
static void is_stack(const char *want)
{
	char text[512] = "";

	for (uint32_t i = 0; i < stack.n; i++) {
		const taddr f = stack.frames[i];
		const size_t n = strlen(text);

		if (f & UNWIND_SCRIPT)
			snprintf(text + n, sizeof(text) - n, " %s",
				 places.all[(uint32_t)f].function);
		else if (f >= C(0))
			snprintf(text + n, sizeof(text) - n, " c%u", (unsigned)(f - C(0)));
		else
			snprintf(text + n, sizeof(text) - n, " eval");
	}
	assert_string_equal(text[0] ? text + 1 : text, want);
}

/* c1, a call of the loop, c2, a call of the loop, c3. */
static void two_calls(taddr first)
{
	add_frame(C(1));
	add_frame(first);
	add_frame(C(2));
	add_frame(EVAL + 200);
	add_frame(C(3));
}

static void each_frame_is_a_call(void **state)
{
	(void)state;
	lay_out(LAYOUTS_ENTRY_EACH);
	two_calls(EVAL + 100);
	add_link(0, 0, 0);
	add_link(1, 0, 0);
	merge(256);
	is_stack("c1 f0 c2 f1 c3");
	assert_int_equal(scripts.all[0].stacks, 1);
}

static void marked(void **state)
{
	(void)state;
	two_calls(EVAL + 100);
	add_link(0, 0, 0);
	add_link(1, BEGINS, 0);
	add_link(2, 0, 0);
	add_link(3, 0, 0);
	add_link(4, BEGINS, 0);
	merge(256);
	is_stack("c1 f0 f1 c2 f2 f3 f4 c3");
	assert_int_equal(scripts.all[0].misfits, 0);
}

static void behind_a_frame_of_no_code(void **state)
{
	(void)state;
	lay_out(LAYOUTS_ENTRY_SHIM);
	two_calls(EVAL + 100);
	add_link(0, 0, 0);
	add_link(1, 1, 0);
	add_link(-1, SHIM, STACK + 40);
	add_link(2, 0, 0);
	add_link(-1, SHIM, STACK + 100);
	merge(256);
	is_stack("c1 f0 f1 c2 f2 c3");
}

/* The function's code is in two pieces: what is on the stack says that it is there. */
static void moved_away(void **state)
{
	const uint64_t outer = STACK + 3 * 32 + 8;

	(void)state;
	stack.has_sps = true;
	two_calls(COLD);
	add_link(0, BEGINS, 0);
	add_link(1, BEGINS, 0);
	/* a struct _PyCFrame in each of the two calls */
	hit.rec.chain_head = STACK + 32 + 8;
	memcpy(hit.rec.slice + 32 + 8 + 16, &outer, sizeof(outer));
	merge(256);
	is_stack("c1 f0 c2 f1 c3");
	assert_int_equal(teardown(NULL), 0);
	setup(NULL);
	stack.has_sps = true;
	lay_out(LAYOUTS_ENTRY_SHIM);
	two_calls(COLD);
	add_link(0, 0, 0);
	add_link(-1, SHIM, STACK + 32 + 8);
	add_link(1, 0, 0);
	add_link(-1, SHIM, STACK + 3 * 32 + 8);
	merge(256);
	is_stack("c1 f0 c2 f1 c3");
}

/* A greenlet's stack leads into that of the thread, which has a chain of its own. */
static void another_chain_behind(void **state)
{
	(void)state;
	stack.has_sps = true;
	two_calls(EVAL + 100);
	add_link(0, 0, 0);
	add_link(1, BEGINS, 0);
	hit.rec.chain_head = STACK + 32 + 8;
	merge(256);
	is_stack("c1 f0 f1 c2 eval c3");
	assert_int_equal(scripts.all[0].misfits, 0);
}

/* There is nothing of the first link's call where the stack has a call. */
static void of_another_call(void **state)
{
	(void)state;
	stack.has_sps = true;
	two_calls(EVAL + 100);
	add_link(0, BEGINS, 0);
	add_link(1, BEGINS, 0);
	hit.rec.chain_head = STACK + 64 + 8;
	merge(256);
	is_stack("c1 eval c2 eval c3");
	assert_int_equal(scripts.all[0].misfits, 1);
}

static void it_does_not_fit(void **state)
{
	(void)state;
	/* more calls than the chain has */
	two_calls(EVAL + 100);
	add_link(0, BEGINS, 0);
	merge(256);
	is_stack("c1 eval c2 eval c3");
	assert_int_equal(scripts.all[0].misfits, 1);
	/* fewer */
	add_link(1, BEGINS, 0);
	add_link(2, BEGINS, 0);
	merge(256);
	is_stack("c1 eval c2 eval c3");
	assert_int_equal(scripts.all[0].misfits, 2);
	assert_int_equal(scripts.all[0].stacks, 0);
	/* but if the stack goes on where it was not copied, there may be more */
	stack.end = UNWIND_CUT;
	merge(256);
	is_stack("c1 f0 c2 f1 c3");
	assert_int_equal(scripts.all[0].misfits, 2);
}

/* What is further out was not read: the stack ends, and says so. */
static void the_chain_ends_early(void **state)
{
	(void)state;
	two_calls(EVAL + 100);
	add_link(0, 0, 0);
	add_link(1, BEGINS, 0);
	hit.rec.chain_end = CHAIN_LOST;
	merge(256);
	is_stack("c1 f0 f1 c2");
	assert_int_equal(stack.end, UNWIND_DEEP);
	assert_int_equal(scripts.all[0].lost, 1);
	assert_int_equal(scripts.all[0].misfits, 0);
}

static void no_chain(void **state)
{
	(void)state;
	add_frame(C(1));
	hit.rec.chain_end = CHAIN_NONE;
	merge(256);
	is_stack("c1");
	assert_int_equal(scripts.all[0].without, 0);
	add_frame(EVAL + 100);
	merge(256);
	is_stack("c1 eval");
	assert_int_equal(scripts.all[0].without, 1);
}

static void at_most(void **state)
{
	(void)state;
	two_calls(EVAL + 100);
	for (int i = 0; i < 5; i++)
		add_link(i, i == 4 ? BEGINS : 0, 0);
	add_link(0, BEGINS, 0);
	merge(4);
	is_stack("c1 f0 f1 f2");
	assert_int_equal(stack.end, UNWIND_DEEP);
}

/* A frame that has not begun is not shown, as in the interpreter's tracebacks; that of a generator is. */
static void not_begun(void **state)
{
	(void)state;
	two_calls(EVAL + 100);
	add_link(0, 0, 0);
	add_link(1, BEGINS, 0);
	add_link(2, BEGINS, 0);
	for (uint32_t i = 0; i < 3; i++)
		((struct chain_link *)(uintptr_t)record_chain(&hit.rec))[i].at -= 4;
	merge(256);
	is_stack("c1 c2 c3");
	stack.n = 0;
	two_calls(EVAL + 100);
	hit.rec.chain_len = 1;
	add_link(1, BEGINS | 1 << 8, 0);
	add_link(2, BEGINS, 0);
	merge(256);
	is_stack("c1 f1 c2 f2 c3");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_frame_is_a_call, setup, teardown),
		cmocka_unit_test_setup_teardown(marked, setup, teardown),
		cmocka_unit_test_setup_teardown(behind_a_frame_of_no_code, setup, teardown),
		cmocka_unit_test_setup_teardown(moved_away, setup, teardown),
		cmocka_unit_test_setup_teardown(another_chain_behind, setup, teardown),
		cmocka_unit_test_setup_teardown(of_another_call, setup, teardown),
		cmocka_unit_test_setup_teardown(it_does_not_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(the_chain_ends_early, setup, teardown),
		cmocka_unit_test_setup_teardown(no_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(at_most, setup, teardown),
		cmocka_unit_test_setup_teardown(not_begun, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
