/* SPDX-License-Identifier: MIT */
/*
 * names: the names from real files, and that files damaged on purpose cost only names.
 *
 *	test_names print FILE [ROOT|- [debuginfod]] < addresses
 *
 * prints the answers of names_resolve for hexadecimal addresses, for tests/test_addr2line.py: a line for
 * each, with function, file and line of each frame behind tabs ("?" where not known).
 */
#include "symbolize/names.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/fdio.h"

#define SECOND UINT64_C(1000000000)
#define PRINT_MAX 1000000

static const struct names_options usual = {
	.demangle = true, .limit_ns = 20 * SECOND, .memory_bytes = UINT64_C(2) << 30,
};

struct printer {
	char **lines;
};

static void take_line(void *ctx, size_t i, const struct names_frame *frames, size_t n)
{
	struct printer *p = ctx;
	size_t size;
	FILE *f = open_memstream(&p->lines[i], &size);

	for (size_t k = 0; f && k < n; k++)
		fprintf(f, "\t%s\t%s\t%d", frames[k].function ? frames[k].function : "?",
			frames[k].file ? frames[k].file : "?", frames[k].line);
	if (f)
		fclose(f);
}

static int print(const char *path, const char *root, bool debuginfod)
{
	struct names_file file = { open(path, O_RDONLY | O_CLOEXEC), path, -1 };
	struct names_options opt = usual;
	taddr *addrs = calloc(PRINT_MAX, sizeof(*addrs));
	struct printer p = { calloc(PRINT_MAX, sizeof(char *)) };
	struct rusage used;
	char why[128];
	size_t n = 0;
	int rc;

	if (strcmp(root, "-") != 0)
		file.root = open(root, O_PATH | O_CLOEXEC);
	opt.debuginfod = debuginfod;
	while (n < PRINT_MAX && scanf("%lx", &addrs[n]) == 1)
		n++;
	rc = names_resolve(&file, &opt, addrs, n, take_line, &p, why, sizeof(why));
	for (size_t i = 0; i < n; i++)
		printf("%#lx%s\n", addrs[i], p.lines[i] ? p.lines[i] : "");
	getrusage(RUSAGE_CHILDREN, &used);
	fprintf(stderr, "%s\n%ld KiB %ld.%03ld s\n", why, used.ru_maxrss, used.ru_utime.tv_sec,
		used.ru_utime.tv_usec / 1000);
	return rc ? 1 : 0;
}

/* The answers for each address. */
struct taken {
	size_t n;
	unsigned *times, *named;
	void (*first)(void);	/* called at the first answer */
	char function[256], file[256];	/* of address 0, the function that contains the code */
	char inlined[256], linkage[256];
	int line;
};

static void keep(char *to, const char *text)
{
	snprintf(to, 256, "%s", text ? text : "?");
}

static void take(void *ctx, size_t i, const struct names_frame *frames, size_t n)
{
	struct taken *t = ctx;
	void (*first)(void) = t->first;

	assert_true(i < t->n && n >= 1);
	t->times[i]++;
	t->named[i] += frames[n - 1].function != NULL;
	if (i == 0) {
		keep(t->function, frames[n - 1].function);
		keep(t->linkage, frames[n - 1].linkage);
		keep(t->file, frames[0].file);
		keep(t->inlined, n > 1 ? frames[0].function : NULL);
		t->line = frames[0].line;
	}
	t->first = NULL;
	if (first)
		first();
}

static void new_taken(struct taken *t, size_t n, void (*first)(void))
{
	*t = (struct taken){ .n = n, .first = first };
	t->times = calloc(n + 1, sizeof(*t->times));
	t->named = calloc(n + 1, sizeof(*t->named));
	assert_non_null(t->times);
	assert_non_null(t->named);
}

/* Each address was answered once; returns how many of them have a name. No helper is left. */
static size_t end_taken(struct taken *t)
{
	size_t named = 0;

	for (size_t i = 0; i < t->n; i++) {
		assert_int_equal(t->times[i], 1);
		named += t->named[i];
	}
	free(t->times);
	free(t->named);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return named;
}

static char why[128];

static size_t resolve(int fd, const struct names_options *opt, const taddr *addrs, struct taken *t)
{
	struct names_file file = { fd, "/proc/self/exe", -1 };

	assert_int_equal(names_resolve(&file, opt, addrs, t->n, take, t, why, sizeof(why)), 0);
	return end_taken(t);
}

static int open_self(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int see_first(struct dl_phdr_info *info, size_t size, void *bias)
{
	(void)size;
	*(taddr *)bias = info->dlpi_addr;
	return 1;
}

/* The address of @p in our own file. */
static taddr own_address(const void *p)
{
	taddr bias = 0;

	dl_iterate_phdr(see_first, &bias);
	return (taddr)(uintptr_t)p - bias;
}

/* The address of its call: within the call instruction, as for a caller's frame. */
__attribute__((noipa)) static taddr call_site(void)
{
	return own_address(__builtin_return_address(0)) - 1;
}

__attribute__((always_inline)) static inline taddr inlined_sample(int *line)
{
	*line = __LINE__; return call_site();
}

__attribute__((noipa)) static taddr sample(int *line)
{
	taddr addr = inlined_sample(line);

	/* no tail call: otherwise the return address would not be in this function */
	__asm__ volatile("" : "+r"(addr));
	return addr;
}

static void names_ourselves(void **state)
{
	cleanup_close int fd = open_self();
	struct taken t;
	int line;
	taddr addr = sample(&line);

	(void)state;
	new_taken(&t, 1, NULL);
	assert_int_equal(resolve(fd, &usual, &addr, &t), 1);
	assert_string_equal(why, "");
	assert_string_equal(t.function, "sample");
	assert_string_equal(t.linkage, "?");
	assert_string_equal(t.inlined, "inlined_sample");
	assert_non_null(strstr(t.file, "tests/unit/symbolize/test_names.c"));
	assert_int_equal(t.line, line);
}

__attribute__((noipa)) static taddr with_other_symbol(int *line)
{
	return sample(line) + *line;
}

/* Of two symbols the global one is used. */
extern taddr known_to_linker(int *line) __attribute__((alias("with_other_symbol")));

extern int mangled(int n) __asm__("_ZN4shop3putEi");
__attribute__((noipa)) int mangled(int n)
{
	return n;
}

static void check_linkage(taddr addr, const char *function, const char *linkage)
{
	cleanup_close int fd = open_self();
	struct taken t;

	new_taken(&t, 1, NULL);
	assert_int_equal(resolve(fd, &usual, &addr, &t), 1);
	assert_string_equal(t.function, function);
	assert_string_equal(t.linkage, linkage);
}

static void linkage_names(void **state)
{
	(void)state;
	check_linkage(own_address((const void *)with_other_symbol), "with_other_symbol", "known_to_linker");
	check_linkage(own_address((const void *)mangled), "shop::put(int)", "_ZN4shop3putEi");
}

/* @n addresses from the beginning of our code, whatever is there. */
static taddr *own_addresses(size_t n)
{
	taddr *addrs = calloc(n + 1, sizeof(*addrs)),
	      start = own_address((const void *)&own_addresses) & ~0xffful;

	assert_non_null(addrs);
	for (size_t i = 0; i < n; i++)
		addrs[i] = start + i % 8192;
	return addrs;
}

static void nothing_asked(void **state)
{
	cleanup_close int fd = open_self();
	struct taken t;

	(void)state;
	new_taken(&t, 0, NULL);
	assert_int_equal(resolve(fd, &usual, NULL, &t), 0);
}

static void check_no_file(int fd)
{
	static const taddr addrs[] = { 0, 0x1000, UINT64_MAX };
	struct taken t;

	new_taken(&t, 3, NULL);
	assert_int_equal(resolve(fd, &usual, addrs, &t), 0);
	assert_string_equal(why, "it cannot be read as an ELF file");
}

static void no_elf_files(void **state)
{
	cleanup_close int text = memfd_create("text", MFD_CLOEXEC), folder = open("/", O_RDONLY | O_CLOEXEC),
			  end = -1;
	int fds[2];

	(void)state;
	assert_int_equal(write_full(text, "no ELF file", 11), 0);
	check_no_file(text);
	check_no_file(folder);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	end = fds[1];
	check_no_file(fds[0]);
	close(fds[0]);
	check_no_file(-1);
}

static const struct names_options quick = {
	.demangle = true, .limit_ns = SECOND, .memory_bytes = UINT64_C(2) << 30,
};

/* Send @sig to our only child: the helper. */
static void signal_helper(int sig)
{
	cleanup_free char *text = NULL;
	char path[64];
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	if (read_whole_file(path, 4096, &text, &n) == 0 && n)
		kill(atoi(text), sig);
}

static void stop_helper(void)
{
	signal_helper(SIGSTOP);
}

static void crash_helper(void)
{
	signal_helper(SIGSEGV);
}

/*
 * So many that the helper cannot have answered all: the pipe is full long before. A second helper answers the
 * rest, from symbols.
 */
#define MANY 50000

static void helper_fails(void (*how)(void), const char *reason)
{
	cleanup_close int fd = open_self();
	cleanup_free taddr *addrs = own_addresses(MANY);
	struct taken t;
	size_t all;

	new_taken(&t, MANY, NULL);
	all = resolve(fd, &usual, addrs, &t);
	assert_true(all > MANY / 2);
	assert_string_equal(why, "");
	new_taken(&t, MANY, how);
	assert_int_equal(resolve(fd, &quick, addrs, &t), all);
	assert_string_equal(why, reason);
}

static void helper_hangs(void **state)
{
	(void)state;
	helper_fails(stop_helper, "reading it took too long");
}

static void helper_crashes(void **state)
{
	(void)state;
	helper_fails(crash_helper, "it is damaged: reading it ended with a crash");
}

#ifndef __SANITIZE_ADDRESS__	/* its shadow is address space too, so there is no limit */
static void no_memory(void **state)
{
	cleanup_close int fd = open_self();
	cleanup_free taddr *addrs = own_addresses(MANY);
	struct names_options opt = usual;
	struct taken t;

	(void)state;
	opt.memory_bytes = 4096;
	new_taken(&t, MANY, NULL);
	assert_int_equal(resolve(fd, &opt, addrs, &t), 0);
	assert_string_equal(why, "reading it took too much memory");
}
#endif

#define DAMAGES 300

static uint64_t below(uint64_t *seed, uint64_t n)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed % n;
}

/* Some bytes changed where headers and tables are, or anywhere. */
static void damage(int fd, size_t size, uint64_t *seed)
{
	for (uint64_t n = 1 + below(seed, 8); n; n--) {
		uint64_t whole = below(seed, size), head = below(seed, 1024),
			 tail = size - 1 - below(seed, 4096);
		uint8_t byte = (uint8_t)below(seed, 256);
		uint64_t at = n % 3 == 0 ? whole : n % 3 == 1 ? head : tail;

		if (at >= 64 || below(seed, 8) == 0)
			assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
	}
}

static void damaged(void **state)
{
	cleanup_close int fd = open_self(), copy = memfd_create("copy", MFD_CLOEXEC);
	cleanup_free taddr *addrs = own_addresses(200);
	cleanup_free char *bytes = NULL;
	uint64_t seed = 88172645463325252u;
	size_t n, named = 0;
	struct taken t;

	(void)state;
	assert_int_equal(read_whole_fd(fd, 64u << 20, &bytes, &n), 0);
	for (int i = 0; i < DAMAGES; i++) {
		assert_int_equal(pwrite(copy, bytes, n, 0), n);
		damage(copy, n, &seed);
		new_taken(&t, 200, NULL);
		named += resolve(copy, &usual, addrs, &t) > 0;
	}
	assert_true(named > DAMAGES / 4);
	assert_int_equal(ftruncate(copy, (off_t)n / 2), 0);
	new_taken(&t, 200, NULL);
	resolve(copy, &usual, addrs, &t);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_ourselves),
		cmocka_unit_test(linkage_names),
		cmocka_unit_test(nothing_asked),
		cmocka_unit_test(no_elf_files),
		cmocka_unit_test(helper_hangs),
		cmocka_unit_test(helper_crashes),
#ifndef __SANITIZE_ADDRESS__
		cmocka_unit_test(no_memory),
#endif
		cmocka_unit_test(damaged),
	};

	if (argc >= 3 && !strcmp(argv[1], "print"))
		return print(argv[2], argc > 3 ? argv[3] : "-", argc > 4);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
