/* SPDX-License-Identifier: MIT */
/*
 * rbloop, rbdata: functions written for this test, in this very program, and frames that lead to them: the
 * one that calls what executes instructions; what is not sure, and words of any kind.
 */
#include "attach/stacks/ruby/rbloop.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/stacks/ruby/rbdata.h"
#include "tests/unit/attach/stacks/ruby/made_script.h"

/* NAME, and NAME_label in it. */
#define FUNCTION(name, ...)                                                                                  \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" __VA_ARGS__                \
		"\n.cfi_endproc\n.size " #name ", . - " #name "\n");                                         \
	extern const char name[] __attribute__((visibility("hidden"))),                                      \
		name##_label[] __attribute__((visibility("hidden")))

FUNCTION(core, "nop\n core_label: mov $1, %eax\n jmp *%rdx\n core_other: ret");
FUNCTION(address_table, "address_table_label: jmp core");
FUNCTION(loop, "push %rbx\n loop_label: call core\n test %eax, %eax\n je 1f\n call core\n1: pop %rbx\n ret");
FUNCTION(called_twice, "nop\n called_twice_label: ret");
FUNCTION(first_caller, "nop\n first_caller_label: call called_twice\n ret");
FUNCTION(second_caller, "nop\n second_caller_label: call called_twice\n ret");
FUNCTION(uncalled, "nop\n uncalled_label: ret");
FUNCTION(calls_itself, "nop\n calls_itself_label: call calls_itself\n ret");
/* behind bytes that are not an instruction nothing is known */
FUNCTION(unsurely_called, "nop\n unsurely_called_label: ret");
FUNCTION(sure, "nop\n sure_label: call unsurely_called\n ret");
FUNCTION(unsure, "jmp 1f\n .byte 0x06\n unsure_label: 1: call unsurely_called\n ret");
/* neither FDE nor size */
__asm__(".text\nundescribed: nop\nundescribed_label: ret\n");
extern const char undescribed_label[] __attribute__((visibility("hidden"))),
	core_other[] __attribute__((visibility("hidden")));

#define VALUES 100u		/* words of the stack of an execution */
#define FRAME 8u		/* words of a frame of 3.1 */
#define FRAMES 4u		/* iseqs 1 to 4, from the outermost one inward; then the one that is none */

static const struct rb_layout *layout;
static uint64_t execution[3], values[VALUES];
static struct modules *modules;
static const struct module *module;
static int mem;

/* Frame @i, counted from the end. */
static uint64_t *frame(uint32_t i)
{
	return &values[VALUES - (i + 1) * FRAME];
}

static void make_frames(void)
{
	memset(values, 0, sizeof(values));
	execution[0] = (uintptr_t)values;
	execution[1] = VALUES;
	execution[2] = (uintptr_t)frame(FRAMES);
	for (uint32_t i = 1; i <= FRAMES; i++) {
		make_iseq(i, "f", "a.rb", 10);
		made_iseqs[i].code[0] = (uintptr_t)core_label;
		frame(i)[0] = (uintptr_t)(made_iseqs[i].code + i);
		frame(i)[2] = (uintptr_t)&made_iseqs[i].iseq;
	}
}

static int setup(void **state)
{
	(void)state;
	layout = rb_layouts_find(0x0301);
	if (!make_script() || modules_new(getpid(), &modules))
		return 1;
	mem = made_runtime.base.mem;
	module = modules_find(modules, (uintptr_t)core);
	make_frames();
	return !module;
}

static int teardown(void **state)
{
	(void)state;
	modules_free(modules);
	return close(mem);
}

static taddr in_file(const char *p)
{
	return (uintptr_t)p - module->bias;
}

/* 0: -EAGAIN. */
static taddr found_core(void)
{
	taddr at;
	int r = rb_loop_core(module, mem, layout, (uintptr_t)execution, &at);

	assert_true(r == 0 || r == -EAGAIN);
	return r == 0 ? at : 0;
}

static void by_any_frame(void **state)
{
	(void)state;
	assert_int_equal(found_core(), in_file(core));
	/* a frame in C, one that is being made, one behind its last instruction: the others are enough */
	frame(1)[2] = 0;
	frame(2)[0] = 0;
	frame(3)[0] = (uintptr_t)(made_iseqs[3].code + WORDS);
	assert_int_equal(found_core(), in_file(core));
	/* another instruction */
	made_iseqs[4].code[0] = (uintptr_t)core_other;
	assert_int_equal(found_core(), in_file(core));
	frame(4)[2] = (uintptr_t)&made_methods[0].method;
	assert_int_equal(found_core(), in_file(core));
	frame(3)[2] = (uintptr_t)&made_methods[0].method;
	assert_int_equal(found_core(), 0);
}

static void frames_of_c_only(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= FRAMES; i++)
		frame(i)[2] = 0;
	assert_int_equal(found_core(), 0);
	make_frames();
	for (uint32_t i = 1; i <= FRAMES; i++)
		made_iseqs[i].iseq.flags = RB_METHOD;
	assert_int_equal(found_core(), 0);
	make_frames();
	execution[2] = (uintptr_t)frame(0);
	assert_int_equal(found_core(), 0);
}

static void all_lead_to(uint64_t label)
{
	for (uint32_t i = 1; i <= FRAMES; i++)
		made_iseqs[i].code[0] = label;
}

/* The beginning of a function is no label, as where each instruction is one; nor is what is in no function. */
static void no_labels(void **state)
{
	(void)state;
	all_lead_to((uintptr_t)core);
	assert_int_equal(found_core(), 0);
	all_lead_to((uintptr_t)undescribed_label);
	assert_int_equal(found_core(), 0);
	all_lead_to((uintptr_t)values);
	assert_int_equal(found_core(), 0);
	all_lead_to((uintptr_t)pread + 1);
	assert_int_equal(found_core(), 0);
	all_lead_to(17);
	assert_int_equal(found_core(), 0);
	all_lead_to(UINT64_MAX);
	assert_int_equal(found_core(), 0);
}

static void they_do_not_agree(void **state)
{
	(void)state;
	made_iseqs[3].code[0] = (uintptr_t)uncalled_label;
	assert_int_equal(found_core(), 0);
}

static void pc_is_elsewhere(void **state)
{
	static const int64_t words[] = { -1, WORDS + 1, INT32_MAX };

	(void)state;
	for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++) {
		for (uint32_t i = 1; i <= FRAMES; i++)
			frame(i)[0] = (uintptr_t)made_iseqs[i].code + (uint64_t)words[k] * 8;
		assert_int_equal(found_core(), 0);
	}
	for (uint32_t i = 1; i <= FRAMES; i++)
		frame(i)[0] = (uintptr_t)made_iseqs[i].code + 9;
	assert_int_equal(found_core(), 0);
}

/* Only the outermost ones of very many are read. */
static void hostile_execution(void **state)
{
	static const uint64_t others[] = { 0, 8, 1u << 20, 1ull << 40, UINT64_MAX, UINT64_MAX - 7 };

	(void)state;
	for (uint32_t word = 0; word < 3; word++)
		for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++) {
			make_frames();
			execution[word] = others[k];
			found_core();
		}
	assert_int_equal(rb_loop_core(module, mem, layout, 16, &(taddr){ 0 }), -EAGAIN);
}

/* It is what is in this program, or nothing (with the sanitizers). */
static void random_words(void **state)
{
	uint32_t found = 0;

	(void)state;
	srand(1);
	for (int i = 0; i < 5000; i++) {
		make_frames();
		for (int k = rand() % 8; k >= 0; k--) {
			uint64_t *const any[] = {
				&frame(1 + (uint32_t)rand() % FRAMES)[rand() % 3],
				(uint64_t *)&made_iseqs[1 + rand() % 4].body + rand() % 3,
				(uint64_t *)&made_iseqs[1 + rand() % 4].iseq + rand() % 3,
				&made_iseqs[1 + rand() % 4].code[0], &execution[rand() % 3],
			};
			uint64_t *word = any[rand() % 5];

			*word += rand() % 2 ? (uint64_t)rand() << rand() % 33 : (uint64_t)(rand() % 99) - 49;
		}
		found += found_core() == in_file(core);
	}
	assert_true(found > 1000 && found < 5000);
}

static struct code_range range;

static int caller_of(const char *function)
{
	range = (struct code_range){ 0, 0 };
	return rb_loop_caller(module, in_file(function), &range);
}

/* A jump is no call: what jumps there is not on the stack. */
static void its_only_caller(void **state)
{
	(void)state;
	assert_int_equal(caller_of(core), 0);
	assert_int_equal(range.lo, (uintptr_t)loop);
	assert_true(range.hi > (uintptr_t)loop_label && range.hi - range.lo < 64);
}

static void several_or_none(void **state)
{
	static const char *const functions[] = { called_twice, uncalled, calls_itself, unsurely_called };

	(void)state;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		assert_int_equal(caller_of(functions[i]), -ENOENT);
		assert_int_equal(range.lo, 0);
		assert_int_equal(range.hi, 0);
	}
	assert_int_equal(rb_loop_caller(module, UINT64_MAX, &range), -ENOENT);
	assert_int_equal(rb_loop_caller(module, 0, &range), -ENOENT);
}

/* --- rbdata --- */

static uint64_t wanted_words[3] = { 0x1234567890abcdef, 7, 8 }, zeroed[3];
static volatile uint64_t many[20000];	/* read from outside */
static unsigned asked;

static bool may_be_wanted(const void *arg, const uint64_t *words)
{
	return words[0] == *(const uint64_t *)arg + 1;
}

static bool is_wanted(const void *arg, const uint64_t *words)
{
	(void)arg;
	asked++;
	return words[1] == 7;
}

static void in_the_data(void **state)
{
	const uint64_t before = 0x1234567890abcdee;
	const struct rb_data_wanted wanted = { 3, may_be_wanted, is_wanted, &before };

	(void)state;
	assert_int_equal(rb_data_search(module, mem, &wanted), (uintptr_t)wanted_words);
	wanted_words[1] = 9;
	assert_int_equal(rb_data_search(module, mem, &wanted), 0);
	/* and in what the file has no bytes of */
	zeroed[0] = before + 1;
	zeroed[1] = 7;
	assert_int_equal(rb_data_search(module, mem, &wanted), (uintptr_t)zeroed);
	assert_int_equal(rb_data_search(module, -1, &wanted), 0);
	/* data that looks like it everywhere */
	zeroed[0] = 0;
	for (size_t i = 0; i < sizeof(many) / sizeof(*many); i++)
		many[i] = before + 1;
	asked = 0;
	assert_int_equal(rb_data_search(module, mem, &wanted), 0);
	assert_int_equal(asked, 16384);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_any_frame, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_of_c_only, setup, teardown),
		cmocka_unit_test_setup_teardown(no_labels, setup, teardown),
		cmocka_unit_test_setup_teardown(they_do_not_agree, setup, teardown),
		cmocka_unit_test_setup_teardown(pc_is_elsewhere, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_execution, setup, teardown),
		cmocka_unit_test_setup_teardown(random_words, setup, teardown),
		cmocka_unit_test_setup_teardown(its_only_caller, setup, teardown),
		cmocka_unit_test_setup_teardown(several_or_none, setup, teardown),
		cmocka_unit_test_setup_teardown(in_the_data, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
