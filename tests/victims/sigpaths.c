// SPDX-License-Identifier: MIT
/*
 * sigpaths: a signal handler that allocates, on the thread's own stack and on an alternate one. The timer
 * interrupts code that never allocates itself, at any instruction: in prologues, epilogues, PLT stubs, the C
 * library's assembly.
 *
 *	own N		until the handler has run N times on the thread's own stack, then {"handled": N}
 *	alternate N	likewise on an alternate stack
 */
#include "victim.h"

#include <signal.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile sig_atomic_t handled;
static volatile unsigned long sum;

static NOINLINE void allocates(void)
{
	void *p = malloc(80);

	escape(p);
	free(p);
	sum++;
}

static void on_timer(int sig)
{
	(void)sig;
	allocates();
	handled++;
}

static NOINLINE unsigned long small(unsigned long x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3 + 1;
}

static NOINLINE unsigned long saves_registers(unsigned long a, unsigned long b, unsigned long c)
{
	unsigned long d = small(a), e = small(b), f = small(c);

	return small(d) + small(e) * small(f) + a * b + c;
}

static NOINLINE unsigned long realigned(unsigned long x)
{
	volatile unsigned long local[8] __attribute__((aligned(64)));

	for (int i = 0; i < 8; i++)
		local[i] = small(x + (unsigned long)i);
	return local[x % 8];
}

static NOINLINE unsigned long copies(char *to, const char *from, size_t n)
{
	memcpy(to, from, n);
	memset(to + n, 7, n);
	return strlen(from) + (unsigned long)memcmp(to, from, n);
}

static NOINLINE unsigned long work(void)
{
	static char from[4096], to[8192];
	unsigned long x = sum;

	memset(from, 'a', sizeof(from) - 1);
	x += saves_registers(x, 2, 3) + realigned(x) + copies(to, from, 100 + x % 3000);
	x += now_ns();
	return x;
}

/* One signal after a random time: a period would interrupt the same instruction again and again. */
static void set_timer(uint64_t *rng)
{
	const struct itimerval it = { { 0, 0 }, { 0, 20 + (long)(victim_random(rng) % 1000) } };

	if (setitimer(ITIMER_REAL, &it, NULL))
		victim_die("setitimer");
}

static void run(int flags, int n)
{
	static uint64_t rng = 0x9e3779b97f4a7c15u;
	struct sigaction sa = { .sa_handler = on_timer, .sa_flags = SA_RESTART | flags };

	sigaction(SIGALRM, &sa, NULL);
	for (handled = 0; handled < n;) {
		int before = handled;

		set_timer(&rng);
		while (handled == before)
			sum += work();
	}
	printf("{\"handled\": %d}\n", n);
	fflush(stdout);
}

int main(void)
{
	static char alternate[65536];
	const stack_t ss = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	char line[ORDER_MAX];
	int n;

	sigaltstack(&ss, NULL);
	victim_ready();
	while (strcmp(victim_order(line), "end")) {
		if (sscanf(line, "own %d", &n) == 1)
			run(0, n);
		else if (sscanf(line, "alternate %d", &n) == 1)
			run(SA_ONSTACK, n);
		else
			return 2;
	}
	puts("{}");
	return 0;
}
