/* SPDX-License-Identifier: MIT */
#include "attach/snapshot/copy_buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "attach/snapshot/memory_limit.h"
#include "base/cleanup.h"

#define PAGE 4096u
#define TRIAL_BYTES (16u << 20)
#define SPEED_GUESS 1e9		/* if it cannot be measured */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

uint64_t copy_buffer_spent_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Map so many bytes, aligned to a large page. */
static uint8_t *map(uint64_t bytes)
{
	uint8_t *all = mmap(NULL, bytes + COPY_BUFFER_PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0),
		*p;

	if (all == MAP_FAILED)
		return NULL;
	p = (uint8_t *)(((uintptr_t)all + COPY_BUFFER_PAGE - 1) & ~(uintptr_t)(COPY_BUFFER_PAGE - 1));
	if (p > all)
		munmap(all, p - all);
	if (all + COPY_BUFFER_PAGE > p)
		munmap(p + bytes, all + COPY_BUFFER_PAGE - p);
	return p;
}

uint8_t *copy_buffer_make(uint64_t bytes, uint64_t *reserve)
{
	uint8_t *p = map(bytes + *reserve);

	memory_limit_offer_ourselves();
	if (!p && *reserve) {
		*reserve = 0;
		p = map(bytes);
	}
	if (!p)
		return NULL;
	/* EINVAL: a kernel without large pages */
	(void)!madvise(p, bytes, MADV_HUGEPAGE);
	if (madvise(p, bytes, MADV_POPULATE_WRITE) == 0)
		return p;
	if (errno != EINVAL) {
		munmap(p, bytes + *reserve);
		return NULL;
	}
	for (uint64_t i = 0; i < bytes; i += PAGE)
		*(volatile uint8_t *)(p + i) = 0;
	return p;
}

double copy_buffer_speed(uint8_t *room, uint64_t bytes)
{
	uint64_t n = bytes < TRIAL_BYTES ? bytes : TRIAL_BYTES, start;
	uint8_t *from = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec here = { room, n }, there = { from, n };
	double speed = SPEED_GUESS;

	if (from == MAP_FAILED)
		return speed;
	/* in small pages, as a target's mostly are: from large pages it is three times as fast */
	(void)!madvise(from, n, MADV_NOHUGEPAGE);
	memset(from, 1, n);
	start = copy_buffer_spent_ns();
	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)n)
		speed = n * 1e9 / (copy_buffer_spent_ns() - start + 1);
	munmap(from, n);
	return speed;
}
