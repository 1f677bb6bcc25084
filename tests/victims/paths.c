// SPDX-License-Identifier: MIT
/*
 * paths: allocates at the end of random walks through functions of every shape, which gives thousands of
 * different stacks.
 *
 *	walk N		N walks, then {"walks": N}
 *	keep N		the same from a fixed seed; the blocks are leaked, 64 bytes each
 *	aligned N	N blocks of posix_memalign leaked
 *	edge N		N blocks of 72 bytes leaked by code on a stack of its own, with nothing mapped behind
 *			its end
 *	nested N	N blocks of 32 bytes leaked at the end of path0, path1, ... path9
 *
 * Built with -O0, -O2 and -Os: the same walks in other frames.
 */
#include "victim.h"

#include <alloca.h>
#include <stdarg.h>
#include <sys/mman.h>

struct walk {
	uint64_t rng;
	unsigned left;
	bool keep;
	volatile unsigned sum;
};

#define NOINLINE __attribute__((noinline, noclone))

static void step(struct walk *w);

static NOINLINE void leaf(struct walk *w)
{
	void *p = malloc(64);

	escape(p);
	if (!w->keep)
		free(p);
	w->sum++;
}

static NOINLINE void plain(struct walk *w)
{
	step(w);
	w->sum += 1;
}

static NOINLINE void with_array(struct walk *w)
{
	volatile char local[700];

	local[w->left] = 1;
	step(w);
	w->sum += local[w->left];
}

static NOINLINE void with_alloca(struct walk *w)
{
	volatile char *local = alloca(16 + w->rng % 300);

	local[0] = 1;
	step(w);
	w->sum += local[0];
}

/* The compiler must realign the stack: the frame is found through a saved register. */
static NOINLINE void realigned(struct walk *w)
{
	volatile char local[64] __attribute__((aligned(64)));

	local[0] = 1;
	step(w);
	w->sum += local[0];
}

static NOINLINE unsigned many(struct walk *w, long a, long b, long c, long d, long e, long f, long g, long h,
			      long i)
{
	step(w);
	return (unsigned)(a + b + c + d + e + f + g + h + i);
}

static NOINLINE void with_many_arguments(struct walk *w)
{
	w->sum += many(w, 1, 2, 3, 4, 5, 6, 7, 8, 9);
}

static NOINLINE void variadic(struct walk *w, ...)
{
	va_list ap;

	va_start(ap, w);
	w->sum += (unsigned)va_arg(ap, int);
	step(w);
	w->sum += (unsigned)va_arg(ap, int);
	va_end(ap);
}

static NOINLINE void with_variadic(struct walk *w)
{
	variadic(w, 1, 2, 3.0);
	w->sum++;
}

static NOINLINE void with_many_registers(struct walk *w)
{
	unsigned a = w->sum + 1, b = a * 3, c = b ^ 7, d = c + a, e = d * b, f = e ^ c;

	step(w);
	w->sum += a + b * c + d * e + f;
	step(w);
	w->sum += (a ^ b) + (c ^ d) + (e ^ f);
}

static _Thread_local struct walk *sorted_by;

static int compare(const void *a, const void *b)
{
	if (sorted_by->left)
		step(sorted_by);
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void through_qsort(struct walk *w)
{
	int numbers[2] = { 2, 1 };
	struct walk *before = sorted_by;

	sorted_by = w;
	qsort(numbers, 2, sizeof(numbers[0]), compare);
	sorted_by = before;
	w->sum += (unsigned)numbers[0];
}

static NOINLINE void through_bsearch(struct walk *w)
{
	const int numbers[1] = { 1 }, wanted = 1;
	struct walk *before = sorted_by;

	sorted_by = w;
	w->sum += bsearch(&wanted, numbers, 1, sizeof(numbers[0]), compare) != NULL;
	sorted_by = before;
}

static void (*const steps[])(struct walk *) = {
	plain,	       with_array,	    with_alloca,   realigned,	    with_many_arguments,
	with_variadic, with_many_registers, through_qsort, through_bsearch,
};

static NOINLINE void step(struct walk *w)
{
	if (w->left == 0) {
		leaf(w);
		return;
	}
	w->left--;
	steps[victim_random(&w->rng) % (sizeof(steps) / sizeof(steps[0]))](w);
	w->sum++;
}

static NOINLINE void walk(struct walk *w)
{
	w->left = 1 + victim_random(&w->rng) % 20;
	step(w);
	w->sum++;
}

#define PATH(n, below) \
static NOINLINE void path##n(struct walk *w) \
{ \
	below(w); \
	w->sum += n; \
}

static NOINLINE void path9(struct walk *w)
{
	void *p = malloc(32);

	escape(p);
	w->sum++;
}
PATH(8, path9)
PATH(7, path8)
PATH(6, path7)
PATH(5, path6)
PATH(4, path5)
PATH(3, path4)
PATH(2, path3)
PATH(1, path2)
PATH(0, path1)

static NOINLINE void aligner(struct walk *w, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		void *p = NULL;

		if (posix_memalign(&p, 64, 100))
			victim_die("posix_memalign");
		escape(p);
		w->sum++;
	}
}

static NOINLINE void on_the_edge(void)
{
	void *p = malloc(72);

	escape(p);
}

#define EDGE 65536

/* Not libc's coroutines: those leave something above the first frame. */
static void run_on_the_edge(unsigned n)
{
	char *stack = mmap(NULL, EDGE + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || munmap(stack + EDGE, 4096))
		victim_die("mmap");
	for (unsigned i = 0; i < n; i++)
		__asm__ volatile("mov %%rsp, %%rbx; mov %0, %%rsp; call *%1; mov %%rbx, %%rsp"
				 :
				 : "r"(stack + EDGE), "r"(on_the_edge)
				 : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
				   "memory", "cc");
	munmap(stack, EDGE);
}

int main(void)
{
	struct walk w = { .rng = 0x9e3779b97f4a7c15u };
	char line[ORDER_MAX];
	unsigned n;

	victim_ready();
	while (strcmp(victim_order(line), "end")) {
		if (sscanf(line, "walk %u", &n) == 1) {
			for (unsigned i = 0; i < n; i++)
				walk(&w);
		} else if (sscanf(line, "keep %u", &n) == 1) {
			struct walk kept = { .rng = 42, .keep = true };

			for (unsigned i = 0; i < n; i++)
				walk(&kept);
		} else if (sscanf(line, "aligned %u", &n) == 1) {
			aligner(&w, n);
		} else if (sscanf(line, "edge %u", &n) == 1) {
			run_on_the_edge(n);
		} else if (sscanf(line, "nested %u", &n) == 1) {
			for (unsigned i = 0; i < n; i++)
				path0(&w);
		} else {
			return 2;
		}
		printf("{\"walks\": %u}\n", n);
		fflush(stdout);
	}
	puts("{}");
	return 0;
}
