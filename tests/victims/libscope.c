/* SPDX-License-Identifier: MIT */
/* libscope: a library that allocates for itself, and wraps malloc for its callers; scopes.c opens it. */
#include <stdlib.h>

void *scope_wrap(size_t n);
void *scope_keep(size_t n);
void *scope_call(void *(*take)(size_t), size_t n);

#define OWN_FRAME(p) __asm__ volatile("" : "+r"(p) : : "memory")

__attribute__((noinline)) void *scope_wrap(size_t n)
{
	void *p = malloc(n);

	OWN_FRAME(p);
	return p;
}

__attribute__((noinline)) void *scope_keep(size_t n)
{
	void *p = scope_wrap(n);

	OWN_FRAME(p);
	return p;
}

__attribute__((noinline)) void *scope_call(void *(*take)(size_t), size_t n)
{
	void *p = take(n);

	OWN_FRAME(p);
	return p;
}
