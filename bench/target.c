/* SPDX-License-Identifier: MIT */
/*
 * target: the program that is measured. It measures its own calls: where their cost is paid, and with the
 * same clock for all tracers.
 *
 *	target HOT IDLE DEPTH	HOT threads that work on request, IDLE threads that sleep
 *				in the kernel all the time
 *
 * It prints one line (its pid, the hot threads' tids, the address of bare_hit), and then answers each line of
 * stdin with one line of JSON:
 *
 *	pairs MS EVERY	malloc and free in every hot thread for MS milliseconds,
 *			reading the clock after every EVERY pairs
 *	bare MS EVERY	the same with a call of bare_hit instead of a pair
 *
 * The stack is DEPTH frames deep at the call. Each frame is of a different function and has some locals, as
 * in real programs. Ends with its stdin.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOT_MAX 64
#define PAIR_SIZE 100
#define IDLE_STACK (64 << 10)

struct job {
	bool bare;
	unsigned every;
	uint64_t deadline_ns;
	pthread_barrier_t begin, end;
};

struct worker {
	struct job *job;
	void (*frames)(struct worker *w);
	pid_t tid;
	int cpu;		/* the processor it ran on last */
	int schedstat;
	uint64_t calls;
	uint64_t elapsed_ns;
	uint64_t ready_ns;	/* of these, ready to run while other threads ran */
	uint64_t longest_ns;	/* between two readings of the clock */
} __attribute__((aligned(64)));

/* The function that bench/bare traps: one byte to get past, then the return. */
void bare_hit(void);
__asm__(".text\n"
	".globl bare_hit\n"
	".type bare_hit, @function\n"
	"bare_hit:\n"
	"	nop\n"
	"	ret\n"
	".size bare_hit, . - bare_hit\n");

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* For how long this thread was ready to run while others ran: schedstat has "run wait timeslices", in ns. */
static uint64_t waited_ns(const struct worker *w)
{
	unsigned long long waited = 0;
	char text[96] = "";

	if (pread(w->schedstat, text, sizeof(text) - 1, 0) <= 0 || sscanf(text, "%*u %llu", &waited) != 1)
		return 0;
	return waited;
}

static void one_pair(void)
{
	void *volatile block = malloc(PAIR_SIZE);

	free(block);
}

static __attribute__((noinline)) void work(struct worker *w)
{
	const struct job *job = w->job;
	uint64_t waited = waited_ns(w), start = now_ns(), last = start, now;

	w->calls = w->longest_ns = 0;
	do {
		for (unsigned i = 0; i < job->every; i++) {
			if (job->bare)
				bare_hit();
			else
				one_pair();
		}
		now = now_ns();
		if (now - last > w->longest_ns)
			w->longest_ns = now - last;
		last = now;
		w->calls += job->every;
	} while (now < job->deadline_ns);
	w->elapsed_ns = now - start;
	w->ready_ns = waited_ns(w) - waited;
	w->cpu = sched_getcpu();
}

/* The volatile load after the call prevents a tail call. */
#define FRAME(n, below) \
static __attribute__((noinline)) void frame##n(struct worker *w) \
{ \
	volatile char locals[40]; \
	locals[0] = n; \
	below(w); \
	(void)locals[0]; \
}

FRAME(1, work)
FRAME(2, frame1)
FRAME(3, frame2)
FRAME(4, frame3)
FRAME(5, frame4)
FRAME(6, frame5)
FRAME(7, frame6)
FRAME(8, frame7)
FRAME(9, frame8)
FRAME(10, frame9)
FRAME(11, frame10)
FRAME(12, frame11)
FRAME(13, frame12)
FRAME(14, frame13)
FRAME(15, frame14)
FRAME(16, frame15)
FRAME(17, frame16)
FRAME(18, frame17)
FRAME(19, frame18)
FRAME(20, frame19)
FRAME(21, frame20)
FRAME(22, frame21)
FRAME(23, frame22)
FRAME(24, frame23)
FRAME(25, frame24)
FRAME(26, frame25)

/* The stack has these, and also hot_main and the two frames of the C library that start a thread. */
static void (*const frames[])(struct worker *w) = {
	work,	 frame1,  frame2,  frame3,  frame4,  frame5,  frame6,  frame7,	frame8,
	frame9,	 frame10, frame11, frame12, frame13, frame14, frame15, frame16, frame17,
	frame18, frame19, frame20, frame21, frame22, frame23, frame24, frame25, frame26,
};
#define OUTER_FRAMES 4
#define DEPTH_MAX ((int)(sizeof(frames) / sizeof(frames[0])) - 1 + OUTER_FRAMES)

static void *hot_main(void *arg)
{
	struct worker *w = arg;

	w->tid = gettid();
	w->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	pthread_barrier_wait(&w->job->end);
	for (;;) {
		pthread_barrier_wait(&w->job->begin);
		w->frames(w);
		pthread_barrier_wait(&w->job->end);
	}
	return NULL;
}

static void *idle_main(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void start_thread_or_die(void *(*run)(void *), void *arg, const pthread_attr_t *attr)
{
	pthread_t thread;
	int err = pthread_create(&thread, attr, run, arg);

	if (err) {
		fprintf(stderr, "target: cannot start a thread: %s\n", strerror(err));
		exit(1);
	}
}

static void start_idle(int n)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, IDLE_STACK);
	for (int i = 0; i < n; i++)
		start_thread_or_die(idle_main, NULL, &attr);
	pthread_attr_destroy(&attr);
}

static void start_hot(struct worker *workers, int n, struct job *job, int depth)
{
	pthread_barrier_init(&job->begin, NULL, (unsigned)n + 1);
	pthread_barrier_init(&job->end, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++) {
		workers[i].job = job;
		workers[i].frames = frames[depth - OUTER_FRAMES];
		start_thread_or_die(hot_main, &workers[i], NULL);
	}
	pthread_barrier_wait(&job->end);
}

static void print_ready(const struct worker *workers, int n)
{
	printf("{\"pid\": %d, \"bare_hit\": %lu, \"tids\": [", getpid(), (unsigned long)bare_hit);
	for (int i = 0; i < n; i++)
		printf("%s%d", i ? ", " : "", workers[i].tid);
	puts("]}");
}

static void print_result(const struct worker *workers, int n)
{
	uint64_t calls = 0, elapsed_ns = 0, ready_ns = 0;

	printf("{\"threads\": [");
	for (int i = 0; i < n; i++) {
		const struct worker *w = &workers[i];

		calls += w->calls;
		elapsed_ns += w->elapsed_ns;
		ready_ns += w->ready_ns;
		printf("%s{\"calls\": %llu, \"longest_ns\": %llu, \"cpu\": %d}", i ? ", " : "",
		       (unsigned long long)w->calls, (unsigned long long)w->longest_ns, w->cpu);
	}
	printf("], \"ns_per_call\": %.2f, \"ready_ns_per_call\": %.2f}\n", (double)elapsed_ns / (double)calls,
	       (double)ready_ns / (double)calls);
}

static void run_slice(struct job *job, bool bare, unsigned ms, unsigned every)
{
	job->bare = bare;
	job->every = every;
	job->deadline_ns = now_ns() + (uint64_t)ms * 1000000u;
	pthread_barrier_wait(&job->begin);
	pthread_barrier_wait(&job->end);
}

static int serve(struct worker *workers, int n, struct job *job)
{
	char line[128], what[16];
	unsigned ms, every;

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %u %u", what, &ms, &every) != 3 || every == 0) {
			fprintf(stderr, "target: cannot understand: %s", line);
			return 1;
		}
		run_slice(job, strcmp(what, "bare") == 0, ms, every);
		print_result(workers, n);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static struct worker workers[HOT_MAX];
	static struct job job;
	int hot = argc == 4 ? atoi(argv[1]) : 0;
	int depth = argc == 4 ? atoi(argv[3]) : 0;

	if (hot < 1 || hot > HOT_MAX || depth < OUTER_FRAMES || depth > DEPTH_MAX) {
		fprintf(stderr, "usage: target HOT IDLE DEPTH (HOT at most %d, DEPTH %d to %d)\n", HOT_MAX,
			OUTER_FRAMES, DEPTH_MAX);
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	start_idle(atoi(argv[2]));
	start_hot(workers, hot, &job, depth);
	print_ready(workers, hot);
	return serve(workers, hot, &job);
}
