/* SPDX-License-Identifier: MIT */
/*
 * libplug: a module with an allocator of its own, for dl.c to open. Its
 * constructor allocates once: whoever plants traps after the module's code
 * has begun to run, misses that call.
 *
 * The pool is static, so neither function calls another allocator.
 */
#include <stddef.h>
#include <stdint.h>

#define POOL 64
#define BLOCK 256

void *plug_malloc(size_t n);
void plug_free(void *p);

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

__attribute__((constructor)) static void begin(void)
{
	void *volatile kept = plug_malloc(40);

	(void)kept;
}
