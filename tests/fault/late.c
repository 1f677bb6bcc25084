/* SPDX-License-Identifier: MIT */
/*
 * late: preloaded into mmattach, it waits for up to 3 ms before each write of an int3, as if mmattach had
 * lost its processor just then.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define MOST_NS 3000000
#define INT3 0xcc

typedef ssize_t pwrite_call(int fd, const void *buf, size_t n, off_t offset);

static void wait_for_processor(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t = (struct timespec){ 0, t.tv_nsec % MOST_NS };
	nanosleep(&t, NULL);
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t offset)
{
	static pwrite_call *real;

	if (!real)
		real = (pwrite_call *)dlsym(RTLD_NEXT, "pwrite");
	if (n == 1 && *(const uint8_t *)buf == INT3)
		wait_for_processor();
	return real(fd, buf, n, offset);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off_t offset)
{
	return pwrite(fd, buf, n, offset);
}
