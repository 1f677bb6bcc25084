/* SPDX-License-Identifier: MIT */
/*
 * unwind, step by step: a child runs code of many kinds one instruction at a time, and at each instruction
 * our stack must be libdwfl's and libunwind's, wherever those two agree. That covers what no breakpoint
 * meets: the middle of prologues and epilogues, PLT stubs, lazy binding, the way into and out of a signal
 * handler.
 *
 * Ours has only the slice of stack that it would have in a watch, and the thread's memory where a signal
 * handler has a stack of its own.
 */
#include "attach/stacks/unwind/unwind.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/stacks/unwind/cfi.h"
#include "attach/stacks/unwind/dwfl.h"
#include "attach/stacks/unwind/libunwind.h"
#include "attach/target/modules.h"
#include "base/addrmap.h"
#include "base/fdio.h"

#define SLICE (32u << 10)
#define RED_ZONE 128
#define STEPS_MAX 4000000	/* with sanitizers a tenth of that is needed, otherwise a hundredth */
#define EACH_PC 3		/* an instruction in a loop is compared so often */

#define KEPT __attribute__((noinline, noclone))

/* --- what the child runs --- */

static volatile unsigned sum;

static KEPT void leaf(unsigned v)
{
	sum += v;
}

/* More variables than there are free registers: all callee-saved ones are pushed. */
static KEPT unsigned many_registers(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f,
				    unsigned g)
{
	for (unsigned i = 0; i < 2; i++) {
		leaf(a + i);
		leaf(b + c + d + i);
		a += e;
		b += f;
		c += g;
	}
	return a + b + c + d + e + f + g;
}

static KEPT void with_alloca(size_t n)
{
	volatile char *p = alloca(n);

	p[0] = 1;
	leaf((unsigned)(uintptr_t)p);
	p[n - 1] = 2;
}

static KEPT void aligned_local(void)
{
	volatile char p[256] __attribute__((aligned(128)));

	p[0] = 1;
	leaf((unsigned)(uintptr_t)p);
}

/* The stack pointer is aligned and moves: the CFA is given by an expression. */
static KEPT void aligned_and_alloca(size_t n, int a, int b, int c, int d, int e, int f, int on_stack)
{
	volatile char p[64] __attribute__((aligned(64)));
	volatile char *q = alloca(n);

	p[0] = q[0] = (char)on_stack;
	leaf((unsigned)(uintptr_t)p);
	leaf((unsigned)(a + b + c + d + e + f + on_stack));
}

static KEPT __attribute__((force_align_arg_pointer)) void realigned(int v)
{
	many_registers((unsigned)v, 2, 3, 4, 5, 6, 7);
}

static KEPT __attribute__((optimize("no-omit-frame-pointer"))) void with_frame_pointer(int depth)
{
	if (depth)
		with_frame_pointer(depth - 1);
	leaf((unsigned)depth);
}

static KEPT void large_frame(void)
{
	volatile char p[9000];

	p[0] = 1;
	leaf((unsigned)(uintptr_t)p);
	p[8999] = 2;
}

static KEPT int with_varargs(const char *format, ...)
{
	char text[200];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return n;
}

static KEPT unsigned tail_called(unsigned v)
{
	return many_registers(v, 1, 2, 3, 4, 5, 6);
}

/* A function with an early return and one without: parts of it have no frame. */
static KEPT unsigned shrink_wrapped(const char *s)
{
	unsigned n = 0;

	if (!*s)
		return 0;
	for (; *s; s++) {
		leaf((unsigned)*s);
		n += (unsigned)*s;
	}
	return n;
}

static KEPT int compare(const void *a, const void *b)
{
	leaf(1);
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int sig)
{
	leaf((unsigned)sig);
	many_registers(1, 2, 3, 4, 5, 6, 7);
}

static void on_signal_info(int sig, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	on_signal(sig);
}

static KEPT void signals(void)
{
	static char other_stack[32768];
	const stack_t alternate = { .ss_sp = other_stack, .ss_size = sizeof(other_stack) };
	struct sigaction here = { .sa_handler = on_signal };
	struct sigaction there = { .sa_sigaction = on_signal_info, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaction(SIGUSR1, &here, NULL);
	raise(SIGUSR1);
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR2, &there, NULL);
	raise(SIGUSR2);
}

static jmp_buf where;

static KEPT void jumps_out(int depth)
{
	if (depth == 0)
		longjmp(where, 1);
	if (depth > 0)
		jumps_out(depth - 1);
	leaf(1);
}

static KEPT void jumps(void)
{
	if (!setjmp(where))
		jumps_out(3);
}

static ucontext_t main_context, other_context;
static char other_context_stack[65536];

static void in_context(void)
{
	leaf(1);
	swapcontext(&other_context, &main_context);
	leaf(2);
}

static KEPT void contexts(void)
{
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = other_context_stack;
	other_context.uc_stack.ss_size = sizeof(other_context_stack);
	other_context.uc_link = &main_context;
	makecontext(&other_context, in_context, 0);
	swapcontext(&main_context, &other_context);
	swapcontext(&main_context, &other_context);
}

static void *thread(void *arg)
{
	return arg;
}

static KEPT void threads(void)
{
	pthread_t t;

	if (!pthread_create(&t, NULL, thread, NULL))
		pthread_join(t, NULL);
}

static KEPT void library(void)
{
	int v[] = { 5, 3, 9, 1, 7, 2, 8 };
	struct timespec now;
	char *text = strdup("3.14159e3 is no number to remember"), *end;
	volatile double d = strtod(text, &end);

	qsort(v, sizeof(v) / sizeof(v[0]), sizeof(v[0]), compare);
	clock_gettime(CLOCK_MONOTONIC, &now);
	with_varargs("%s %d %.17g %-20s|", end, v[0], d / 3, text);
	memset(text, 'x', strlen(text));
	free(text);
	free(realloc(malloc(100), 300000));
	leaf((unsigned)getppid());
	leaf((unsigned)strtol("123", NULL, 10) + (unsigned)atoi("7"));
	leaf(getenv("PATH") != NULL);
}

/* Without tables, but with a frame pointer; called by its address, and calling a function. */
void without_tables(void (*f)(unsigned));
__asm__(".pushsection .text\n"
	".globl without_tables\n"
	".type without_tables, @function\n"
	"without_tables:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $32, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov $7, %edi\n"
	"	call *%rax\n"
	"	mov $8, %edi\n"
	"	leave\n"
	"	ret\n"
	".size without_tables, .-without_tables\n"
	".popsection\n");

static KEPT __attribute__((optimize("no-omit-frame-pointer"))) void calls_without_tables(void)
{
	without_tables(leaf);
	leaf(3);
}

/* Its CFA is in a register that only an unwinder of all registers follows, as for _dl_runtime_resolve. */
void cfa_in_rbx(void (*f)(int));
__asm__(".pushsection .text\n"
	".globl cfa_in_rbx\n"
	".type cfa_in_rbx, @function\n"
	"cfa_in_rbx:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset rbx, 0\n"
	"	mov %rsp, %rbx\n"
	"	.cfi_def_cfa_register rbx\n"
	"	and $-64, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov $7, %edi\n"
	"	call *%rax\n"
	"	mov %rbx, %rsp\n"
	"	.cfi_def_cfa_register rsp\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size cfa_in_rbx, .-cfa_in_rbx\n"
	".popsection\n");

static KEPT void everything(void)
{
	leaf(many_registers(1, 2, 3, 4, 5, 6, 7));
	with_alloca(100);
	aligned_local();
	aligned_and_alloca(50, 1, 2, 3, 4, 5, 6, 7);
	realigned(1);
	with_frame_pointer(3);
	large_frame();
	leaf(tail_called(2));
	leaf(shrink_wrapped("") + shrink_wrapped("ab"));
	with_varargs("%d %s %5.2f", 1, "two", 3.0);
	library();
	signals();
	jumps();
	contexts();
	threads();
	calls_without_tables();
	cfa_in_rbx(realigned);
}

/* --- running the child --- */

struct rig {
	pid_t pid;
	int mem;
	struct modules *ms;
	struct unwinder *ours;
	struct unwind_dwfl *dwfl;
	struct unwind_libunwind *libunwind;
	struct addrmap seen;		/* pc -> how often */
	unsigned steps, compared, alone, returns, wrong;
};

/* One moment of the child, as each of the three unwinders sees it. */
struct moment {
	struct user_regs_struct regs;
	uint8_t slice[SLICE];
	uint32_t slice_len;
	taddr slice_addr;
	struct unwind_stack ours, dwfl, libunwind;
};

static int read_memory(void *ctx, taddr addr, void *buf, size_t n)
{
	const struct rig *rig = ctx;

	return pread_full(rig->mem, buf, n, (off_t)addr) == (ssize_t)n ? 0 : -EFAULT;
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		everything();
		_exit(42);
	}
	return pid;
}

static bool rig_open(struct rig *rig)
{
	char path[32];
	int status;

	*rig = (struct rig){ .pid = start_child() };
	assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return false;
	assert_true(WIFSTOPPED(status));
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)rig->pid);
	rig->mem = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(rig->mem >= 0);
	assert_int_equal(modules_new(rig->pid, &rig->ms), 0);
	assert_int_equal(unwinder_new(rig->ms, &rig->ours), 0);
	assert_int_equal(unwind_dwfl_new(rig->pid, &rig->dwfl), 0);
	assert_int_equal(unwind_libunwind_new(rig->pid, &rig->libunwind), 0);
	addrmap_init(&rig->seen, sizeof(uint64_t));
	return true;
}

static void rig_close(struct rig *rig)
{
	addrmap_fini(&rig->seen);
	unwind_libunwind_free(rig->libunwind);
	unwind_dwfl_free(rig->dwfl);
	unwinder_free(rig->ours);
	modules_free(rig->ms);
	close(rig->mem);
}

/* --- the three unwinders --- */

static bool same(const struct unwind_stack *a, const struct unwind_stack *b)
{
	return a->n == b->n && !memcmp(a->frames, b->frames, a->n * sizeof(a->frames[0]));
}

static bool begins_with(const struct unwind_stack *whole, const struct unwind_stack *part)
{
	return part->n <= whole->n && !memcmp(whole->frames, part->frames, part->n * sizeof(part->frames[0]));
}

/* @rest is the stack @whole without its first frame. */
static bool same_rest(const struct unwind_stack *whole, const struct unwind_stack *rest)
{
	return rest->n == whole->n - 1 &&
	       !memcmp(whole->frames + 1, rest->frames, rest->n * sizeof(rest->frames[0]));
}

static void unwind_ours(struct rig *rig, const struct moment *m, uint32_t slice_len, bool may_read,
			bool returned, struct unwind_stack *out)
{
	const struct unwind_from from = {
		.regs = &m->regs, .returned = returned, .slice = m->slice, .slice_len = slice_len,
		.slice_addr = m->slice_addr,
		.read = may_read ? read_memory : NULL, .ctx = rig,
	};

	unwind(rig->ours, &from, UNWIND_MAX, out);
}

static void unwind_all(struct rig *rig, struct moment *m)
{
	ssize_t got;

	m->slice_addr = m->regs.rsp - RED_ZONE;
	/* less at the end of the stack */
	got = pread(rig->mem, m->slice, sizeof(m->slice), (off_t)m->slice_addr);
	m->slice_len = got > 0 ? (uint32_t)got : 0;
	unwind_ours(rig, m, m->slice_len, true, false, &m->ours);
	unwind_dwfl(rig->dwfl, &m->regs, false, UNWIND_MAX, &m->dwfl);
	unwind_libunwind(rig->libunwind, &m->regs, false, UNWIND_MAX, &m->libunwind);
}

static void show(const struct rig *rig, const char *who, const struct unwind_stack *st)
{
	printf("  %s: %s%s\n", who, unwind_end_text(st->end), st->guessed ? ", guessed" : "");
	for (uint32_t i = 0; i < st->n; i++) {
		taddr pc = st->frames[i] & ~UNWIND_EXACT;
		const struct module *m = modules_find(rig->ms, pc);
		struct code_range range = { 0, 0 };
		const char *name = m && m->img ? elfimage_symbol_over(m->img, pc - m->bias, &range) : NULL;

		printf("    %s" PRItaddr " %s %s+0x%" PRIx64 "\n", st->frames[i] & UNWIND_EXACT ? "=" : " ",
		       pc, m ? m->name : "?", name ? name : "", m ? pc - m->bias - range.lo : 0);
	}
}

static void wrong(struct rig *rig, const struct moment *m, const char *why)
{
	rig->wrong++;
	printf("step %u: %s\n", rig->steps, why);
	show(rig, "ours", &m->ours);
	show(rig, "dwfl", &m->dwfl);
	show(rig, "libunwind", &m->libunwind);
}

/* --- what is expected --- */

static bool in_tables(const struct rig *rig, taddr pc)
{
	const struct module *m = modules_find(rig->ms, pc);
	struct cfi_rule rule;
	struct cfi *c;
	int err;

	if (!m || !m->img)
		return false;
	assert_int_equal(cfi_new(elfimage_elf(m->img), &c), 0);
	err = cfi_find(c, pc - m->bias, &rule);
	cfi_free(c);
	return err == 0;
}

static bool at_return(struct rig *rig, const struct moment *m)
{
	uint8_t code;

	return !read_memory(rig, m->regs.rip, &code, 1) && code == 0xc3;
}

/* At the `lea -N(%r10),%rsp` before the `ret`. */
static bool at_realigned_end(struct rig *rig, const struct moment *m)
{
	uint8_t code[5];

	return !read_memory(rig, m->regs.rip, code, sizeof(code)) && !memcmp(code, "\x49\x8d\x62", 3) &&
	       code[4] == 0xc3;
}

static bool on_made_stack(const struct moment *m)
{
	taddr lo = (uintptr_t)other_context_stack;

	return m->regs.rsp >= lo && m->regs.rsp <= lo + sizeof(other_context_stack);
}

static bool is_in(const struct rig *rig, const struct moment *m, const char *function)
{
	const struct module *mod = modules_find(rig->ms, m->regs.rip);
	struct code_range range;
	const char *name =
		mod && mod->img ? elfimage_symbol_over(mod->img, m->regs.rip - mod->bias, &range) : NULL;

	return name && !strcmp(name, function);
}

/*
 * Below the function that makecontext was given is glibc's __start_context, whose tables do not mark the end
 * of the stack; and in swapcontext, behind its change of rsp, the tables no longer hold.
 */
static bool is_undescribed(const struct rig *rig, const struct moment *m)
{
	return on_made_stack(m) || is_in(rig, m, "swapcontext");
}

/*
 * If the oracles do not agree, ours must be the same as one of them. (libdwfl ends at _dl_runtime_resolve,
 * whose CFA is in rbx, before _dl_fixup has saved that; libunwind does not follow setcontext and longjmp to
 * where they go.)
 *
 * The exception: no table describes the instruction. At without_tables' first one and at the `ret` of glibc's
 * clone, which is behind the end of its table, the return address is on top of the stack, which the oracles
 * do not consider; behind without_tables' `push %rbp` they believe a frame pointer that is the caller's.
 *
 * If is_undescribed(), the oracles may have more frames than ours.
 *
 * And at the `ret` of a function that aligned its stack, and in the instruction before it, the tables are
 * wrong (attach/stacks/unwind/rules.c explains how), and the oracles follow them. check_returned asks them
 * again, from the caller on.
 */
static void compare_with_oracles(struct rig *rig, const struct moment *m)
{
	bool dwfl = same(&m->ours, &m->dwfl), libunwind = same(&m->ours, &m->libunwind);

	if (dwfl || libunwind)
		return;
	rig->alone++;
	if (is_undescribed(rig, m) && begins_with(&m->dwfl, &m->ours))
		return;
	if (in_tables(rig, m->regs.rip) && !at_return(rig, m) && !at_realigned_end(rig, m))
		wrong(rig, m, "ours is alone");
}

/* Every stack must end at the child's _start, unless no table describes how. */
static void check_end(struct rig *rig, const struct moment *m)
{
	const struct unwind_stack *st = &m->ours;

	if (is_undescribed(rig, m) || !in_tables(rig, m->regs.rip))
		return;
	if (st->end != UNWIND_WHOLE)
		wrong(rig, m, "ours is not whole");
	if (st->guessed && in_tables(rig, st->frames[1] - 1))
		wrong(rig, m, "guessed for nothing");
}

/* With less memory it is less of the same stack, and marked as cut. */
static void check_cut(struct rig *rig, const struct moment *m)
{
	uint32_t part = m->ours.used < m->slice_len ? m->ours.used / 2 : 0;
	struct unwind_stack cut;

	unwind_ours(rig, m, part, false, false, &cut);
	if (!begins_with(&m->ours, &cut) || cut.used > part)
		wrong(rig, m, "a part of the slice gives another stack");
	if (cut.end != UNWIND_CUT && !same(&m->ours, &cut))
		wrong(rig, m, "cut, and not said");
	unwind_ours(rig, m, m->ours.used, true, false, &cut);
	if (!same(&m->ours, &cut))
		wrong(rig, m, "more of the slice was needed than is said");
}

/*
 * At a `ret` the registers are the caller's except for two: the walk can begin there as well, and all
 * unwinders must agree.
 */
static void check_returned(struct rig *rig, const struct moment *m)
{
	struct unwind_stack ours, dwfl, libunwind;
	struct moment caller = *m;

	if (!at_return(rig, m) || m->ours.n < 2)
		return;
	rig->returns++;
	caller.regs.rip = m->ours.frames[1];
	caller.regs.rsp += 8;
	unwind_ours(rig, &caller, m->slice_len, true, true, &ours);
	unwind_dwfl(rig->dwfl, &caller.regs, true, UNWIND_MAX, &dwfl);
	unwind_libunwind(rig->libunwind, &caller.regs, true, UNWIND_MAX, &libunwind);
	if (!same_rest(&m->ours, &ours))
		wrong(rig, m, "another from the caller on");
	if (!same(&ours, &dwfl) && !same(&ours, &libunwind))
		wrong(rig, m, "from the caller on ours is alone");
}

static bool often_seen(struct rig *rig, taddr pc)
{
	bool fresh;
	uint64_t *times = addrmap_slot(&rig->seen, pc, &fresh);

	assert_non_null(times);
	return ++*times > EACH_PC;
}

static void look(struct rig *rig, struct moment *m)
{
	rig->steps++;
	if (often_seen(rig, m->regs.rip))
		return;
	rig->compared++;
	unwind_all(rig, m);
	compare_with_oracles(rig, m);
	check_end(rig, m);
	check_cut(rig, m);
	check_returned(rig, m);
}

/* One instruction. false: the child has ended. */
static bool step(struct rig *rig, struct moment *m, int *sig)
{
	int status;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, rig->pid, NULL, (void *)(long)*sig), 0);
	assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
	if (WIFEXITED(status)) {
		assert_int_equal(WEXITSTATUS(status), 42);
		return false;
	}
	assert_true(WIFSTOPPED(status));
	*sig = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
	assert_int_equal(ptrace(PTRACE_GETREGS, rig->pid, NULL, &m->regs), 0);
	return true;
}

static void test_every_instruction(void **state)
{
	static struct moment m;
	struct unwind_stats stats;
	struct rig rig;
	int sig = 0;

	(void)state;
	if (!rig_open(&rig))
		exit(77);	/* ptrace is forbidden here: the test can show nothing */
	while (step(&rig, &m, &sig)) {
		assert_true(rig.steps < STEPS_MAX);
		look(&rig, &m);
	}
	unwinder_stats(rig.ours, &stats);
	printf("%u steps, %u compared, %u of them returns, ours alone %u times\n", rig.steps, rig.compared,
	       rig.returns, rig.alone);
	printf("decoded %" PRIu64 ", slow %" PRIu64 ", walked in full %" PRIu64 ", guessed %" PRIu64 "\n",
	       stats.cold, stats.slow, stats.full, stats.guessed);
	assert_int_equal(rig.wrong, 0);
	assert_true(rig.alone < 20);
	assert_true(rig.compared > 5000 && rig.returns > 100);
	/* All the cases that this program has were met. */
	assert_true(stats.slow && stats.full && stats.guessed);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
