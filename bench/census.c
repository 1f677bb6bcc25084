/* SPDX-License-Identifier: MIT */
/*
 * census BLOCKS ROUNDS: how long a census of that many blocks takes, after the copy. A child has the blocks,
 * of 8 to 160 bytes. One in eight has been freed again, so that no free list is empty, and one in three is an
 * object of some C++ class, by its vtable. The child's memory is copied once. Then it also measures how long
 * finding the classes takes. Prints a line of JSON.
 */
#include <asm/prctl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heap/classify/classify.h"
#include "heap/census_take.h"

#define CLASSES 1000u

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* --- vtables as a C++ compiler makes them, all in data that is copied --- */

static char family_name[] = "N10__cxxabiv117__class_type_infoE";
static char names[CLASSES][8] = { "4C000" };
static const void *family_info[2] = { NULL, family_name };
static const void *family[3] = { NULL, family_info, NULL };
static const void *infos[CLASSES][2] = { { &family[2], names[0] } };
static const void *vtables[CLASSES][3] = { { NULL, infos[0], NULL } };

static void make_classes(void)
{
	for (unsigned i = 0; i < CLASSES; i++) {
		snprintf(names[i], sizeof(names[i]), "4C%03u", i);
		infos[i][0] = &family[2];
		infos[i][1] = names[i];
		vtables[i][1] = infos[i];
	}
}

/* Allocate the blocks; then wait until the other end of @stop is closed. */
static void hold(size_t n, int ready, int stop)
{
	const size_t all = n + n / 7;
	char **blocks =
		mmap(NULL, all * sizeof(*blocks), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t rng = 88172645463325252u;
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, 9);
	if (blocks == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < all; i++) {
		rng ^= rng << 13;
		rng ^= rng >> 7;
		rng ^= rng << 17;
		blocks[i] = malloc(8 + rng % 152);
		if (!blocks[i])
			die("malloc");
		*blocks[i] = 1;
		if (i % 3 == 0)
			*(const void **)(void *)blocks[i] = &vtables[i / 3 % CLASSES][2];
	}
	for (size_t i = 0; i < all; i += 8)
		free(blocks[i]);
	munmap(blocks, all * sizeof(*blocks));
	if (write(ready, &byte, 1) != 1 || read(stop, &byte, 1) != 0)
		_exit(1);
	_exit(0);
}

static void copy_mapping(struct snapshot *s, pid_t pid, const struct mapping *m)
{
	const size_t n = m->hi - m->lo;
	char *to = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (to == MAP_FAILED)
		die("mmap");
	for (size_t done = 0; done < n;) {
		const size_t part = n - done < 1 << 28 ? n - done : 1 << 28;
		struct iovec here = { to + done, part }, there = { (void *)(m->lo + done), part };

		if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)part)
			die("process_vm_readv");
		done += part;
	}
	if (snapshot_own(s, to, n) < 0 || snapshot_add_piece(s, m->lo, n, to) < 0)
		die("snapshot");
}

static void copy(struct snapshot *s, pid_t pid)
{
	struct snapshot_thread t = { .tid = pid, .known = true };
	char path[64];

	snapshot_init(s);
	/* after a fork its value is the same as ours; the thread waits in read */
	syscall(SYS_arch_prctl, ARCH_GET_FS, &t.regs.fs_base);
	t.regs.orig_rax = SYS_read;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	if (snapshot_add_thread(s, &t) < 0 || procmaps_read(path, &s->maps) < 0)
		die(path);
	for (size_t i = 0; i < s->maps.n; i++)
		if (s->maps.maps[i].perms & MAPPING_WRITE && s->maps.maps[i].perms & MAPPING_READ &&
		    !(s->maps.maps[i].perms & MAPPING_SHARED))
			copy_mapping(s, pid, &s->maps.maps[i]);
	if (snapshot_seal(s) < 0)
		die("seal");
}

/* The peak memory of this process, in bytes. */
static double most_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_maxrss * 1024;
}

/* Returns seconds; in @found how many blocks have a class. */
static double measure_classes(const struct snapshot *s, const struct census *c, size_t *found)
{
	const double began = now(CLOCK_MONOTONIC);
	struct classify *classes;

	*found = 0;
	if (classify_new(s, NULL, &classes) < 0)
		die("classes");
	for (size_t i = 0; i < c->nblocks; i++) {
		uint32_t class;

		if (classify_block(classes, c->blocks[i].addr, c->blocks[i].size, &class) < 0)
			die("classes");
		*found += class != CLASS_NONE;
	}
	classify_free(classes);
	return now(CLOCK_MONOTONIC) - began;
}

int main(int argc, char **argv)
{
	const size_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000000;
	const int rounds = argc > 2 ? atoi(argv[2]) : 3;
	int ready[2], stop[2];
	struct snapshot s;
	char byte;
	pid_t pid;

	if (pipe(ready) || pipe(stop))
		die("pipe");
	make_classes();
	pid = fork();
	if (pid == 0) {
		close(stop[1]);
		hold(n, ready[1], stop[0]);
	}
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		die("child");
	copy(&s, pid);
	printf("{\"rounds\": [");
	for (int i = 0; i < rounds; i++) {
		const double before = most_memory(), began = now(CLOCK_MONOTONIC),
			     began_cpu = now(CLOCK_PROCESS_CPUTIME_ID);
		struct census c;

		if (census_take(&s, &c) < 0 || !census_adds_up(&c))
			die("census");
		printf("%s{\"seconds\": %.4f, \"cpu_seconds\": %.4f}", i ? ", " : "",
		       now(CLOCK_MONOTONIC) - began, now(CLOCK_PROCESS_CPUTIME_ID) - began_cpu);
		if (i == rounds - 1)
			printf("], \"blocks\": %zu, \"free\": %" PRIu64, c.nblocks, c.arenas[0].bins.blocks);
		if (i == 0 && rounds == 1)
			printf(", \"bytes_a_block\": %.2f", (most_memory() - before) / (double)c.nblocks);
		if (i == rounds - 1) {
			size_t found;
			const double seconds = measure_classes(&s, &c, &found);

			printf(", \"classes\": %.4f, \"objects\": %zu", seconds, found);
		}
		census_fini(&c);
	}
	puts("}");
	snapshot_fini(&s);
	close(stop[1]);
	waitpid(pid, NULL, 0);
	return 0;
}
