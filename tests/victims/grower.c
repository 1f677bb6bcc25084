/* SPDX-License-Identifier: MIT */
/*
 * grower: makes its memory grow in each of the ways there are, each from a function of its own, and prints by
 * how much.
 *
 *	leak N		lose_some loses N blocks of 1000 bytes; in between turn_over allocates smaller ones
 *			and frees them
 *	unfair N	the same with larger ones
 *	threads N	N threads with arenas of their own fill 1 MiB each, in fill_arena; they wait until the
 *			end
 *	map N		take_mapped allocates N blocks of 4 MiB, each of which malloc maps
 *	unmap N		frees N of them
 *	hold		take_growing allocates a block of 4 MiB
 *	grow N		grow_mapped resizes it to N MiB more than it has
 *	trim		the blocks of lose_some are freed, and the heap is trimmed
 *	pages, cut, drop	take_pages maps 16 pages; 4 in the middle are unmapped; then all the others
 *	apart, use	set_apart reserves 1 MiB; use_apart makes 64 KiB of it accessible
 *	storm MS	four threads allocate, resize and free blocks of up to 3 MiB for so long, and end
 *	idle		blocks are allocated and freed that fit into the heap as it is
 *
 * Each order is answered with {"heap": how much larger sbrk(0) is than before the first}.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include "victim.h"

#define LEAKED 1000
#define SMALL 200
#define LARGE 3000
#define ARENA (1 << 20)
#define MAPPED (4 << 20)
#define LEAKED_MAX 200000
#define MAPPED_MAX 64
#define THREADS_MAX 16
#define PAGE 4096
#define STORM_THREADS 4
#define STORM_HELD 50

static void *leaked[LEAKED_MAX], *mapped[MAPPED_MAX];
static size_t nleaked, nmapped, growing_size;
static void *growing;
static char *pages, *apart;
static pthread_barrier_t filled;
static char *heap_start;
static char input[4096], output[4096];	/* otherwise stdio allocates them in the heap */

__attribute__((noinline)) static void turn_over(size_t size)
{
	void *p = malloc(size);

	escape(p);
	free(p);
}

__attribute__((noinline)) static void lose_some(size_t n, size_t meanwhile)
{
	for (size_t i = 0; i < n && nleaked < LEAKED_MAX; i++) {
		leaked[nleaked++] = malloc(LEAKED);
		turn_over(meanwhile);
	}
}

__attribute__((noinline)) static void fill_arena(void)
{
	for (size_t got = 0; got < ARENA; got += LEAKED) {
		void *p = malloc(LEAKED);

		escape(p);
	}
}

static void *run_thread(void *unused)
{
	(void)unused;
	fill_arena();
	pthread_barrier_wait(&filled);
	pause();
	return NULL;
}

static void start_threads(unsigned n)
{
	pthread_t t;

	pthread_barrier_init(&filled, NULL, n + 1);
	for (unsigned i = 0; i < n && i < THREADS_MAX; i++)
		if (pthread_create(&t, NULL, run_thread, NULL))
			victim_die("pthread_create");
	pthread_barrier_wait(&filled);
}

__attribute__((noinline)) static void take_mapped(size_t n)
{
	while (n-- && nmapped < MAPPED_MAX)
		mapped[nmapped++] = malloc(MAPPED);
}

static void release_mapped(size_t n)
{
	while (n-- && nmapped)
		free(mapped[--nmapped]);
}

__attribute__((noinline)) static void take_growing(void)
{
	growing_size = MAPPED;
	growing = malloc(growing_size);
	escape(growing);
}

__attribute__((noinline)) static void grow_mapped(size_t mib)
{
	growing_size += mib << 20;
	growing = realloc(growing, growing_size);
	escape(growing);
}

/*
 * The last blocks are freed last: some of the first stay in the thread's cache, and the heap's end must be
 * free.
 */
static void release_leaked(void)
{
	for (size_t i = 0; i < nleaked; i++)
		free(leaked[i]);
	nleaked = 0;
	malloc_trim(0);
}

__attribute__((noinline)) static void take_pages(void)
{
	pages = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		victim_die("mmap");
}

static void cut_pages(void)
{
	munmap(pages + 6 * PAGE, 4 * PAGE);
}

static void drop_pages(void)
{
	munmap(pages, 16 * PAGE);
}

__attribute__((noinline)) static void set_apart(void)
{
	apart = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (apart == MAP_FAILED)
		victim_die("mmap");
}

__attribute__((noinline)) static void use_apart(void)
{
	if (mprotect(apart, 64 << 10, PROT_READ | PROT_WRITE))
		victim_die("mprotect");
}

/* Some blocks of all sizes are live at a time, and are freed, resized and allocated in turn. */
static void *run_storm(void *until)
{
	uint64_t rng = (uintptr_t)&rng | 1;
	void *held[STORM_HELD] = { 0 };

	while (now_ns() < *(uint64_t *)until) {
		uint64_t r = victim_random(&rng);
		void **p = &held[r % STORM_HELD];
		size_t size = (size_t)1 << (r >> 8) % 22, more = (r >> 32) % size;

		if (r >> 63) {
			free(*p);
			*p = NULL;
		} else {
			*p = realloc(*p, size + more);
		}
	}
	for (int i = 0; i < STORM_HELD; i++)
		free(held[i]);
	return NULL;
}

static void storm(unsigned ms)
{
	uint64_t until = now_ns() + ms * 1000000ull;
	pthread_t t[STORM_THREADS];

	for (int i = 0; i < STORM_THREADS; i++)
		if (pthread_create(&t[i], NULL, run_storm, &until))
			victim_die("pthread_create");
	for (int i = 0; i < STORM_THREADS; i++)
		pthread_join(t[i], NULL);
}

static void obey(const char *order)
{
	unsigned n = 0;

	if (sscanf(order, "leak %u", &n) == 1)
		lose_some(n, SMALL);
	else if (sscanf(order, "unfair %u", &n) == 1)
		lose_some(n, LARGE);
	else if (sscanf(order, "threads %u", &n) == 1)
		start_threads(n);
	else if (sscanf(order, "map %u", &n) == 1)
		take_mapped(n);
	else if (sscanf(order, "unmap %u", &n) == 1)
		release_mapped(n);
	else if (sscanf(order, "grow %u", &n) == 1)
		grow_mapped(n);
	else if (sscanf(order, "storm %u", &n) == 1)
		storm(n);
	else if (!strcmp(order, "hold"))
		take_growing();
	else if (!strcmp(order, "trim"))
		release_leaked();
	else if (!strcmp(order, "pages"))
		take_pages();
	else if (!strcmp(order, "cut"))
		cut_pages();
	else if (!strcmp(order, "drop"))
		drop_pages();
	else if (!strcmp(order, "apart"))
		set_apart();
	else if (!strcmp(order, "use"))
		use_apart();
	else if (!strcmp(order, "idle"))
		for (int i = 0; i < 1000; i++)
			turn_over(SMALL);
}

int main(void)
{
	char line[ORDER_MAX];
	const char *order;

	/*
	 * mmapped from here on, whatever was freed before: without this the threshold grows with each mmapped
	 * block that is freed
	 */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	setvbuf(stdin, input, _IOFBF, sizeof(input));
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	turn_over(SMALL);
	heap_start = sbrk(0);
	victim_ready();
	do {
		order = victim_order(line);
		obey(order);
		printf("{\"heap\": %ld}\n", (long)((char *)sbrk(0) - heap_start));
		fflush(stdout);
	} while (strcmp(order, "end"));
	return 0;
}
