/* SPDX-License-Identifier: MIT */
/*
 * remote_loads: the values that a hit reads, on our own memory: pointers of every sort, strings up to the
 * last byte of the last page.
 */
#include "attach/keeper/traps/remote_loads.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define PAGE 4096
#define SLICE 256
#define UNWRITTEN 0x5a

static struct { struct record_hit rec; uint8_t room[SLICE]; } made;
static struct record_hit *const rec = &made.rec;
static struct site_load loads[SITE_LOADS];
static uint64_t stack[SLICE / 8];
static const struct remote_loads_from nobody = { 0x3fffffff, -1 };
static struct remote_loads_from from = { .mem = -1 };
static char *page;	/* nothing is mapped behind it, nor before it */

static int setup(void **state)
{
	(void)state;
	memset(&made, UNWRITTEN, sizeof(made));
	rec->head.flags = RECORD_CLOSES;
	rec->regs.rsp = (uintptr_t)stack;
	memset(loads, 0, sizeof(loads));
	memset(page, 'x', PAGE);
	for (size_t i = 0; i < SLICE / 8; i++)
		stack[i] = 1000 + i;
	return 0;
}

static int map_pages(void **state)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	/* really unmap its neighbours: /proc/PID/mem also reads memory that is only protected */
	if (p == MAP_FAILED || mprotect(p + PAGE, PAGE, PROT_READ | PROT_WRITE) || munmap(p, PAGE) ||
	    munmap(p + 2 * PAGE, PAGE))
		return -1;
	page = p + PAGE;
	return 0;
}

static void set(uint32_t i, uint8_t base, uint8_t width, int32_t disp)
{
	loads[i] = (struct site_load){ .base = base, .width = width, .disp = disp };
}

static void argument(int n, const void *value)
{
	rec->args[n - 1] = (uintptr_t)value;
}

static void run(uint32_t want)
{
	assert_int_equal(remote_loads_read(from, loads, NULL, want, rec), 0);
}

static void assert_stack(uint32_t len)
{
	assert_int_equal(rec->slice_len, len);
	assert_memory_equal(rec->slice, stack, len);
}

/* A field that is not asked for is not written. */
static void nothing(void **state)
{
	(void)state;
	run(0);
	assert_int_equal(rec->loads_read | rec->loads_null | rec->slice_len, 0);
	assert_int_equal(rec->head.flags, RECORD_CLOSES);
	for (size_t i = 0; i < sizeof(rec->loads); i++)
		assert_int_equal(((uint8_t *)rec->loads)[i], UNWRITTEN);
	assert_int_equal(rec->text[0], UNWRITTEN);
	run(SLICE);
	assert_stack(SLICE);
}

static void widths(void **state)
{
	static const uint8_t bytes[] = { 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0xf8, 0x11 };

	(void)state;
	argument(2, bytes);
	set(0, SITE_BASE_ARG1 + 1, 1, 0);
	set(1, SITE_BASE_ARG1 + 1, 2, 0);
	set(2, SITE_BASE_ARG1 + 1, 4, 0);
	set(3, SITE_BASE_ARG1 + 1, 8, 0);
	set(4, SITE_BASE_ARG1 + 1, 1, 8);
	run(SLICE);
	assert_int_equal(rec->loads_read, 0x1f);
	assert_int_equal(rec->loads[0], 0xff);
	assert_int_equal(rec->loads[1], 0xfeff);
	assert_int_equal(rec->loads[2], 0xfcfdfeff);
	assert_true(rec->loads[3] == 0xf8f9fafbfcfdfeffu);
	assert_int_equal(rec->loads[4], 0x11);
	assert_stack(SLICE);
}

static void addresses(void **state)
{
	static uint64_t table[16];
	uint64_t result = (uintptr_t)&table[4];

	(void)state;
	for (size_t i = 0; i < 16; i++)
		table[i] = i * i;
	argument(1, table);
	rec->args[5] = 3;
	loads[0] = (struct site_load){ SITE_BASE_ARG1, SITE_BASE_ARG6, 8, 8, 16 };
	set(1, SITE_BASE_RESULT, 8, -8);
	assert_int_equal(remote_loads_read(from, loads, &result, 0, rec), 0);
	assert_int_equal(rec->loads_read, 3);
	assert_int_equal(rec->loads[0], 25);
	assert_int_equal(rec->loads[1], 9);
	/* an index may be negative */
	rec->args[5] = (uint64_t)-1;
	run(0);
	assert_int_equal(rec->loads[0], 1);
	/* at an entry there is no result yet */
	assert_int_equal(rec->loads_read, 1);
	assert_int_equal(rec->loads_null, 0);
}

static void chains(void **state)
{
	static struct { uint64_t n; const void *next; const char *name; } a, b, c;

	(void)state;
	a.next = &b;
	b.next = &c;
	c.name = "the third";
	c.n = 33;
	argument(1, &a);
	set(0, SITE_BASE_ARG1, 8, 8);
	set(1, SITE_BASE_LOAD0, 8, 8);
	set(2, SITE_BASE_LOAD0 + 1, 8, 16);
	set(3, SITE_BASE_LOAD0 + 2, 0, 4);
	set(4, SITE_BASE_LOAD0 + 1, 8, 0);
	run(SLICE);
	assert_int_equal(rec->loads_read, 0x1f);
	assert_int_equal(rec->loads[4], 33);
	assert_string_equal(rec->text, "third");
	assert_stack(SLICE);
	/* a chain that ends early gives 0 from there on */
	b.next = NULL;
	run(SLICE);
	assert_int_equal(rec->loads_read, 3);
	assert_int_equal(rec->loads_null, 0x1c);
	assert_int_equal(rec->loads[2], 0);
	assert_int_equal(rec->loads[4], 0);
	/* a chain that leads to unmapped memory is unknown from there on */
	b.next = page + PAGE;
	run(SLICE);
	assert_int_equal(rec->loads_read, 3);
	assert_int_equal(rec->loads_null, 0);
	assert_stack(SLICE);
}

/* A value that cannot be read does not affect the others. */
static void each_for_itself(void **state)
{
	static const uint64_t there = 77;

	(void)state;
	argument(1, page + PAGE - 4);	/* half of it */
	argument(2, &there);
	argument(3, (void *)(uintptr_t)0xffff800000000000u);
	argument(4, "a string");
	argument(5, NULL);
	set(0, SITE_BASE_ARG1, 8, 0);
	set(1, SITE_BASE_ARG1 + 1, 8, 0);
	set(2, SITE_BASE_ARG1 + 2, 4, 0);
	set(3, SITE_BASE_ARG1 + 3, 0, 0);
	set(4, SITE_BASE_ARG1 + 4, 8, 64);
	run(SLICE);
	assert_int_equal(rec->loads_read, 0xa);
	assert_int_equal(rec->loads_null, 0x10);
	assert_int_equal(rec->loads[1], 77);
	assert_string_equal(rec->text, "a string");
	assert_stack(SLICE);
	assert_int_equal(rec->head.flags, RECORD_CLOSES);
}

/* A call whose beginning was not seen: the registers do not hold its arguments. */
static void arguments_of_nobody(void **state)
{
	static const uint64_t there = 77;
	uint64_t result = (uintptr_t)&there;

	(void)state;
	rec->head.flags = RECORD_STATIC;
	argument(1, NULL);
	argument(2, &there);
	set(0, SITE_BASE_ARG1, 8, 0);
	set(1, SITE_BASE_ARG1 + 1, 8, 0);
	loads[2] = (struct site_load){ SITE_BASE_RESULT, SITE_BASE_ARG1 + 1, 1, 8, 0 };
	set(3, SITE_BASE_RESULT, 8, 0);
	assert_int_equal(remote_loads_read(from, loads, &result, 0, rec), 0);
	assert_int_equal(rec->loads_read, 8);
	assert_int_equal(rec->loads_null, 0);
}

static void assert_text_at(char *at, const char *expected)
{
	argument(1, at);
	memset(rec->text, UNWRITTEN, sizeof(rec->text));
	run(SLICE);
	assert_int_equal(rec->loads_read, 1);
	assert_string_equal(rec->text, expected);
	assert_stack(SLICE);
}

static void strings(void **state)
{
	char longest[SITE_TEXT];

	(void)state;
	set(0, SITE_BASE_ARG1, 0, 0);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	/* as long as fits into a record, and longer */
	page[SITE_TEXT - 1] = '\0';
	assert_text_at(page, longest);
	page[SITE_TEXT - 1] = 'x';
	assert_text_at(page, longest);
	page[0] = '\0';
	assert_text_at(page, "");
	/* up to the last mapped byte, with a NUL and without one */
	memcpy(page + PAGE - 6, "abcde", 6);
	assert_text_at(page + PAGE - 6, "abcde");
	page[PAGE - 1] = 'f';
	assert_text_at(page + PAGE - 6, "abcdef");
	page[PAGE - 1] = '\0';
	assert_text_at(page + PAGE - 1, "");
	/* not mapped at all */
	argument(1, page + PAGE);
	run(SLICE);
	assert_int_equal(rec->loads_read, 0);
	assert_stack(SLICE);
}

static void a_string_over_two_pages(void **state)
{
	char *two = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(two != MAP_FAILED);
	set(0, SITE_BASE_ARG1, 0, 0);
	memcpy(two + PAGE - 3, "over the edge", 14);
	assert_text_at(two + PAGE - 3, "over the edge");
	munmap(two, 2 * PAGE);
}

/* Sites come from another process: whatever they contain, nothing is written outside of its field. */
static void senseless_sites(void **state)
{
	static const uint64_t there[64] = { 1 };

	(void)state;
	for (int n = 1; n <= 6; n++)
		argument(n, there);
	set(0, SITE_BASE_ARG1, 9, 0);
	set(1, SITE_BASE_ARG1, 255, 0);
	set(2, SITE_BASE_LOAD0 + 2, 8, 0);	/* depends on itself */
	set(3, SITE_BASE_LOAD0 + 4, 8, 0);	/* on a later one */
	set(4, 255, 8, 0);
	run(SLICE);
	assert_int_equal(rec->loads_read | rec->loads_null, 0);
	assert_int_equal(rec->loads[0] & 0xff, UNWRITTEN);
	assert_stack(SLICE);
	loads[0] = (struct site_load){ .base = SITE_BASE_ARG1, .index = 255, .scale = 1, .width = 8 };
	run(SLICE);
	assert_int_equal(rec->loads_read, 0);
}

static void a_stack_that_ends(void **state)
{
	static const uint64_t there = 77;

	(void)state;
	argument(1, &there);
	set(0, SITE_BASE_ARG1, 8, 0);
	rec->regs.rsp = (uintptr_t)page + PAGE - 64;
	run(SLICE);
	assert_int_equal(rec->loads[0], 77);
	assert_int_equal(rec->slice_len, 64);
	assert_true(rec->head.flags & RECORD_CUT);
	rec->regs.rsp = 0x10;
	run(SLICE);
	assert_int_equal(rec->loads_read, 1);
	assert_int_equal(rec->slice_len, 0);
}

static void a_process_that_is_gone(void **state)
{
	uint64_t word;

	(void)state;
	set(0, SITE_BASE_ARG1, 8, 0);
	argument(1, page);
	assert_int_equal(remote_loads_read(nobody, loads, NULL, SLICE, rec), 0);
	assert_int_equal(rec->loads_read | rec->slice_len, 0);
	assert_false(remote_loads_word(nobody, (uintptr_t)page, &word));
	assert_true(remote_loads_word(from, (uintptr_t)page, &word));
	assert_memory_equal(&word, page, sizeof(word));
	assert_false(remote_loads_word(from, (uintptr_t)page + PAGE - 4, &word));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing, setup),
		cmocka_unit_test_setup(widths, setup),
		cmocka_unit_test_setup(addresses, setup),
		cmocka_unit_test_setup(chains, setup),
		cmocka_unit_test_setup(each_for_itself, setup),
		cmocka_unit_test_setup(arguments_of_nobody, setup),
		cmocka_unit_test_setup(strings, setup),
		cmocka_unit_test_setup(a_string_over_two_pages, setup),
		cmocka_unit_test_setup(senseless_sites, setup),
		cmocka_unit_test_setup(a_stack_that_ends, setup),
		cmocka_unit_test_setup(a_process_that_is_gone, setup),
	};
	int failed;

	from.tid = getpid();
	failed = cmocka_run_group_tests_name("by process_vm_readv", tests, map_pages, NULL);

	from = (struct remote_loads_from){ nobody.tid, open("/proc/self/mem", O_RDONLY | O_CLOEXEC) };
	if (from.mem < 0)
		return 1;
	return failed + cmocka_run_group_tests_name("by /proc/PID/mem", tests, map_pages, NULL);
}
