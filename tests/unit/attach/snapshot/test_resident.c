/* SPDX-License-Identifier: MIT */
/*
 * resident, copy_plan, copy_run: which pages are resident, by both queries; which pages of a mapping are
 * copied. On our own memory.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/snapshot/copy_plan.h"
#include "attach/snapshot/copy_run.h"
#include "attach/snapshot/resident.h"

#define PAGE 4096u
#define PAGES 3000u
#define RUNS 4096u

static uint8_t *map(size_t pages)
{
	uint8_t *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(p != MAP_FAILED);
	madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
	return p;
}

/* All runs of [lo, hi), neighbours joined, asked for @room runs and @max pages at a time. */
static size_t runs_of(struct resident *r, taddr lo, taddr hi, bool written, size_t room, uint64_t max,
		      struct resident_run *out)
{
	struct resident_run some[RUNS];
	size_t n = 0;

	for (taddr at = lo; at < hi;) {
		taddr before = at;
		int got = resident_next(r, &at, hi, written, max, some, room);

		assert_true(got >= 0);
		assert_true(at > before && at <= hi);
		for (int i = 0; i < got; i++) {
			assert_true(some[i].lo >= before && some[i].hi <= at);
			if (n && out[n - 1].hi == some[i].lo && out[n - 1].swapped == some[i].swapped)
				out[n - 1].hi = some[i].hi;
			else
				out[n++] = some[i];
			assert_true(n < RUNS);
		}
	}
	return n;
}

/*
 * Pages touched at random: the runs have every one of them, and no other, however much is asked for at once.
 */
static void touched_pages(void **state)
{
	static const struct {
		size_t room;
		uint64_t max;
	} ways[] = { { RUNS, PAGES }, { 1, PAGES }, { 3, 7 }, { RUNS, 1 }, { 1024, 2048 } };
	static struct resident_run runs[RUNS];
	static bool there[PAGES];
	struct resident r;
	uint8_t *p = map(PAGES);
	uint32_t rng = 7;

	(void)state;
	for (size_t i = 0; i < PAGES; i++) {
		rng = rng * 1664525 + 1013904223;
		there[i] = (i / 500) % 3 == 0 || (i / 500 % 3 == 1 && rng >> 31);
		if (there[i])
			p[i * PAGE] = 1;
	}
	assert_int_equal(resident_open(&r, getpid()), 0);
	for (int scan = r.scan; scan >= 0; scan--)
		for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++) {
			size_t n, i = 0, seen = 0;

			r.scan = scan;
			n = runs_of(&r, (taddr)(uintptr_t)p, (taddr)(uintptr_t)p + PAGES * PAGE, false,
				    ways[w].room, ways[w].max, runs);
			for (size_t k = 0; k < PAGES; k++) {
				taddr at = (taddr)(uintptr_t)p + k * PAGE;

				while (i < n && runs[i].hi <= at)
					i++;
				assert_int_equal(i < n && runs[i].lo <= at, there[k]);
				seen += there[k];
			}
			assert_true(seen > PAGES / 3);
		}
	resident_close(&r);
	munmap(p, PAGES * PAGE);
}

/* Of a file's private mapping: all resident pages, or only those that were written. */
static void written_pages(void **state)
{
	static struct resident_run runs[RUNS];
	int fd = memfd_create("file", 0);
	struct resident r;
	volatile uint8_t *p;
	uint8_t byte = 5;

	(void)state;
	for (int i = 0; i < 16; i++)
		assert_int_equal(pwrite(fd, &byte, 1, i * PAGE), 1);
	p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(p != MAP_FAILED);
	p[3 * PAGE] = p[9 * PAGE];	/* reads map some pages around */
	assert_int_equal(resident_open(&r, getpid()), 0);
	for (int scan = r.scan; scan >= 0; scan--) {
		size_t n;

		r.scan = scan;
		n = runs_of(&r, (taddr)(uintptr_t)p, (taddr)(uintptr_t)p + 16 * PAGE, true, 64, 64, runs);
		assert_int_equal(n, 1);
		assert_int_equal(runs[0].lo, (taddr)(uintptr_t)p + 3 * PAGE);
		assert_int_equal(runs[0].hi, (taddr)(uintptr_t)p + 4 * PAGE);
		n = runs_of(&r, (taddr)(uintptr_t)p, (taddr)(uintptr_t)p + 16 * PAGE, false, 64, 64, runs);
		assert_true(n >= 1);
		assert_true(runs[n - 1].hi >= (taddr)(uintptr_t)p + 10 * PAGE);
	}
	resident_close(&r);
	munmap((void *)p, 16 * PAGE);
	close(fd);
}

/* Resident kilobytes of our mapping that begins at @p: the kernel's zero page is not counted. */
static unsigned long own_kilobytes(const volatile void *p)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	char line[512], begin[32];
	unsigned long kb = 0;
	bool in_it = false;

	assert_non_null(f);
	snprintf(begin, sizeof(begin), "%lx-", (unsigned long)(uintptr_t)p);
	while (fgets(line, sizeof(line), f)) {
		in_it |= !strncmp(line, begin, strlen(begin));
		if (in_it && sscanf(line, "Rss: %lu kB", &kb) == 1)
			break;
	}
	fclose(f);
	assert_true(in_it);
	return kb;
}

/*
 * Read, but never written: these are the kernel's zero page, which the ioctl can tell. Some kernels give each
 * page that is read a frame of its own (a 6.18 for small virtual machines): then all of them are resident, as
 * any other.
 */
static void zero_pages(void **state)
{
	struct resident_run runs[64];
	/* the first and the last without rights: so the mapping has no neighbour to join */
	uint8_t *all = map(10);
	volatile uint8_t *p = all + PAGE;
	unsigned long own;
	struct resident r;
	uint8_t sum = 0;

	(void)state;
	assert_int_equal(mprotect(all, PAGE, PROT_NONE), 0);
	assert_int_equal(mprotect(all + 9 * PAGE, PAGE, PROT_NONE), 0);
	for (int i = 0; i < 8; i++)
		sum += p[i * PAGE];
	own = own_kilobytes(p);
	assert_true(own == 0 || own == 8 * PAGE / 1024);
	p[2 * PAGE] = sum + 1;
	assert_int_equal(resident_open(&r, getpid()), 0);
	if (r.scan) {
		assert_int_equal(
			runs_of(&r, (taddr)(uintptr_t)p, (taddr)(uintptr_t)p + 8 * PAGE, false, 64, 64, runs),
			1);
		assert_int_equal(runs[0].lo, (taddr)(uintptr_t)p + (own ? 0 : 2 * PAGE));
		assert_int_equal(runs[0].hi, (taddr)(uintptr_t)p + (own ? 8 * PAGE : 3 * PAGE));
	}
	resident_close(&r);
	munmap(all, 10 * PAGE);
}

static void no_such_process(void **state)
{
	struct resident r;

	(void)state;
	assert_int_equal(resident_open(&r, 0x7fffffff), -ESRCH);
}

static enum copy_how how(const char *line)
{
	char copy[256];
	struct mapping m;

	strcpy(copy, line);
	assert_int_equal(procmaps_parse_line(copy, &m), 0);
	return copy_plan_of(&m);
}

static void which_mappings(void **state)
{
	(void)state;
	assert_int_equal(how("1000-2000 rw-p 00000000 00:00 0 "), COPY_ALL);
	assert_int_equal(how("1000-2000 rw-p 00000000 00:00 0                  [heap]"), COPY_ALL);
	assert_int_equal(how("1000-2000 rwxp 00000000 00:00 0 "), COPY_ALL);
	assert_int_equal(how("1000-2000 rw-p 00001000 fe:01 77 /usr/lib/libc.so.6"), COPY_ALL);
	assert_int_equal(how("1000-2000 r--p 00001000 fe:01 77 /usr/lib/libc.so.6"), COPY_WRITTEN);
	assert_int_equal(how("1000-2000 r-xp 00001000 fe:01 77 /usr/lib/libc.so.6"), COPY_NOT);
	assert_int_equal(how("1000-2000 r--p 00000000 00:00 0 "), COPY_ALL);
	assert_int_equal(how("1000-2000 ---p 00000000 00:00 0 "), COPY_FORCED);
	assert_int_equal(how("1000-2000 ---p 00001000 fe:01 77 /usr/lib/libc.so.6"), COPY_NOT);
	assert_int_equal(how("1000-2000 rw-s 00000000 00:01 5 /dev/shm/x"), COPY_SHARED);
	assert_int_equal(how("1000-2000 r--s 00000000 00:01 5 /dev/zero (deleted)"), COPY_SHARED);
	assert_int_equal(how("1000-2000 ---s 00000000 00:01 5 /dev/zero (deleted)"), COPY_NOT);
	assert_int_equal(how("1000-2000 rw-s 00000000 00:01 5 /SYSV00000000 (deleted)"), COPY_SHARED);
	assert_int_equal(how("1000-2000 rw-s 00000000 00:01 5 /memfd:x (deleted)"), COPY_SHARED);
	assert_int_equal(how("1000-2000 rw-s 00000000 00:0f 5 /anon_hugepage (deleted)"), COPY_SHARED);
	assert_int_equal(how("1000-2000 rw-s 00000000 00:0f 5 /dev/hugepages/rtemap_0"), COPY_SHARED);
	assert_int_equal(how("1000-2000 rw-s 00000000 00:01 5 [anon_shmem:pool]"), COPY_SHARED);
	assert_int_equal(how("1000-2000 rw-s 00000000 fe:01 5 /var/db/data"), COPY_SHARED);
	assert_int_equal(how("1000-2000 r--s 00000000 fe:01 5 /usr/lib/gconv/gconv-modules.cache"), COPY_NOT);
	assert_int_equal(how("1000-2000 rw-s 00000000 00:06 5 /dev/dri/card0"), COPY_NOT);
	assert_int_equal(
		how("1000-2000 rw-s 00000000 00:15 5 /sys/devices/pci0000:00/0000:00:02.0/resource0"),
		COPY_NOT);
	assert_int_equal(how("1000-2000 rw-s 00000000 00:0d 5 /dmabuf:buffer"), COPY_NOT);
	assert_int_equal(how("1000-2000 rw-s 00000000 00:0e 5 anon_inode:[io_uring]"), COPY_NOT);
	assert_int_equal(how("1000-2000 rw-s 00000000 00:08 5 socket:[4711]"), COPY_NOT);
	assert_int_equal(how("1000-2000 ---p 00000000 00:06 5 /dev/mem"), COPY_NOT);
	assert_int_equal(how("1000-2000 r--p 00000000 00:00 0 [vvar]"), COPY_NOT);
	assert_int_equal(how("1000-2000 r-xp 00000000 00:00 0 [vdso]"), COPY_NOT);
	assert_int_equal(how("1000-2000 --xp 00000000 00:00 0 [vsyscall]"), COPY_NOT);
	assert_int_equal(how("1000-2000 --xp 00000000 00:00 0 [uprobes]"), COPY_NOT);
}

/*
 * Our own list of mappings: read again, it fits; more mappings than there is room for are an error, not a
 * crash.
 */
static void list_that_grows(void **state)
{
	struct copy_plan m;
	uint8_t *p;
	int r;

	(void)state;
	assert_int_equal(copy_plan_open(&m, getpid()), 0);
	assert_int_equal(copy_plan_prepare(&m), 0);
	assert_true(m.nranges > 3);
	assert_int_equal(copy_plan_read(&m), 0);
	p = map(20000);
	for (size_t i = 0; i < 20000; i += 2)
		assert_int_equal(mprotect(p + i * PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(copy_plan_read(&m), -ENOBUFS);
	r = copy_plan_prepare(&m);
	assert_int_equal(r, 0);
	assert_true(m.nmaps > 20000);
	assert_int_equal(copy_plan_read(&m), 0);
	copy_plan_close(&m);
	munmap(p, 20000 * PAGE);
}

/*
 * Shared ranges of random sizes and a budget: the smallest are chosen, as many as fit, and all others stay as
 * they were.
 */
static void shares_that_fit(void **state)
{
	struct copy_range ranges[40], left_out[40];
	struct copy_plan m = { .maps_fd = -1, .ranges = ranges, .left_out = left_out };
	uint64_t rng = 77;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		uint64_t budget = rng % 300, in = 0, out = 0, most_in = 0, least_out = UINT64_MAX;
		size_t private = 0;

		m.nranges = 40;
		m.nleft_out = 0;
		for (size_t i = 0; i < 40; i++) {
			rng = rng * 6364136223846793005u + 1442695040888963407u;
			ranges[i] = (struct copy_range){
				.lo = i * 100, .hi = i * 100 + 50, .how = rng >> 63 ? COPY_SHARED : COPY_ALL,
				.bytes = rng >> 33 & 31,
			};
			private += ranges[i].how == COPY_ALL;
		}
		(void)copy_plan_limit_shared(&m, 2 * budget);
		out = copy_plan_limit_shared(&m, budget);
		assert_int_equal(m.nranges + m.nleft_out, 40);
		for (size_t i = 0; i < m.nranges; i++) {
			private -= ranges[i].how == COPY_ALL;
			in += ranges[i].how == COPY_SHARED ? ranges[i].bytes : 0;
			most_in = ranges[i].how == COPY_SHARED && ranges[i].bytes > most_in ? ranges[i].bytes
											    : most_in;
		}
		for (size_t i = 0; i < m.nleft_out; i++) {
			assert_true(i == 0 || left_out[i - 1].lo < left_out[i].lo);
			least_out = left_out[i].bytes < least_out ? left_out[i].bytes : least_out;
			out -= left_out[i].bytes;
		}
		assert_int_equal(private, 0);
		assert_int_equal(out, 0);
		assert_true(in <= budget && most_in <= least_out);
		assert_true(!m.nleft_out || in + least_out > budget);
	}
}

/* --- copying --- */

static bool yes(void *ctx)
{
	return !ctx;
}

static struct copy_plan one_range(struct copy_range *range, taddr lo, taddr hi, enum copy_how how_)
{
	*range = (struct copy_range){ .lo = lo, .hi = hi, .how = how_ };
	return (struct copy_plan){ .maps_fd = -1, .ranges = range, .nranges = 1 };
}

/* Copy [p, p + pages) of ourselves with @extra room; returns the result of copy_run_end. */
static int copy_one_range(struct copy_plan *m, uint64_t less, void *ctx, struct snapshot *s)
{
	struct copy_size size;
	struct copy_run c;
	struct resident r;
	int err;

	snapshot_init(s);
	assert_int_equal(resident_open(&r, getpid()), 0);
	assert_int_equal(copy_run_measure(m, &r, &size), 0);
	size.bytes -= size.bytes < less ? size.bytes : less;
	assert_int_equal(copy_run_open(&c, m, &r, getpid(), &size, 0, 0), 0);
	assert_int_equal(copy_run_reserve(&c, s), 0);
	copy_run_begin(&c, -1, yes, ctx);
	err = copy_run_end(&c);
	if (err == 0) {
		copy_run_move(&c, s);
		assert_int_equal(snapshot_seal(s), 0);
	}
	copy_run_close(&c);
	resident_close(&r);
	return err;
}

static void copied_as_it_is(void **state)
{
	struct copy_range range;
	uint8_t *p = map(PAGES);
	struct snapshot s;
	struct copy_plan m =
		one_range(&range, (taddr)(uintptr_t)p, (taddr)(uintptr_t)p + PAGES * PAGE, COPY_ALL);
	uint8_t page[PAGE];

	(void)state;
	for (size_t i = 0; i < PAGES; i++)
		if (i % 7 && i / 100 % 3)
			memset(p + i * PAGE, (int)(i * 31 + 1), PAGE);
	assert_int_equal(copy_one_range(&m, 0, NULL, &s), 0);
	for (size_t i = 0; i < PAGES; i++) {
		uint64_t n;
		const uint8_t *bytes = snapshot_bytes(&s, (taddr)(uintptr_t)p + i * PAGE, &n);

		assert_int_equal(bytes != NULL, i % 7 && i / 100 % 3);
		if (bytes && n >= PAGE) {
			memset(page, (int)(i * 31 + 1), PAGE);
			assert_memory_equal(bytes, page, PAGE);
		}
	}
	snapshot_fini(&s);
	munmap(p, PAGES * PAGE);
}

static void too_much_for_the_room(void **state)
{
	struct copy_range range;
	uint8_t *p = map(PAGES);
	struct copy_plan m =
		one_range(&range, (taddr)(uintptr_t)p, (taddr)(uintptr_t)p + PAGES * PAGE, COPY_ALL);
	struct snapshot s;

	(void)state;
	memset(p, 1, PAGES * PAGE);
	assert_int_equal(copy_one_range(&m, 4u << 20, NULL, &s), -ENOBUFS);
	snapshot_fini(&s);
	assert_int_equal(copy_one_range(&m, 0, &s, &s), -ETIMEDOUT);
	snapshot_fini(&s);
	munmap(p, PAGES * PAGE);
}

/* Pages without rights among others: what cannot be read is a hole, and the rest is copied. */
static void pages_that_cannot_be_read(void **state)
{
	struct copy_range range;
	uint8_t *p = map(PAGES);
	struct copy_plan m =
		one_range(&range, (taddr)(uintptr_t)p, (taddr)(uintptr_t)p + PAGES * PAGE, COPY_ALL);
	struct snapshot s;
	uint64_t word;

	(void)state;
	memset(p, 1, PAGES * PAGE);
	assert_int_equal(mprotect(p + 10 * PAGE, PAGE, PROT_NONE), 0);
	assert_int_equal(mprotect(p + 20 * PAGE, 3 * PAGE, PROT_NONE), 0);
	assert_int_equal(mprotect(p, PAGE, PROT_NONE), 0);
	assert_int_equal(copy_one_range(&m, 0, NULL, &s), 0);
	assert_int_equal(s.missing, 5 * PAGE);
	assert_int_equal(s.bytes, (PAGES - 5) * PAGE);
	for (size_t i = 0; i < PAGES; i++) {
		bool gone = i == 0 || i == 10 || (i >= 20 && i < 23);

		assert_int_equal(snapshot_word(&s, (taddr)(uintptr_t)p + i * PAGE, &word),
				 gone ? -EFAULT : 0);
		assert_true(gone || word == 0x0101010101010101);
	}
	snapshot_fini(&s);
	munmap(p, PAGES * PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(touched_pages),
		cmocka_unit_test(written_pages),
		cmocka_unit_test(zero_pages),
		cmocka_unit_test(no_such_process),
		cmocka_unit_test(which_mappings),
		cmocka_unit_test(list_that_grows),
		cmocka_unit_test(shares_that_fit),
		cmocka_unit_test(copied_as_it_is),
		cmocka_unit_test(too_much_for_the_room),
		cmocka_unit_test(pages_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
