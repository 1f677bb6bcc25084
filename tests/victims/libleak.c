/* SPDX-License-Identifier: MIT */
/* libleak: a plugin that allocates and is unloaded without freeing; unload.c opens it. */
#include <stdlib.h>

void *leak_some(size_t n);

/* Not exported: only a symbol table has its name. */
static __attribute__((noinline)) void *take(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

__attribute__((noinline)) void *leak_some(size_t n)
{
	void *p = take(n);

	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}
