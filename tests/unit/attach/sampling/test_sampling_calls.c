/* SPDX-License-Identifier: MIT */
/*
 * sampling_calls: calls in this process, by address, through a stub and through slots, of functions here and
 * in the C library.
 */
#include "attach/sampling/sampling_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

static struct planting planting;

/* Never run. Each label is where the call before it returns to. */
__attribute__((naked, noinline, used)) static void calls(void)
{
	__asm__("call calls\n"
		"after_own: call getppid@PLT\n"
		"after_stub: call *getppid@GOTPCREL(%rip)\n"
		"after_slot: call *own_slot(%rip)\n"
		"after_own_slot: call *%rax\n"
		"after_pointer: ret\n"
		".pushsection .data\n"
		".balign 8\n"
		"own_slot: .quad calls\n"
		".popsection\n");
}

extern const char after_own[], after_stub[], after_slot[], after_own_slot[], after_pointer[];

static int setup(void **state)
{
	(void)state;
	planting = (struct planting){ .link = NULL };
	return decoder_new(&planting.decoder) < 0 || modules_new(getpid(), &planting.modules) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	decoder_free(planting.decoder);
	modules_free(planting.modules);
	return 0;
}

static bool goes_to(const char *ret, const void *function)
{
	return sampling_calls_goes_to(&planting, (taddr)(uintptr_t)ret, (taddr)(uintptr_t)function);
}

static bool is_direct(const char *ret)
{
	return sampling_calls_is_direct(&planting, (taddr)(uintptr_t)ret);
}

static void a_function_of_the_same_file(void **state)
{
	(void)state;
	assert_true(is_direct(after_own));
	assert_true(goes_to(after_own, calls) && !goes_to(after_own, getppid));
}

static void where_a_stub_leads(void **state)
{
	(void)state;
	assert_true(is_direct(after_stub));
	assert_true(goes_to(after_stub, getppid));
	assert_true(!goes_to(after_stub, getpid) && !goes_to(after_stub, calls));
}

static void where_a_slot_leads(void **state)
{
	(void)state;
	assert_true(is_direct(after_slot));
	assert_true(goes_to(after_slot, getppid));
	assert_true(!goes_to(after_slot, getpid) && !goes_to(after_slot, calls));
}

/* Never run. Two functions that end with a jump: always; or not always. */
__attribute__((naked, noinline, used)) static void always_jumps(void)
{
	__asm__("push %rbx\n"
		"call getppid@PLT\n"
		"pop %rbx\n"
		"jmp calls\n"
		"call always_jumps\n"
		"after_always: call sometimes_jumps\n"
		"after_sometimes: ret\n");
}

__attribute__((naked, noinline, used)) static void sometimes_jumps(void)
{
	__asm__("test %edi, %edi\n"
		"jz always_jumps\n"
		"jmp calls\n");
}

extern const char after_always[], after_sometimes[];

static void a_function_that_always_jumps_there(void **state)
{
	(void)state;
	assert_true(goes_to(after_always, calls) && !goes_to(after_always, getppid));
	assert_true(!goes_to(after_sometimes, calls) && !goes_to(after_sometimes, always_jumps));
}

/* A pointer of the program's own may be another one by now. */
static void pointers(void **state)
{
	(void)state;
	assert_true(is_direct(after_own_slot) && !goes_to(after_own_slot, calls));
	assert_true(!is_direct(after_pointer) && !goes_to(after_pointer, calls));
}

/* Never run. The first two calls are made each time. */
__attribute__((naked, noinline, used)) static void branches(void)
{
	__asm__("call getppid@PLT\n"
		"after_first: call getppid@PLT\n"
		"after_second: test %eax, %eax\n"
		"jz after_fourth\n"
		"call getppid@PLT\n"
		"after_third: ret\n"
		"call getppid@PLT\n"
		"after_fourth: ret\n");
}

extern const char after_first[], after_second[], after_third[], after_fourth[];

static bool is_always_made_to(taddr ret)
{
	return sampling_calls_always(&planting, (taddr)(uintptr_t)branches, ret);
}

static bool is_always_made(const char *ret)
{
	return is_always_made_to((taddr)(uintptr_t)ret);
}

static void what_is_called_each_time(void **state)
{
	(void)state;
	assert_true(is_always_made(after_first) && is_always_made(after_second));
	assert_true(!is_always_made(after_third) && !is_always_made(after_fourth));
	/* no call ends there: it is before the function, inside of one, behind a jump, somewhere else */
	assert_true(!is_always_made((const char *)branches));
	assert_true(!is_always_made_to((taddr)(uintptr_t)after_first - 1));
	assert_true(!is_always_made(after_second + 2) && !is_always_made(after_own) && !is_always_made(NULL));
}

static void what_other_files_can_name(void **state)
{
	(void)state;
	assert_true(sampling_calls_is_global(&planting, (taddr)(uintptr_t)getppid));
	assert_true(!sampling_calls_is_global(&planting, (taddr)(uintptr_t)branches));
	assert_true(!sampling_calls_is_global(&planting, (taddr)(uintptr_t)getppid + 1));
}

static void what_is_no_code(void **state)
{
	(void)state;
	assert_true(!is_direct((const char *)&planting) && !goes_to((const char *)&planting, calls));
	assert_true(!is_direct(NULL) && !goes_to(NULL, calls) && !goes_to(after_own, NULL));
}

/* Never run. Results that are not used, that may be, and that are. */
__attribute__((naked, noinline, used)) static void results(void)
{
	__asm__("call getppid@PLT\n"
		"after_ignored: mov %rbx, %rdi\n"
		"call getppid@PLT\n"
		"after_overwritten: inc %rbx\n"
		"xor %eax, %eax\n"
		"call getppid@PLT\n"
		"after_used: mov %rbx, %rdi\n"
		"mov %rbx, 8(%rax)\n"
		"call getppid@PLT\n"
		"after_called: call *(%rax)\n"
		"call getppid@PLT\n"
		"after_returned: ret\n"
		"call getppid@PLT\n"
		"after_either_way: test %rbx, %rbx\n"
		"jz after_ignored\n"
		"jmp after_overwritten\n"
		"call getppid@PLT\n"
		"after_one_way: test %rbx, %rbx\n"
		"jz after_used\n"
		"jmp after_overwritten\n"
		"call getppid@PLT\n"
		"after_unsure: test %rbx, %rbx\n"
		"jz after_returned\n"
		"jmp after_overwritten\n"
		"call getppid@PLT\n"
		"after_padded: nopl 0(%rax,%rax,1)\n"
		"xor %eax, %eax\n"
		"call getppid@PLT\n"
		"after_loop: jmp after_loop\n");
}

extern const char after_ignored[], after_overwritten[], after_used[], after_called[], after_returned[],
	after_either_way[], after_one_way[], after_unsure[], after_padded[], after_loop[];

static enum body_result result_at(const char *ret)
{
	return sampling_calls_result(&planting, (taddr)(uintptr_t)ret);
}

static void what_becomes_of_a_result(void **state)
{
	(void)state;
	assert_int_equal(result_at(after_ignored), BODY_RESULT_UNUSED);
	assert_int_equal(result_at(after_overwritten), BODY_RESULT_UNUSED);
	assert_int_equal(result_at(after_either_way), BODY_RESULT_UNUSED);
	assert_int_equal(result_at(after_used), BODY_RESULT_USED);
	assert_int_equal(result_at(after_called), BODY_RESULT_USED);
	assert_int_equal(result_at(after_one_way), BODY_RESULT_USED);
	assert_int_equal(result_at(after_returned), BODY_RESULT_UNKNOWN);
	assert_int_equal(result_at(after_unsure), BODY_RESULT_UNKNOWN);
	assert_int_equal(result_at(after_padded), BODY_RESULT_UNUSED);
	assert_int_equal(result_at(after_loop), BODY_RESULT_UNKNOWN);	/* and the search ends */
	/* it is overwritten there; but no call returns there */
	assert_int_equal(result_at(after_overwritten + 3), BODY_RESULT_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_of_the_same_file),
		cmocka_unit_test(where_a_stub_leads),
		cmocka_unit_test(where_a_slot_leads),
		cmocka_unit_test(a_function_that_always_jumps_there),
		cmocka_unit_test(pointers),
		cmocka_unit_test(what_is_called_each_time),
		cmocka_unit_test(what_becomes_of_a_result),
		cmocka_unit_test(what_other_files_can_name),
		cmocka_unit_test(what_is_no_code),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
