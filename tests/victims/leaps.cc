// SPDX-License-Identifier: MIT
/*
 * leaps: functions of the heap are called in frames that do not return: they are left by an exception, by longjmp,
 * or by the end of their thread.
 *
 *	throw N		a frame allocates by new and by malloc, and throws
 *	bad N		operator new fails, and throws bad_alloc
 *	own N		leaps_take, an allocator for a rule, throws every second time; leaps_drop frees
 *	pass N		the same with leaps_pass
 *	jump N		longjmp out of frames that have allocated and freed
 *	cancel N	threads that allocate are cancelled
 *	leave N		threads allocate, and end by pthread_exit in an inner frame
 *	keep N		N blocks of 48 bytes are never freed
 *
 * Answer: {"allocs": calls of new, malloc and leaps_take that have returned a block, "caught": N}. All blocks but
 * those of "keep" are freed.
 */
#include <csetjmp>
#include <new>
#include <pthread.h>
#include <stdexcept>

#include "victim.h"

#define FAR __attribute__((noinline, noclone))
#define HUGE_SIZE (static_cast<size_t>(1) << 46)

static unsigned long allocs, caught;

struct Own {
	char *p;
	explicit Own(size_t n) : p(new char[n])
	{
		escape(p);
		allocs++;
	}
	~Own() { delete[] p; }
};

// --- exceptions ---

static FAR void throws(unsigned depth)
{
	Own own(16 + depth);
	void *p = malloc(24 + depth);

	escape(p);
	allocs++;
	free(p);
	if (depth == 0)
		throw depth;
	throws(depth - 1);
	escape(own.p);
}

static void do_throw()
{
	try {
		throws(2);
	} catch (unsigned) {
		caught++;
	}
}

static void do_bad()
{
	size_t n = HUGE_SIZE;

	escape(n);
	try {
		Own own(n);
	} catch (const std::bad_alloc &) {
		caught++;
	}
}

extern "C" FAR void *leaps_take(size_t n)
{
	void *p;

	if (n % 2)
		throw n;
	p = malloc(n);
	escape(p); // not a tail call
	return p;
}

/* Its end cannot be seen but by a return probe, and it may throw. */
extern "C" FAR void *leaps_pass(size_t n)
{
	if (n % 2)
		throw n;
	return malloc(n);
}

extern "C" FAR void leaps_drop(void *p)
{
	free(p);
}

static void do_own()
{
	try {
		void *p = leaps_take(64);

		escape(p);
		allocs++;
		leaps_drop(p);
		leaps_take(65);
	} catch (size_t) {
		caught++;
	}
}

static void do_pass()
{
	try {
		void *p = leaps_pass(64);

		escape(p);
		allocs++;
		leaps_drop(p);
		leaps_pass(65);
	} catch (size_t) {
		caught++;
	}
}

// --- longjmp ---

static jmp_buf back;
static char *in_hand;

static FAR void jumps(unsigned depth)
{
	char *p = static_cast<char *>(malloc(100 + depth));

	escape(p);
	allocs++;
	free(p);
	if (depth)
		jumps(depth - 1);
	in_hand = static_cast<char *>(realloc(nullptr, 40));
	escape(in_hand);
	allocs++;
	longjmp(back, 1);
}

static void do_jump()
{
	if (!setjmp(back))
		jumps(3);
	free(in_hand);
	caught++;
}

// --- the ends of threads ---

static volatile bool running;

static void drop(void *p)
{
	free(p);
}

static FAR void leave()
{
	void *p = malloc(200);

	escape(p);
	__atomic_fetch_add(&allocs, 1, __ATOMIC_RELAXED);
	pthread_cleanup_push(drop, p);
	pthread_exit(nullptr);
	pthread_cleanup_pop(1);
}

static void *leaver(void *)
{
	leave();
	return nullptr;
}

static void *cancelled(void *)
{
	for (;;) {
		void *p = malloc(300);

		escape(p);
		__atomic_fetch_add(&allocs, 1, __ATOMIC_RELAXED);
		pthread_cleanup_push(drop, p);
		running = true;
		pthread_testcancel();
		pthread_cleanup_pop(1);
	}
	return nullptr;
}

static void run_thread(void *(*f)(void *), bool cancel)
{
	pthread_t t;

	running = false;
	if (pthread_create(&t, nullptr, f, nullptr))
		victim_die("pthread_create");
	while (cancel && !running)
		usleep(10);
	if (cancel)
		pthread_cancel(t);
	pthread_join(t, nullptr);
	caught++;
}

static void do_cancel()
{
	run_thread(cancelled, true);
}

static void do_leave()
{
	run_thread(leaver, false);
}

static FAR void do_keep()
{
	void *p = malloc(48);

	escape(p);
	allocs++;
	caught++;
}

static const struct {
	const char *name;
	void (*act)();
} acts[] = {
	{"throw", do_throw}, {"bad", do_bad}, {"own", do_own}, {"pass", do_pass}, {"jump", do_jump},
	{"cancel", do_cancel}, {"leave", do_leave}, {"keep", do_keep},
};

static bool obey(const char *order, unsigned n)
{
	for (const auto &a : acts) {
		if (strcmp(a.name, order))
			continue;
		for (unsigned i = 0; i < n; i++)
			a.act();
		return true;
	}
	return false;
}

int main()
{
	char line[ORDER_MAX], order[16];
	unsigned n;

	do_leave(); // loads libgcc, which allocates
	do_throw();
	victim_ready();
	while (strcmp(victim_order(line), "end")) {
		allocs = caught = 0;
		if (sscanf(line, "%15s %u", order, &n) != 2 || !obey(order, n))
			return 2;
		printf("{\"allocs\": %lu, \"caught\": %lu}\n", allocs, caught);
		fflush(stdout);
	}
	puts("{}");
	return 0;
}
