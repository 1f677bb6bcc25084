/* SPDX-License-Identifier: MIT */
/*
 * still [TWINS]: a process to be copied while it is stopped: it knows what its memory contains, what its
 * registers contain, and how much of it is resident.
 *
 *	where	addresses, and what is there:
 *		"blocks": [[address, size, sum], ...]	written once: .data, heap, mmapped, without rights, a
 *							large stack
 *		"untouched": [[address, size], ...]	never touched, or hardly
 *		"twins": [[a, b], ...]			TWINS (2) threads each count a up and then make b the
 *							same
 *		"kept", "vector"			values that are only in a register of a thread that
 *							sleeps
 *	quiet	{}: from now on the twins rest, so that nothing at all changes
 *	pairs N	{"pairs": N of each of PAIRERS threads}: malloc and free, and then they rest
 *	grow N	{}: N MiB more, touched
 *	vfork	{"child": pid}: a thread waits for a vfork child, until endvfork: {"status": 7}
 *	thread	{}: a short-lived thread; shrink: {} unmaps what grow has mapped
 *	end	{"damaged": 0, "eintr": EINTRs seen by the sleepers with values in registers}
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim.h"

#define MAX_TWINS 16
#define PAIRERS 2
#define KEPT (0x6b657074ull << 32 | 0x5eed)
#define VECTOR (0x76656374ull << 32 | 0x5eed)
#define BIG (3u << 20)
#define SPARSE (1ul << 30)
#define DEEP (64ul << 20)

struct twin {
	pthread_t thread;
	_Alignas(64) volatile uint64_t a;
	_Alignas(64) volatile uint64_t b;
};

struct block {
	const uint64_t *at;
	size_t size;
	uint64_t sum;
};

static uint64_t data[4096] = { 1, 2, 3 };
static struct twin twins[MAX_TWINS];
static unsigned ntwins = 2;
static struct block blocks[64];
static unsigned nblocks;
static void *sparse, *deep, *hidden;
static atomic_bool ending, resting;
static atomic_uint nresting;
static uint32_t word_kept, word_vector;
static _Atomic uint64_t eintr, damaged;
static pthread_t keepers[2], pairers[PAIRERS];
static pthread_barrier_t begin_pairs, end_pairs;
static uint64_t npairs;
static pthread_t vforker;
static _Atomic pid_t vforked;
static atomic_int vfork_status;
static int vfork_pipe[2];
static void *grown[64];
static size_t grown_size[64];
static unsigned ngrown;

static uint64_t sum_of(const uint64_t *p, size_t size)
{
	uint64_t sum = 1;

	for (size_t i = 0; i < size / 8; i++)
		sum = sum * 1099511628211u ^ p[i];
	return sum;
}

static void keep(uint64_t *p, size_t size)
{
	uint64_t rng = 88172645463325252u + nblocks;

	for (size_t i = 0; i < size / 8; i++)
		p[i] = victim_random(&rng);
	blocks[nblocks++] = (struct block){ p, size, sum_of(p, size) };
}

/* --- threads --- */

static void *twin(void *arg)
{
	struct twin *t = arg;

	while (!ending) {
		for (int i = 0; i < 1000; i++) {
			t->a = t->a + 1;
			t->b = t->a;
		}
		if (resting) {
			nresting++;
			while (resting && !ending)
				usleep(1000);
			nresting--;
		}
	}
	return NULL;
}

/* Until *word is 1: a computed value, so that it is in no code, is in r12 and nowhere else. */
static void *keep_in_register(void *arg)
{
	volatile uint64_t high = 0x6b657074, low = 0x5eed;
	uint64_t value = high << 32 | low;
	long r;

	(void)arg;
	high = 0;
	while (atomic_load((_Atomic uint32_t *)&word_kept) == 0) {
		__asm__ volatile(
			"mov %[value], %%r12\n\txor %[value], %[value]\n\txor %%r10, %%r10\n\tsyscall\n\t"
			"mov %%r12, %[value]\n\txor %%r12, %%r12"
			: "=a"(r), [value] "+b"(value)
			: "0"(SYS_futex), "D"(&word_kept), "S"(FUTEX_WAIT), "d"(0)
			: "rcx", "r10", "r11", "r12", "memory");
		eintr += r == -EINTR;
		damaged += value != KEPT;
	}
	return NULL;
}

static void *keep_in_vector(void *arg)
{
	volatile uint64_t high = 0x76656374, low = 0x5eed;
	uint64_t value = high << 32 | low;
	long r;

	(void)arg;
	high = 0;
	while (atomic_load((_Atomic uint32_t *)&word_vector) == 0) {
		__asm__ volatile(
			"movq %[value], %%xmm9\n\txor %[value], %[value]\n\txor %%r10, %%r10\n\tsyscall\n\t"
			"movq %%xmm9, %[value]\n\tpxor %%xmm9, %%xmm9"
			: "=a"(r), [value] "+b"(value)
			: "0"(SYS_futex), "D"(&word_vector), "S"(FUTEX_WAIT), "d"(0)
			: "rcx", "r10", "r11", "xmm9", "memory");
		eintr += r == -EINTR;
		damaged += value != VECTOR;
	}
	return NULL;
}

static void *pairer(void *arg)
{
	uint64_t rng = 42;

	for (;;) {
		pthread_barrier_wait(&begin_pairs);
		if (ending)
			return arg;
		for (uint64_t i = 0; i < npairs; i++)
			damaged += !victim_malloc_free(&rng);
		pthread_barrier_wait(&end_pairs);
	}
}

static void *on_deep_stack(void *arg)
{
	volatile char here = 1;

	deep = (void *)&here;
	escape(deep);
	pthread_barrier_wait(arg);
	while (!ending)
		usleep(100000);
	return NULL;
}

/* The child stores its pid in our memory, and ends when it gets a byte through a pipe. */
static void *in_vfork(void *arg)
{
	pid_t pid = vfork();
	int status = 0;
	char byte;

	if (pid == 0) {
		vforked = getpid();
		if (read(vfork_pipe[0], &byte, 1) != 1)
			_exit(1);
		_exit(7);
	}
	waitpid(pid, &status, 0);
	vfork_status = WEXITSTATUS(status);
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

/* --- start --- */

static void *map(size_t size, int prot)
{
	void *p = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		victim_die("mmap");
	return p;
}

static void fill_memory(void)
{
	keep(data, sizeof(data));
	for (size_t n = 64; n <= 65536; n *= 4)
		keep(malloc(n), n);
	keep(map(BIG, PROT_READ | PROT_WRITE), BIG);
	hidden = map(16384, PROT_READ | PROT_WRITE);
	keep(hidden, 16384);
	mprotect(hidden, 16384, PROT_NONE);
	/* the middle of it is resident, the rest was never touched */
	sparse = map(SPARSE, PROT_READ | PROT_WRITE);
	keep((uint64_t *)sparse + SPARSE / 16, 8192);
	madvise(sparse, SPARSE, MADV_NOHUGEPAGE);
}

static pthread_t start(void *(*run)(void *), void *arg, size_t stack)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	if (stack)
		pthread_attr_setstacksize(&attr, stack);
	if (pthread_create(&t, &attr, run, arg) != 0)
		victim_die("pthread_create");
	pthread_attr_destroy(&attr);
	return t;
}

static void start_all(void)
{
	pthread_barrier_t there;

	pthread_barrier_init(&begin_pairs, NULL, PAIRERS + 1);
	pthread_barrier_init(&end_pairs, NULL, PAIRERS + 1);
	pthread_barrier_init(&there, NULL, 2);
	for (unsigned i = 0; i < ntwins; i++)
		twins[i].thread = start(twin, &twins[i], 0);
	for (unsigned i = 0; i < PAIRERS; i++)
		pairers[i] = start(pairer, NULL, 0);
	keepers[0] = start(keep_in_register, NULL, 0);
	keepers[1] = start(keep_in_vector, NULL, 0);
	start(on_deep_stack, &there, DEEP);
	pthread_barrier_wait(&there);
}

/* --- orders --- */

static void tell_where(void)
{
	printf("{\"blocks\": [");
	for (unsigned i = 0; i < nblocks; i++)
		printf("%s[%lu, %zu, %lu]", i ? ", " : "", (unsigned long)blocks[i].at, blocks[i].size,
		       blocks[i].sum);
	printf("], \"untouched\": [[%lu, %lu], [%lu, %lu]], \"twins\": [", (unsigned long)sparse, SPARSE / 4,
	       (unsigned long)deep - (DEEP / 2), DEEP / 4);
	for (unsigned i = 0; i < ntwins; i++)
		printf("%s[%lu, %lu]", i ? ", " : "", (unsigned long)&twins[i].a, (unsigned long)&twins[i].b);
	printf("], \"hidden\": %lu, \"kept\": %llu, \"vector\": %llu}\n", (unsigned long)hidden, KEPT, VECTOR);
}

static void rest(void)
{
	resting = true;
	while (nresting < ntwins)
		usleep(1000);
	printf("{}\n");
}

static void make_pairs(uint64_t n)
{
	npairs = n;
	pthread_barrier_wait(&begin_pairs);
	pthread_barrier_wait(&end_pairs);
	printf("{\"pairs\": %lu}\n", n * PAIRERS);
}

static void grow(size_t mib)
{
	if (ngrown == 64)
		victim_die("grown enough");
	grown[ngrown] = map(mib << 20, PROT_READ | PROT_WRITE);
	grown_size[ngrown] = mib << 20;
	memset(grown[ngrown++], 1, mib << 20);
	printf("{}\n");
}

static void shrink(void)
{
	while (ngrown) {
		ngrown--;
		munmap(grown[ngrown], grown_size[ngrown]);
	}
	printf("{}\n");
}

static void begin_vfork(void)
{
	if (pipe(vfork_pipe) != 0)
		victim_die("pipe");
	vforked = 0;
	vforker = start(in_vfork, NULL, 0);
	while (!vforked)
		usleep(1000);
	printf("{\"child\": %d}\n", vforked);
}

static void end_vfork(void)
{
	if (write(vfork_pipe[1], "", 1) != 1)
		victim_die("write");
	pthread_join(vforker, NULL);
	printf("{\"status\": %d}\n", vfork_status);
}

static void wake(uint32_t *word)
{
	atomic_store((_Atomic uint32_t *)word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void finish(void)
{
	mprotect(hidden, 16384, PROT_READ);
	for (unsigned i = 0; i < nblocks; i++)
		damaged += sum_of(blocks[i].at, blocks[i].size) != blocks[i].sum;
	ending = true;
	wake(&word_kept);
	wake(&word_vector);
	pthread_barrier_wait(&begin_pairs);
	for (unsigned i = 0; i < ntwins; i++)
		pthread_join(twins[i].thread, NULL);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(keepers[i], NULL);
	printf("{\"damaged\": %lu, \"eintr\": %lu}\n", damaged, eintr);
}

int main(int argc, char **argv)
{
	char line[ORDER_MAX];

	if (argc > 1)
		ntwins = (unsigned)atoi(argv[1]);
	if (ntwins > MAX_TWINS)
		return 2;
	fill_memory();
	start_all();
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (strcmp(line, "where") == 0)
			tell_where();
		else if (strcmp(line, "quiet") == 0)
			rest();
		else if (strncmp(line, "pairs ", 6) == 0)
			make_pairs(strtoull(line + 6, NULL, 10));
		else if (strncmp(line, "grow ", 5) == 0)
			grow(strtoull(line + 5, NULL, 10));
		else if (strcmp(line, "shrink") == 0)
			shrink();
		else if (strcmp(line, "vfork") == 0)
			begin_vfork();
		else if (strcmp(line, "endvfork") == 0)
			end_vfork();
		else if (strcmp(line, "thread") == 0) {
			pthread_join(start(nothing, NULL, 0), NULL);
			printf("{}\n");
		}
		fflush(stdout);
	}
	finish();
	return 0;
}
