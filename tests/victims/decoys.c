/* SPDX-License-Identifier: MIT */
/*
 * decoys: a process with more than one malloc of the C library, or with memory that looks like one from end
 * to end.
 *
 *	namespace N	{"kept": blocks of the program's own malloc}: N blocks of 3000 bytes from the malloc
 *			of another libc (dlmopen)
 *	fill MIB	{}: so much of a file, mapped privately below the libraries, where each address looks
 *			like an arena that leads to the next
 *	page		{"held": blocks of 500 bytes that only it points to}: a mapping that begins as a chunk
 *			with a mapping of its own does
 *	large		{}: one such chunk
 *	freed N		{}: N live blocks of 40 bytes whose second word is 1; and one more that was freed, and
 *			written to after that, so that it looks like these
 *	part		{"held": 700}: part() returns 64 bytes of a pool, and nothing points to them; behind
 *			the pool is a page that points to a block of so many bytes
 *	guarded		{}: two blocks with a page in them that may not be touched: one of 1 MiB, at a
 *			multiple of that, and one of 12 KiB from the arena of a thread that lives on
 *	end		{}
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>

#include "victim.h"

#define OWN 200
#define HELD 50

static void *volatile own[OWN];
static void *volatile of_other[1000], *volatile large;

static void open_namespace(size_t n)
{
	void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	void *(*its_malloc)(size_t) = libc ? (void *(*)(size_t))dlsym(libc, "malloc") : NULL;

	if (!its_malloc)
		victim_die("dlmopen");
	for (size_t i = 0; i < n && i < 1000; i++) {
		of_other[i] = memset(its_malloc(3000), 1, 3000);
	}
	printf("{\"kept\": %d}\n", OWN);
}

static void fill(size_t mib)
{
	const size_t n = mib << 20;
	FILE *f = tmpfile();
	uint64_t *p;

	if (!f || ftruncate(fileno(f), (off_t)n) != 0)
		victim_die("tmpfile");
	p = mmap((void *)0x10000000000, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
		 fileno(f), 0);
	if (p == MAP_FAILED)
		victim_die("mmap");
	for (size_t i = 0; i < n / 8; i += 2)
		p[i] = p[i + 1] = (uint64_t)&p[i] - 16;
	printf("{}\n");
}

static void make_page(void)
{
	uint64_t *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* nothing else in the same mapping */
	if (p == MAP_FAILED || mprotect((char *)p + 65536 - 4096, 4096, PROT_NONE) != 0)
		victim_die("mmap");
	p[1] = 8192 | 2;
	for (int i = 2; i < 2 + HELD; i++)
		p[i] = (uint64_t)malloc(500);
	printf("{\"held\": %d}\n", HELD);
}

static void write_to_freed(size_t n)
{
	uint64_t *p = NULL;

	for (size_t i = 0; i <= n && i < 1000; i++) {
		p = malloc(40);
		p[1] = 1;
		if (i < n)
			of_other[i] = p;
	}
	free(p);
	escape(p);
	p[0] = 0x1234567;
	p[1] = 1;
	escape(p);
	printf("{}\n");
}

/* The size that the caller passes is not the size of anything. */
__attribute__((noinline, noclone)) void *part(char *pool, size_t n)
{
	escape(n);
	return pool + 1024;
}

static void lose_part(void)
{
	char *at = (char *)0x10000000;
	char *pool = mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			  -1, 0);
	void **page = mmap(at + 65536, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	void *p;

	if (pool == MAP_FAILED || page == MAP_FAILED)
		victim_die("mmap");
	page[0] = malloc(700);
	p = part(pool, 64);
	escape(p);
	printf("{\"held\": 700}\n");
}

static void *guarded(size_t align, size_t size)
{
	char *p = aligned_alloc(align, size);

	if (!p)
		victim_die("aligned_alloc");
	memset(p, 1, size);
	if (mprotect(p + 4096, 4096, PROT_NONE))
		victim_die("mprotect");
	return p;
}

static void *guards_its_own(void *made)
{
	void *volatile mine = guarded(4096, 12288);

	pthread_barrier_wait(made);
	for (;;)
		pause();
	return mine;
}

static void make_guarded(void)
{
	static pthread_barrier_t made;
	pthread_t t;

	large = guarded(1 << 20, 1 << 20);
	pthread_barrier_init(&made, NULL, 2);
	if (pthread_create(&t, NULL, guards_its_own, &made))
		victim_die("pthread_create");
	pthread_barrier_wait(&made);
	printf("{}\n");
}

int main(void)
{
	char line[ORDER_MAX];

	for (size_t i = 0; i < OWN; i++)
		own[i] = memset(malloc(1000), 1, 1000);
	victim_ready();
	while (strcmp(victim_order(line), "end") != 0) {
		if (strncmp(line, "namespace ", 10) == 0)
			open_namespace(strtoull(line + 10, NULL, 10));
		else if (strncmp(line, "fill ", 5) == 0)
			fill(strtoull(line + 5, NULL, 10));
		else if (strcmp(line, "page") == 0)
			make_page();
		else if (strcmp(line, "part") == 0)
			lose_part();
		else if (strcmp(line, "guarded") == 0)
			make_guarded();
		else if (strncmp(line, "freed ", 6) == 0)
			write_to_freed(strtoull(line + 6, NULL, 10));
		else if (strcmp(line, "large") == 0 && (large = malloc(1 << 20)))
			printf("{}\n");
		fflush(stdout);
	}
	printf("{}\n");
	return 0;
}
