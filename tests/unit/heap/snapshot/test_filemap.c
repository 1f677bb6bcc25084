/* SPDX-License-Identifier: MIT */
/* filemap: files that are truncated while they are read; signals that are not ours. */
#include "heap/snapshot/filemap.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096u
#define PAGES 16u

/* Each page is full of its number, from 1 on. */
static int make(void)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	char page[PAGE];

	assert_true(fd >= 0);
	for (unsigned i = 0; i < PAGES; i++) {
		memset(page, (int)i + 1, sizeof(page));
		assert_int_equal(pwrite(fd, page, PAGE, (off_t)i * PAGE), PAGE);
	}
	return fd;
}

static volatile uint8_t *open_it(int fd)
{
	void *p;

	assert_int_equal(filemap_open(fd, PAGES * PAGE, &p), 0);
	return p;
}

static void test_whole(void **state)
{
	cleanup_close int fd = make();
	volatile uint8_t *p = open_it(fd);

	(void)state;
	for (unsigned i = 0; i < PAGES; i++)
		assert_int_equal(p[i * PAGE + 17], i + 1);
	assert_false(filemap_failed((void *)p));
	filemap_close((void *)p, PAGES * PAGE);
}

static void test_cut(void **state)
{
	cleanup_close int fd = make(), other = make();
	volatile uint8_t *p = open_it(fd), *q = open_it(other);

	(void)state;
	assert_int_equal(ftruncate(fd, 5 * PAGE), 0);
	assert_int_equal(p[4 * PAGE], 5);
	assert_false(filemap_failed((void *)p));
	assert_int_equal(p[9 * PAGE + 100], 0);
	assert_true(filemap_failed((void *)p));
	assert_int_equal(p[4 * PAGE], 5);
	assert_int_equal(p[7 * PAGE], 0);
	assert_int_equal(p[PAGES * PAGE - 1], 0);
	assert_false(filemap_failed((void *)q));
	assert_int_equal(q[9 * PAGE], 10);
	filemap_close((void *)p, PAGES * PAGE);
	assert_int_equal(q[15 * PAGE], 16);
	filemap_close((void *)q, PAGES * PAGE);
}

static void *sum(void *arg)
{
	volatile uint8_t *p = arg;
	uintptr_t total = 0;

	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < PAGES * PAGE; i += 512)
			total += p[i];
	}
	return (void *)total;
}

/* All threads reach the end of the file at about the same time. */
static void test_cut_under_threads(void **state)
{
	(void)state;
	for (int round = 0; round < 20; round++) {
		cleanup_close int fd = make();
		volatile uint8_t *p = open_it(fd);
		pthread_t all[4];

		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&all[i], NULL, sum, (void *)p), 0);
		assert_int_equal(ftruncate(fd, 3 * PAGE), 0);
		for (int i = 0; i < 4; i++)
			assert_int_equal(pthread_join(all[i], NULL), 0);
		(void)sum((void *)p);
		assert_true(filemap_failed((void *)p));
		assert_int_equal(p[2 * PAGE], 3);
		filemap_close((void *)p, PAGES * PAGE);
	}
}

/* Runs @run in a child; returns the signal that ended it. */
static int ends_with(void (*run)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGBUS, SIG_DFL);
		run();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void read_another_file(void)
{
	int fd = make(), other = make();
	volatile uint8_t *p = open_it(fd);
	volatile uint8_t *q = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE, other, 0);

	if (ftruncate(other, 0) || p[0] != 1)
		_exit(0);
	(void)q[PAGE];
}

static void be_sent_one(void)
{
	(void)open_it(make());
	kill(getpid(), SIGBUS);
}

static void test_others_are_not_ours(void **state)
{
	(void)state;
	assert_int_equal(ends_with(read_another_file), SIGBUS);
	assert_int_equal(ends_with(be_sent_one), SIGBUS);
}

static void test_refused(void **state)
{
	cleanup_close int fd = make();
	void *p;

	(void)state;
	assert_int_equal(filemap_open(-1, PAGE, &p), -EBADF);
	assert_int_equal(filemap_open(fd, 0, &p), -EINVAL);
}

/* Entries are released: more files than there are entries, one after another. */
static void test_many(void **state)
{
	cleanup_close int fd = make();

	(void)state;
	for (int i = 0; i < 10000; i++) {
		volatile uint8_t *p = open_it(fd);

		assert_int_equal(p[PAGE], 2);
		filemap_close((void *)p, PAGES * PAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: it forks, before a handler is installed */
		cmocka_unit_test(test_others_are_not_ours),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_under_threads),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
