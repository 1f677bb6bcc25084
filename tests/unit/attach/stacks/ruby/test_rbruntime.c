/* SPDX-License-Identifier: MIT */
/*
 * rbruntime, rbsymbols: this program is a Ruby, as far as its symbols go: which version it is, where the
 * frames of its first thread begin, and its table of symbols. Those that are not as expected, and those of a
 * file without symbols.
 */
#include "attach/stacks/ruby/rbruntime.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/stacks/ruby/rbsymbols.h"
#include "tests/unit/attach/stacks/ruby/made_script.h"

#define VALUES 100u		/* words of the stack of an execution */
#define FRAME 8u		/* words of a frame of 3.1 */

/* --- what a file of Ruby has --- */

char ruby_version[16] = "3.1.2";
int32_t ruby_patchlevel = 20;
void *ruby_current_vm_ptr;

int rb_vm_exec(void);

__attribute__((noinline)) int rb_vm_exec(void)
{
	__asm__ volatile("");
	return 1;
}

/* What executes instructions, and the loop that calls it. */
__asm__(".text\n"
	"core: .cfi_startproc\n nop\ncore_label: ret\n .cfi_endproc\n"
	"loop: .cfi_startproc\n call core\n ret\n .cfi_endproc\n");
extern const char core_label[] __attribute__((visibility("hidden"))),
	loop[] __attribute__((visibility("hidden")));

/* Words of initialized data, one of which begins the table of symbols. */
static struct {
	uint64_t before[9], last, by_name, arrays, after[5];
} data = { .before = { 1, 170, 1 << 20 }, .last = 1 };

static struct array symbols_outer, symbols_inner;
static uint64_t outer_elements[1], inner_elements[1024];
static struct string plus, times, less;

/* --- what a process of it has --- */

static uint64_t *vm, thread[32], execution[16], values[VALUES];
static struct {
	uint64_t storage[64];
	uint64_t self[4];		/* what pthread_self() leads to */
} descriptor;
static uint64_t blocks[8];

static struct modules *modules;
static const struct module *module;
static struct rb_runtime rt;
static int mem;
static char why[200];

static void make_symbols(void)
{
	make_short(&plus, "+", false);
	make_short(&times, "*", false);
	make_short(&less, "<", false);
	inner_elements[2 * '+'] = (uintptr_t)&plus;
	inner_elements[2 * '*'] = (uintptr_t)&times;
	inner_elements[2 * '<'] = (uintptr_t)&less;
	make_array(&symbols_inner, inner_elements, 1024);
	outer_elements[0] = (uintptr_t)&symbols_inner;
	make_array(&symbols_outer, outer_elements, 1);
	data.last = 400;
	data.by_name = (uintptr_t)&data;
	data.arrays = (uintptr_t)&symbols_outer;
}

/* As of 3.1; its only thread is descriptor. */
static void make_process(void)
{
	const taddr self = (uintptr_t)descriptor.self;

	memset(&descriptor, 0, sizeof(descriptor));
	ruby_current_vm_ptr = vm;
	vm[5] = (uintptr_t)thread;
	thread[4] = (uintptr_t)vm;
	thread[5] = (uintptr_t)execution;
	thread[10] = self;
	execution[0] = (uintptr_t)values;
	execution[1] = VALUES;
	execution[2] = (uintptr_t)&values[VALUES - 3 * FRAME];
	execution[6] = (uintptr_t)thread;
	values[VALUES - FRAME + 1] = (uintptr_t)&values[3];
	descriptor.self[2] = self;
	descriptor.self[1] = (uintptr_t)&blocks[2];
	blocks[0] = 2;
	blocks[4] = (uintptr_t)&descriptor.storage[0];
	blocks[6] = UINT64_MAX;
	descriptor.storage[50] = (uintptr_t)execution;
}

static int setup(void **state)
{
	(void)state;
	vm = calloc(16, sizeof(*vm));
	assert_non_null(vm);
	assert_int_equal(modules_new(getpid(), &modules), 0);
	mem = open("/proc/self/mem", O_RDONLY);
	module = modules_find(modules, (uintptr_t)rb_vm_exec);
	make_symbols();
	make_process();
	strcpy(ruby_version, "3.1.2");
	ruby_patchlevel = 20;
	memset(&rt, 0, sizeof(rt));
	why[0] = '\0';
	return mem < 0 || !module;
}

static int teardown(void **state)
{
	(void)state;
	modules_free(modules);
	free(vm);
	return close(mem);
}

static int find(void)
{
	return rb_runtime_find(&rt.base, module, mem, why, sizeof(why));
}

static void found(void **state)
{
	(void)state;
	assert_int_equal(find(), 0);
	assert_string_equal(rt.base.version, "3.1.2");
	assert_int_equal(rt.base.mem, mem);
	assert_int_equal(rt.vm, (uintptr_t)&ruby_current_vm_ptr);
	assert_int_equal(rt.base.loop.lo, (uintptr_t)rb_vm_exec);
	assert_true(rt.base.loop.hi > rt.base.loop.lo);
	assert_int_equal(rt.layout.version, 0x0301);
	strcpy(ruby_version, "3.3.5");
	assert_int_equal(find(), 0);
	assert_int_equal(rt.layout.version, 0x0303);
}

static void not_in_other_files(void **state)
{
	(void)state;
	module = modules_find(modules, (uintptr_t)pread);
	assert_int_equal(find(), -ENOENT);
}

static void refused_as(const char *version, const char *reason)
{
	char text[200];

	snprintf(text, sizeof(text), "Ruby %s in test_rbruntime: %s", version, reason);
	assert_int_equal(find(), -ENOTSUP);
	assert_string_equal(why, text);
}

static void refused(void **state)
{
	(void)state;
	strcpy(ruby_version, "3.2.0");
	refused_as("3.2.0", "frames of this version are not known");
	strcpy(ruby_version, "any text of it");
	refused_as("of no version", "frames of this version are not known");
	memset(ruby_version, '3', sizeof(ruby_version));
	refused_as("of no version", "frames of this version are not known");
	strcpy(ruby_version, "3.1.0");
	ruby_patchlevel = -1;
	refused_as("3.1.0", "it is no release");
}

static int locate(void)
{
	return find() == 0 ? rb_runtime_locate(&rt.base, module) : -ENOTSUP;
}

static void located(void **state)
{
	(void)state;
	assert_int_equal(locate(), 0);
	assert_int_equal(rt.base.chain.slot, -14 * 8);
	assert_int_equal(rt.symbols, (uintptr_t)&data.last);
}

/* Each of the words by which it is recognized, if it is another one, is a reason to wait. */
static void not_as_expected(void **state)
{
	uint64_t *const words[] = {
		&vm[5], &thread[4], &thread[5], &thread[10], &execution[0], &execution[1], &execution[2],
		&execution[6], &values[VALUES - FRAME + 1], &descriptor.self[2], &descriptor.storage[50],
	};
	static const uint64_t others[] = { 0, 16, UINT64_MAX, 0x7fffffffffff };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++) {
			make_process();
			*words[i] = others[k];
			assert_int_equal(locate(), -EAGAIN);
		}
	}
	make_process();
	ruby_current_vm_ptr = NULL;
	assert_int_equal(locate(), -EAGAIN);
	/* the variable must be the only one */
	make_process();
	descriptor.storage[10] = (uintptr_t)execution;
	assert_int_equal(locate(), -EAGAIN);
	/* outside of the storage it is none */
	make_process();
	blocks[4] = (uintptr_t)&descriptor.storage[51];
	assert_int_equal(locate(), -EAGAIN);
	/* a frame of another size */
	make_process();
	execution[2] += 8;
	assert_int_equal(locate(), -EAGAIN);
}

/* How many blocks of storage there are may be any number. */
static void hostile_blocks(void **state)
{
	(void)state;
	make_process();
	blocks[0] = UINT64_MAX;
	assert_int_equal(locate(), 0);
	make_process();
	descriptor.self[1] = 16;
	assert_int_equal(locate(), -EAGAIN);
	make_process();
	blocks[6] = 16;
	assert_int_equal(locate(), 0);
	assert_int_equal(rt.base.chain.slot, -14 * 8);
}

/* Its file has neither symbol. */
static int locate_unnamed(void)
{
	assert_int_equal(find(), 0);
	rt.vm = 0;
	rt.base.loop = (struct code_range){ 0, 0 };
	return rb_runtime_locate(&rt.base, module);
}

static void without_symbols(void **state)
{
	uint64_t *const frame = &values[VALUES - 2 * FRAME];

	(void)state;
	assert_int_equal(locate_unnamed(), -EAGAIN);
	assert_string_equal(rt.base.unfound, "the function that executes them");
	assert_true(make_script());
	assert_int_equal(close(made_runtime.base.mem), 0);
	made_iseqs[0].code[0] = (uintptr_t)core_label;
	frame[0] = (uintptr_t)made_iseqs[0].code;
	frame[2] = (uintptr_t)&made_iseqs[0].iseq;
	assert_int_equal(locate_unnamed(), 0);
	assert_null(rt.base.unfound);
	assert_int_equal(rt.base.loop.lo, (uintptr_t)loop);
	assert_int_equal(rt.base.chain.slot, -14 * 8);
	/* nothing leads to its threads */
	vm[5] = 0;
	assert_int_equal(locate_unnamed(), -EAGAIN);
	assert_null(rt.base.unfound);
	memset(values, 0, sizeof(values));
}

/* What executes instructions has no caller: its file is not searched again, but another one is found. */
static void no_loop(void **state)
{
	uint64_t *const frame = &values[VALUES - 2 * FRAME];

	(void)state;
	assert_true(make_script());
	assert_int_equal(close(made_runtime.base.mem), 0);
	made_iseqs[0].code[0] = (uintptr_t)rb_vm_exec + 1;
	frame[0] = (uintptr_t)made_iseqs[0].code;
	frame[2] = (uintptr_t)&made_iseqs[0].iseq;
	assert_int_equal(locate_unnamed(), -EAGAIN);
	assert_int_equal(rt.core, (uintptr_t)rb_vm_exec - module->bias);
	assert_int_equal(rb_runtime_locate(&rt.base, module), -EAGAIN);
	assert_string_equal(rt.base.unfound, "the function that executes them");
	vm[5] = 0;
	assert_int_equal(rb_runtime_locate(&rt.base, module), -EAGAIN);
	assert_null(rt.base.unfound);
	vm[5] = (uintptr_t)thread;
	made_iseqs[0].code[0] = (uintptr_t)core_label;
	assert_int_equal(rb_runtime_locate(&rt.base, module), 0);
	assert_int_equal(rt.base.loop.lo, (uintptr_t)loop);
	memset(values, 0, sizeof(values));
}

static void names_of_symbols(void **state)
{
	const struct rb_layout *l = rb_layouts_find(0x0301);
	const taddr table = (uintptr_t)&data.last;
	char name[8];

	(void)state;
	inner_elements[2 * 300] = (uintptr_t)&plus;
	assert_true(rb_symbols_name(mem, l, table, '+', name, sizeof(name)));
	assert_string_equal(name, "+");
	assert_true(rb_symbols_name(mem, l, table, 300 << 4 | 5, name, sizeof(name)));
	assert_string_equal(name, "+");
	assert_false(rb_symbols_name(mem, l, table, 301 << 4, name, sizeof(name)));
	assert_false(rb_symbols_name(mem, l, table, 401 << 4, name, sizeof(name)));
	assert_false(rb_symbols_name(mem, l, table, UINT64_MAX, name, sizeof(name)));
	assert_false(rb_symbols_name(mem, l, 0, '+', name, sizeof(name)));
	assert_false(rb_symbols_name(mem, l, 16, '+', name, sizeof(name)));
}

/* It is known by all of what it must have; without it, methods in C have no names. */
static void no_table(void **state)
{
	const struct rb_layout *l = rb_layouts_find(0x0301);
	struct string *const letters[] = { &plus, &times, &less };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		make_symbols();
		make_short(letters[i], i == 1 ? "**" : "-", false);
		assert_int_equal(rb_symbols_locate(module, mem, l), 0);
	}
	make_symbols();
	data.last = 100;
	assert_int_equal(rb_symbols_locate(module, mem, l), 0);
	data.last = 1u << 30;
	assert_int_equal(rb_symbols_locate(module, mem, l), 0);
	make_symbols();
	data.arrays = 8;
	assert_int_equal(rb_symbols_locate(module, mem, l), 0);
	memset(&data, 0, sizeof(data));
	assert_int_equal(rb_symbols_locate(module, mem, l), 0);
	assert_int_equal(locate(), 0);
	assert_int_equal(rt.symbols, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(found, setup, teardown),
		cmocka_unit_test_setup_teardown(not_in_other_files, setup, teardown),
		cmocka_unit_test_setup_teardown(refused, setup, teardown),
		cmocka_unit_test_setup_teardown(located, setup, teardown),
		cmocka_unit_test_setup_teardown(not_as_expected, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_blocks, setup, teardown),
		cmocka_unit_test_setup_teardown(without_symbols, setup, teardown),
		cmocka_unit_test_setup_teardown(no_loop, setup, teardown),
		cmocka_unit_test_setup_teardown(names_of_symbols, setup, teardown),
		cmocka_unit_test_setup_teardown(no_table, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
