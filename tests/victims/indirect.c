/* SPDX-License-Identifier: MIT */
/*
 * indirect: functions that are awkward to trap, in an allocator of its own.
 *
 *	tail_alloc, tail_free	one indirect tail jump: the exits are elsewhere
 *	sse_alloc, sse_free	the first instructions cannot be emulated
 *	step_free		no instruction can be emulated while the argument is
 *				in its register; the first one is pc-relative
 *	wild_alloc		recursive, left by longjmp, by the end of its thread,
 *				or by an indirect tail jump
 *
 * "go N" lets three threads do N rounds and prints what a report must say: {"allocs", "frees", "live_blocks",
 * "live_bytes", "left": calls that never returned, "calls": {function: n}}. "copy N" has a child, a copy of
 * this process, do N rounds of the calls that must be stepped: {"child": pid}, and when it has ended
 * {"status": as of wait}. "own N" has the child handle SIGTRAP too, and run three int3 of its own: one before
 * it waits for SIGUSR1, one after that, and one after the N rounds. Its status is 0 if all three reached the
 * handler. "apart MS" calls sse_alloc twice, step_free and sse_free, with so much time between them:
 * {"signals": how many SIGUSR1 have arrived, "freed"}.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>

#include "victim.h"

#define THREADS 3
#define POOL 512
#define BLOCK 64
#define DEPTH 40
#define KEPT 5		/* blocks that each thread does not free, per "go" */

enum call { TAIL_ALLOC, TAIL_FREE, SSE_ALLOC, SSE_FREE, STEP_FREE, WILD_ALLOC, CALLS };
static const char *const call_names[CALLS] = {
	"tail_alloc", "tail_free", "sse_alloc", "sse_free", "step_free", "wild_alloc",
};

struct pool {
	char blocks[POOL][BLOCK];
	bool used[POOL];
};

struct worker {
	pthread_t thread;
	int rounds;
	unsigned long calls[CALLS], left, kept, kept_bytes;
	struct pool pool;
};

/* How a call of wild_alloc ends. */
enum ending { RETURN, LONGJMP, THREAD_EXIT };

void *tail_alloc(size_t n);
void tail_free(void *p);
void *sse_alloc(size_t n);
void sse_free(void *p);
void step_free(void *p);
void *wild_alloc(size_t n, int depth, enum ending ending, jmp_buf *out);
void *pool_alloc(size_t n);
void pool_free(void *p);

static struct worker workers[THREADS];
static __thread struct pool *my_pool;
void *(*volatile pool_alloc_ptr)(size_t n) = pool_alloc;
void (*volatile pool_free_ptr)(void *p) = pool_free;

__attribute__((noipa)) void *pool_alloc(size_t n)
{
	for (int i = 0; n <= BLOCK && i < POOL; i++)
		if (!my_pool->used[i]) {
			my_pool->used[i] = true;
			return my_pool->blocks[i];
		}
	return NULL;
}

__attribute__((noipa)) void pool_free(void *p)
{
	my_pool->used[((uintptr_t)p - (uintptr_t)my_pool->blocks) / BLOCK] = false;
}

__asm__(".text\n"
	".p2align 4\n"
	".globl tail_alloc\n"
	".type tail_alloc, @function\n"
	"tail_alloc:\n"
	"	mov pool_alloc_ptr(%rip), %rax\n"
	"	jmp *%rax\n"
	".size tail_alloc, . - tail_alloc\n"
	".p2align 4\n"
	".globl tail_free\n"
	".type tail_free, @function\n"
	"tail_free:\n"
	"	mov pool_free_ptr(%rip), %rax\n"
	"	jmp *%rax\n"
	".size tail_free, . - tail_free\n"
	".p2align 4\n"
	".globl sse_alloc\n"
	".type sse_alloc, @function\n"
	"sse_alloc:\n"
	"	movaps %xmm0, %xmm1\n"
	"	cvtsi2sd %rdi, %xmm2\n"
	"	cvttsd2si %xmm2, %rdi\n"
	"	jmp *pool_alloc_ptr(%rip)\n"
	".size sse_alloc, . - sse_alloc\n"
	".p2align 4\n"
	".globl sse_free\n"
	".type sse_free, @function\n"
	"sse_free:\n"
	"	cvtsi2sd %rdi, %xmm2\n"
	"	ucomisd %xmm2, %xmm2\n"
	"	jp sse_free\n"
	"	jmp pool_free\n"
	".size sse_free, . - sse_free\n"
	".p2align 4\n"
	".globl step_free\n"
	".type step_free, @function\n"
	"step_free:\n"
	"	movups step_constant(%rip), %xmm1\n"
	"	movq %xmm1, %rax\n"
	"	cvtsi2sd %rdi, %xmm2\n"
	"	cvttsd2si %xmm2, %rdi\n"
	"	cmp $0x5eed, %rax\n"
	"	je pool_free\n"
	"	ud2\n"
	".size step_free, . - step_free\n"
	".p2align 4\n"
	".skip 32, 0x90\n"
	".section .rodata\n"
	".p2align 4\n"
	"step_constant: .quad 0x5eed, 0\n"
	".text\n");

/* Not a tail call, so that the recursion has frames. */
__attribute__((noipa)) static void *deeper(size_t n, int depth, enum ending ending, jmp_buf *out)
{
	void *p = wild_alloc(n, depth - 1, ending, out);

	escape(p);
	return p;
}

__attribute__((noipa)) void *wild_alloc(size_t n, int depth, enum ending ending, jmp_buf *out)
{
	if (depth > 0)
		return deeper(n, depth, ending, out);
	if (ending == LONGJMP)
		longjmp(*out, 1);
	if (ending == THREAD_EXIT)
		pthread_exit(NULL);
	return pool_alloc_ptr(n);
}

static void *leave_thread(void *arg)
{
	return wild_alloc(32, *(int *)arg, THREAD_EXIT, NULL);
}

static void check(void *p)
{
	if (!p)
		victim_die("the pool is empty");
	memset(p, 0x5a, 8);
}

static void use_tail(struct worker *w)
{
	void *p = tail_alloc(24);

	check(p);
	tail_free(p);
	w->calls[TAIL_ALLOC]++;
	w->calls[TAIL_FREE]++;
}

static void use_sse(struct worker *w, bool step)
{
	void *p = sse_alloc(40);

	check(p);
	(step ? step_free : sse_free)(p);
	w->calls[SSE_ALLOC]++;
	w->calls[step ? STEP_FREE : SSE_FREE]++;
}

/* Only the outermost call counts; a call that is left by longjmp does not. */
static void use_wild(struct worker *w, int depth)
{
	jmp_buf out;
	void *p;

	if (setjmp(out) == 0)
		wild_alloc(32, depth, LONGJMP, &out);
	w->left++;
	p = wild_alloc(32, depth, RETURN, NULL);
	check(p);
	step_free(p);
	w->calls[WILD_ALLOC]++;
	w->calls[STEP_FREE]++;
}

static void keep(struct worker *w)
{
	for (size_t n = 1; n <= KEPT; n++) {
		check(tail_alloc(8 * n));
		w->calls[TAIL_ALLOC]++;
		w->kept++;
		w->kept_bytes += 8 * n;
	}
}

static void one_round(struct worker *w, int round)
{
	int depth = round % DEPTH;
	pthread_t thread;

	use_tail(w);
	use_sse(w, round % 2);
	use_wild(w, depth);
	if (round % 16 == 0 && pthread_create(&thread, NULL, leave_thread, &depth) == 0) {
		pthread_join(thread, NULL);
		w->left++;
	}
}

static void *work(void *arg)
{
	struct worker *w = arg;

	my_pool = &w->pool;
	for (int i = 0; i < w->rounds; i++)
		one_round(w, i);
	keep(w);
	return NULL;
}

static void print(void)
{
	unsigned long sum[CALLS] = { 0 }, left = 0, kept = 0, kept_bytes = 0;

	for (int t = 0; t < THREADS; t++) {
		left += workers[t].left;
		kept += workers[t].kept;
		kept_bytes += workers[t].kept_bytes;
		for (int c = 0; c < CALLS; c++)
			sum[c] += workers[t].calls[c];
	}
	printf("{\"allocs\": %lu, \"frees\": %lu, \"live_blocks\": %lu, \"live_bytes\": %lu, \"left\": %lu, "
	       "\"calls\": {",
	       sum[TAIL_ALLOC] + sum[SSE_ALLOC] + sum[WILD_ALLOC],
	       sum[TAIL_FREE] + sum[SSE_FREE] + sum[STEP_FREE], kept, kept_bytes, left);
	for (int c = 0; c < CALLS; c++)
		printf("%s\"%s\": %lu", c ? ", " : "", call_names[c], sum[c]);
	printf("}}\n");
	fflush(stdout);
}

static void go(int rounds)
{
	for (int i = 0; i < THREADS; i++) {
		memset(&workers[i], 0, sizeof(workers[i]));
		workers[i].rounds = rounds;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			victim_die("pthread_create");
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	print();
}

static void use_sse_often(int rounds)
{
	my_pool = &workers[0].pool;
	for (int i = 0; i < rounds; i++)
		use_sse(&workers[0], i % 2);
}

static int copied(int rounds)
{
	use_sse_often(rounds);
	return 0;
}

static volatile sig_atomic_t own;

static void on_own(int sig)
{
	(void)sig;
	own++;
}

static int copied_with_own(int rounds)
{
	sigset_t usr1;
	int sig;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	signal(SIGTRAP, on_own);
	__asm__ volatile("int3");
	sigwait(&usr1, &sig);
	__asm__ volatile("int3");
	use_sse_often(rounds);
	__asm__ volatile("int3");
	return own == 3 ? 0 : 4;
}

static void copy(int (*what)(int rounds), int rounds)
{
	sigset_t usr1, before;
	int status = -1;
	pid_t child;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &before);
	child = fork();
	if (child == 0)
		_exit(what(rounds));
	sigprocmask(SIG_SETMASK, &before, NULL);
	printf("{\"child\": %d}\n", (int)child);
	fflush(stdout);
	waitpid(child, &status, 0);
	printf("{\"status\": %d}\n", status);
	fflush(stdout);
}

static volatile sig_atomic_t signals;

static void on_usr1(int sig)
{
	(void)sig;
	signals++;
}

static void pass(int ms)
{
	const uint64_t until = now_ns() + (uint64_t)ms * 1000000u;

	while (now_ns() < until)
		;
}

/* What is called between two calls is not watched. */
static void apart(int ms)
{
	void *p, *q;

	signals = 0;
	signal(SIGUSR1, on_usr1);
	my_pool = &workers[0].pool;
	p = sse_alloc(24);
	pass(ms);
	q = sse_alloc(40);
	pass(ms);
	check(p);
	check(q);
	step_free(p);
	pass(ms);
	sse_free(q);
	pass(ms);
	signal(SIGUSR1, SIG_IGN);
	printf("{\"signals\": %d, \"freed\": %s}\n", (int)signals, my_pool->used[0] || my_pool->used[1] ? "false" : "true");
	fflush(stdout);
}

int main(void)
{
	char line[ORDER_MAX];

	victim_ready();
	while (strcmp(victim_order(line), "end") != 0)
		if (strncmp(line, "go ", 3) == 0)
			go(atoi(line + 3));
		else if (strncmp(line, "apart ", 6) == 0)
			apart(atoi(line + 6));
		else if (strncmp(line, "copy ", 5) == 0)
			copy(copied, atoi(line + 5));
		else if (strncmp(line, "own ", 4) == 0)
			copy(copied_with_own, atoi(line + 4));
	printf("{\"ended\": true}\n");
	return 0;
}
