/* SPDX-License-Identifier: MIT */
/*
 * census: a heap of every kind there is, and the truth about it.
 *
 *	census MODE [BLOCKS] [THREADS]
 *	census_next ...		the same with the allocator of LD_PRELOAD
 *
 *	plain		one thread
 *	all		threads with blocks of all sizes: tcaches, fastbins, all bins, mapped chunks,
 *			memalign's
 *	sbrk		the same, while code other than malloc calls sbrk now and then, also for odd sizes
 *	fences		one thread; what is left of top after a foreign call of sbrk is too small for a chunk
 *	blocked		the same as sbrk, with a mapping put right behind the heap once it has grown
 *	nobrk		the same, with that mapping there from the start: the main heap is all from mmap
 *	gone		threads end; their arenas stay, and other threads take them over
 *	heaps		several heaps for each arena, some of them unmapped again
 *	load		the same as all, and the threads go on
 *	step		a small heap, and the thread that was started last goes on; with one thread: once an
 *			order says so
 *	tight		the same as all, with so little address space (RLIMIT_AS) that no other arena fits
 *	small, big	the same as all, with a mapping for each block of 16 KB, or for none
 *
 * Orders: "truth" prints where the table is (census_truth.h); "info" what the allocator reports itself;
 * "corrupt WHAT" overwrites something; "end".
 */
#ifdef CENSUS_NEXT
#include <dlfcn.h>
#endif
#include <inttypes.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "census_truth.h"
#include "victim.h"

#define MIB (1ull << 20)

/* --- the table --- */

#ifdef CENSUS_NEXT
/*
 * Built as census_next: the malloc of the library that is loaded next, one of LD_PRELOAD. dlsym allocates
 * nothing if it finds what it looks for.
 */
#define NEXT(result, name, params, args)                                        \
	static result next_##name params                                         \
	{                                                                        \
		static result (*found) params;                                   \
                                                                                 \
		if (!found)                                                      \
			*(void **)&found = dlsym(RTLD_NEXT, #name);              \
		return found args;                                               \
	}
NEXT(void *, malloc, (size_t n), (n))
NEXT(void *, calloc, (size_t n, size_t size), (n, size))
NEXT(void *, realloc, (void *p, size_t n), (p, n))
NEXT(void *, memalign, (size_t align, size_t n), (align, n))
NEXT(void, free, (void *p), (p))
NEXT(size_t, malloc_usable_size, (void *p), (p))
#define __libc_malloc next_malloc
#define __libc_calloc next_calloc
#define __libc_realloc next_realloc
#define __libc_memalign next_memalign
#define __libc_free next_free
#define malloc_usable_size next_malloc_usable_size
#else
extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);
#endif

static struct truth truth;
static struct truth_block *table;
static __thread struct truth_note *my_note;
static bool gate;	/* no thread may enter malloc */

static void make_table(void)
{
	const uint64_t slots = 1u << 22;
	/*
	 * the system call, not mmap(3): malloc is called so early by the dynamic linker that mmap may not be
	 * bound yet
	 */
	void *p = (void *)syscall(SYS_mmap, NULL, slots * sizeof(*table), PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		_exit(4);
	truth.slots = slots;
	truth.table = (uint64_t)(uintptr_t)p;
	truth.magic = TRUTH_MAGIC;
	table = p;
}

static void begin(void *given_back)
{
	if (!table)
		make_table();
	if (!my_note) {
		const uint64_t i = __atomic_fetch_add(&truth.nnotes, 1, __ATOMIC_SEQ_CST);

		if (i >= TRUTH_NOTES)
			_exit(5);
		my_note = &truth.notes[i];
	}
	my_note->addr = (uint64_t)(uintptr_t)given_back;
	for (;;) {
		__atomic_store_n(&my_note->busy, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&gate, __ATOMIC_SEQ_CST))
			return;
		__atomic_store_n(&my_note->busy, 0, __ATOMIC_SEQ_CST);
		sched_yield();
	}
}

static void end(void)
{
	__atomic_store_n(&my_note->busy, 0, __ATOMIC_SEQ_CST);
}

/* Neighbours in memory are neighbours in the table, for 64 KB: a small heap touches little of it. */
static uint64_t place_of(uint64_t addr)
{
	return (addr >> 16) * 0x9e3779b97f4a7c15u >> 54 << 12 | (addr >> 4 & 4095);
}

static void *put(void *p)
{
	const uint64_t addr = (uint64_t)(uintptr_t)p, mask = truth.slots - 1;

	for (uint64_t i = place_of(addr); p; i++) {
		struct truth_block *b = &table[i & mask];
		uint64_t was = __atomic_load_n(&b->addr, __ATOMIC_RELAXED);

		if (was > TRUTH_GONE || !__atomic_compare_exchange_n(&b->addr, &was, TRUTH_TAKEN, false,
								     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			continue;
		b->size = malloc_usable_size(p);
		__atomic_store_n(&b->addr, addr, __ATOMIC_SEQ_CST);
		break;
	}
	end();
	return p;
}

static void take_out(void *p)
{
	const uint64_t addr = (uint64_t)(uintptr_t)p, mask = truth.slots - 1;

	begin(p);
	for (uint64_t i = place_of(addr), n = 0; p; i++, n++) {
		struct truth_block *b = &table[i & mask];

		if (__atomic_load_n(&b->addr, __ATOMIC_RELAXED) == addr) {
			__atomic_store_n(&b->addr, TRUTH_GONE, __ATOMIC_SEQ_CST);
			break;
		}
		/* older than the table: a block of the dynamic loader */
		if (n > mask)
			break;
	}
}

void *malloc(size_t n)
{
	begin(NULL);
	return put(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
	begin(NULL);
	return put(__libc_calloc(n, size));
}

void *memalign(size_t align, size_t n)
{
	begin(NULL);
	return put(__libc_memalign(align, n));
}

void *aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
	void *p = memalign(align, n);

	if (p)
		*out = p;
	return p ? 0 : ENOMEM;
}

void *realloc(void *p, size_t n)
{
	void *q;

	take_out(p);
	q = __libc_realloc(p, n);
	/* realloc failed: the old block is still allocated */
	return put(q || !n ? q : p) == q ? q : NULL;
}

void free(void *p)
{
	take_out(p);
	__libc_free(p);
	end();
}

/* --- threads at work --- */

struct worker {
	pthread_t thread;
	uint64_t rng;
	size_t n;
	void **slots;
};

static const char *mode;
static struct worker *workers;
static size_t nworkers;
static uint64_t seed;
static volatile bool stop;
static pthread_barrier_t filled, park;

static bool is(const char *name)
{
	return strcmp(mode, name) == 0;
}

static size_t below(struct worker *w, size_t n)
{
	return victim_random(&w->rng) % n;
}

/* All sizes, mostly small ones. If there are a great many blocks, nearly all are small. */
static size_t any_size(struct worker *w)
{
	if (is("tight"))
		return below(w, 3000);
	if (w->n >= 100000 && below(w, 64))
		return below(w, 160);
	switch (below(w, 512)) {
	case 0: return below(w, 3) ? 140000 + below(w, 300000) : MIB + below(w, MIB);
	case 1 ... 4: return 16000 + below(w, 100000);
	case 5 ... 40: return 1000 + below(w, 8000);
	default: return below(w, is("big") || is("heaps") ? 1000 : 300);
	}
}

static void *any_block(struct worker *w)
{
	const size_t n = any_size(w);
	void *p;

	switch (below(w, is("step") ? 8 : 64)) {
	case 0: p = memalign(16u << below(w, 9), n); break;
	case 1: p = calloc(1, n); break;
	case 2: p = below(w, 64) ? malloc(n) : memalign(4096u << below(w, 9), 200000 + n); break;
	default: p = malloc(n); break;
	}
	if (!p)
		victim_die("an allocation failed");
	/* not zeros: what a block holds must not look like a head */
	memset(p, 0x5a, n < 64 ? n : 64);
	escape(p);
	return p;
}

static void one_op(struct worker *w)
{
	void **slot = &w->slots[below(w, w->n)];
	/* often another thread's block: it is then freed into an arena that is not this thread's */
	void *p = __atomic_exchange_n(below(w, 4) ? slot : &workers[below(w, nworkers)].slots[below(w, w->n)],
				      NULL, __ATOMIC_SEQ_CST);

	if (p && below(w, 8) == 0)
		p = realloc(p, any_size(w) + 1);
	else if (p)
		free(p), p = NULL;
	else
		p = any_block(w);
	if (p)
		free(__atomic_exchange_n(slot, p, __ATOMIC_SEQ_CST));
}

/* Two threads must not call sbrk at once, and malloc may be in it. */
static char *sbrk_alone(intptr_t n)
{
	char *p;

	__atomic_store_n(&gate, true, __ATOMIC_SEQ_CST);
	for (uint64_t i = 0; i < __atomic_load_n(&truth.nnotes, __ATOMIC_SEQ_CST) && i < TRUTH_NOTES; i++)
		while (__atomic_load_n(&truth.notes[i].busy, __ATOMIC_SEQ_CST))
			sched_yield();
	p = sbrk(n);
	__atomic_store_n(&gate, false, __ATOMIC_SEQ_CST);
	return p;
}

static void foreign_sbrk(struct worker *w)
{
	static const intptr_t sizes[] = { 4096, 16, 100000, 24, 8192, 1 };
	const intptr_t n = sizes[below(w, 6)];
	char *p = sbrk_alone(n);

	if (p == (char *)-1)
		return;
	const uintptr_t end = (uintptr_t)p + (uintptr_t)n;

	/*
	 * foreign data: numbers, and what could be heads of chunks. But no head leads to malloc's first
	 * chunk: that one could not be told from a block
	 */
	for (uintptr_t at = ((uintptr_t)p + 7) & ~7ull; at + 8 <= end && at < (uintptr_t)p + 4096; at += 8)
		*(uint64_t *)at = at % 64 == 8 && at + 64 <= end ? 0x31 : at % 64 == 24 ? 0 : 7;
}

/*
 * Make top so small that 16 bytes are left of it without the fenceposts: these bytes stay unused. This is
 * done more than once, so that a piece of the heap in front of foreign memory ends like this.
 */
static void leave_little_tops(struct worker *w)
{
	for (size_t i = 0; i + 4 < w->n && i < 12; i += 4) {
		char *p = malloc(1000);
		const size_t top = (size_t)((char *)sbrk(0) - p) - malloc_usable_size(p) - 8 + 16;

		w->slots[i] = p;
		if (p < (char *)sbrk(0))
			w->slots[i + 1] = malloc(top - 48 - 8);
		(void)!sbrk(16);
		w->slots[i + 2] = malloc(200);
		w->slots[i + 3] = malloc(3000);
	}
}

/* From here on sbrk fails. */
static void block_brk(void)
{
	char *end = sbrk(0);
	char *at = (char *)(((uintptr_t)end + 4095) & ~4095ull);

	if (mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		victim_die("the heap could not be blocked");
}

static void fill(struct worker *w)
{
	for (size_t i = 0; i < w->n; i++) {
		void *p = any_block(w);

		free(__atomic_exchange_n(&w->slots[i], p, __ATOMIC_SEQ_CST));
		if (is("sbrk") && w == workers && i % (w->n / 16 + 1) == 0)
			foreign_sbrk(w);
		if (is("blocked") && w == workers && i == w->n / 2)
			block_brk();
		if (below(w, 4) == 0)
			one_op(w);
	}
	/* holes of all sizes; runs of neighbours too */
	for (size_t i = 0; i < w->n / 8; i++)
		free(__atomic_exchange_n(&w->slots[below(w, w->n)], NULL, __ATOMIC_SEQ_CST));
	for (size_t i = 0; i < w->n / 16; i++)
		free(__atomic_exchange_n(&w->slots[w->n / 2 + i], NULL, __ATOMIC_SEQ_CST));
}

/* Many blocks, nearly all of them freed again: heaps are mapped, and the last of them unmapped. */
static void breathe(struct worker *w)
{
	const size_t n = 20000;
	void **all = malloc(n * sizeof(*all));

	for (size_t i = 0; i < n; i++)
		all[i] = malloc(5000 + below(w, 5000));
	for (size_t i = n; i--; )
		/* what stays allocated is in two heaps */
		if (i % 1000 || i > n / 2)
			free(all[i]);
	free(all);
}

/*
 * All stacks are mapped by now. An arena's heap takes 64 MiB: a thread without one has a mapping for each
 * block.
 */
static void leave_little_space(void)
{
	char text[64] = "";
	FILE *f = fopen("/proc/self/statm", "r");
	struct rlimit limit;

	if (!f || !fgets(text, sizeof(text), f))
		victim_die("statm");
	fclose(f);
	limit.rlim_cur = limit.rlim_max = strtoull(text, NULL, 10) * 4096 + 60 * MIB;
	if (setrlimit(RLIMIT_AS, &limit))
		victim_die("setrlimit");
}

static void *work(void *arg)
{
	struct worker *w = arg;

	if (is("tight"))
		pthread_barrier_wait(&filled);
	fill(w);
	if (is("heaps"))
		breathe(w);
	if (is("gone"))
		return NULL;
	pthread_barrier_wait(&filled);
	/* some last calls, so that this thread's tcache and fastbins are not empty */
	for (unsigned i = 0; i < 4000; i++)
		one_op(w);
	for (unsigned i = 0; i < 200; i++)
		free(__atomic_exchange_n(&w->slots[below(w, w->n)], NULL, __ATOMIC_SEQ_CST));
	while (!stop && (is("load") || (is("step") && w == &workers[nworkers - 1])))
		one_op(w);
	pthread_barrier_wait(&park);
	pthread_barrier_wait(&park);
	return NULL;
}

static void start(size_t blocks)
{
	for (size_t i = 0; i < nworkers; i++) {
		struct worker *w = &workers[i];

		w->rng = 88172645463325252u + i * 7919 + seed * 104729;
		w->n = blocks / nworkers;
		w->slots = calloc(w->n, sizeof(*w->slots));
	}
	for (size_t i = 1; i < nworkers; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			victim_die("pthread_create");
}

/* The first worker is the main thread. */
static void first_worker(void)
{
	struct worker *w = &workers[0];

	if (is("tight")) {
		leave_little_space();
		pthread_barrier_wait(&filled);
	}
	if (is("fences"))
		leave_little_tops(w);
	else
		fill(w);
	if (is("gone")) {
		for (size_t i = 1; i < nworkers; i++)
			pthread_join(workers[i].thread, NULL);
		return;
	}
	if (nworkers > 1)
		pthread_barrier_wait(&filled);
	for (unsigned i = 0; i < 4000; i++)
		one_op(w);
	if (nworkers > 1 && !is("load") && !is("step"))
		pthread_barrier_wait(&park);
}

/* --- orders --- */

/*
 * What the allocator reports itself, as XML, up to "</malloc>". This allocates nothing: stdout has its
 * buffer.
 */
static void print_info(void)
{
	if (malloc_info(0, stdout))
		victim_die("malloc_info");
	fflush(stdout);
}

static void *small[3];

/* Overwrite the head of a chunk, a bin's link, a tcache's link, or the head of top; print where. */
static void corrupt(const char *what)
{
	uint64_t *p = small[1], *bad = NULL;

	if (strcmp(what, "size") == 0)
		*(bad = p - 1) = 0x4141414141414140;
	else if (strcmp(what, "tcache") == 0) {
		__libc_free(small[1]);
		*(bad = p) = 0x4242424242424242;
	} else if (strcmp(what, "bin") == 0) {
		uint64_t *large = small[2];

		__libc_free(large);
		*(bad = large) = 0x4343434343434340;
	} else if (strcmp(what, "top") == 0) {
		/*
		 * walk from chunk to chunk: a block may contain an old head of top, which claims as well that
		 * it reaches the end
		 */
		const uint64_t end = (uint64_t)(uintptr_t)sbrk(0);

		bad = (uint64_t *)((uintptr_t)workers & ~4095ull) + 1;
		while (end - (uint64_t)(uintptr_t)(bad - 1) != (*bad & ~7ull))
			bad += (*bad & ~7ull) / sizeof(*bad);
		*bad = 0x4444444444444444;
	}
	printf("{\"bad\": %" PRIu64 "}\n", (uint64_t)(uintptr_t)bad);
	fflush(stdout);
}

static void orders(void)
{
	char line[ORDER_MAX];

	for (;;) {
		const char *order = victim_order(line);

		if (strcmp(order, "end") == 0)
			return;
		if (strcmp(order, "truth") == 0) {
			printf("{\"truth\": %" PRIu64 "}\n", (uint64_t)(uintptr_t)&truth);
			fflush(stdout);
		} else if (strcmp(order, "info") == 0) {
			print_info();
		} else if (strncmp(order, "corrupt ", 8) == 0) {
			corrupt(order + 8);
		} else {
			victim_die(order);
		}
	}
}

int main(int argc, char **argv)
{
	size_t blocks = argc > 2 ? strtoull(argv[2], NULL, 0) : 100000;

	mode = argc > 1 ? argv[1] : "all";
	nworkers = argc > 3 ? strtoull(argv[3], NULL, 0) : 8;
	seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 0;
	if (is("plain") || is("fences"))
		nworkers = 1;
	if (is("nobrk"))
		block_brk();
	if (is("small"))
		mallopt(M_MMAP_THRESHOLD, 16384);
	if (is("big"))
		mallopt(M_MMAP_THRESHOLD, 32 << 20);
	workers = calloc(nworkers, sizeof(*workers));
	pthread_barrier_init(&filled, NULL, (unsigned)nworkers);
	pthread_barrier_init(&park, NULL, (unsigned)nworkers);
	start(blocks);
	first_worker();
	if (is("gone"))
		for (size_t i = 1; i < nworkers; i += 2)
			if (pthread_create(&workers[i].thread, NULL, (void *(*)(void *))(void *)pause, NULL))
				victim_die("pthread_create");
	for (unsigned i = 0; i < 3; i++)
		small[i] = malloc(i == 2 ? 3000 : 600);
	escape(small[0]);
	victim_ready();
	orders();
	while (is("step") && nworkers == 1)
		one_op(&workers[0]);
	stop = true;
	_exit(0);
}
