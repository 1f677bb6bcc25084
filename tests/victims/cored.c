/* SPDX-License-Identifier: MIT */
/*
 * cored: a process whose core is read. It prints where it has put what, and by which rule the bytes were
 * made.
 *
 *	heap, data, stack	filled
 *	touched			16 pages, of which the 3rd and the 9th were written
 *	untouched		never written
 *	hidden			filled, and excluded from cores (MADV_DONTDUMP)
 *	shared			of /dev/shm, filled
 *
 * Each thread has its number in r12 and in xmm5, and waits.
 *
 * Orders: "end", "segv" (the address 0x1234).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "victim.h"

#define THREADS 3
#define PAGE 4096

static char data[3 * PAGE] = "not .bss";
static pid_t tids[THREADS];
static pthread_barrier_t all;
static int word;	/* the threads sleep on it */

/* Byte i of an area with this seed; no two pages are alike. */
static void fill(char *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(i * 13 + i / 256 * 7 + seed);
}

/* The thread sleeps here, with its number in two registers: futex(2) on a word that no thread changes. */
static void *wait_with(void *arg)
{
	register long number __asm__("r12") = 0x7700000000 + (long)arg;
	register long timeout __asm__("r10") = 0;

	tids[(long)arg] = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&all);
	for (;;) {
		long ret;

		__asm__ volatile("movq %[n], %%xmm5\n\tsyscall"
				 : "=a"(ret)
				 : "0"((long)SYS_futex), "D"(&word), "S"(0L), "d"(0L),
				   "r"(timeout), [n] "r"(number)
				 : "rcx", "r11", "memory", "xmm5");
	}
	return NULL;
}

/* The registers are right only once the kernel reports that the thread is in this system call. */
static void wait_for(pid_t tid)
{
	char name[64], line[256], asleep[64];
	bool is = false;

	snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", (int)tid);
	snprintf(asleep, sizeof(asleep), "%d %p ", SYS_futex, (void *)&word);
	while (!is) {
		FILE *f = fopen(name, "r");

		if (!f)
			victim_die(name);
		is = fgets(line, sizeof(line), f) && !strncmp(line, asleep, strlen(asleep));
		fclose(f);
	}
}

static char *map(size_t n, int flags, int fd)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		victim_die("mmap");
	return p;
}

static char *map_shared(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/dev/shm/mm-cored-%d", (int)getpid());
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4 * PAGE))
		victim_die(name);
	unlink(name);
	return map(4 * PAGE, MAP_SHARED, fd);
}

static void say(const char *name, const char *p, size_t n, unsigned seed)
{
	printf("\"%s\": {\"at\": %lu, \"size\": %zu, \"seed\": %u}, ", name, (unsigned long)p, n, seed);
}

int main(void)
{
	char stack[2 * PAGE], line[ORDER_MAX];
	char *heap = malloc(5 * PAGE), *touched = map(16 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *guard = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *untouched = map(32 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *guard2 = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *hidden = map(8 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1), *shared = map_shared();
	pthread_t t;

	if (!heap || guard == MAP_FAILED || guard2 == MAP_FAILED || madvise(hidden, 8 * PAGE, MADV_DONTDUMP))
		victim_die("memory");
	fill(heap, 5 * PAGE, 1);
	fill(data, sizeof(data), 2);
	fill(stack, sizeof(stack), 3);
	fill(touched + 3 * PAGE, PAGE, 4);
	fill(touched + 9 * PAGE, PAGE, 5);
	fill(hidden, 8 * PAGE, 6);
	fill(shared, 4 * PAGE, 7);
	escape(heap);
	pthread_barrier_init(&all, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++) {
		if (pthread_create(&t, NULL, wait_with, (void *)i))
			victim_die("pthread_create");
	}
	pthread_barrier_wait(&all);
	for (int i = 0; i < THREADS; i++)
		wait_for(tids[i]);
	printf("{");
	say("heap", heap, 5 * PAGE, 1);
	say("data", data, sizeof(data), 2);
	say("stack", stack, sizeof(stack), 3);
	say("touched3", touched + 3 * PAGE, PAGE, 4);
	say("touched9", touched + 9 * PAGE, PAGE, 5);
	say("touched", touched, 16 * PAGE, 0);
	say("untouched", untouched, 32 * PAGE, 0);
	say("hidden", hidden, 8 * PAGE, 6);
	say("shared", shared, 4 * PAGE, 7);
	printf("\"main\": %lu, \"tids\": [%d, %d, %d]}\n", (unsigned long)(void *)main, tids[0], tids[1],
	       tids[2]);
	victim_ready();
	if (!strcmp(victim_order(line), "segv"))
		*(volatile int *)0x1234 = 1;
	return 0;
}
