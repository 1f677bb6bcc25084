/* SPDX-License-Identifier: MIT */
/*
 * plan: properties of the plans for the C library of this machine, and exact
 * plans for small functions that stand in this program itself (read as
 * anybody's, from /proc/self/exe). Their addresses come from what the file says
 * of its symbols, so nothing here depends on where we are loaded.
 */
#include "attach/probes/plan.h"
#include "tests/unit/pack_rules.h"

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

#define FUNCTION_IN(section, scope, name, ...)						\
	asm(".pushsection " section ",\"ax\",@progbits\n.balign 32\n" scope "\n.type " #name ",@function\n" #name ":\n" \
	    ".cfi_startproc\n" __VA_ARGS__ ".cfi_endproc\n.size " #name ", .-" #name "\n.balign 32\n.popsection\n")

FUNCTION(t_two_rets, "test %edi,%edi\n je 1f\n lea 1(%rdi),%rax\n ret\n 1: xor %eax,%eax\n ret\n");
FUNCTION(t_padded_ret, "test %edi,%edi\n je 1f\n lea 1(%rdi),%rax\n ret\n nop\n 1: xor %eax,%eax\n ret\n");
FUNCTION(t_indirect, "mov %rdi,%rax\n test %edi,%edi\n je 1f\n jmp *%rax\n 1: ret\n");
FUNCTION(t_sse_first, "pxor %xmm0,%xmm0\n mov %rdi,%rax\n ret\n");
FUNCTION(t_displaced, "movups t_constant(%rip),%xmm0\n imul %rdi,%rsi\n mov %rsi,%rax\n ret\n");
FUNCTION(t_loop, "pxor %xmm0,%xmm0\n 1: test %rsi,%rsi\n dec %rsi\n jne 1b\n ret\n");
FUNCTION(t_stores_first, "mov %rdi,(%rsi)\n mov %rdi,%rax\n ret\n");
FUNCTION(t_syscall_first, "syscall\n ret\n");
FUNCTION(t_pushfq, "pushfq\n mov %rdi,%rax\n popfq\n ret\n");
FUNCTION(t_push, "push %rbx\n mov %rdi,%rbx\n pop %rbx\n ret\n");
FUNCTION(t_bad, "test %edi,%edi\n je 1f\n .byte 0x06\n 1: ret\n");
FUNCTION(t_data, "test %edi,%edi\n je 1f\n jmp 2f\n .byte 0x48,0xb8\n 1: ret\n 2: ret\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n ret\n");
FUNCTION(t_many, ".rept 30\n test %edi,%edi\n je 1f\n ret\n 1:\n .endr\n ret\n");
FUNCTION(t_runs_on, "mov %rdi,%rax\n");
FUNCTION(t_to_memset, "test %rdi,%rdi\n je 1f\n jmp memset@PLT\n 1: ret\n");
FUNCTION(t_to_memset_if, "test %rdi,%rdi\n jne memset@PLT\n ret\n");
FUNCTION(t_to_getenv, "test %rdi,%rdi\n je 1f\n jmp getenv@PLT\n 1: ret\n");
FUNCTION(t_to_other, "test %rdi,%rdi\n je 1f\n jmp t_two_rets\n 1: ret\n");
FUNCTION(t_only_jumps, "mov $1,%edi\n jmp t_two_rets\n");
FUNCTION(t_calls_other, "push %rbx\n call t_two_rets\n pop %rbx\n ret\n");
FUNCTION(t_calls_plt, "push %rbx\n call getenv@PLT\n pop %rbx\n ret\n");
FUNCTION(t_cold, "test %rdi,%rdi\n je t_cold.cold\n mov %rdi,%rax\n 1: ret\n .globl t_cold_back\n t_cold_back = 1b\n");
FUNCTION_IN(".text.t_cold", "", t_cold.cold, "test %rsi,%rsi\n je t_cold_back\n xor %eax,%eax\n ret\n");
LOCAL(t_shared, "mov %rdi,%rax\n ret\n");
FUNCTION(t_share_a, "mov $1,%edi\n jmp t_shared\n");
FUNCTION(t_share_b, "mov $2,%edi\n jmp t_shared\n");
FUNCTION(t_out_param, "push %rbx\n mov %rdi,%rbx\n call t_shared\n mov %rax,(%rbx)\n xor %eax,%eax\n pop %rbx\n ret\n");
FUNCTION(t_realloc, "test %rdi,%rdi\n jne 1f\n mov %rsi,%rdi\n jmp t_two_rets\n 1: mov %rdi,%rax\n ret\n");
FUNCTION(t_returns, "call t_two_rets\n .globl t_after_test\n t_after_test: test %rax,%rax\n call t_two_rets\n"
	 ".globl t_after_store\n t_after_store: mov %rax,(%rbx)\n call t_two_rets\n"
	 ".globl t_after_load\n t_after_load: mov (%rbx),%rcx\n call t_two_rets\n"
	 ".globl t_after_syscall\n t_after_syscall: syscall\n call t_two_rets\n"
	 ".globl t_after_rip\n t_after_rip: lea t_constant(%rip),%rax\n ret\n"
	 ".type t_after_test,@function\n .type t_after_store,@function\n .type t_after_load,@function\n"
	 ".type t_after_syscall,@function\n .type t_after_rip,@function\n");
FUNCTION(t_resolver, "lea t_two_rets(%rip),%rax\n ret\n .globl t_ifunc\n .type t_ifunc,@gnu_indirect_function\n .set t_ifunc,t_resolver\n");
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

static struct rule rule_of(const char *text)
{
	struct rule_error err;
	struct rule r;

	if (rule_parse(text, &r, &err))
		fail_msg("\"%s\": %s", text, err.message);
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
		fail_msg("%s: kind %d, %zu sites, %g stops: %s", p->function, p->kind, p->nsites, p->stops, p->reason);
}

static void assert_flags(const struct site *s, unsigned flags)
{
	assert_int_equal(s->flags, flags);
}

#define EXIT_FLAGS (SITE_EXIT | SITE_EMIT | SITE_SLICE | SITE_INNER)

/* --- small functions --- */

static void test_exits(void **state)
{
	const struct plan *p;

	(void)state;
	PLAN(&plain, "alloc t_two_rets size=arg1");
	p = plan_of("t_two_rets");
	assert_kind(p, PLAN_EXITS, 2, 1);
	/* code follows the first ret at once, so a thread may stand there without the trap; nothing follows the last */
	assert_flags(&p->sites[0], EXIT_FLAGS | SITE_SIGINFO);
	assert_flags(&p->sites[1], EXIT_FLAGS);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(p->sites[i].bytes[0], 0xc3);
		assert_int_equal(p->sites[i].emu.op, EMU_RET);
		assert_int_equal(p->sites[i].result, EMU_RAX);
		assert_int_equal(p->sites[i].family, PLAN_FAMILY);
		assert_int_equal(p->sites[i].aux[0].kind, SITE_AUX_NONE);
	}
	assert_int_equal(p->body.lo, p->entry);
	PLAN(&plain, "alloc t_padded_ret");
	assert_flags(&plan_of("t_padded_ret")->sites[0], EXIT_FLAGS);	/* nobody stands on padding */
}

static void test_chunk_word(void **state)
{
	const struct plan_options glibc = { .glibc_chunks = true };
	const struct plan *p;

	(void)state;
	PLAN(&glibc, "alloc t_two_rets");
	p = plan_of("t_two_rets");
	assert_int_equal(p->sites[0].aux[0].kind, SITE_AUX_REG);
	assert_int_equal(p->sites[0].aux[0].reg, EMU_RAX);
	assert_int_equal(p->sites[0].aux[0].disp, -8);
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
	PLAN(&shadow, "alloc t_two_rets", "alloc t_share_a", "alloc t_out_param ptr=*arg1 if=ret==0");
	assert_by_return("t_two_rets", "shadow stack");
	/* with no trap in the shared body, who calls it is no wrapper */
	assert_by_return("t_out_param", "shadow stack");
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

/* Two functions that jump to one static body: the first owns the exits, the second is told apart. */
static void test_shared_body(void **state)
{
	const struct plan_options glibc = { .glibc_chunks = true };
	const struct plan *a, *b;

	(void)state;
	PLAN(&glibc, "alloc t_share_a", "alloc t_share_b", "alloc t_out_param ptr=*arg1 if=ret==0");
	a = plan_of("t_share_a");
	b = plan_of("t_share_b");
	assert_kind(a, PLAN_EXITS, 1, 1);
	assert_kind(b, PLAN_ENTRY_EXITS, 1, 2);
	assert_int_equal(a->sites[0].addr, address_of("t_shared") + 3);
	assert_flags(&b->sites[0], SITE_ENTRY);
	assert_kind(plan_of("t_out_param"), PLAN_WRAPPER, 0, 1);
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
	assert_int_equal(p->sites[1].aux[0].kind, SITE_AUX_ARG);
	assert_int_equal(p->sites[1].aux[0].reg, 0);
	assert_int_equal(p->sites[1].aux[0].disp, 0);
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

static void test_entry(void **state)
{
	const struct plan *p;

	(void)state;
	PLAN(&plain, "free t_two_rets", "free t_sse_first", "free t_push", "free t_pushfq", "free t_stores_first");
	p = plan_of("t_two_rets");
	assert_kind(p, PLAN_ENTRY, 1, 1);
	assert_flags(&p->sites[0], SITE_EMIT | SITE_INNER);
	assert_int_equal(p->sites[0].emu.op, EMU_TEST);
	assert_int_equal(plan_of("t_sse_first")->sites[0].addr, address_of("t_sse_first") + 4);
	assert_int_equal(plan_of("t_sse_first")->sites[0].sp_delta, 0);
	assert_flags(&plan_of("t_push")->sites[0], SITE_EMIT | SITE_INNER | SITE_SIGINFO);
	p = plan_of("t_pushfq");
	assert_int_equal(p->sites[0].addr, p->entry + 1);
	assert_int_equal(p->sites[0].sp_delta, 8);
	p = plan_of("t_stores_first");	/* a store through a pointer is not for the keeper to make */
	assert_int_equal(p->sites[0].addr, p->entry + 3);
}

static void assert_displaced(const struct site *s, taddr addr, uint8_t len)
{
	assert_int_equal(s->addr, addr);
	assert_int_equal(s->emu.op, EMU_NONE);
	assert_int_equal(s->emu.len, len);
	assert_int_equal(s->step_len, len);
	assert_true(s->scratch != 0);
	assert_int_equal(elfimage_code(fix.self, s->scratch, (uint8_t[SITE_BYTES]){ 0 }, SITE_BYTES), SITE_BYTES);
}

static void test_displaced(void **state)
{
	const struct plan *p;
	int32_t here, there;

	(void)state;
	PLAN(&plain, "free t_displaced", "free t_loop", "free t_syscall_first");
	p = plan_of("t_displaced");
	assert_kind(p, PLAN_ENTRY, 1, 1);
	assert_displaced(&p->sites[0], p->entry, 7);
	/* the same opcode, reaching the same place */
	assert_memory_equal(p->sites[0].bytes, p->sites[0].step, 3);
	memcpy(&here, p->sites[0].bytes + 3, 4);
	memcpy(&there, p->sites[0].step + 3, 4);
	assert_int_equal(here + (int64_t)p->entry, there + (int64_t)p->sites[0].scratch);
	p = plan_of("t_loop");	/* what follows is jumped back to: one call would be many hits */
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
	assert_int_equal(p->sites[0].addr, p->entry + 1);	/* the entry itself is taken */
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

/* --- return addresses, single sites --- */

static void test_return(void **state)
{
	struct rule malloc_rule = rule_of("alloc m"), out = rule_of("alloc p ptr=*arg2");
	const struct plan_options glibc = { .glibc_chunks = true };
	struct site s;

	(void)state;
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_test"), &malloc_rule, 3, &glibc, &s), 0);
	assert_int_equal(s.emu.op, EMU_TEST);
	assert_flags(&s, SITE_AFTER | SITE_EMIT | SITE_SLICE);
	assert_int_equal(s.rule, 3);
	assert_int_equal(s.family, PLAN_FAMILY);
	assert_int_equal(s.aux[0].kind, SITE_AUX_REG);
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_store"), &out, 0, &glibc, &s), 0);
	assert_displaced(&s, address_of("t_after_store"), 3);
	assert_int_equal(s.aux[0].kind, SITE_AUX_ARG);
	assert_int_equal(s.aux[0].reg, 1);
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_load"), &out, 0, &plain, &s), 0);
	assert_displaced(&s, address_of("t_after_load"), 3);
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_syscall"), &out, 0, &plain, &s), -EILSEQ);
	assert_int_equal(plan_return(fix.self, fix.d, 0x10, &out, 0, &plain, &s), -EILSEQ);
}

static void test_plain_entry(void **state)
{
	struct site s;

	(void)state;
	assert_int_equal(plan_entry(fix.self, fix.d, address_of("t_sse_first"), SITE_MODULES | SITE_WAIT, &s), 0);
	assert_flags(&s, SITE_MODULES | SITE_WAIT);
	assert_int_equal(s.addr, address_of("t_sse_first") + 4);
	assert_int_equal(plan_entry(fix.self, fix.d, address_of("t_syscall_first"), 0, &s), -EILSEQ);
}

static void test_rebase(void **state)
{
	struct rule r = rule_of("alloc m");
	struct site before, after;

	(void)state;
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_rip"), &r, 0, &plain, &before), 0);
	after = before;
	site_rebase(&after, 0x10000);
	assert_int_equal(after.addr, before.addr + 0x10000);
	assert_int_equal(after.emu.src.imm, before.emu.src.imm + 0x10000);
	assert_int_equal(after.scratch, 0);
	assert_int_equal(plan_return(fix.self, fix.d, address_of("t_after_store"), &r, 0, &plain, &before), 0);
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
	plan_set_fini(&fix.set);
	ruleset_fini(&fix.packs);
	assert_int_equal(pack_rules("libc", &fix.packs), 0);
	assert_int_equal(plan_module(fix.libc, fix.d, fix.packs.rules, fix.packs.nrules, opt, &fix.set), 0);
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

static void assert_no_doubles(void)
{
	taddr seen[256];
	size_t n = 0;

	for (size_t i = 0; i < fix.set.n; i++) {
		for (size_t k = 0; k < fix.set.plans[i].nsites; k++) {
			taddr addr = fix.set.plans[i].sites[k].addr;

			assert_site_holds(&fix.set.plans[i], &fix.set.plans[i].sites[k]);
			for (size_t j = 0; j < n; j++)
				assert_true(seen[j] != addr);
			seen[n++] = addr;
		}
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
		for (size_t k = 0; k < fix.set.n; k++) {
			const struct plan *p = &fix.set.plans[k];

			assert_int_not_equal(p->kind, PLAN_NONE);
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
		assert_int_equal(p->sites[i].aux[0].kind, SITE_AUX_REG);
		assert_int_equal(p->sites[i].aux[0].disp, -8);
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
	assert_flags(&p->sites[0], SITE_EMIT | SITE_INNER);
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
		assert_int_equal(s->aux[0].reg, EMU_RDI);
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
	/* Where this program calls it through its own PLT the address is the program's: ask the library. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exits),	      cmocka_unit_test(test_chunk_word),
		cmocka_unit_test(test_exact_sizes),   cmocka_unit_test(test_unknown_exits),
		cmocka_unit_test(test_shadow_stack),  cmocka_unit_test(test_tail_calls),
		cmocka_unit_test(test_callers),	      cmocka_unit_test(test_cold_part),
		cmocka_unit_test(test_shared_body),   cmocka_unit_test(test_out_param),
		cmocka_unit_test(test_moving),	      cmocka_unit_test(test_entry),
		cmocka_unit_test(test_displaced),     cmocka_unit_test(test_scope),
		cmocka_unit_test(test_resolving),     cmocka_unit_test(test_return),
		cmocka_unit_test(test_plain_entry),   cmocka_unit_test(test_rebase),
		cmocka_unit_test(test_describe),      cmocka_unit_test(test_libc),
		cmocka_unit_test(test_libc_cheap),    cmocka_unit_test(test_libc_calloc),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
