/* SPDX-License-Identifier: MIT */
/*
 * altstacks above|below: functions of the heap on other stacks than the thread's own.
 *
 *	alt N		N signals are handled on an alternate stack, above or below the thread's own, by a handler that
 *			allocates, while the thread allocates
 *	own N		the same, on the thread's own stack
 *	start		the thread of "alt" begins, and allocates until "stop"
 *	send N		N signals to it
 *	calls N		N switches between contexts, each of which allocates, and frees what another one has
 *			allocated
 *	made N		N contexts are made on new stacks, run, and their stacks are freed
 *
 * Answer: {"allocs": calls of malloc, "inner": those by a handler, in malloc's first instructions, "damaged"}. All
 * blocks are freed. glibc's malloc may not be called by a handler that has interrupted it; at its first
 * instructions nothing has been touched yet, and there the handler does so.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "victim.h"

#define AREA (4u << 20)
#define STACK (256u << 10)
#define FIRST_BYTES 8	/* of malloc: it pushes registers */
#define CONTEXTS 8

static char *area;
static bool above;
static const char *malloc_entry;
static _Atomic unsigned long handled, inner, allocs, damaged;
static atomic_bool ending, running;

static void pair(uint64_t *rng)
{
	if (!victim_malloc_free(rng))
		damaged++;
	allocs++;
}

/* --- signals --- */

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t rng = 42;

	(void)sig, (void)info;
	handled++;
	if ((uint64_t)regs[REG_RIP] - (uint64_t)(uintptr_t)malloc_entry > FIRST_BYTES)
		return;
	pair(&rng);
	inner++;
}

static void *allocator(void *arg)
{
	const bool alternate = arg != NULL;
	stack_t st = { .ss_sp = area + (above ? AREA / 2 : 0), .ss_size = STACK };
	uint64_t rng = 88172645463325252u;

	if (alternate)
		sigaltstack(&st, NULL);
	running = true;
	while (!ending)
		pair(&rng);
	return NULL;
}

static pthread_t thread;

static void send(unsigned n)
{
	const struct timespec pause = { .tv_nsec = 20000 };

	for (unsigned i = 0; i < n; i++) {
		const unsigned long before = handled;

		pthread_kill(thread, SIGUSR1);
		while (handled == before)
			nanosleep(&pause, NULL);
	}
}

static void start(bool alternate)
{
	struct sigaction a = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_RESTART | (alternate ? SA_ONSTACK : 0),
	};
	pthread_attr_t attr;

	sigaction(SIGUSR1, &a, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, area + (above ? 0 : AREA / 2), STACK);
	ending = running = false;
	if (pthread_create(&thread, &attr, allocator, alternate ? area : NULL))
		victim_die("pthread_create");
	while (!running)
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

static void stop(void)
{
	ending = true;
	pthread_join(thread, NULL);
}

static void signals(unsigned n, bool alternate)
{
	start(alternate);
	send(n);
	stop();
}

/* --- contexts --- */

static ucontext_t contexts[CONTEXTS], home;
static char *left_here;
static unsigned switches, wanted;

static void context(int nth)
{
	while (switches < wanted) {
		char *p = malloc(64 + (size_t)nth);

		escape(p);
		allocs++;
		free(left_here);
		left_here = p;
		switches++;
		swapcontext(&contexts[nth], &contexts[(nth * 3 + 1) % CONTEXTS]);
	}
	setcontext(&home);
}

static void make_context(ucontext_t *c, char *stack, void (*run)(void))
{
	getcontext(c);
	c->uc_stack = (stack_t){ .ss_sp = stack, .ss_size = STACK / 2 };
	c->uc_link = &home;
	makecontext(c, run, 1, (int)(c - contexts));
}

static void calls(unsigned n)
{
	switches = 0;
	wanted = n;
	for (int i = 0; i < CONTEXTS; i++)
		make_context(&contexts[i], area + (size_t)i * STACK, (void (*)(void))context);
	swapcontext(&home, &contexts[0]);
	free(left_here);
	left_here = NULL;
}

static void once(int nth)
{
	char *p = malloc(100 + (size_t)nth);

	escape(p);
	allocs++;
	free(p);
}

static void made(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		char *stack = malloc(STACK / 2);

		if (!stack)
			victim_die("malloc");
		allocs++;
		make_context(&contexts[i % CONTEXTS], stack, (void (*)(void))once);
		swapcontext(&home, &contexts[i % CONTEXTS]);
		free(stack);
	}
}

static bool obey(const char *line)
{
	unsigned n;

	if (sscanf(line, "alt %u", &n) == 1)
		signals(n, true);
	else if (sscanf(line, "own %u", &n) == 1)
		signals(n, false);
	else if (strcmp(line, "start") == 0)
		start(true);
	else if (sscanf(line, "send %u", &n) == 1)
		send(n);
	else if (strcmp(line, "stop") == 0)
		stop();
	else if (sscanf(line, "calls %u", &n) == 1)
		calls(n);
	else if (sscanf(line, "made %u", &n) == 1)
		made(n);
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	char line[ORDER_MAX];

	above = argc > 1 && strcmp(argv[1], "above") == 0;
	area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	malloc_entry = dlsym(RTLD_DEFAULT, "malloc");
	if (area == MAP_FAILED || !malloc_entry)
		victim_die("mmap");
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		allocs = inner = damaged = 0;
		if (!obey(line))
			return 2;
		printf("{\"allocs\": %lu, \"inner\": %lu, \"damaged\": %lu}\n", allocs, inner, damaged);
		fflush(stdout);
	}
	puts("{}");
	return 0;
}
