/* SPDX-License-Identifier: MIT */
/*
 * shares FOLDER LARGE PRIVATE: blocks to which only shared memory of each kind points.
 *
 * Every second page of each mapping is written, and has its number in it; the first page has the pointer,
 * too. Each block is printed as losses.h does it, with "map", "pages" and the mapping's file ("" if it has no
 * name). LARGE MiB of shared memory are written from end to end, and PRIVATE MiB of the process's own memory
 * too. The program waits until stdin has a byte or ends, then "damaged" is the number of pages that have
 * changed.
 */
#define _GNU_SOURCE
#include "losses.h"

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>

#define PAGE 4096u
#define PAGES 16u
#define HUGE (2u << 20)

static struct stack_live {
	volatile uint64_t *at;
	size_t pages, step;
} kept[16];
static unsigned nkept;

static NOINLINE void put_block(const char *name, void **at, size_t pages, const char *file)
{
	void *p = calloc(1, 40);
	char line[512];
	int n = snprintf(line, sizeof(line),
			 "{\"site\": \"%s\", \"addr\": %zu, \"size\": 40, \"map\": %zu, \"pages\": %zu, "
			 "\"file\": \"%s\"}\n",
			 name, (size_t)p, (size_t)at, pages, file);

	if (!p || write(STDOUT_FILENO, line, (size_t)n) != n)
		victim_die("write");
	at[1] = p;
}

static NOINLINE void fill(const char *name, void *at, size_t pages, size_t step, const char *file)
{
	kept[nkept++] = (struct stack_live){ at, pages, step };
	for (size_t i = 0; i < pages; i += step)
		((volatile uint64_t *)at)[i * PAGE / 8] = 0x5eed0000 + i;
	put_block(name, at, pages, file);
}

static void *map(size_t size, int flags, int fd)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | flags, fd, 0);

	if (p == MAP_FAILED)
		victim_die("mmap");
	return p;
}

static void *map_file(int fd, size_t size)
{
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		victim_die("a file");
	return map(size, 0, fd);
}

static void share_files(const char *folder)
{
	char path[256], name[64];
	int fd;

	snprintf(path, sizeof(path), "%s/file", folder);
	fill("file", map_file(open(path, O_RDWR | O_CREAT, 0600), PAGES * PAGE), PAGES, 2, path);
	snprintf(name, sizeof(name), "/mmattach-shares-%d", (int)getpid());
	snprintf(path, sizeof(path), "/dev/shm%s", name);
	fill("posix", map_file(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), PAGES * PAGE), PAGES, 2, path);
	fd = memfd_create("shares", 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	fill("memfd", map_file(fd, PAGES * PAGE), PAGES, 2, path);
}

static void share_of_no_file(void)
{
	int id = shmget(IPC_PRIVATE, PAGES * PAGE, 0600);
	void *p = shmat(id, NULL, 0);

	if (p == (void *)-1)
		victim_die("shmat");
	shmctl(id, IPC_RMID, NULL);
	fill("sysv", p, PAGES, 2, "");
	fill("anonymous", map(PAGES * PAGE, MAP_ANONYMOUS, -1), PAGES, 2, "");
	p = map(PAGES * PAGE, MAP_ANONYMOUS, -1);
	fill("protected", p, PAGES, 2, "");
	mprotect(p, PAGES * PAGE, PROT_READ);
	/* the memory keeps its contents, but its page is not in our page table any more */
	p = map(PAGES * PAGE, MAP_ANONYMOUS, -1);
	fill("dropped", p, PAGES, 2, "");
	madvise(p, PAGES * PAGE, MADV_DONTNEED);
}

/* "huge" is printed only if there are huge pages. */
static void share_huge(void)
{
	void *p = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (p != MAP_FAILED)
		fill("huge", p, HUGE / PAGE, 1, "");
}

/* A file mapped read-only, with a pointer in it. */
static void share_to_read(const char *folder)
{
	char path[256];
	volatile char *p;
	int fd;

	snprintf(path, sizeof(path), "%s/read", folder);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	p = map_file(fd, PAGE);
	fill("read", (void *)p, 1, 1, path);
	mprotect((void *)p, PAGE, PROT_READ);
}

int main(int argc, char **argv)
{
	uint64_t damaged = 0;

	if (argc != 4)
		return 2;
	share_files(argv[1]);
	share_of_no_file();
	share_to_read(argv[1]);
	share_huge();
	if (atol(argv[2]))
		fill("large", map((size_t)atol(argv[2]) << 20, MAP_ANONYMOUS, -1),
		     ((size_t)atol(argv[2]) << 20) / PAGE, 1, "");
	if (atol(argv[3])) {
		void *p = mmap(NULL, (size_t)atol(argv[3]) << 20, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

		if (p == MAP_FAILED)
			victim_die("mmap");
		memset(p, 1, (size_t)atol(argv[3]) << 20);
	}
	losses_forget();
	losses_wait();
	for (unsigned k = 0; k < nkept; k++)
		for (size_t i = 0; i < kept[k].pages; i += kept[k].step)
			damaged += kept[k].at[i * PAGE / 8] != 0x5eed0000 + i;
	printf("{\"damaged\": %lu}\n", (unsigned long)damaged);
	return 0;
}
