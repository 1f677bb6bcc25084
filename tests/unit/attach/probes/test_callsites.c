/* SPDX-License-Identifier: MIT */
/*
 * callsites: functions written for this test, found in this very program. tests/test_callsites.py compares
 * compilers' output with objdump; here is what compilers never or seldom make.
 */
#include "attach/probes/callsites.h"

#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/*
 * NAME, with an FDE unless @cfi is empty; NAME_ret is the return address of its call, or the address behind
 * its jump.
 */
#define FUNCTION(name, begin, end, ...)                                                                      \
	__asm__(".text\n.type " #name ", @function\n" #name ":\n" begin "\n" __VA_ARGS__ "\n" end            \
		"\n.size " #name ", . - " #name "\n");                                                       \
	extern const char name[] __attribute__((visibility("hidden"))),                                      \
		name##_ret[] __attribute__((visibility("hidden")))

#define DESCRIBED(name, ...) FUNCTION(name, ".cfi_startproc", ".cfi_endproc", __VA_ARGS__)

FUNCTION(wrapper, ".cfi_startproc", ".cfi_endproc",
	 "push %rbx\n call calloc@plt\nwrapper_ret: pop %rbx\n ret");
DESCRIBED(plain, "call malloc@plt\nplain_ret: ret");
DESCRIBED(by_slot, "call *malloc@GOTPCREL(%rip)\nby_slot_ret: ret");
/* a slot without a name: a RELATIVE relocation fills it */
__asm__(".section .got, \"aw\"\nown_slot: .quad wrapper\n.text\n");
DESCRIBED(by_own_slot, "call *own_slot(%rip)\nby_own_slot_ret: ret");
DESCRIBED(with_bnd, ".byte 0xf2\n call malloc@plt\nwith_bnd_ret: ret");
DESCRIBED(direct, "nop\n call wrapper\ndirect_ret: ret");
DESCRIBED(joined, "test %rdi, %rdi\n je 1f\n call malloc@plt\njoined_ret: 1: ret");
DESCRIBED(past_lock, "je 1f\n lock\n1: cmpxchg %ecx, (%rdi)\n call malloc@plt\npast_lock_ret: ret");
DESCRIBED(tail, "mov $16, %edi\n jmp malloc@plt\ntail_ret: nop");
DESCRIBED(half_tail, "test %rdi, %rdi\n je 1f\n jmp *malloc@GOTPCREL(%rip)\nhalf_tail_ret: 1: ret");
DESCRIBED(tail_if, "test %rdi, %rdi\n .byte 0x0f, 0x85\n .long wrapper - . - 4\ntail_if_ret: ret");
/* known by its size only */
FUNCTION(undescribed, "", "", "call malloc@plt\nundescribed_ret: ret");
/* what looks like a call is part of a constant */
DESCRIBED(constant, ".byte 0x48, 0xb8, 0xe8\n .long wrapper - . - 4\nconstant_ret: .byte 0, 0, 0\n ret");
/* data that makes the call behind it look like a constant */
DESCRIBED(
	data,
	"jmp 1f\n .byte 0x48, 0xb8\n1: nop\n nop\n call malloc@plt\ndata_ret: ret\n .byte 0x90, 0x90, 0x90");
/* behind bytes that are not an instruction nothing is known */
DESCRIBED(no_instruction, "jmp 1f\n .byte 0x06\n1: call malloc@plt\nno_instruction_ret: ret");
/* the call does not return, and what follows is another function's */
DESCRIBED(at_end, "call malloc@plt\nat_end_ret:");
DESCRIBED(neighbour, "neighbour_ret: nop\n ret");
/* neither FDE nor size */
__asm__(".text\nunknown: call malloc@plt\nunknown_ret: ret\n");
extern const char unknown_ret[] __attribute__((visibility("hidden")));

static struct {
	struct elfimage *self;
	taddr bias;
	struct callsite *calls, *tails;
	size_t ncalls, ntails, unsure;
} fix;

static taddr file_address(const char *p)
{
	return (taddr)(uintptr_t)p - fix.bias;
}

static const struct callsite *find(const struct callsite *sites, size_t n, const char *ret)
{
	for (size_t i = 0; i < n; i++) {
		if (sites[i].ret == file_address(ret))
			return &sites[i];
	}
	return NULL;
}

#define assert_call(name, goes_to, is_joined)                                                                \
	assert_site(find(fix.calls, fix.ncalls, name##_ret), #name, name, goes_to, is_joined)
#define assert_tail(name, goes_to, is_joined)                                                                \
	assert_site(find(fix.tails, fix.ntails, name##_ret), #name, name, goes_to, is_joined)
#define assert_no_call(name) assert_null(find(fix.calls, fix.ncalls, name##_ret))

/* malloc is target 0, calloc 1, wrapper 2. */
static void assert_site(const struct callsite *site, const char *name, const char *function, unsigned target,
			bool is_joined)
{
	if (!site)
		fail_msg("%s is not found", name);
	assert_int_equal(site->function, file_address(function));
	assert_int_equal(site->target, target);
	assert_int_equal(site->joined, is_joined);
}

static void test_calls(void **state)
{
	(void)state;
	assert_call(plain, 0, false);
	assert_call(by_slot, 0, false);
	assert_call(by_own_slot, 2, false);
	assert_call(with_bnd, 0, false);
	assert_call(wrapper, 1, false);
	assert_call(direct, 2, false);
	assert_call(joined, 0, true);
	assert_call(past_lock, 0, false);
	assert_call(undescribed, 0, false);
	for (size_t i = 1; i < fix.ncalls; i++)
		assert_true(fix.calls[i - 1].ret < fix.calls[i].ret);
}

static void test_no_calls(void **state)
{
	(void)state;
	assert_no_call(constant);
	assert_no_call(data);
	assert_no_call(no_instruction);
	assert_no_call(at_end);
	assert_no_call(neighbour);
	assert_null(find(fix.calls, fix.ncalls, unknown_ret));
	assert_int_equal(fix.unsure, 5);	/* these, but neighbour has none */
}

static void test_tails(void **state)
{
	(void)state;
	assert_tail(tail, 0, false);
	assert_tail(half_tail, 0, true);
	assert_tail(tail_if, 2, true);
	assert_int_equal(fix.ntails, 3);
	assert_null(find(fix.tails, fix.ntails, plain_ret));
}

/* No target, so nothing is found; and a target that nothing calls. */
static void test_none(void **state)
{
	const struct callsite_target never = { "a function that there is not", 0 };
	struct callsite *sites;
	size_t n;

	(void)state;
	assert_int_equal(callsites_find(fix.self, NULL, 0, &sites, &n, NULL), 0);
	assert_int_equal(n, 0);
	free(sites);
	assert_int_equal(callsites_find(fix.self, &never, 1, &sites, &n, NULL), 0);
	assert_int_equal(n, 0);
	free(sites);
}

static int find_bias(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(taddr *)bias = info->dlpi_addr;
	return 1;
}

static int set_up(void **state)
{
	cleanup_close int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct callsite_target targets[] = { { "malloc", 0 }, { "calloc", 0 }, { NULL, 0 } };

	(void)state;
	if (fd < 0 || elfimage_open(fd, "self", &fix.self))
		return -1;
	dl_iterate_phdr(find_bias, &fix.bias);
	targets[2].addr = file_address(wrapper);
	if (callsites_find(fix.self, targets, 3, &fix.calls, &fix.ncalls, &fix.unsure))
		return -1;
	return callsites_tails(fix.self, targets, 3, 0, &fix.tails, &fix.ntails);
}

static int tear_down(void **state)
{
	(void)state;
	elfimage_close(fix.self);
	free(fix.calls);
	free(fix.tails);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_no_calls),
		cmocka_unit_test(test_tails),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
