/* SPDX-License-Identifier: MIT */
/*
 * unwind: our own stack compared with the C library's backtrace; made-up threads for rare cases; wild ones,
 * where the walk must end. (test_unwind_step has the rest: real code, instruction by instruction.)
 */
#include "attach/stacks/unwind/unwind.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/target/modules.h"

#define KEPT __attribute__((noinline, noclone))
#define STACK_AT 0x7ffd00000000
#define WORDS 64

struct rig {
	struct modules *ms;
	struct unwinder *u;
};

static struct rig rig;

static int set_up(void **state)
{
	(void)state;
	return modules_new(getpid(), &rig.ms) || unwinder_new(rig.ms, &rig.u);
}

static int tear_down(void **state)
{
	(void)state;
	unwinder_free(rig.u);
	modules_free(rig.ms);
	return 0;
}

static struct unwind_stats stats(void)
{
	struct unwind_stats out;

	unwinder_stats(rig.u, &out);
	return out;
}

/* --- ourselves --- */

/* The registers of a thread at getcontext(). */
static void registers(struct user_regs_struct *regs, const ucontext_t *context)
{
	const greg_t *g = context->uc_mcontext.gregs;

	*regs = (struct user_regs_struct){
		.rip = (uint64_t)g[REG_RIP], .rsp = (uint64_t)g[REG_RSP], .rbp = (uint64_t)g[REG_RBP],
		.rbx = (uint64_t)g[REG_RBX], .r12 = (uint64_t)g[REG_R12], .r13 = (uint64_t)g[REG_R13],
		.r14 = (uint64_t)g[REG_R14], .r15 = (uint64_t)g[REG_R15],
	};
}

static struct unwind_from from_here(const struct user_regs_struct *regs, uint32_t slice_len)
{
	return (struct unwind_from){
		.regs = regs, .slice = (const uint8_t *)(uintptr_t)regs->rsp, .slice_len = slice_len,
		.slice_addr = regs->rsp,
	};
}

/* From the stack pointer to what main() had on the stack. */
static const char *top_of_stack;

static void check_here(void)
{
	ucontext_t context;
	struct user_regs_struct regs;
	struct unwind_from from;
	struct unwind_stack st, less;
	void *expected[UNWIND_MAX];
	int n;

	assert_int_equal(getcontext(&context), 0);
	registers(&regs, &context);
	from = from_here(&regs, (uint32_t)((uintptr_t)top_of_stack - regs.rsp));
	unwind(rig.u, &from, UNWIND_MAX, &st);
	n = backtrace(expected, UNWIND_MAX);
	/* A sanitizer's backtrace has a frame of its own. */
	assert_true(n >= (int)st.n && n <= (int)st.n + 1);
	for (unsigned i = 1; i < st.n; i++)
		assert_int_equal(st.frames[i], (uintptr_t)expected[(unsigned)n - st.n + i]);
	assert_int_equal(st.frames[0], regs.rip | UNWIND_EXACT);
	assert_int_equal(st.end, UNWIND_WHOLE);
	assert_false(st.guessed);

	from.slice_len = st.used;
	unwind(rig.u, &from, UNWIND_MAX, &less);
	assert_int_equal(less.end, UNWIND_WHOLE);
	assert_int_equal(less.n, st.n);
	from.slice_len = st.used - 1;
	unwind(rig.u, &from, UNWIND_MAX, &less);
	assert_int_equal(less.end, UNWIND_CUT);
	assert_true(less.n < st.n);
	assert_memory_equal(less.frames, st.frames, less.n * sizeof(st.frames[0]));
}

static volatile int sum;

static KEPT void deeper(int n)
{
	if (n > 0)
		deeper(n - 1);
	else
		check_here();
	sum++;
}

static int in_sort(const void *a, const void *b)
{
	check_here();
	return *(const int *)a - *(const int *)b;
}

static void test_own_stack(void **state)
{
	int v[] = { 2, 1 };

	(void)state;
	deeper(0);
	deeper(7);
	deeper(60);
	qsort(v, 2, sizeof(v[0]), in_sort);
}

static void test_warm_is_not_decoded_again(void **state)
{
	uint64_t decoded[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		deeper(9);
		decoded[i] = stats().cold;
	}
	assert_true(decoded[0] > 0);
	assert_int_equal(decoded[1], decoded[0]);
	assert_int_equal(decoded[2], decoded[0]);
}

/* --- made-up threads --- */

/* Without tables. Each label is an instruction that represents a kind. */
extern const char plain_entry[], plain_middle[], plain_ret[], plain_jump[], plain_return[], plain_sigreturn[];
__asm__(".pushsection .text\n"
	".globl plain_entry\n"
	".type plain_entry, @function\n"
	".fill 8, 1, 0xcc\n"	/* so that the bytes before do not look like a call */
	"plain_entry: nop\n"
	"plain_middle: push %rbp\n"
	"	call *%rax\n"
	"plain_return: leave\n"
	"plain_ret: ret\n"
	"plain_jump: jmp *plain_entry(%rip)\n"
	"	nop\n"
	"plain_sigreturn: mov $15, %rax\n"
	"	syscall\n"
	".size plain_entry, .-plain_entry\n"
	".popsection\n");

struct thread {
	struct user_regs_struct regs;
	uint64_t stack[WORDS];
	struct unwind_from from;
	struct unwind_stack st;
};

static struct thread *thread_at(struct thread *t, const void *pc)
{
	*t = (struct thread){ .regs = { .rip = (uintptr_t)pc, .rsp = STACK_AT } };
	t->from = (struct unwind_from){
		.regs = &t->regs, .slice = (const uint8_t *)t->stack, .slice_len = sizeof(t->stack),
		.slice_addr = STACK_AT,
	};
	return t;
}

static void expect(struct thread *t, enum unwind_end end, uint32_t n, bool guessed)
{
	unwind(rig.u, &t->from, UNWIND_MAX, &t->st);
	assert_int_equal(t->st.end, end);
	assert_int_equal(t->st.n, n);
	assert_int_equal(t->st.guessed, guessed);
}

static void test_without_tables_what_the_code_says(void **state)
{
	static const char *const certain[] = { plain_entry, plain_ret, plain_jump };
	struct thread t;

	(void)state;
	for (size_t i = 0; i < sizeof(certain) / sizeof(certain[0]); i++) {
		thread_at(&t, certain[i])->stack[0] = (uintptr_t)plain_return;
		expect(&t, UNWIND_LOST, 2, false);
		assert_int_equal(t.st.frames[1], (uintptr_t)plain_return);
	}
	/* A return address needs a call before it: the instruction itself shows nothing. */
	thread_at(&t, plain_ret)->from.returned = true;
	t.stack[0] = (uintptr_t)plain_return;
	expect(&t, UNWIND_LOST, 1, false);
	assert_int_equal(t.st.frames[0], (uintptr_t)plain_ret);
}

static void test_frame_pointer(void **state)
{
	struct thread t;

	(void)state;
	thread_at(&t, plain_middle)->regs.rbp = STACK_AT + 16;
	t.stack[2] = STACK_AT + 64;
	t.stack[3] = (uintptr_t)plain_return;
	t.stack[8] = STACK_AT + 128;
	t.stack[9] = (uintptr_t)plain_return;
	t.stack[16] = 0;
	expect(&t, UNWIND_LOST, 3, true);
	assert_int_equal(t.st.frames[2], (uintptr_t)plain_return);
	assert_int_equal(t.st.used, 17 * 8 + 8);

	t.from.slice_len = 9 * 8;
	expect(&t, UNWIND_CUT, 2, true);
}

static void test_frame_pointers_not_believed(void **state)
{
	struct thread t;

	(void)state;
	/* no call is before it */
	thread_at(&t, plain_middle)->regs.rbp = STACK_AT + 16;
	t.stack[2] = STACK_AT + 64;
	t.stack[3] = (uintptr_t)plain_ret;
	expect(&t, UNWIND_LOST, 1, false);
	/* not code */
	t.stack[3] = (uintptr_t)&rig;
	expect(&t, UNWIND_LOST, 1, false);
	/* it points to itself, and down */
	t.stack[3] = (uintptr_t)plain_return;
	t.stack[2] = STACK_AT + 16;
	expect(&t, UNWIND_LOST, 1, false);
	t.stack[2] = STACK_AT + 8;
	expect(&t, UNWIND_LOST, 1, false);
	/* its caller uses rbp for something else */
	t.stack[2] = 12345;
	expect(&t, UNWIND_LOST, 2, true);
	/* below the stack pointer, and far away */
	t.stack[2] = STACK_AT + 64;
	t.regs.rbp = STACK_AT - 16;
	expect(&t, UNWIND_LOST, 1, false);
	t.regs.rbp = 0x7fff00000000;
	expect(&t, UNWIND_LOST, 1, false);
}

static void test_code_of_no_file(void **state)
{
	taddr made = (uintptr_t)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct thread t;

	(void)state;
	thread_at(&t, plain_middle)->regs.rbp = STACK_AT + 16;
	t.stack[2] = STACK_AT + 64;
	t.stack[3] = made + 100;
	t.stack[8] = STACK_AT + 128;
	t.stack[9] = (uintptr_t)plain_return;
	expect(&t, UNWIND_LOST, 1, false);
	unwinder_follow_jit(rig.u, getpid());
	expect(&t, UNWIND_LOST, 3, true);
	assert_int_equal(t.st.frames[1], made + 100);
	/* Memory that is not code is refused, although made code was accepted just now. */
	t.stack[3] = (uintptr_t)&t;
	expect(&t, UNWIND_LOST, 1, false);
	/*
	 * A function with tables, or without, that returns to something that is not code: no frame, whatever
	 * a frame pointer says.
	 */
	thread_at(&t, plain_ret)->stack[0] = (uintptr_t)&t;
	t.regs.rbp = STACK_AT + 16;
	t.stack[2] = STACK_AT + 64;
	t.stack[3] = (uintptr_t)plain_return;
	expect(&t, UNWIND_LOST, 1, false);
	t.stack[0] = made + 200;
	expect(&t, UNWIND_LOST, 3, true);
	assert_int_equal(munmap((void *)(uintptr_t)made, 4096), 0);
}

/*
 * Go calls C on another stack, where its scheduler left return addresses: its tables count from that stack's
 * pointer, so that each stack of a leak had another function there.
 */
extern const char go_to_c_return[];
__asm__(".pushsection .text\n"
	".type \"runtime.asmcgocall.abi0\", @function\n"
	"\"runtime.asmcgocall.abi0\": .cfi_startproc\n"
	"	sub $64, %rsp\n"
	"	.cfi_adjust_cfa_offset 64\n"
	"	call *%rax\n"
	"go_to_c_return: add $64, %rsp\n"
	"	.cfi_adjust_cfa_offset -64\n"
	"	ret\n"
	".cfi_endproc\n"
	".size \"runtime.asmcgocall.abi0\", .-\"runtime.asmcgocall.abi0\"\n"
	".popsection\n");

static void test_another_stack_that_no_table_tells_of(void **state)
{
	struct thread t;

	(void)state;
	thread_at(&t, plain_ret)->stack[0] = (uintptr_t)go_to_c_return;
	t.stack[9] = (uintptr_t)plain_return;
	expect(&t, UNWIND_LOST, 2, false);
	assert_int_equal(t.st.frames[1], (uintptr_t)go_to_c_return);
}

/* The kernel's signal frame where the C library has no tables for the return from it (musl). */
static void test_signal_frame_without_tables(void **state)
{
	struct thread t;
	ucontext_t *context = (ucontext_t *)(void *)t.stack;

	(void)state;
	thread_at(&t, plain_sigreturn)->from.returned = true;
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)plain_middle;
	context->uc_mcontext.gregs[REG_RSP] = STACK_AT + 256;
	context->uc_mcontext.gregs[REG_RBP] = STACK_AT + 264;
	t.stack[33] = STACK_AT + 512 - 8;
	t.stack[34] = (uintptr_t)plain_return;
	expect(&t, UNWIND_CUT, 3, true);
	assert_int_equal(t.st.frames[1], (uintptr_t)plain_middle | UNWIND_EXACT);
	assert_int_equal(t.st.frames[2], (uintptr_t)plain_return);
}

static int read_all(void *ctx, taddr addr, void *buf, size_t n)
{
	const struct thread *t = ctx;
	taddr at = addr - STACK_AT;

	if (n > sizeof(t->stack) || at > sizeof(t->stack) - n)
		return -EFAULT;
	memcpy(buf, (const uint8_t *)t->stack + at, n);
	return 0;
}

static void test_memory_beyond_the_slice(void **state)
{
	struct thread t;

	(void)state;
	thread_at(&t, plain_ret)->stack[0] = (uintptr_t)plain_return;
	t.from.slice_len = 0;
	expect(&t, UNWIND_CUT, 1, false);
	t.from.slice_len = 7;
	expect(&t, UNWIND_CUT, 1, false);
	t.from.read = read_all;
	t.from.ctx = &t;
	expect(&t, UNWIND_LOST, 2, false);
	assert_int_equal(t.st.used, 0);
}

static void test_ends(void **state)
{
	struct thread t;

	(void)state;
	thread_at(&t, plain_ret);
	expect(&t, UNWIND_WHOLE, 1, false);	/* the return address 0 */
	t.stack[0] = 0xffffffff81000000;
	expect(&t, UNWIND_LOST, 1, false);
	thread_at(&t, NULL)->from.returned = true;
	expect(&t, UNWIND_LOST, 1, false);
	thread_at(&t, NULL);
	expect(&t, UNWIND_LOST, 1, false);
	assert_int_equal(t.st.frames[0], UNWIND_EXACT);
}

static void test_as_deep_as_asked(void **state)
{
	ucontext_t context;
	struct user_regs_struct regs;
	struct unwind_from from;
	struct unwind_stack st, whole;

	(void)state;
	assert_int_equal(getcontext(&context), 0);
	registers(&regs, &context);
	from = from_here(&regs, (uint32_t)((uintptr_t)top_of_stack - regs.rsp));
	unwind(rig.u, &from, UNWIND_MAX + 1, &whole);
	assert_int_equal(whole.end, UNWIND_WHOLE);
	unwind(rig.u, &from, 2, &st);
	assert_int_equal(st.n, 2);
	assert_int_equal(st.end, UNWIND_DEEP);
	unwind(rig.u, &from, whole.n, &st);
	assert_int_equal(st.end, UNWIND_WHOLE);
	unwind(rig.u, &from, 0, &st);
	assert_int_equal(st.n, 1);
	assert_int_equal(st.end, UNWIND_DEEP);
}

/* --- wild ones --- */

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* An address of code, of the stack, or anything. */
static uint64_t draw_word(uint64_t *seed)
{
	const struct module *m = modules_at(rig.ms, draw(seed) % modules_count(rig.ms));

	switch (draw(seed) % 8) {
	case 0:
		return draw(seed);
	case 1: case 2: case 3:
		return STACK_AT + draw(seed) % (WORDS * 8);
	default:
		return m->lo + draw(seed) % (m->hi - m->lo);
	}
}

static void test_wild_threads(void **state)
{
	uint64_t seed = 88172645463325252u, *reg;
	struct thread t;

	(void)state;
	alarm(60);
	for (unsigned i = 0; i < 20000; i++) {
		thread_at(&t, NULL);
		for (reg = (uint64_t *)&t.regs; reg < (uint64_t *)(&t.regs + 1); reg++)
			*reg = draw_word(&seed);
		t.regs.rsp = STACK_AT + draw(&seed) % 256;
		t.from.returned = i % 2;
		t.from.read = i % 3 ? NULL : read_all;
		t.from.ctx = &t;
		for (unsigned k = 0; k < WORDS; k++)
			t.stack[k] = draw_word(&seed);
		unwind(rig.u, &t.from, UNWIND_MAX, &t.st);
		assert_true(t.st.n >= 1 && t.st.n <= UNWIND_MAX && t.st.used <= sizeof(t.stack));
	}
	alarm(0);
}

/* --- modules that are loaded and unloaded --- */

/* How many frames a thread has at @pc that returns to this program. */
static uint32_t frames_from(const void *pc)
{
	struct thread t;

	thread_at(&t, pc)->stack[0] = (uintptr_t)plain_return;
	unwind(rig.u, &t.from, UNWIND_MAX, &t.st);
	return t.st.n;
}

static uint64_t refresh_and_decode(void)
{
	assert_int_equal(modules_refresh(rig.ms, false), 0);
	unwinder_modules_changed(rig.u);
	deeper(5);
	return stats().cold;
}

static void test_modules_come_and_go(void **state)
{
	void *lib = dlopen("libthread_db.so.1", RTLD_LAZY);
	const void *pc;
	uint64_t before;

	(void)state;
	assert_non_null(lib);
	pc = dlsym(lib, "td_ta_new");
	assert_non_null(pc);
	refresh_and_decode();
	assert_int_equal(frames_from(pc), 2);
	before = stats().cold;
	assert_int_equal(frames_from(pc), 2);
	assert_int_equal(stats().cold, before);

	/*
	 * Whatever is there now, it is not the library's code. Events from before the unload have been
	 * handled.
	 */
	dlclose(lib);
	before = refresh_and_decode() - before;
	assert_true(before <= 1);	/* the call in the line above is a return address of its own */
	before = stats().cold;
	assert_int_equal(frames_from(pc), 1);
	assert_int_equal(stats().cold, before + 1);
}

static void test_unknown_is_not_remembered(void **state)
{
	void *lib = dlopen("libBrokenLocale.so.1", RTLD_NOW);
	const void *pc;

	(void)state;
	assert_non_null(lib);
	pc = dlsym(lib, "__ctype_get_mb_cur_max");
	assert_non_null(pc);
	assert_int_equal(frames_from(pc), 1);
	refresh_and_decode();
	assert_int_equal(frames_from(pc), 2);
	dlclose(lib);
}

static void test_forget(void **state)
{
	uint64_t before;

	(void)state;
	unwinder_forget(rig.u);
	assert_int_equal(modules_refresh(rig.ms, true), 0);
	unwinder_modules_changed(rig.u);
	before = stats().cold;
	deeper(5);
	assert_true(stats().cold > before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_stack),
		cmocka_unit_test(test_warm_is_not_decoded_again),
		cmocka_unit_test(test_without_tables_what_the_code_says),
		cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_frame_pointers_not_believed),
		cmocka_unit_test(test_code_of_no_file),
		cmocka_unit_test(test_another_stack_that_no_table_tells_of),
		cmocka_unit_test(test_signal_frame_without_tables),
		cmocka_unit_test(test_memory_beyond_the_slice),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_as_deep_as_asked),
		cmocka_unit_test(test_wild_threads),
		cmocka_unit_test(test_modules_come_and_go),
		cmocka_unit_test(test_unknown_is_not_remembered),
		cmocka_unit_test(test_forget),
	};
	const char *end = getenv("PATH");

	/* The environment lies above the stack. */
	top_of_stack = end ? end : (const char *)(&tests + 1);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
