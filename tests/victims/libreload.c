/* SPDX-License-Identifier: MIT */
/* libreload: a plugin with 64 calls of malloc, for reload.c to open and close. */
#include <stdlib.h>

typedef void *take(size_t n);

/*
 * The compiler may neither merge these functions nor turn the call into a jump: malloc returns to each of
 * them.
 */
#define TAKE(k) \
	static __attribute__((noipa)) void *take_##k(size_t n) \
	{ \
		void *p = malloc(n + k); \
\
		__asm__ volatile("" : "+r"(p) : : "memory"); \
		return p; \
	}
#define EIGHT(X, k) X(k##0) X(k##1) X(k##2) X(k##3) X(k##4) X(k##5) X(k##6) X(k##7)
#define ALL(X) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7) EIGHT(X, 8)
#define NAME(k) take_##k,

ALL(TAKE)

extern take *const reload_takes[];
take *const reload_takes[] = { ALL(NAME) NULL };
