/* SPDX-License-Identifier: MIT */
/*
 * losses: how a victim prints which block comes from which site, so that a verdict for each site can be
 * compared with valgrind's.
 *
 * Every site is a function of its own, site_NAME, which valgrind sees in its stacks; the victim prints NAME,
 * address and size of each block when it is allocated. It stores nothing of that: a table would point to all
 * the blocks. Blocks are zeroed: valgrind follows no value that was never written, while we see what the
 * previous block has left.
 *
 * Under valgrind the victim asks for the leak check where it otherwise waits to be watched: both see the same
 * moment.
 */
#ifndef LOSSES_H
#define LOSSES_H

#include "victim.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_DO_LEAK_CHECK
#define VALGRIND_CLO_CHANGE(option)
#define VALGRIND_STACK_REGISTER(lo, hi) 0
#endif

#define NOINLINE __attribute__((noinline, noclone))

/* Not through stdio: its buffers are blocks too. */
static NOINLINE void losses_tell(const char *name, const void *p, size_t size)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "{\"site\": \"%s\", \"addr\": %zu, \"size\": %zu}\n", name,
			 (size_t)p, size);

	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		victim_die("write");
}

/* void **site_NAME(size): a block of words, all zeros. */
#define SITE(name)						\
	static NOINLINE void **site_##name(size_t size)		\
	{							\
		void *p = malloc(size);				\
								\
		if (!p)						\
			victim_die("malloc");			\
		memset(p, 0, size);				\
		losses_tell(#name, p, size);			\
		escape(p);					\
		return (void **)p;				\
	}

/*
 * Clear the callee-saved registers: a pointer that an earlier call has left in one of them would hide a loss.
 * Inlined, since a function would restore them for its caller when it returns. Not rbp, which may be the
 * caller's frame pointer.
 */
static inline __attribute__((always_inline)) void losses_forget(void)
{
	__asm__ volatile("xor %%ebx, %%ebx\n\t"
			 "xor %%r12d, %%r12d\n\t"
			 "xor %%r13d, %%r13d\n\t"
			 "xor %%r14d, %%r14d\n\t"
			 "xor %%r15d, %%r15d"
			 : : : "rbx", "r12", "r13", "r14", "r15", "cc", "memory");
}

/*
 * Overwrite what calls have left on the stack: just below the stack pointer it counts. Malloc (2.43) leaves
 * there the address of the chunk behind the one that it returned, which is inside of a small one before it.
 */
static NOINLINE void losses_wipe(void)
{
	volatile char room[4096];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

/* Once this has returned, its whole frame is dead: what was left further down in the stack is overwritten. */
static NOINLINE void losses_wait(void)
{
	char order[ORDER_MAX];
	char ready[64];
	int n = snprintf(ready, sizeof(ready), "ready %d\n", (int)getpid());
	ssize_t got;

	if (RUNNING_ON_VALGRIND) {
		VALGRIND_DO_LEAK_CHECK;
		VALGRIND_CLO_CHANGE("--leak-check=no");	/* no second check at the exit */
		_exit(0);
	}
	if (write(STDOUT_FILENO, ready, (size_t)n) != n)
		victim_die("write");
	do
		got = read(STDIN_FILENO, order, sizeof(order));
	while (got < 0 && errno == EINTR);
}

#endif
