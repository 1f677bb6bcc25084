/* SPDX-License-Identifier: MIT */
/*
 * unwind: the cost of one stack, with our unwinder and others, on the very same stacks.
 *
 *	unwind		prints one JSON object: nanoseconds per stack
 *
 * A child makes random chains of calls (walks) of functions with many kinds of frames, and stops at the end
 * of each. There all unwinders are run on its stack, one after the other: libunwind-ptrace as shipped (its
 * own accessors, so ptrace; caching on), libunwind and libdwfl as in --unwinder, and ours from the registers
 * and a copy of the stack. It is checked that all results are the same.
 *
 *	12, 30		one stack, repeatedly, up to so many frames of it
 *	stream		thousands of different stacks: the median of the others; ours in passes over all the
 *			copies, which by then are megabytes, so that they are not all in the processor's cache
 */
#include <errno.h>
#include <fcntl.h>
#include <libunwind-ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/stacks/unwind/dwfl.h"
#include "attach/stacks/unwind/libunwind.h"
#include "attach/stacks/unwind/unwind.h"
#include "attach/target/modules.h"

#define STACKS 3000
#define STEPS 28		/* of a walk, so that there are always more than 30 frames */
#define SLICE (16u << 10)
#define REPEATS 400		/* of one stack, for the others */
#define BATCH 200		/* of one stack, for ours, between two readings of the clock */
#define PASSES 15

enum who { OURS, UPT, LIBUNWIND, DWFL, WHO };
static const char *const names[WHO] = { "ours", "libunwind_ptrace", "libunwind", "dwfl" };

static void die(const char *what)
{
	fprintf(stderr, "unwind: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- the child --- */

struct walk {
	uint64_t rng;
	unsigned left;
	volatile unsigned sum;
};

static void step(struct walk *w);

/* A function with a frame of a different size and a different number of registers to save. */
#define SHAPE(name, size, keeps)							\
	static __attribute__((noinline, noclone)) void name(struct walk *w)		\
	{										\
		volatile char room[size];						\
		unsigned a[keeps];							\
											\
		for (unsigned i = 0; i < (keeps); i++)					\
			a[i] = w->sum + i;						\
		room[w->left % (size)] = 1;						\
		step(w);								\
		for (unsigned i = 0; i < (keeps); i++)					\
			w->sum += a[i];							\
		w->sum += (unsigned)room[0];						\
	}

SHAPE(f0, 8, 1)
SHAPE(f1, 24, 2)
SHAPE(f2, 40, 3)
SHAPE(f3, 64, 4)
SHAPE(f4, 96, 5)
SHAPE(f5, 120, 6)
SHAPE(f6, 200, 1)
SHAPE(f7, 16, 7)

static __attribute__((noinline, noclone, optimize("no-omit-frame-pointer"))) void f8(struct walk *w)
{
	step(w);
	w->sum++;
}

static int sort_step(const void *a, const void *b, void *w)
{
	(void)a, (void)b;
	step(w);
	return 0;
}

static __attribute__((noinline, noclone)) void f9(struct walk *w)
{
	int v[] = { 1, 2 };

	qsort_r(v, 2, sizeof(v[0]), sort_step, w);
	w->sum++;
}

static __attribute__((noinline, noclone)) void leaf(struct walk *w)
{
	__asm__ volatile("int3" : : "r"(w) : "memory");
}

static __attribute__((noinline, noclone)) void step(struct walk *w)
{
	static void (*const shapes[])(struct walk *) = { f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 };

	if (!w->left--) {
		leaf(w);
		return;
	}
	w->rng ^= w->rng << 13;
	w->rng ^= w->rng >> 7;
	w->rng ^= w->rng << 17;
	shapes[w->rng % (sizeof(shapes) / sizeof(shapes[0]))](w);
	w->sum++;
}

static pid_t start_child(void)
{
	struct walk w = { .rng = 88172645463325252u };
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		die("PTRACE_TRACEME");
	raise(SIGSTOP);
	for (;;) {
		w.left = STEPS;
		step(&w);
	}
}

/* --- the sides --- */

struct copy {
	struct user_regs_struct regs;
	uint8_t *slice;
	uint32_t len;
};

struct bench {
	pid_t pid;
	int mem;
	struct modules *ms;
	struct unwinder *ours;
	struct unwind_libunwind *libunwind;
	struct unwind_dwfl *dwfl;
	unw_addr_space_t space;
	void *upt;
	struct copy copies[STACKS];
	uint64_t took[WHO][STACKS];
	uint64_t frames;
};

static void unwind_upt(struct bench *b, uint32_t max, struct unwind_stack *out)
{
	unw_cursor_t cursor;
	unw_word_t pc;

	out->n = 0;
	if (unw_init_remote(&cursor, b->space, b->upt) < 0)
		return;
	do {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		out->frames[out->n] = pc | (out->n ? 0 : UNWIND_EXACT);
		out->n++;
	} while (unw_step(&cursor) > 0 && out->n < max);
}

static void unwind_as(struct bench *b, enum who who, const struct copy *c, uint32_t max,
		      struct unwind_stack *out)
{
	const struct unwind_from from = {
		.regs = &c->regs, .slice = c->slice, .slice_len = c->len, .slice_addr = c->regs.rsp,
	};

	switch (who) {
	case OURS: unwind(b->ours, &from, max, out); break;
	case UPT: unwind_upt(b, max, out); break;
	case LIBUNWIND: unwind_libunwind(b->libunwind, &c->regs, false, max, out); break;
	case DWFL: unwind_dwfl(b->dwfl, &c->regs, false, max, out); break;
	case WHO: break;
	}
}

static void open_bench(struct bench *b)
{
	char path[32];
	int status;

	b->pid = start_child();
	if (b->pid < 0 || waitpid(b->pid, &status, 0) != b->pid || !WIFSTOPPED(status))
		die("the child");
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)b->pid);
	b->mem = open(path, O_RDONLY | O_CLOEXEC);
	if (b->mem < 0)
		die(path);
	b->space = unw_create_addr_space(&_UPT_accessors, 0);
	b->upt = _UPT_create(b->pid);
	if (!b->space || !b->upt || modules_new(b->pid, &b->ms) || unwinder_new(b->ms, &b->ours) ||
	    unwind_libunwind_new(b->pid, &b->libunwind) || unwind_dwfl_new(b->pid, &b->dwfl))
		die("the unwinders");
	unw_set_caching_policy(b->space, UNW_CACHE_GLOBAL);
}

/* Continue to the end of the next walk. */
static void go_on(struct bench *b, struct copy *c)
{
	uint8_t slice[SLICE];
	ssize_t got;
	int status;

	if (ptrace(PTRACE_CONT, b->pid, NULL, NULL) || waitpid(b->pid, &status, 0) != b->pid ||
	    !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
	    ptrace(PTRACE_GETREGS, b->pid, NULL, &c->regs))
		die("the child");
	got = pread(b->mem, slice, sizeof(slice), (off_t)c->regs.rsp);	/* less at the end of the stack */
	c->len = got > 0 ? (uint32_t)got : 0;
	c->slice = malloc(c->len + 1);
	if (!c->slice)
		die("memory");
	memcpy(c->slice, slice, c->len);
}

static void must_agree(const struct unwind_stack *ours, const struct unwind_stack *other, const char *who)
{
	if (other->n == ours->n && !memcmp(ours->frames, other->frames, ours->n * sizeof(ours->frames[0])))
		return;
	fprintf(stderr, "unwind: %s found another stack: %u frames, ours has %u\n", who, other->n, ours->n);
	exit(1);
}

/* --- measuring --- */

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static uint64_t median(uint64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
	return v[n / 2];
}

/* Nanoseconds for the same stack, repeatedly; the first time is not counted. */
static double repeat(struct bench *b, enum who who, const struct copy *c, uint32_t max)
{
	static uint64_t took[REPEATS];
	unsigned batch = who == OURS ? BATCH : 1;
	struct unwind_stack st;

	unwind_as(b, who, c, max, &st);
	for (unsigned i = 0; i < REPEATS; i++) {
		uint64_t start = now_ns();

		for (unsigned k = 0; k < batch; k++)
			unwind_as(b, who, c, max, &st);
		took[i] = now_ns() - start;
	}
	return (double)median(took, REPEATS) / batch;
}

static void measure_depth(struct bench *b, uint32_t frames)
{
	struct unwind_stack ours, other;
	struct copy c;

	go_on(b, &c);
	unwind_as(b, OURS, &c, frames, &ours);
	if (ours.n != frames)
		die("a stack that is not so deep");
	printf("\"%u\": {", frames);
	for (enum who who = 0; who < WHO; who++) {
		unwind_as(b, who, &c, frames, &other);
		must_agree(&ours, &other, names[who]);
		printf("%s\"%s\": %.1f", who ? ", " : "", names[who], repeat(b, who, &c, frames));
	}
	printf("}, ");
	free(c.slice);
}

static void meet_all(struct bench *b, size_t i)
{
	struct unwind_stack st[WHO];

	go_on(b, &b->copies[i]);
	for (enum who who = 0; who < WHO; who++) {
		uint64_t start = now_ns();

		unwind_as(b, who, &b->copies[i], UNWIND_MAX, &st[who]);
		b->took[who][i] = now_ns() - start;
		must_agree(&st[OURS], &st[who], names[who]);
	}
	if (st[OURS].end != UNWIND_WHOLE)
		die("a stack that is not whole");
	b->frames += st[OURS].n;
}

/* Ours over all the copies; time per stack. */
static uint64_t pass(struct bench *b)
{
	uint64_t start = now_ns();
	struct unwind_stack st;

	for (size_t i = 0; i < STACKS; i++)
		unwind_as(b, OURS, &b->copies[i], UNWIND_MAX, &st);
	return (now_ns() - start) / STACKS;
}

static void measure_stream(struct bench *b)
{
	uint64_t passes[PASSES];
	struct unwind_stats stats;

	for (size_t i = 0; i < STACKS; i++)
		meet_all(b, i);
	for (unsigned i = 0; i < PASSES; i++)
		passes[i] = pass(b);
	unwinder_stats(b->ours, &stats);
	printf("\"stream\": {\"ours\": %.1f", (double)median(passes, PASSES));
	for (enum who who = UPT; who < WHO; who++)
		printf(", \"%s\": %.1f", names[who], (double)median(b->took[who], STACKS));
	printf("}, \"stacks\": %u, \"frames\": %.1f, \"decoded\": %llu", STACKS, (double)b->frames / STACKS,
	       (unsigned long long)stats.cold);
}

int main(void)
{
	static struct bench b;

	open_bench(&b);
	printf("{");
	measure_depth(&b, 12);
	measure_depth(&b, 30);
	measure_stream(&b);
	printf("}\n");
	return 0;
}
