/* SPDX-License-Identifier: MIT */
#include "attach/events/processes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define STATUS                                                                                               \
	"Name:\tPPid: 9\\nPPid:\t9\nUmask:\t0022\nState:\tS "                                                \
	"(sleeping)\nTgid:\t70\nPid:\t70\nPPid:\t7\nVmRSS:\t 100 kB\n"
#define SIZES "RssAnon:\t      96 kB\nRssFile:\t    1404 kB\nRssShmem:\t       4 kB\nVmSwap:\t 8 kB\nVmSize:\t 99 kB\nThreads:\t7\n"
#define MAPS                                                                                                 \
	"5581f9f1c000-5581f9f1e000 r--p 00000000 fe:00 131 /tmp/ [heap]\n"                                   \
	"5581fb0e5000-5581fb106000 rw-p 00000000 00:00 0    [heap]\n"

/*
 * An arena of a thread; Go's heap; a mapping that is there by chance, and a line without anything behind it.
 */
#define ARENAS                                                                                               \
	"c000000000-c000400000 rw-p 00000000 00:00 0 \n"                                                     \
	"c000400000-c004000000 ---p 00000000 00:00 0 \n"                                                     \
	"7f44e8000000-7f44e8030000 rw-p 00000000 00:00 0 \n"                                                 \
	"7f44e8030000-7f44ec000000 ---p 00000000 00:00 0 \n"                                                 \
	"7f44f0000000-7f44f0010000 rw-p 00000000 00:00 0 \n"                                                 \
	"7f44f0010000-7f44f0012000 ---p 00000000 00:00 0 \n"                                                 \
	"7f44f4000000-7f44f4010000 rw-p 00000000 00:00 0 \n"

static void sizes(void **state)
{
	struct memory_point p;

	(void)state;
	assert_true(processes_parse(STATUS SIZES, NULL, &p));
	assert_int_equal(p.anonymous, 96 << 10);
	assert_int_equal(p.file, 1404 << 10);
	assert_int_equal(p.shared, 4 << 10);
	assert_int_equal(p.swapped, 8 << 10);
	assert_int_equal(p.mapped, 99 << 10);
	assert_int_equal(p.threads, 7);
	assert_int_equal(p.heap, 0);
	/* a zombie has no list of mappings */
	assert_false(processes_parse(STATUS, NULL, &p));
	assert_false(processes_parse("", NULL, &p));
}

static void heap(void **state)
{
	struct memory_point p;

	(void)state;
	assert_true(processes_parse(STATUS SIZES, MAPS, &p));
	assert_int_equal(p.heap, 0x21000);
	assert_true(processes_parse(STATUS SIZES, "", &p));
	assert_int_equal(p.heap, 0);
	assert_true(processes_parse(STATUS SIZES, MAPS ARENAS, &p));
	assert_int_equal(p.heap, 0x21000 + 0x30000);
}

static void busy(void **state)
{
	(void)state;
	assert_int_equal(processes_busy_us("7 (a) b) S 1 7 7 0 -1 4194304 5 0 0 0 150 50 0 0 20"), 2000000);
	assert_int_equal(processes_busy_us("7 (a) S 1"), 0);
	assert_int_equal(processes_busy_us(""), 0);
}

/*
 * A pid may belong to another process when its own has ended. A name cannot fake a line: the kernel writes
 * its newlines as \n.
 */
static void parent_of_child(void **state)
{
	(void)state;
	assert_true(processes_is_child(STATUS SIZES, 7));
	assert_false(processes_is_child(STATUS SIZES, 9));
	assert_false(processes_is_child(STATUS SIZES, 70));
	assert_false(processes_is_child("", 0));
	assert_false(processes_is_child("Name:\tx\nPPid:", 0));
}

static void numbers(void **state)
{
	(void)state;
	assert_int_equal(processes_threads("Name:\tx\nThreads:\t3002\nSigQ:\t0/1\n"), 3002);
	assert_int_equal(processes_threads(""), 0);
	/* a name can have any character but a zero */
	assert_int_equal(processes_parent("12 (x) S 5 (y) R 77 12 0"), 77);
	assert_int_equal(processes_parent("12 (a b) S 9 12 0"), 9);
	assert_int_equal(processes_parent("12 (a"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes), cmocka_unit_test(busy),
		cmocka_unit_test(heap),
		cmocka_unit_test(parent_of_child),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
