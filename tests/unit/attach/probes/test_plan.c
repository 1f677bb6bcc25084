/* SPDX-License-Identifier: MIT */
/*
 * plan: properties of the plans for the C library of this machine, and exact plans for small functions in
 * this program itself (read like any file, from /proc/self/exe). Their addresses come from the file's
 * symbols, so nothing here depends on where we are loaded.
 */
#include "attach/probes/plan.h"
#include "attach/rules/ruletext.h"
#include "tests/unit/pack_rules.h"
#include "trace/probenote.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define FUNCTION(name, ...) FUNCTION_IN(".text", ".globl " #name, name, __VA_ARGS__)
#define LOCAL(name, ...) FUNCTION_IN(".text", "", name, __VA_ARGS__)

#define FUNCTION_IN(section, scope, name, ...)                                                               \
	asm(".pushsection " section ",\"ax\",@progbits\n.balign 32\n" scope "\n.type " #name                 \
	    ",@function\n" #name ":\n"                                                                       \
	    ".cfi_startproc\n" __VA_ARGS__ ".cfi_endproc\n.size " #name ", .-" #name                         \
	    "\n.balign 32\n.popsection\n")

FUNCTION(t_two_rets, "test %edi,%edi\n je 1f\n lea 1(%rdi),%rax\n ret\n 1: xor %eax,%eax\n ret\n");
FUNCTION(t_padded_ret, "test %edi,%edi\n je 1f\n lea 1(%rdi),%rax\n ret\n nop\n 1: xor %eax,%eax\n ret\n");
FUNCTION(t_indirect, "mov %rdi,%rax\n test %edi,%edi\n je 1f\n jmp *%rax\n 1: ret\n");
FUNCTION(t_sse_first, "pxor %xmm0,%xmm0\n mov %rdi,%rax\n ret\n");
FUNCTION(t_displaced, "movups t_constant(%rip),%xmm0\n imul %rdi,%rsi\n mov %rsi,%rax\n ret\n");
FUNCTION(t_loop, "pxor %xmm0,%xmm0\n 1: test %rsi,%rsi\n dec %rsi\n jne 1b\n ret\n");
FUNCTION(t_jump_late, "mov %rdi,%rax\n mov %rdi,%rcx\n and $-64,%rcx\n cmp 8(%rax),%rcx\n jne 1f\n ret\n 1: ret\n");
FUNCTION(t_stores_first, "mov %rdi,(%rsi)\n mov %rdi,%rax\n ret\n");
FUNCTION(t_unref, "lock subl $1,(%rdi)\n je 1f\n ret\n 1: jmp getenv@PLT\n");
FUNCTION(t_syscall_first, "syscall\n ret\n");
FUNCTION(t_pushfq, "pushfq\n mov %rdi,%rax\n popfq\n ret\n");
FUNCTION(t_push, "push %rbx\n mov %rdi,%rbx\n pop %rbx\n ret\n");
FUNCTION(t_bad, "test %edi,%edi\n je 1f\n .byte 0x06\n 1: ret\n");
FUNCTION(t_data, "test %edi,%edi\n je 1f\n jmp 2f\n .byte 0x48,0xb8\n 1: ret\n 2: ret\n nop\n nop\n nop\n "
		 "nop\n nop\n nop\n nop\n nop\n ret\n");
FUNCTION(t_many, ".rept 30\n test %edi,%edi\n je 1f\n ret\n 1:\n .endr\n ret\n");
FUNCTION(t_calls_itself,
	 "test %edi,%edi\n je 1f\n push %rbx\n dec %edi\n call t_calls_itself\n pop %rbx\n 1: ret\n");
FUNCTION(t_runs_on, "mov %rdi,%rax\n");
FUNCTION(t_to_memset, "test %rdi,%rdi\n je 1f\n jmp memset@PLT\n 1: ret\n");
FUNCTION(t_to_memset_if, "test %rdi,%rdi\n jne memset@PLT\n ret\n");
FUNCTION(t_to_getenv, "test %rdi,%rdi\n je 1f\n jmp getenv@PLT\n 1: ret\n");
FUNCTION(t_to_other, "test %rdi,%rdi\n je 1f\n jmp t_two_rets\n 1: ret\n");
FUNCTION(t_only_jumps, "mov $1,%edi\n jmp t_two_rets\n");
FUNCTION(t_to_indirect, "mov $1,%esi\n jmp t_indirect\n");
FUNCTION(t_jumps_at_once, "endbr64\n jmp t_two_rets\n");
FUNCTION(t_jumps_with_another, "mov %rdx,%rsi\n jmp t_two_rets\n");
FUNCTION(t_jumps_to_plt, "jmp getenv@PLT\n");
FUNCTION(t_calls_other, "push %rbx\n call t_two_rets\n pop %rbx\n ret\n");
FUNCTION(t_calls_plt, "push %rbx\n call getenv@PLT\n pop %rbx\n ret\n");
FUNCTION(
	t_cold,
	"test %rdi,%rdi\n je t_cold.cold\n mov %rdi,%rax\n 1: ret\n .globl t_cold_back\n t_cold_back = 1b\n");
FUNCTION_IN(".text.t_cold", "", t_cold.cold, "test %rsi,%rsi\n je t_cold_back\n xor %eax,%eax\n ret\n");
/* What follows a call that never returns is a jump to behind the function; t_behind: but there is code. */
FUNCTION(t_unreachable,
	 "test %rdi,%rdi\n je t_unreachable.cold\n mov %rdi,%rax\n ret\n .Lbehind_unreachable:\n");
FUNCTION_IN(".text.t_cold", "", t_unreachable.cold, "call t_two_rets\n jmp .Lbehind_unreachable\n");
asm(".pushsection .text\n.balign 32\n.globl t_behind\n.type t_behind,@function\nt_behind:\n.cfi_startproc\n"
    "test %rdi,%rdi\n je t_behind.cold\n mov %rdi,%rax\n ret\n.cfi_endproc\n.size t_behind, .-t_behind\n"
    ".Lbehind_behind: xor %eax,%eax\n ret\n .balign 32\n .popsection\n");
FUNCTION_IN(".text.t_cold", "", t_behind.cold, "call t_two_rets\n jmp .Lbehind_behind\n");
LOCAL(t_shared, "mov %rdi,%rax\n ret\n");
FUNCTION(t_share_a, "mov $1,%edi\n jmp t_shared\n");
FUNCTION(t_share_b, "mov $2,%edi\n jmp t_shared\n");
FUNCTION(t_out_param,
	 "push %rbx\n mov %rdi,%rbx\n call t_shared\n mov %rax,(%rbx)\n xor %eax,%eax\n pop %rbx\n ret\n");
asm(".globl __posix_memalign\n.type __posix_memalign,@function\n__posix_memalign = t_out_param\n");
/* of a heap that is not glibc's */
FUNCTION(valloc, "push %rbx\n mov %rdi,%rax\n pop %rbx\n ret\n");
FUNCTION(t__throw_it, "ret\n");
FUNCTION(pvalloc, "test %rdi,%rdi\n je t__throw_it\n mov %rdi,%rax\n ret\n");
FUNCTION(memalign, ".cfi_personality 0x1b,t_two_rets\n .cfi_lsda 0x1b,t_constant\n lea 1(%rdi),%rax\n test %rax,%rax\n je 1f\n 1: ret\n");
FUNCTION(__pvalloc, "lea 1(%rdi),%rax\n ret\n");
FUNCTION(t_realloc, "test %rdi,%rdi\n jne 1f\n mov %rsi,%rdi\n jmp t_two_rets\n 1: mov %rdi,%rax\n ret\n");
FUNCTION(t_returns, "call t_two_rets\n .globl t_after_test\n t_after_test: test %rax,%rax\n call t_two_rets\n"
	 ".globl t_after_store\n t_after_store: mov %rax,(%rbx)\n call t_two_rets\n"
	 ".globl t_after_load\n t_after_load: mov (%rbx),%rcx\n call t_two_rets\n"
	 ".globl t_after_syscall\n t_after_syscall: syscall\n call t_two_rets\n"
	 ".globl t_after_cpuid\n t_after_cpuid: cpuid\n call t_two_rets\n"
	 ".globl t_after_rip\n t_after_rip: lea t_constant(%rip),%rax\n ret\n"
	 ".type t_after_test,@function\n .type t_after_store,@function\n .type t_after_load,@function\n"
	 ".type t_after_syscall,@function\n .type t_after_cpuid,@function\n .type t_after_rip,@function\n");
FUNCTION(t_resolver, "lea t_two_rets(%rip),%rax\n ret\n .globl t_ifunc\n .type "
		     "t_ifunc,@gnu_indirect_function\n .set t_ifunc,t_resolver\n");
asm(".pushsection .rodata\n.balign 16\nt_constant: .quad 1,2\n.popsection\n");

struct fixture {
	struct elfimage *self, *libc;
	struct decoder *d;
	taddr libc_base;
	struct rule rules[8];
	struct plan_set set;
	struct ruleset packs;
};

static struct fixture fix;

static const struct plan_options plain = { 0 };

/* --- helpers --- */

/* "3:alloc f" is of family 3; without a number it is family 0. */
static struct rule rule_of(const char *text)
{
	uint16_t family = text[1] == ':' ? (uint16_t)(text[0] - '0') : 0;
	struct rule_error err;
	struct rule r;

	if (rule_parse(text[1] == ':' ? text + 2 : text, &r, &err))
		fail_msg("\"%s\": %s", text, err.message);
	r.family = family;
	return r;
}

static void replan(const struct plan_options *opt, size_t n, const char *const *texts)
{
	plan_set_fini(&fix.set);
	for (size_t i = 0; i < n; i++)
		fix.rules[i] = rule_of(texts[i]);
	assert_int_equal(plan_module(fix.self, fix.d, fix.rules, n, opt, &fix.set), 0);
}

#define PLAN(opt, ...) replan((opt), sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *), \
			      (const char *[]){ __VA_ARGS__ })

static const struct plan *plan_of(const char *function)
{
	for (size_t i = 0; i < fix.set.n; i++) {
		if (!strcmp(fix.set.plans[i].function, function))
			return &fix.set.plans[i];
	}
	fail_msg("no plan for %s", function);
	return NULL;
}

static taddr address_of(const char *name)
{
	taddr addr = 0;
	uint64_t size;
	bool ifunc;

	assert_int_equal(elfimage_find(fix.self, name, &addr, &size, &ifunc), 0);
	return addr;
}

static void assert_kind(const struct plan *p, enum plan_kind kind, size_t nsites, double stops)
{
	if (p->kind != kind || p->nsites != nsites || p->stops != stops)
		fail_msg("%s: kind %d, %zu sites, %g stops: %s", p->function, p->kind, p->nsites, p->stops,
			 p->reason);
}

static void assert_flags(const struct site *s, unsigned flags)
{
	assert_int_equal(s->flags, flags);
}

static void assert_load(const struct site_load *l, unsigned base, unsigned width, int disp)
{
	assert_int_equal(l->base, base);
	assert_int_equal(l->width, width);
	assert_int_equal(l->disp, disp);
	assert_int_equal(l->index, SITE_BASE_NONE);
}

static void assert_reads_nothing(const struct site *s)
{
	for (size_t i = 0; i < SITE_LOADS; i++)
		assert_int_equal(s->loads[i].base, SITE_BASE_NONE);
}

static void assert_reads_chunk(const struct site *s)
{
	for (size_t i = 0; i < SITE_CHUNK; i++)
		assert_int_equal(s->loads[i].base, SITE_BASE_NONE);
	assert_load(&s->loads[SITE_CHUNK], SITE_BASE_RESULT, 8, -8);
}

/* No two traps are on one instruction. */
static void assert_no_doubles(void)
{
	taddr seen[256];
	size_t n = 0;

	for (size_t i = 0; i < fix.set.n; i++) {
		for (size_t k = 0; k < fix.set.plans[i].nsites; k++) {
			for (size_t j = 0; j < n; j++)
				assert_true(seen[j] != fix.set.plans[i].sites[k].addr);
			seen[n++] = fix.set.plans[i].sites[k].addr;
		}
	}
}

#define FREE_FLAGS (SITE_EMIT | SITE_INNER | SITE_ALWAYS | SITE_RELEASE)
#define EXIT_FLAGS (SITE_EXIT | SITE_EMIT | SITE_SLICE | SITE_INNER)

/* --- small functions --- */

static void test_exits(void **state)
{
	const struct plan *p;

	(void)state;
	PLAN(&plain, "alloc t_two_rets size=u32(ret)");
	p = plan_of("t_two_rets");
	assert_kind(p, PLAN_EXITS, 2, 1);
	/*
	 * code follows the first ret at once, so a thread may be there without the trap; nothing follows the
	 * last
	 */
	assert_flags(&p->sites[0], EXIT_FLAGS | SITE_SIGINFO);
	assert_flags(&p->sites[1], EXIT_FLAGS);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(p->sites[i].bytes[0], 0xc3);
		assert_int_equal(p->sites[i].emu.op, EMU_RET);
		assert_int_equal(p->sites[i].result, EMU_RAX);
		assert_int_equal(p->sites[i].family, plan_family(p->rule));
		assert_reads_nothing(&p->sites[i]);
	}
	assert_int_equal(p->body.lo, p->entry);
	PLAN(&plain, "alloc t_padded_ret");
	assert_flags(&plan_of("t_padded_ret")->sites[0], EXIT_FLAGS);	/* no thread can be on padding */
}

static void test_chunk_word(void **state)
{
	const struct plan_options glibc = { .glibc_chunks = true };
	const struct plan *p;

	(void)state;
	PLAN(&glibc, "alloc __pvalloc size=arg1", "alloc t_two_rets size=arg1", "free t_cold");
	p = plan_of("__pvalloc");
	assert_kind(p, PLAN_EXITS, 1, 1);
	assert_reads_chunk(&p->sites[0]);
	/* a block outside of glibc's heap has no such word, and only the caller knows its size */
	p = plan_of("t_two_rets");
	assert_kind(p, PLAN_ENTRY_EXITS, 3, 2);
	for (size_t i = 0; i < 3; i++)
		assert_reads_nothing(&p->sites[i]);
	assert_reads_nothing(&plan_of("t_cold")->sites[0]);
}

static void test_exact_sizes(void **state)
{
	const struct plan_options exact = { .exact_sizes = true };
	const struct plan *p;

	(void)state;
	PLAN(&exact, "alloc t_two_rets size=arg1", "alloc t_cold");
	p = plan_of("t_two_rets");
	assert_kind(p, PLAN_ENTRY_EXITS, 3, 2);
	assert_flags(&p->sites[0], SITE_ENTRY);
	assert_int_equal(p->sites[0].addr, p->entry);
	assert_kind(plan_of("t_cold"), PLAN_EXITS, 2, 1);	/* no size to ask for */
}

static void assert_by_return(const char *function, const char *why)
{
	const struct plan *p = plan_of(function);

	assert_kind(p, PLAN_ENTRY_RETURN, 1, 2);
	assert_int_equal(p->sites[0].flags & ~SITE_SIGINFO, SITE_ENTRY | SITE_RETURN);
	assert_int_equal(p->sites[0].addr, p->entry);
	if (!strstr(p->reason, why))
		fail_msg("%s: \"%s\" does not say \"%s\"", function, p->reason, why);
}

static void test_unknown_exits(void **state)
{
	(void)state;
	PLAN(&plain, "alloc t_indirect", "alloc t_bad", "alloc t_data", "alloc t_many", "alloc t_runs_on",
	     "alloc t_to_getenv", "alloc t_to_other", "alloc t_to_memset_if");
	assert_by_return("t_indirect", "target is not known");
	assert_by_return("t_bad", "no instruction");
	assert_by_return("t_data", "middle of an instruction");
	assert_by_return("t_many", "31 exits");
	assert_by_return("t_runs_on", "runs on");
	assert_by_return("t_to_getenv", "getenv");
	assert_by_return("t_to_other", "t_two_rets");
	assert_by_return("t_to_memset_if", "memset");
}

static void test_shadow_stack(void **state)
{
	const struct plan_options shadow = { .shadow_stack = true, .glibc_chunks = true };

	(void)state;
	PLAN(&shadow, "alloc t_two_rets", "alloc t_share_a", "alloc __posix_memalign ptr=*arg1 if=ret==0");
	assert_by_return("t_two_rets", "shadow stack");
	/* there is no trap in the shared body, so its caller is not a wrapper */
	assert_by_return("__posix_memalign", "shadow stack");
}

static void test_tail_calls(void **state)
{
	const struct plan_options exact = { .exact_sizes = true };
	const struct plan *p;

	(void)state;
	PLAN(&plain, "alloc t_to_memset", "alloc t_to_other", "alloc t_only_jumps", "alloc t_two_rets");
	p = plan_of("t_to_memset");
	assert_kind(p, PLAN_EXITS, 2, 1);
	assert_int_equal(p->sites[0].emu.op, EMU_JMP);
	assert_int_equal(p->sites[0].result, EMU_RDI);
	assert_int_equal(p->sites[1].result, EMU_RAX);
	assert_kind(plan_of("t_to_other"), PLAN_EXITS, 1, 1);
	assert_kind(plan_of("t_only_jumps"), PLAN_WRAPPER, 0, 1);
	PLAN(&exact, "alloc t_only_jumps size=arg1", "alloc t_two_rets", "alloc t_to_other");
	assert_kind(plan_of("t_only_jumps"), PLAN_ENTRY_EXITS, 1, 2);	/* opened here, closed there */
	PLAN(&exact, "alloc t_only_jumps", "alloc t_two_rets");
	assert_kind(plan_of("t_only_jumps"), PLAN_WRAPPER, 0, 1);
	PLAN(&plain, "alloc t_to_getenv", "alloc getenv");
	assert_kind(plan_of("t_to_getenv"), PLAN_EXITS, 1, 1);	/* by name, wherever it is */
}

/* The kernel's probes do not see the end of t_indirect: so not that of a function that jumps to it, either. */
static void test_ends_where_nothing_is_seen(void **state)
{
	const struct plan_options kernel = { .kernel = true, .exact_sizes = true };

	(void)state;
	PLAN(&kernel, "alloc t_to_indirect size=arg1", "alloc t_indirect size=arg1");
	assert_kind(plan_of("t_indirect"), PLAN_NONE, 0, 0);
	assert_kind(plan_of("t_to_indirect"), PLAN_NONE, 0, 0);
	assert_non_null(strstr(plan_of("t_to_indirect")->reason, "to t_indirect"));
	PLAN(&plain, "alloc t_to_indirect size=arg1", "alloc t_indirect size=arg1");
	assert_kind(plan_of("t_indirect"), PLAN_ENTRY_RETURN, 1, 2);
	assert_kind(plan_of("t_to_indirect"), PLAN_ENTRY_EXITS, 1, 2);
}

/* C++: one operator delete forwards to another, which forwards to free: one free. */
static void test_releases_passed_on(void **state)
{
	(void)state;
	PLAN(&plain, "free t_jumps_at_once", "free t_two_rets", "free t_jumps_to_plt", "free getenv",
	     "free t_only_jumps");
	assert_kind(plan_of("t_jumps_at_once"), PLAN_WRAPPER, 0, 1);
	assert_kind(plan_of("t_jumps_to_plt"), PLAN_WRAPPER, 0, 1);
	assert_kind(plan_of("t_only_jumps"), PLAN_ENTRY, 1, 1);	/* with another argument */
	assert_true(plan_of("t_only_jumps")->forwards);
	assert_false(plan_of("t_two_rets")->forwards);
	PLAN(&plain, "free t_jumps_with_another", "free t_two_rets", "free t_calls_other",
	     "free t_calls_plt");
	assert_kind(plan_of("t_jumps_with_another"), PLAN_WRAPPER, 0, 1);
	assert_true(plan_of("t_calls_other")->forwards);
	assert_false(plan_of("t_calls_plt")->forwards);
	PLAN(&plain, "free t_jumps_at_once", "free t_two_rets if=arg2==1", "free t_jumps_to_plt",
	     "unref getenv");
	assert_kind(plan_of("t_jumps_at_once"), PLAN_ENTRY, 1, 1);
	assert_kind(plan_of("t_jumps_to_plt"), PLAN_ENTRY, 1, 1);
}

static void test_callers(void **state)
{
	(void)state;
	PLAN(&plain, "alloc t_calls_other", "alloc t_calls_plt");
	assert_kind(plan_of("t_calls_other"), PLAN_EXITS, 1, 1);
	assert_kind(plan_of("t_calls_plt"), PLAN_EXITS, 1, 1);
	PLAN(&plain, "alloc t_calls_other", "alloc t_calls_plt", "alloc t_two_rets", "free getenv");
	assert_kind(plan_of("t_calls_other"), PLAN_ENTRY_EXITS, 2, 2);
	assert_kind(plan_of("t_calls_plt"), PLAN_ENTRY_EXITS, 2, 2);
	assert_kind(plan_of("t_two_rets"), PLAN_EXITS, 2, 1);
}

static void test_cold_part(void **state)
{
	const struct plan *p;

	(void)state;
	PLAN(&plain, "alloc t_cold");
	p = plan_of("t_cold");
	assert_kind(p, PLAN_EXITS, 2, 1);
	assert_true(p->sites[0].addr < p->body.hi);
	assert_true(p->sites[1].addr < p->body.lo || p->sites[1].addr >= p->body.hi);
}

static void test_what_cannot_be_reached(void **state)
{
	(void)state;
	PLAN(&plain, "alloc t_unreachable", "alloc t_behind");
	assert_kind(plan_of("t_unreachable"), PLAN_EXITS, 1, 1);
	assert_kind(plan_of("t_behind"), PLAN_ENTRY_RETURN, 1, 2);
}

/*
 * Two functions that jump to one static body: the first owns the exits, the second needs a trap at its entry.
 */
static void test_shared_body(void **state)
{
	const struct plan_options glibc = { .glibc_chunks = true };
	const struct plan *a, *b;

	(void)state;
	PLAN(&glibc, "alloc t_share_a", "alloc t_share_b", "alloc __posix_memalign ptr=*arg1 if=ret==0");
	a = plan_of("t_share_a");
	b = plan_of("t_share_b");
	assert_kind(a, PLAN_EXITS, 1, 1);
	assert_kind(b, PLAN_ENTRY_EXITS, 1, 2);
	assert_int_equal(a->sites[0].addr, address_of("t_shared") + 3);
	assert_flags(&b->sites[0], SITE_ENTRY);
	assert_kind(plan_of("__posix_memalign"), PLAN_WRAPPER, 0, 1);
	/* a tag, or a condition on an argument: it needs a trap at its entry */
	PLAN(&glibc, "alloc t_share_a", "alloc __posix_memalign ptr=*arg1 if=ret==0 tag=arg2");
	assert_kind(plan_of("__posix_memalign"), PLAN_ENTRY_EXITS, 2, 2);
	/* glibc's word lies before the block, wherever the block's address was stored */
	assert_load(&plan_of("__posix_memalign")->sites[1].loads[SITE_CHUNK], SITE_BASE_LOAD0, 8, -8);
	PLAN(&glibc, "alloc t_share_a", "alloc __posix_memalign ptr=*arg1 if=arg2>16");
	assert_kind(plan_of("__posix_memalign"), PLAN_ENTRY_EXITS, 2, 2);
	PLAN(&plain, "alloc t_share_b", "alloc t_out_param ptr=*arg1 if=ret==0");
	assert_kind(plan_of("t_share_b"), PLAN_EXITS, 1, 1);
}

static void test_out_param(void **state)
{
	const struct plan *p;

	(void)state;
	PLAN(&plain, "alloc t_share_a", "alloc t_out_param ptr=*arg1 if=ret==0");
	p = plan_of("t_out_param");
	assert_kind(p, PLAN_ENTRY_EXITS, 2, 2);
	assert_flags(&p->sites[0], SITE_ENTRY | SITE_SIGINFO);	/* push %rbx is one byte */
	for (size_t i = 0; i < 2; i++)
		assert_load(&p->sites[i].loads[0], SITE_BASE_ARG1, 8, 0);
}

static void test_moving(void **state)
{
	const struct plan *p;

	(void)state;
	PLAN(&plain, "alloc t_two_rets", "realloc t_realloc");
	p = plan_of("t_realloc");
	assert_kind(p, PLAN_ENTRY_EXITS, 2, 2);
	assert_flags(&p->sites[0], SITE_ENTRY | SITE_EMIT);
	assert_flags(&p->sites[1], EXIT_FLAGS);
	assert_int_equal(p->sites[1].rule, 1);
	PLAN(&plain, "realloc t_realloc");
	p = plan_of("t_realloc");
	assert_kind(p, PLAN_ENTRY_RETURN, 1, 2);
	assert_flags(&p->sites[0], SITE_ENTRY | SITE_RETURN | SITE_EMIT);
}

static void assert_displaced(const struct site *s, taddr addr, uint8_t len)
{
	int32_t back;

	assert_int_equal(s->addr, addr);
	assert_int_equal(s->emu.op, EMU_NONE);
	assert_int_equal(s->emu.len, len);
	assert_int_equal(s->step_len, len + 5);
	assert_true(s->scratch != 0);
	/* the jump behind it leads to what follows the displaced one */
	assert_int_equal(s->step[len], 0xe9);
	memcpy(&back, s->step + len + 1, 4);
	assert_int_equal(s->scratch + len + 5 + (int64_t)back, addr + len);
	assert_int_equal(elfimage_code(fix.self, s->scratch, (uint8_t[SITE_BYTES]){ 0 }, SITE_BYTES),
			 SITE_BYTES);
}

static void test_entry(void **state)
{
	const struct plan *p;

	(void)state;
	PLAN(&plain, "free t_two_rets", "free t_sse_first", "free t_push", "free t_pushfq",
	     "free t_stores_first");
	p = plan_of("t_two_rets");
	assert_kind(p, PLAN_ENTRY, 1, 1);
	assert_flags(&p->sites[0], FREE_FLAGS);
	assert_int_equal(p->sites[0].emu.op, EMU_TEST);
	assert_int_equal(plan_of("t_sse_first")->sites[0].addr, address_of("t_sse_first") + 4);
	assert_int_equal(plan_of("t_sse_first")->sites[0].sp_delta, 0);
	assert_flags(&plan_of("t_push")->sites[0], FREE_FLAGS | SITE_SIGINFO);
	p = plan_of("t_pushfq");
	assert_int_equal(p->sites[0].addr, p->entry + 1);
	assert_int_equal(p->sites[0].sp_delta, 8);
	p = plan_of("t_stores_first");	/* the keeper must not emulate a store through a pointer */
	assert_int_equal(p->sites[0].addr, p->entry + 3);
	/* nor may a count be read after it was changed */
	PLAN(&plain, "unref t_unref", "unref t_stores_first count=*u32(arg1)", "unref t_push count=*u32(arg1)");
	assert_int_equal(plan_of("t_unref")->sites[0].addr, address_of("t_unref") + 4);
	assert_displaced(&plan_of("t_stores_first")->sites[0], address_of("t_stores_first"), 3);
	assert_int_equal(plan_of("t_push")->sites[0].emu.op, EMU_PUSH);
	PLAN(&plain, "unref t_unref count=*u32(arg1)");
	assert_displaced(&plan_of("t_unref")->sites[0], address_of("t_unref"), 4);
}

static void test_displaced(void **state)
{
	const struct plan *p;
	int32_t here, there;

	(void)state;
	PLAN(&plain, "free t_displaced", "free t_loop", "free t_syscall_first");
	p = plan_of("t_displaced");	/* arg2 is overwritten, but it frees arg1 */
	assert_int_equal(p->sites[0].addr, p->entry + 11);
	PLAN(&plain, "free t_displaced ptr=arg2", "free t_loop", "free t_syscall_first");
	p = plan_of("t_displaced");
	assert_kind(p, PLAN_ENTRY, 1, 1);
	assert_displaced(&p->sites[0], p->entry, 7);
	/* the same opcode, for the same target address */
	assert_memory_equal(p->sites[0].bytes, p->sites[0].step, 3);
	memcpy(&here, p->sites[0].bytes + 3, 4);
	memcpy(&there, p->sites[0].step + 3, 4);
	assert_int_equal(here + (int64_t)p->entry, there + (int64_t)p->sites[0].scratch);
	p = plan_of("t_loop");	/* the code behind the entry is a loop: one call would be many hits */
	assert_displaced(&p->sites[0], p->entry, 4);
	assert_true(p->sites[0].scratch != plan_of("t_displaced")->sites[0].scratch);
	p = plan_of("t_syscall_first");
	assert_int_equal(p->kind, PLAN_NONE);
	assert_int_equal(p->nsites, 0);
	assert_true(*p->reason);
}

static void test_scope(void **state)
{
	const struct plan *p;
	char from[64];

	(void)state;
	snprintf(from, sizeof(from), "from 0x%" PRIx64, address_of("t_push"));
	PLAN(&plain, "free t_push", from, "until t_sse_first");
	assert_int_equal(fix.set.n, 3);
	p = &fix.set.plans[1];
	assert_string_equal(p->function, "t_push");
	assert_flags(&p->sites[0], SITE_SCOPE | SITE_EMIT);
	assert_int_equal(p->sites[0].family, 0);
	assert_int_equal(p->sites[0].addr, p->entry + 1);	/* the entry itself already has a trap */
	assert_int_equal(p->sites[0].sp_delta, 8);
	assert_kind(plan_of("t_sse_first"), PLAN_ENTRY, 1, 1);
}

static void test_resolving(void **state)
{
	char again[64];

	(void)state;
	snprintf(again, sizeof(again), "alloc 0x%" PRIx64, address_of("t_two_rets"));
	PLAN(&plain, "alloc t_no_such_function", "alloc t_two_rets", again, "alloc t_ifunc", "free 0x10");
	assert_int_equal(fix.set.n, 3);
	assert_int_equal(plan_of("t_two_rets")->rule_index, 1);
	assert_int_equal(plan_of("t_ifunc")->kind, PLAN_NONE);
	assert_non_null(strstr(plan_of("t_ifunc")->reason, "load time"));
	assert_int_equal(plan_of("0x10")->kind, PLAN_NONE);
}

static void plan_at(const char *function, int past)
{
	char text[64];

	snprintf(text, sizeof(text), "free 0x%" PRIx64, address_of(function) + past);
	PLAN(&plain, text);
	assert_int_equal(fix.set.n, 1);
}

/*
 * An address rule may be wrong: an int3 that is not at an instruction's first byte changes another
 * instruction.
 */
static void test_inside_an_instruction(void **state)
{
	(void)state;
	for (int past = 1; past <= 12; past++) {
		bool begins = past == 2 || past == 4 || past == 8 || past == 9 || past == 11;

		plan_at("t_two_rets", past);
		if (begins != (fix.set.plans[0].nsites == 1))
			fail_msg("+%d: %s", past, fix.set.plans[0].reason);
	}
	assert_non_null(strstr(fix.set.plans[0].reason, "no instruction"));
	plan_at("t_bad", 5);
	assert_kind(&fix.set.plans[0], PLAN_NONE, 0, 0);
}

/* --- families --- */

static void test_families_apart(void **state)
{
	(void)state;
	/* the exit of another family's function is not its exit, and not inside of it */
	PLAN(&plain, "1:alloc t_to_other", "2:alloc t_two_rets");
	assert_by_return("t_to_other", "t_two_rets");
	assert_kind(plan_of("t_two_rets"), PLAN_EXITS, 2, 1);
	PLAN(&plain, "1:alloc t_to_other", "1:alloc t_two_rets");
	assert_kind(plan_of("t_to_other"), PLAN_EXITS, 1, 1);
	PLAN(&plain, "1:alloc t_only_jumps", "2:alloc t_two_rets");
	assert_by_return("t_only_jumps", "t_two_rets");
	PLAN(&plain, "1:alloc t_calls_other", "2:alloc t_two_rets");
	assert_kind(plan_of("t_calls_other"), PLAN_EXITS, 1, 1);
	assert_int_equal(plan_of("t_calls_other")->sites[0].family, 2);
	assert_int_equal(plan_of("t_two_rets")->sites[0].family, 3);
	/* a jump to a function that is watched only at its entry is not an exit */
	PLAN(&plain, "alloc t_to_other", "free t_two_rets");
	assert_by_return("t_to_other", "t_two_rets");
}

/*
 * A function that ends at another one's traps, but whose rule has more than that one's, has an entry trap of
 * its own.
 */
static void test_jumps_and_says_more(void **state)
{
	(void)state;
	PLAN(&plain, "alloc t_only_jumps if=ret>4096", "alloc t_to_other tag=7", "alloc t_two_rets");
	assert_kind(plan_of("t_only_jumps"), PLAN_ENTRY_EXITS, 1, 2);
	assert_kind(plan_of("t_to_other"), PLAN_ENTRY_EXITS, 2, 2);
	PLAN(&plain, "ref t_only_jumps obj=ret", "ref t_two_rets obj=ret");
	assert_kind(plan_of("t_only_jumps"), PLAN_ENTRY_EXITS, 1, 2);
	assert_kind(plan_of("t_two_rets"), PLAN_EXITS, 2, 1);
}

static void test_shared_by_two_families(void **state)
{
	(void)state;
	PLAN(&plain, "1:alloc t_share_a", "2:alloc t_share_b");
	assert_kind(plan_of("t_share_a"), PLAN_EXITS, 1, 1);
	assert_by_return("t_share_b", "no trap of its own");
}

static void test_calls_itself(void **state)
{
	(void)state;
	PLAN(&plain, "alloc t_calls_itself");
	assert_kind(plan_of("t_calls_itself"), PLAN_ENTRY_EXITS, 2, 2);
}

/* A function that is called may be watched in other modules. */
static void test_elsewhere(void **state)
{
	const struct rule there = rule_of("alloc getenv module=libelse.so");
	const struct plan_options opt = { .all = &there, .nall = 1 };

	(void)state;
	PLAN(&opt, "alloc t_calls_plt", "alloc t_to_getenv", "1:alloc t_calls_other");
	assert_kind(plan_of("t_calls_plt"), PLAN_ENTRY_EXITS, 2, 2);
	/* but maybe it is not: a jump to it is not an exit to rely on */
	assert_by_return("t_to_getenv", "getenv");
	PLAN(&opt, "1:alloc t_calls_plt");
	assert_kind(plan_of("t_calls_plt"), PLAN_EXITS, 1, 1);
}

static const struct plan *second_of(const char *function)
{
	const struct plan *first = plan_of(function);

	for (const struct plan *p = first + 1; p < fix.set.plans + fix.set.n; p++) {
		if (!strcmp(p->function, function))
			return p;
	}
	fail_msg("only one plan for %s", function);
	return NULL;
}

static void assert_second_refused(const char *function, const char *first)
{
	assert_int_not_equal(plan_of(function)->kind, PLAN_NONE);
	assert_int_equal(second_of(function)->kind, PLAN_NONE);
	assert_int_equal(second_of(function)->nsites, 0);
	assert_true(probenote_is_other_rule(second_of(function)->reason));
	if (!strstr(second_of(function)->reason, first))
		fail_msg("\"%s\" does not name \"%s\"", second_of(function)->reason, first);
}

static void test_two_rules_for_one(void **state)
{
	(void)state;
	PLAN(&plain, "1:alloc t_two_rets size=arg1", "2:alloc t_two_rets");
	assert_second_refused("t_two_rets", "alloc t_two_rets size=arg1");
	PLAN(&plain, "1:free t_push", "2:unref t_push");
	assert_second_refused("t_push", "free t_push");
	PLAN(&plain, "from t_push", "until t_push");
	assert_second_refused("t_push", "from t_push");
	/* the first of two conditions is not the second */
	PLAN(&plain, "alloc t_cold if=ret>0", "alloc t_cold if=ret<0 tag=1");
	assert_second_refused("t_cold", "if=ret>0");
	/* a second name for the same thing, of whatever kind, needs no message */
	PLAN(&plain, "alloc t_out_param ptr=*arg1 if=ret==0", "alloc __posix_memalign ptr=*arg1 if=ret==0");
	assert_int_equal(fix.set.n, 1);
	PLAN(&plain, "1:alloc t_out_param ptr=*arg1 if=ret==0",
	     "2:alloc __posix_memalign ptr=*arg1 if=ret==0");
	assert_int_equal(fix.set.n, 2);
	/* nor the same rule, once for every module and once for this one, unless it is of another family */
	PLAN(&plain, "alloc t_two_rets size=arg1", "alloc t_two_rets size=arg1 module=*");
	assert_int_equal(fix.set.n, 1);
	PLAN(&plain, "alloc t_two_rets size=arg1 module=*", "alloc t_two_rets size=arg1");
	assert_int_equal(fix.set.n, 1);
	PLAN(&plain, "1:alloc t_two_rets size=arg1", "2:alloc t_two_rets size=arg1 module=*");
	assert_second_refused("t_two_rets", "alloc t_two_rets size=arg1");
	/* dup2: the old descriptor is closed, and a new one is open */
	PLAN(&plain, "free t_push", "1:alloc t_push", "in t_push", "until t_push");
	assert_int_equal(fix.set.n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_not_equal(fix.set.plans[i].kind, PLAN_NONE);
	assert_no_doubles();
}

/* --- all kinds of rules --- */

static void test_refs(void **state)
{
	const struct plan *p;

	(void)state;
	PLAN(&plain, "ref t_two_rets count=*u32(arg1+0x50)", "unref t_cold by=arg2",
	     "ref t_padded_ret obj=ret", "unref t_pushfq if=ret==0", "free t_share_a if=ret==0");
	p = plan_of("t_two_rets");
	assert_kind(p, PLAN_ENTRY, 1, 1);
	assert_flags(&p->sites[0], (SITE_EMIT | SITE_INNER | SITE_ALWAYS | SITE_SLICE));
	assert_load(&p->sites[0].loads[0], SITE_BASE_ARG1, 4, 0x50);
	p = plan_of("t_cold");
	assert_kind(p, PLAN_ENTRY, 1, 1);
	assert_flags(&p->sites[0], FREE_FLAGS | SITE_SLICE);
	p = plan_of("t_padded_ret");	/* the object is born here */
	assert_kind(p, PLAN_EXITS, 2, 1);
	assert_flags(&p->sites[0], EXIT_FLAGS | SITE_ALWAYS);
	p = plan_of("t_pushfq");
	assert_kind(p, PLAN_ENTRY_EXITS, 2, 2);
	assert_flags(&p->sites[0], SITE_ENTRY | SITE_ALWAYS);
	assert_flags(&p->sites[1], EXIT_FLAGS | SITE_ALWAYS);
	p = plan_of("t_share_a");
	assert_kind(p, PLAN_ENTRY_EXITS, 2, 2);
	assert_flags(&p->sites[0], SITE_ENTRY | SITE_ALWAYS);
	assert_flags(&p->sites[1], (EXIT_FLAGS | SITE_ALWAYS) & ~SITE_SLICE);
}

/* At every site of the rule: where the call ends, the loads of its entry are read. */
static void test_loads(void **state)
{
	const struct plan *p;

	(void)state;
	PLAN(&plain, "alloc t_two_rets ptr=*u64(*(arg2+8)+arg3*16+32) size=*u16(ret+2) tag=str(arg4+1)",
	     "realloc t_cold old=*arg1 ptr=*arg1");
	p = plan_of("t_two_rets");
	assert_kind(p, PLAN_ENTRY_EXITS, 3, 2);
	for (size_t i = 0; i < 3; i++) {
		const struct site_load *l = p->sites[i].loads;
		unsigned texts = 0;

		assert_memory_equal(l, p->sites[0].loads, sizeof(p->sites[0].loads));
		for (size_t k = 0; k < p->rule->loads.n; k++) {
			assert_int_equal(l[k].base, p->rule->loads.all[k].base);
			assert_int_equal(l[k].index, p->rule->loads.all[k].index);
			assert_int_equal(l[k].scale, p->rule->loads.all[k].scale);
			assert_int_equal(l[k].width, p->rule->loads.all[k].width);
			assert_int_equal(l[k].disp, p->rule->loads.all[k].disp);
			texts += l[k].base && !l[k].width;
		}
		assert_int_equal(texts, 1);
		assert_int_equal(l[SITE_CHUNK].base, SITE_BASE_NONE);
	}
	p = plan_of("t_cold");
	assert_flags(&p->sites[0], SITE_ENTRY | SITE_EMIT);
	assert_load(&p->sites[0].loads[0], SITE_BASE_ARG1, 8, 0);
}

/* If it jumps to memset, the memory does not have its final contents yet. */
static void test_loads_of_a_tail_call(void **state)
{
	(void)state;
	PLAN(&plain, "alloc t_to_memset size=*u64(ret)");
	assert_by_return("t_to_memset", "memset");
}

static void test_in(void **state)
{
	const struct plan *p;

	(void)state;
	PLAN(&plain, "in t_two_rets", "in t_indirect");
	p = plan_of("t_two_rets");
	assert_kind(p, PLAN_ENTRY_EXITS, 3, 2);
	assert_flags(&p->sites[0], SITE_ENTRY);
	assert_flags(&p->sites[2], SITE_EXIT);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(p->sites[i].family, SITE_FAMILY_IN);
	assert_by_return("t_indirect", "target is not known");
	/* it ends where a function ends that it jumps to, if that is of the same kind */
	PLAN(&plain, "in t_only_jumps", "in t_two_rets");
	assert_kind(plan_of("t_only_jumps"), PLAN_ENTRY_EXITS, 1, 2);
	PLAN(&plain, "in t_only_jumps", "alloc t_two_rets");
	assert_by_return("t_only_jumps", "t_two_rets");
	assert_kind(plan_of("t_two_rets"), PLAN_EXITS, 2, 1);
	/* the rule that counts keeps the exits */
	PLAN(&plain, "in t_two_rets", "alloc t_two_rets");
	assert_int_equal(fix.set.plans[0].kind, PLAN_ENTRY_RETURN);
	assert_kind(second_of("t_two_rets"), PLAN_EXITS, 2, 1);
}

/* --- return addresses, single sites --- */

static void test_return(void **state)
{
	struct site s;

	(void)state;
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_test"), &plain, &s), 0);
	assert_int_equal(s.emu.op, EMU_TEST);
	assert_flags(&s, SITE_AFTER | SITE_EMIT | SITE_SLICE);
	assert_reads_nothing(&s);	/* the loads of the call's own entry are read */
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_store"), &plain, &s), 0);
	assert_displaced(&s, address_of("t_after_store"), 3);
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_load"), &plain, &s), 0);
	assert_displaced(&s, address_of("t_after_load"), 3);
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_syscall"), &plain, &s), -EILSEQ);
	/* a step over it could end behind the call that follows */
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_cpuid"), &plain, &s), -EILSEQ);
	assert_int_equal(plan_return(fix.self, fix.d, 0x10, &plain, &s), -EILSEQ);
	/* an instruction, but not behind a call; the middle of an instruction */
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_test") + 3, &plain, &s), -EILSEQ);
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_test") + 1, &plain, &s), -EILSEQ);
}

static void test_plain_entry(void **state)
{
	struct site s;

	(void)state;
	assert_int_equal(plan_entry(fix.self, fix.d, address_of("t_sse_first"), false, SITE_MODULES | SITE_WAIT, &s),
			 0);
	assert_flags(&s, SITE_MODULES | SITE_WAIT);
	assert_int_equal(s.addr, address_of("t_sse_first") + 4);
	assert_int_equal(plan_entry(fix.self, fix.d, address_of("t_syscall_first"), false, 0, &s), -EILSEQ);
}

static void test_rebase(void **state)
{
	struct site before, after;

	(void)state;
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_rip"), &plain, &before), 0);
	after = before;
	site_rebase(&after, 0x10000);
	assert_int_equal(after.addr, before.addr + 0x10000);
	assert_int_equal(after.emu.src.imm, before.emu.src.imm + 0x10000);
	assert_int_equal(after.scratch, 0);
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_store"), &plain, &before), 0);
	after = before;
	site_rebase(&after, 0x10000);
	assert_int_equal(after.scratch, before.scratch + 0x10000);
	assert_memory_equal(&after.emu, &before.emu, sizeof(after.emu));
}

static void test_describe(void **state)
{
	const struct plan *p;
	char text[1024], address[32];
	int len;

	(void)state;
	PLAN(&plain, "alloc t_two_rets", "free t_loop", "alloc t_ifunc");
	p = plan_of("t_two_rets");
	len = plan_describe(p, fix.d, 0x7f0000000000, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_non_null(strstr(text, "alloc t_two_rets: 1 stop a call: 2 `ret`"));
	snprintf(address, sizeof(address), "0x%" PRIx64 "  ret", p->sites[1].addr + 0x7f0000000000);
	assert_non_null(strstr(text, address));
	assert_non_null(strstr(text, "exit, emulated\n"));
	plan_describe(plan_of("t_loop"), fix.d, 0, text, sizeof(text));
	assert_non_null(strstr(text, "pxor"));
	assert_non_null(strstr(text, "stepped in padding"));
	plan_describe(plan_of("t_ifunc"), fix.d, 0, text, sizeof(text));
	assert_non_null(strstr(text, "not watched: "));
	assert_int_equal(plan_describe(p, fix.d, 0x7f0000000000, text, 10), len);
	assert_int_equal(strlen(text), 9);
}

/* --- the C library of this machine --- */

static void plan_libc(const struct plan_options *opt)
{
	size_t n = 0;

	plan_set_fini(&fix.set);
	ruleset_fini(&fix.packs);
	assert_int_equal(pack_rules("libc", &fix.packs), 0);
	for (size_t i = 0; i < fix.packs.nrules; i++) {
		if (rule_holds_in(&fix.packs.rules[i], "libc.so.6", ""))
			fix.packs.rules[n++] = fix.packs.rules[i];
	}
	assert_int_equal(plan_module(fix.libc, fix.d, fix.packs.rules, n, opt, &fix.set), 0);
}

static void assert_site_holds(const struct plan *p, const struct site *s)
{
	assert_true(s->nbytes >= s->emu.len);
	assert_memory_equal(s->bytes, (const void *)(uintptr_t)(fix.libc_base + s->addr), s->nbytes);
	if (s->flags & SITE_EXIT && s->bytes[0] != 0xc3 && s->bytes[0] != 0xe9 && s->bytes[0] != 0xeb)
		fail_msg("%s: exit at %#lx is no ret and no jmp", p->function, (unsigned long)s->addr);
	if (s->flags & SITE_ENTRY)
		assert_in_range(s->addr, p->body.lo, p->body.hi - 1);
}

static void assert_sites_hold(void)
{
	for (size_t i = 0; i < fix.set.n; i++) {
		for (size_t k = 0; k < fix.set.plans[i].nsites; k++)
			assert_site_holds(&fix.set.plans[i], &fix.set.plans[i].sites[k]);
	}
}

static void test_libc(void **state)
{
	static const struct plan_options all[] = {
		{ .glibc_chunks = true },
		{ .glibc_chunks = true, .exact_sizes = true },
		{ .glibc_chunks = true, .shadow_stack = true },
		{ .glibc_chunks = false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		plan_libc(&all[i]);
		assert_no_doubles();
		assert_sites_hold();
		for (size_t k = 0; k < fix.set.n; k++) {
			const struct plan *p = &fix.set.plans[k];

			if (p->kind == PLAN_NONE)
				fail_msg("%s is not watched: %s", p->function, p->reason);
			assert_true(*p->reason);
			assert_true(p->kind == PLAN_WRAPPER || p->nsites);
		}
	}
}

static void test_libc_cheap(void **state)
{
	const struct plan_options glibc = { .glibc_chunks = true };
	const struct plan *p;

	(void)state;
	plan_libc(&glibc);
	p = plan_of("malloc");
	assert_int_equal(p->kind, PLAN_EXITS);
	for (size_t i = 0; i < p->nsites; i++) {
		assert_int_equal(p->sites[i].flags & ~SITE_SIGINFO, EXIT_FLAGS);
		assert_reads_chunk(&p->sites[i]);
	}
	assert_int_equal(plan_of("calloc")->kind, PLAN_EXITS);
	p = plan_of("realloc");
	assert_int_equal(p->kind, PLAN_ENTRY_EXITS);
	assert_flags(&p->sites[0], SITE_ENTRY | SITE_EMIT);
	assert_int_equal(plan_of("aligned_alloc")->kind, PLAN_EXITS);
	assert_int_equal(plan_of("posix_memalign")->kind, PLAN_WRAPPER);
	assert_int_equal(plan_of("valloc")->kind, PLAN_ENTRY_EXITS);
	assert_int_equal(plan_of("pvalloc")->kind, PLAN_ENTRY_EXITS);
	p = plan_of("free");
	assert_kind(p, PLAN_ENTRY, 1, 1);
	assert_flags(&p->sites[0], FREE_FLAGS);
	assert_int_not_equal(p->sites[0].emu.op, EMU_NONE);
}

/* calloc's last step is a jump to memset through the PLT, found by the relocation of its slot. */
static void test_libc_calloc(void **state)
{
	const struct plan_options glibc = { .glibc_chunks = true };
	const struct plan *p;
	size_t jumps = 0;

	(void)state;
	plan_libc(&glibc);
	p = plan_of("calloc");
	for (size_t i = 0; i < p->nsites; i++) {
		const struct site *s = &p->sites[i];

		if (s->emu.op != EMU_JMP)
			continue;
		jumps++;
		assert_int_equal(s->result, EMU_RDI);
		assert_reads_chunk(s);
	}
	assert_int_equal(jumps, strstr(p->reason, "memset") ? 1 : 0);
}

/* --- */

static struct elfimage *open_image(const char *path)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elfimage *img = NULL;

	if (fd < 0 || elfimage_open(fd, path, &img))
		return NULL;
	return img;
}

static int set_up(void **state)
{
	Dl_info info;

	(void)state;
	if (decoder_new(&fix.d) || !dladdr((void *)(uintptr_t)gnu_get_libc_version, &info))
		return -1;
	/*
	 * If this program calls it through its own PLT, the address is the program's: look it up in the
	 * library.
	 */
	if (!strstr(info.dli_fname, "libc.so") &&
	    !dladdr(dlsym(dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), "gnu_get_libc_version"), &info))
		return -1;
	fix.libc_base = (taddr)(uintptr_t)info.dli_fbase;
	fix.libc = open_image(info.dli_fname);
	fix.self = open_image("/proc/self/exe");
	return fix.libc && fix.self ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	plan_set_fini(&fix.set);
	ruleset_fini(&fix.packs);
	elfimage_close(fix.self);
	elfimage_close(fix.libc);
	decoder_free(fix.d);
	return 0;
}

/* An exception that passes the kernel's trampoline ends the target: only for what none can leave. */
static void test_kernel_returns(void **state)
{
	const char *const rules[] = { "alloc valloc size=arg1", "alloc pvalloc size=arg1", "alloc memalign size=arg2",
				      "alloc t_two_rets size=arg1", "free t_cold" };
	struct plan_options opt = { .kernel = true, .kernel_returns = true, .other_returns = true };

	(void)state;
	/* the jump is what the kernel emulates; arg4 is overwritten before */
	replan(&opt, 2, (const char *const[]){ "free t_jump_late", "free t_cold" });
	assert_int_equal(plan_of("t_jump_late")->sites[0].addr, plan_of("t_jump_late")->entry + 14);
	replan(&opt, 2, (const char *const[]){ "free t_jump_late ptr=arg4", "free t_cold" });
	assert_int_equal(plan_of("t_jump_late")->sites[0].addr, plan_of("t_jump_late")->entry);
	replan(&opt, 5, rules);
	assert_int_equal(plan_of("valloc")->kind, PLAN_RETURNS);
	assert_int_equal(plan_of("valloc")->nsites, 1);
	assert_true(plan_of("valloc")->sites[0].flags & SITE_RETURNS);
	assert_true(plan_of("valloc")->sites[0].flags & SITE_ENTRY); /* for the size */
	assert_int_equal(plan_of("pvalloc")->kind, PLAN_NONE);	     /* jumps to what throws */
	assert_int_equal(plan_of("memalign")->kind, PLAN_ENTRY_EXITS); /* has an LSDA */
	assert_int_equal(plan_of("t_two_rets")->kind, PLAN_ENTRY_EXITS);
	assert_int_equal(plan_of("t_cold")->kind, PLAN_ENTRY);
	opt.other_returns = false;
	replan(&opt, 5, rules);
	assert_int_equal(plan_of("valloc")->kind, PLAN_ENTRY_EXITS);
	opt.glibc_chunks = true;
	replan(&opt, 5, rules);
	assert_int_equal(plan_of("valloc")->kind, PLAN_RETURNS);
	assert_int_equal(plan_of("memalign")->kind, PLAN_RETURNS);
	/* at an instruction that the kernel emulates, if nothing has been pushed before */
	assert_int_equal(plan_of("memalign")->sites[0].addr, plan_of("memalign")->entry + 7);
	assert_int_equal(plan_of("valloc")->sites[0].addr, plan_of("valloc")->entry);
	opt.kernel_returns = false;
	replan(&opt, 5, rules);
	assert_int_equal(plan_of("valloc")->kind, PLAN_EXITS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exits),	      cmocka_unit_test(test_chunk_word),
		cmocka_unit_test(test_exact_sizes),   cmocka_unit_test(test_unknown_exits),
		cmocka_unit_test(test_shadow_stack),  cmocka_unit_test(test_tail_calls),
		cmocka_unit_test(test_ends_where_nothing_is_seen),
		cmocka_unit_test(test_releases_passed_on),
		cmocka_unit_test(test_callers),	      cmocka_unit_test(test_cold_part),
		cmocka_unit_test(test_what_cannot_be_reached),
		cmocka_unit_test(test_shared_body),   cmocka_unit_test(test_out_param),
		cmocka_unit_test(test_moving),	      cmocka_unit_test(test_entry),
		cmocka_unit_test(test_displaced),     cmocka_unit_test(test_scope),
		cmocka_unit_test(test_resolving),     cmocka_unit_test(test_return),
		cmocka_unit_test(test_inside_an_instruction),
		cmocka_unit_test(test_plain_entry),   cmocka_unit_test(test_rebase),
		cmocka_unit_test(test_families_apart), cmocka_unit_test(test_shared_by_two_families),
		cmocka_unit_test(test_jumps_and_says_more),
		cmocka_unit_test(test_calls_itself),  cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_two_rules_for_one), cmocka_unit_test(test_refs),
		cmocka_unit_test(test_loads),	      cmocka_unit_test(test_loads_of_a_tail_call),
		cmocka_unit_test(test_in),
		cmocka_unit_test(test_describe),      cmocka_unit_test(test_libc),
		cmocka_unit_test(test_libc_cheap),    cmocka_unit_test(test_libc_calloc),
		cmocka_unit_test(test_kernel_returns),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
