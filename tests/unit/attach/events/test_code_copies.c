/* SPDX-License-Identifier: MIT */
/* Our own process: a page of a file's code is written to from outside, as the keeper does it. */
#include "attach/events/code_copies.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdio.h"

#define PAGE 4096u

static uint64_t copies_now(void)
{
	char *maps;
	size_t n;
	uint64_t bytes;

	assert_int_equal(read_whole_file("/proc/self/maps", 1u << 24, &maps, &n), 0);
	bytes = code_copies(getpid(), maps);
	free(maps);
	return bytes;
}

/* The same byte is written back. */
static void touch(const uint8_t *at)
{
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	assert_true(mem >= 0);
	assert_int_equal(pwrite(mem, at, 1, (off_t)(uintptr_t)at), 1);
	close(mem);
}

static uint8_t *map(int prot)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 3 * PAGE, prot, MAP_PRIVATE, fd, 0);

	assert_true(at != MAP_FAILED);
	close(fd);
	return at;
}

static void pages_that_were_written_to(void **state)
{
	uint8_t *code = map(PROT_READ | PROT_EXEC), *data = map(PROT_READ);
	const uint64_t before = copies_now();

	(void)state;
	(void)*(volatile uint8_t *)code;	/* it is there, and the file's */
	assert_int_equal(copies_now(), before);
	touch(code);
	assert_int_equal(copies_now(), before + PAGE);
	touch(code + 5);
	assert_int_equal(copies_now(), before + PAGE);
	touch(code + 2 * PAGE);
	assert_int_equal(copies_now(), before + 2 * PAGE);
	touch(data);	/* no code */
	assert_int_equal(copies_now(), before + 2 * PAGE);
	munmap(code, 3 * PAGE);
	assert_int_equal(copies_now(), before);
	munmap(data, 3 * PAGE);
}

static void nothing_to_read(void **state)
{
	(void)state;
	assert_int_equal(code_copies(getpid(), ""), 0);
	assert_int_equal(code_copies(getpid(), "no mappings\n"), 0);
	assert_int_equal(code_copies(0x7fffffff, "1000-2000 r-xp 0 fe:00 1 /x\n"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_that_were_written_to),
		cmocka_unit_test(nothing_to_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
