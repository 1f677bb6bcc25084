/* SPDX-License-Identifier: MIT */
/*
 * filemap: see filemap.h. The signal handler reads the table without a lock, so the address of an element is
 * stored last.
 */
#include "heap/snapshot/filemap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#define MAPS_MAX 4096
#define PAGE 4096u

static struct {
	_Atomic uintptr_t lo;		/* 0: free */
	_Atomic size_t size;
	atomic_bool failed;
} maps[MAPS_MAX];

static atomic_size_t used;		/* no element from here on was ever used */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction before;

static size_t find(uintptr_t at)
{
	size_t n = atomic_load(&used);

	for (size_t i = 0; i < n; i++) {
		uintptr_t lo = atomic_load(&maps[i].lo);

		if (lo && at >= lo && at - lo < atomic_load(&maps[i].size))
			return i;
	}
	return MAPS_MAX;
}

/* Replaces the mapping by zeros, from the page of @at on. */
static bool put_zeros(size_t i, uintptr_t at)
{
	uintptr_t lo = atomic_load(&maps[i].lo), page = at & ~(uintptr_t)(PAGE - 1);
	size_t n = lo + atomic_load(&maps[i].size) - page;

	atomic_store(&maps[i].failed, true);
	return mmap((void *)page, n, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/*
 * A signal for other memory goes to the previous handler: the instruction is run again, or the signal sent
 * again.
 */
static void on_bus_error(int sig, siginfo_t *info, void *context)
{
	int keep = errno;
	size_t i = info->si_code > 0 ? find((uintptr_t)info->si_addr) : MAPS_MAX;

	(void)context;
	if (i == MAPS_MAX || !put_zeros(i, (uintptr_t)info->si_addr)) {
		sigaction(sig, &before, NULL);
		if (info->si_code <= 0)
			raise(sig);
	}
	errno = keep;
}

/* Checked each time: other code may have replaced our handler. */
static int handle(void)
{
	struct sigaction sa = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_RESTART }, now;

	if (sigaction(SIGBUS, NULL, &now))
		return -errno;
	if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_bus_error)
		return 0;
	before = now;
	sigemptyset(&sa.sa_mask);
	return sigaction(SIGBUS, &sa, NULL) ? -errno : 0;
}

static int enter(void *memory, size_t size)
{
	size_t i = 0;
	int err = handle();

	if (err)
		return err;
	while (i < MAPS_MAX && atomic_load(&maps[i].lo))
		i++;
	if (i == MAPS_MAX)
		return -EMFILE;
	atomic_store(&maps[i].size, size);
	atomic_store(&maps[i].failed, false);
	atomic_store(&maps[i].lo, (uintptr_t)memory);
	if (i == atomic_load(&used))
		atomic_store(&used, i + 1);
	return 0;
}

int filemap_open(int fd, size_t size, void **out)
{
	void *p = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	int err;

	if (p == MAP_FAILED)
		return -errno;
	pthread_mutex_lock(&lock);
	err = enter(p, size);
	pthread_mutex_unlock(&lock);
	if (err) {
		munmap(p, size);
		return err;
	}
	*out = p;
	return 0;
}

void filemap_close(void *memory, size_t size)
{
	size_t i;

	pthread_mutex_lock(&lock);
	i = find((uintptr_t)memory);
	if (i < MAPS_MAX)
		atomic_store(&maps[i].lo, 0);
	pthread_mutex_unlock(&lock);
	munmap(memory, size);
}

bool filemap_failed(const void *memory)
{
	size_t i = find((uintptr_t)memory);

	return i < MAPS_MAX && atomic_load(&maps[i].failed);
}
