/* SPDX-License-Identifier: MIT */
/*
 * sites: 2^6 call stacks whose blocks stay live, each with a size, a number and a time course of its own.
 *
 * A stack is six calls, left or right each: level5_r, level4_l, ..., level0_r. The bits of a site's number
 * choose left or right.
 *
 *	run ROUNDS MS	a round every MS milliseconds; in each, every site does what its kind says:
 *			steady	allocates one block
 *			once	allocates five in the first round, and none afterwards
 *			fills	allocates one; from the second half of the rounds on, also frees its oldest
 *			slow	allocates one every fourth round
 *			and allocates and frees three blocks besides, one after the other
 *	churn N		N blocks allocated and freed at once, at one more stack
 *	twice N		N blocks are freed twice
 *	answer: what each site has live, has allocated and freed, and when its oldest and youngest block were
 *	allocated
 */
#include <malloc.h>

#include "victim.h"

#define SITES 64
#define MOST 4096

enum kind { STEADY, ONCE, FILLS, SLOW, KINDS };
static const char *const kind_names[] = { "steady", "once", "fills", "slow" };

struct site {
	void *held[MOST];
	uint64_t born_ns[MOST];
	int first, end;		/* held[first..end) are live */
	uint64_t allocs, frees;
};

static struct site sites[SITES];

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * No tail calls, and no two functions that look the same to the compiler: every level must stay on the stack
 * by its name.
 */
#define LEVEL(n, next)								\
	__attribute__((noinline)) static void *level##n##_l(unsigned path, size_t size)	\
	{									\
		void *p = next;							\
		__asm__ volatile("" : "+r"(p) : "i"(2 * n) : "memory");		\
		return p;							\
	}									\
	__attribute__((noinline)) static void *level##n##_r(unsigned path, size_t size)	\
	{									\
		void *p = next;							\
		__asm__ volatile("" : "+r"(p) : "i"(2 * n + 1) : "memory");	\
		return p;							\
	}

LEVEL(0, ((void)path, malloc(size)))
LEVEL(1, path & 1 ? level0_r(path, size) : level0_l(path, size))
LEVEL(2, path & 2 ? level1_r(path, size) : level1_l(path, size))
LEVEL(3, path & 4 ? level2_r(path, size) : level2_l(path, size))
LEVEL(4, path & 8 ? level3_r(path, size) : level3_l(path, size))
LEVEL(5, path & 16 ? level4_r(path, size) : level4_l(path, size))

__attribute__((noinline)) static void *take(unsigned path, size_t size)
{
	void *p = path & 32 ? level5_r(path, size) : level5_l(path, size);

	escape(p);
	sites[path].allocs++;
	return p;
}

static void give(unsigned path, void *p)
{
	free(p);
	sites[path].frees++;
}

static size_t size_of(unsigned path)
{
	return 24 + 16 * path;
}

static void keep(unsigned path, void *p)
{
	struct site *s = &sites[path];

	if (s->end == MOST)
		victim_die("too many");
	s->held[s->end] = p;
	s->born_ns[s->end++] = wall_ns();
}

static int how_many(unsigned path, int round)
{
	switch (path % KINDS) {
	case ONCE:
		return round == 0 ? 5 : 0;
	case SLOW:
		return round % 4 == 3;
	default:
		return 1;
	}
}

/* All from one call site, so that a site is one stack. */
static void one_round(unsigned path, int round, int rounds)
{
	struct site *s = &sites[path];
	int kept = how_many(path, round);

	for (int i = 0; i < kept + 3; i++) {
		void *p = take(path, size_of(path));

		if (i < kept)
			keep(path, p);
		else
			give(path, p);
	}
	if (path % KINDS == FILLS && round >= rounds / 2)
		give(path, s->held[s->first++]);
}

static void run(int rounds, int ms)
{
	uint64_t next = now_ns();

	for (int r = 0; r < rounds; r++) {
		struct timespec t;

		for (unsigned path = 0; path < SITES; path++)
			one_round(path, r, rounds);
		next += (uint64_t)ms * 1000000;
		t = (struct timespec){ (time_t)(next / 1000000000), (long)(next % 1000000000) };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
}

__attribute__((noinline)) static void churn(int n)
{
	for (int i = 0; i < n; i++) {
		void *p = malloc(16 + i % 512);

		escape(p);
		free(p);
	}
}

/*
 * Into glibc's cache only once: glibc would abort at the second time. The block is changed in between, so
 * that it does not notice.
 */
__attribute__((noinline)) static void give_first(uint64_t *p)
{
	free(p);
	escape(p);
}

__attribute__((noinline)) static void give_again(uint64_t *p)
{
	p[1] = 0;
	escape(p);
	free(p);
	escape(p);
}

static void twice(int n)
{
	for (int i = 0; i < n; i++) {
		uint64_t *p = malloc(40), *q;

		escape(p);
		give_first(p);
		escape(p);
		give_again(p);
		/*
		 * the cache has it twice, and returns it twice; once it is freed only once, nothing is wrong
		 * afterwards
		 */
		p = malloc(40);
		q = malloc(40);
		escape(p);
		escape(q);
		if (p == q)
			free(p);
	}
}

static void tell(void)
{
	printf("{\"sites\": [");
	for (unsigned i = 0; i < SITES; i++) {
		const struct site *s = &sites[i];
		uint64_t bytes = 0;

		for (int b = s->first; b < s->end; b++)
			bytes += malloc_usable_size(s->held[b]);
		printf("%s{\"site\": %u, \"kind\": \"%s\", \"blocks\": %d, \"bytes\": %llu, \"allocs\": "
		       "%llu, \"frees\": %llu, \"oldest\": %llu, \"youngest\": %llu}",
		       i ? ", " : "", i, kind_names[i % KINDS], s->end - s->first, (unsigned long long)bytes,
		       (unsigned long long)s->allocs, (unsigned long long)s->frees,
		       (unsigned long long)s->born_ns[s->first],
		       (unsigned long long)(s->end ? s->born_ns[s->end - 1] : 0));
	}
	printf("]}\n");
	fflush(stdout);
}

int main(void)
{
	static char buffer[1 << 16];
	char line[ORDER_MAX];
	int a, b;

	/* stdio's own buffers are set before the watch begins */
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (sscanf(line, "run %d %d", &a, &b) == 2)
			run(a, b);
		else if (sscanf(line, "churn %d", &a) == 1)
			churn(a);
		else if (sscanf(line, "twice %d", &a) == 1)
			twice(a);
		tell();
	}
	tell();
	return 0;
}
