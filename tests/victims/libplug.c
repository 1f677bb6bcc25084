/* SPDX-License-Identifier: MIT */
/*
 * libplug: a module with an allocator of its own, for dl.c to open. Its constructor allocates once: a watch
 * that plants its traps only after the module's code has begun to run misses that call.
 *
 * plug_step_free is plug_free, with an entry that is awkward to trap.
 *
 * The pool is static, so neither function calls another allocator.
 */
#include <stddef.h>
#include <stdint.h>

#define POOL 64
#define BLOCK 256

void *plug_malloc(size_t n);
void plug_free(void *p);
void plug_step_free(void *p);
void *plug_by(void *(*alloc)(size_t n), size_t n);

static _Alignas(16) char pool[POOL][BLOCK];
static unsigned char used[POOL];

__attribute__((noinline)) void *plug_malloc(size_t n)
{
	for (int i = 0; n <= BLOCK && i < POOL; i++)
		if (!used[i]) {
			used[i] = 1;
			return pool[i];
		}
	return NULL;
}

__attribute__((noinline)) void plug_free(void *p)
{
	if (p)
		used[((uintptr_t)p - (uintptr_t)pool) / BLOCK] = 0;
}

/* Has a return address in this module (jit.c). */
__attribute__((noinline)) void *plug_by(void *(*alloc)(size_t n), size_t n)
{
	void *volatile p = alloc(n);

	return p;
}

/*
 * While the argument is in its register, no instruction can be emulated: the first is run from a copy in
 * padding, and this file has little of that.
 */
__asm__(".text\n"
	".p2align 4\n"
	".globl plug_step_free\n"
	".type plug_step_free, @function\n"
	"plug_step_free:\n"
	".cfi_startproc\n"
	"	cvtsi2sd %rdi, %xmm2\n"
	"	cvttsd2si %xmm2, %rdi\n"
	"	jmp plug_free@PLT\n"
	".cfi_endproc\n"
	".size plug_step_free, . - plug_step_free\n"
	".p2align 4\n");

__attribute__((constructor)) static void begin(void)
{
	void *volatile kept = plug_malloc(40);

	(void)kept;
}
