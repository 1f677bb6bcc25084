/* SPDX-License-Identifier: MIT */
/*
 * ruby: chains of Ruby put into stacks: which frame a call of the evaluation loop begins with, methods and blocks
 * in C; stacks and chains that end early, or do not fit.
 */
#include "attach/stacks/ruby/ruby.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/stacks/scripts/scripts.h"
#include "tests/unit/attach/stacks/ruby/made_script.h"

#define LOOP 0x401000u		/* to 0x402000 */
#define C(n) (0x600000u + (n))

static struct shared *shared;
static struct script_places places;
static struct scripts scripts;
static struct unwind_stack stack;
static struct {
	struct record_hit rec;
	struct chain_link links[CHAIN_MAX];
} hit;

static int setup(void **state)
{
	(void)state;
	shared = calloc(1, sizeof(*shared));
	assert_non_null(shared);
	assert_true(make_script());
	made_runtime.base.loop = (struct code_range){ LOOP, LOOP + 0x1000 };
	script_places_init(&places);
	scripts_init(&scripts, NULL, shared, &places);
	scripts.mem = made_runtime.base.mem;
	scripts_want(&scripts, &ruby_language, &made_runtime.base);
	made_runtime.base.mem = scripts.mem;
	scripts.found = &scripts.all[0];
	scripts.state = SCRIPTS_ON;
	script_codes_begin(&scripts.codes, &ruby_language, &made_runtime.base);
	memset(&hit, 0, sizeof(hit));
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

static void add(struct chain_link link)
{
	((struct chain_link *)(uintptr_t)record_chain(&hit.rec))[hit.rec.chain_len++] = link;
}

static void add_iseq(uint32_t i, uint16_t kind)
{
	add(link_of_iseq(i, 0, kind));
}

/* Where the array begins to be used: words of any kind. */
static void add_mark(void)
{
	add((struct chain_link){ 0x2full << 48, (uintptr_t)&made_iseqs[0].iseq, (uintptr_t)made_iseqs[0].code });
}

/* c1, a call of the loop, c2, a call of the loop, c3. */
static void two_calls(void)
{
	static const taddr frames[] = { C(1) | UNWIND_EXACT, LOOP + 100, C(2), LOOP + 200, C(3) };

	memcpy(stack.frames, frames, sizeof(frames));
	stack.n = 5;
}

static void merge(uint32_t max)
{
	assert_int_equal(scripts_put(&scripts, &hit.rec, max, &stack), 0);
}

/* As "c1 f2 each c2": C frames, functions of the script. */
static void is_stack(const char *want)
{
	char text[512] = "";

	for (uint32_t i = 0; i < stack.n; i++) {
		const taddr f = stack.frames[i];
		const size_t n = strlen(text);

		if (f & UNWIND_SCRIPT)
			snprintf(text + n, sizeof(text) - n, " %s", places.all[(uint32_t)f].function);
		else if ((f & ~UNWIND_EXACT) >= C(0))
			snprintf(text + n, sizeof(text) - n, " c%u", (unsigned)((f & ~UNWIND_EXACT) - C(0)));
		else
			snprintf(text + n, sizeof(text) - n, " loop");
	}
	assert_string_equal(text[0] ? text + 1 : text, want);
}

static void calls_and_methods_in_c(void **state)
{
	(void)state;
	two_calls();
	add(link_of_method(1));
	add_iseq(0, 0);
	add_iseq(1, RB_FINISH);
	add(link_of_method(0));
	add_iseq(2, RB_FINISH);
	add_mark();
	merge(256);
	is_stack("c1 new f0 f1 c2 each f2 c3");
	assert_int_equal(scripts.all[0].stacks, 1);
	assert_int_equal(scripts.all[0].misfits, 0);
}

/* A frame that is being made has no next instruction; a block in C has no name. Both may be anywhere. */
static void not_shown(void **state)
{
	struct chain_link made = link_of_iseq(3, 0, 0);

	(void)state;
	made.at = 0;
	two_calls();
	add(made);
	add((struct chain_link){ (uint64_t)RB_OF_C << 48, 0, 0 });
	add_iseq(1, RB_FINISH);
	add_iseq(2, RB_FINISH);
	/* the mark of a frame in C is of no meaning */
	add((struct chain_link){ (uint64_t)(RB_OF_C | RB_FINISH) << 48, 0, 0 });
	add_mark();
	merge(256);
	is_stack("c1 f1 c2 f2 c3");
	assert_int_equal(scripts.all[0].misfits, 0);
}

static void they_do_not_fit(void **state)
{
	(void)state;
	/* more calls than the chain has */
	two_calls();
	add_iseq(1, RB_FINISH);
	add_mark();
	merge(256);
	is_stack("c1 loop c2 loop c3");
	assert_int_equal(scripts.all[0].misfits, 1);
	/* no call begins with the last frame */
	hit.rec.chain_len = 0;
	add_iseq(1, RB_FINISH);
	add_iseq(2, 0);
	add_mark();
	merge(256);
	assert_int_equal(scripts.all[0].misfits, 2);
	/* fewer */
	hit.rec.chain_len = 0;
	for (uint32_t i = 0; i < 3; i++)
		add_iseq(i, RB_FINISH);
	add_mark();
	merge(256);
	is_stack("c1 loop c2 loop c3");
	assert_int_equal(scripts.all[0].misfits, 3);
	assert_int_equal(scripts.all[0].stacks, 0);
	/* but if the stack goes on where it was not copied, there may be more */
	stack.end = UNWIND_CUT;
	merge(256);
	is_stack("c1 f0 c2 f1 c3");
	assert_int_equal(scripts.all[0].misfits, 3);
}

/* What is further out was not read: the stack ends, and says so. */
static void the_chain_ends_early(void **state)
{
	(void)state;
	two_calls();
	add_iseq(0, RB_FINISH);
	add_iseq(1, 0);
	hit.rec.chain_end = CHAIN_CUT;
	merge(256);
	is_stack("c1 f0 c2 f1");
	assert_int_equal(stack.end, UNWIND_DEEP);
	assert_int_equal(scripts.all[0].lost, 0);
	stack.end = UNWIND_WHOLE;
	two_calls();
	hit.rec.chain_end = CHAIN_LOST;
	merge(256);
	is_stack("c1 f0 c2 f1");
	assert_int_equal(scripts.all[0].lost, 1);
	assert_int_equal(scripts.all[0].misfits, 0);
}

static void no_chain(void **state)
{
	(void)state;
	two_calls();
	hit.rec.chain_end = CHAIN_NONE;
	merge(256);
	is_stack("c1 loop c2 loop c3");
	assert_int_equal(scripts.all[0].without, 1);
	stack.n = 1;
	merge(256);
	assert_int_equal(scripts.all[0].without, 1);
}

static void at_most(void **state)
{
	(void)state;
	two_calls();
	for (uint32_t i = 0; i < 5; i++)
		add_iseq(i, i == 4 ? RB_FINISH : 0);
	add_iseq(0, RB_FINISH);
	add_mark();
	merge(4);
	is_stack("c1 f0 f1 f2");
	assert_int_equal(stack.end, UNWIND_DEEP);
}

/* Links of any words: the stack has frames of it, or is as it was (with the sanitizers). */
static void random_links(void **state)
{
	(void)state;
	srand(1);
	for (int i = 0; i < 5000; i++) {
		hit.rec.head.time_ns += 1000000;
		hit.rec.chain_len = 0;
		hit.rec.chain_end = (uint16_t)(CHAIN_WHOLE + rand() % 3);
		for (int k = rand() % 12; k >= 0; k--) {
			struct chain_link l = rand() % 3 ? link_of_iseq((uint32_t)rand() % ISEQS, 0, 0)
							 : link_of_method((uint32_t)rand() % 2);

			l.where = (uint64_t)rand() << 40;
			if (rand() % 8 == 0)
				l.code = (uint64_t)rand() << rand() % 30;
			if (rand() % 8 == 0)
				l.at = (uint64_t)rand() << rand() % 30;
			add(l);
		}
		two_calls();
		stack.end = rand() % 2 ? UNWIND_WHOLE : UNWIND_CUT;
		merge(256);
		for (uint32_t k = 0; k < stack.n; k++)
			assert_true(!(stack.frames[k] & UNWIND_SCRIPT) || (uint32_t)stack.frames[k] < places.n);
	}
	assert_true(scripts.all[0].stacks && scripts.all[0].misfits && scripts.all[0].lost);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_and_methods_in_c, setup, teardown),
		cmocka_unit_test_setup_teardown(not_shown, setup, teardown),
		cmocka_unit_test_setup_teardown(they_do_not_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(the_chain_ends_early, setup, teardown),
		cmocka_unit_test_setup_teardown(no_chain, setup, teardown),
		cmocka_unit_test_setup_teardown(at_most, setup, teardown),
		cmocka_unit_test_setup_teardown(random_links, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
