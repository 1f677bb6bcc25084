/* SPDX-License-Identifier: MIT */
/*
 * scopes LIBRARY: threads that work on order, so that a test knows exactly which calls of which thread count.
 *
 * Five threads: 0 is the first one, and the only one that does not wait for its orders. An order is "THREAD
 * WHAT N":
 *
 *	keep	N blocks of 100 bytes are allocated, and stay live
 *	pairs	N blocks of 200 bytes are allocated and freed
 *	in	inside(N): a block of 300 bytes each before and after inside(N - 1)
 *	grow	N blocks of 400 bytes are resized to 4000 by a realloc each; inside of grow_inside
 *	resize	all live blocks of thread N are resized by a realloc each
 *	library	N blocks of 500 bytes that the library allocates for itself, through its wrapper
 *	wrapped	N blocks of 600 bytes through the library's wrapper
 *	called	N blocks of 700 bytes by a function of ours that the library calls
 *	begin, end	mark_begin(), mark_end()
 *	give	all live blocks of thread N are freed
 *	short	N threads, one after the other, each of which allocates a block of 800 bytes and ends
 *	name	its name becomes "worker-N"
 *
 * answer: {"tid": its number}. Pointers to the threads' blocks are in static arrays: nothing here allocates
 * besides.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "victim.h"

#define THREADS 5
#define MOST 8192

#define WATCHED __attribute__((noinline, noclone))

struct worker {
	int number;
	sem_t wanted, done;
	char what[ORDER_MAX];
	int n;
	pid_t tid;
	void *held[MOST];
	size_t nheld;
};

static struct worker workers[THREADS];
static void *(*lib_wrap)(size_t), *(*lib_keep)(size_t), *(*lib_call)(void *(*)(size_t), size_t);
static volatile int mark;

WATCHED void mark_begin(void) { mark = 1; }
WATCHED void mark_end(void) { mark = 2; }

static void hold(struct worker *w, void *p)
{
	if (!p || w->nheld == MOST)
		victim_die("a block");
	w->held[w->nheld++] = p;
}

WATCHED void *take(size_t n)
{
	void *p = malloc(n);

	escape(p);
	return p;
}

WATCHED void *resize(void *p, size_t n)
{
	p = realloc(p, n);
	escape(p);
	return p;
}

WATCHED void inside(struct worker *w, int depth)
{
	hold(w, take(300));
	if (depth > 1)
		inside(w, depth - 1);
	hold(w, take(300));
}

WATCHED void grow_inside(struct worker *w)
{
	hold(w, resize(take(400), 4000));
}

/* --- orders --- */

static void keep(struct worker *w, int n)
{
	while (n--)
		hold(w, take(100));
}

static void pairs(struct worker *w, int n)
{
	(void)w;
	while (n--)
		free(take(200));
}

static void grow(struct worker *w, int n)
{
	while (n--)
		grow_inside(w);
}

static void resize_all(struct worker *w, int n)
{
	struct worker *other = &workers[n];

	(void)w;
	for (size_t i = 0; i < other->nheld; i++)
		other->held[i] = resize(other->held[i], 1000);
}

static void library(struct worker *w, int n)
{
	while (n--)
		hold(w, lib_keep(500));
}

static void wrapped(struct worker *w, int n)
{
	while (n--)
		hold(w, lib_wrap(600));
}

static void called(struct worker *w, int n)
{
	while (n--)
		hold(w, lib_call(take, 700));
}

static void begin(struct worker *w, int n)
{
	(void)w;
	(void)n;
	mark_begin();
}

static void end(struct worker *w, int n)
{
	(void)w;
	(void)n;
	mark_end();
}

static void give(struct worker *w, int n)
{
	struct worker *other = &workers[n];

	(void)w;
	while (other->nheld)
		free(other->held[--other->nheld]);
}

static void *take_and_end(void *w)
{
	prctl(PR_SET_NAME, "shortly");
	hold(w, take(800));
	return NULL;
}

static void shortly(struct worker *w, int n)
{
	pthread_t t;

	while (n--)
		if (pthread_create(&t, NULL, take_and_end, w) || pthread_join(t, NULL))
			victim_die("pthread_create");
}

static void name(struct worker *w, int n)
{
	char text[16];

	(void)w;
	snprintf(text, sizeof(text), "worker-%d", n);
	prctl(PR_SET_NAME, text);
}

static void carry_out(struct worker *w)
{
	static const struct {
		const char *name;
		void (*run)(struct worker *w, int n);
	} orders[] = {
		{ "keep", keep },	{ "pairs", pairs },	  { "in", inside },
		{ "grow", grow },	{ "resize", resize_all }, { "library", library },
		{ "wrapped", wrapped }, { "called", called },	  { "begin", begin },
		{ "end", end },		{ "give", give },	  { "short", shortly },
		{ "name", name },
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (!strcmp(orders[i].name, w->what))
			orders[i].run(w, w->n);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	w->tid = (pid_t)syscall(SYS_gettid);
	sem_post(&w->done);
	for (;;) {
		while (sem_wait(&w->wanted) && errno == EINTR)
			;
		carry_out(w);
		sem_post(&w->done);
	}
	return NULL;
}

static void wait_done(struct worker *w)
{
	while (sem_wait(&w->done) && errno == EINTR)
		;
}

static void start(void)
{
	pthread_t t;

	for (int i = 0; i < THREADS; i++) {
		workers[i].number = i;
		workers[i].tid = (pid_t)syscall(SYS_gettid);
		sem_init(&workers[i].wanted, 0, 0);
		sem_init(&workers[i].done, 0, 0);
		if (i && pthread_create(&t, NULL, work, &workers[i]))
			victim_die("pthread_create");
		if (i)
			wait_done(&workers[i]);
	}
}

static void open_library(const char *path)
{
	void *lib = path ? dlopen(path, RTLD_NOW) : NULL;

	if (!lib)
		victim_die("dlopen");
	*(void **)&lib_wrap = dlsym(lib, "scope_wrap");
	*(void **)&lib_keep = dlsym(lib, "scope_keep");
	*(void **)&lib_call = dlsym(lib, "scope_call");
}

static void obey(int number, const char *what, int n)
{
	struct worker *w = &workers[number];

	strcpy(w->what, what);
	w->n = n;
	if (number) {
		sem_post(&w->wanted);
		wait_done(w);
	} else {
		carry_out(w);
	}
	printf("{\"tid\": %d}\n", w->tid);
}

int main(int argc, char **argv)
{
	static char in[4096], out[4096];
	char line[ORDER_MAX], what[ORDER_MAX];
	int number, n;

	(void)argc;
	setvbuf(stdin, in, _IOFBF, sizeof(in));
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	open_library(argv[1]);
	start();
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "%d %127s %d", &number, what, &n) == 3 && number >= 0 && number < THREADS)
			obey(number, what, n);
		else
			printf("{\"error\": \"no such order\"}\n");
		fflush(stdout);
	}
	printf("{}\n");
	return 0;
}
