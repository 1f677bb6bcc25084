/* SPDX-License-Identifier: MIT */
/* procmaps: lines as the kernel writes them, paths as only an attacker chooses them, and our own. */
#include "base/procmaps.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

static void parse(const char *text, char *buf, size_t n, struct mapping *m)
{
	snprintf(buf, n, "%s", text);
	assert_int_equal(procmaps_parse_line(buf, m), 0);
}

static void test_line_of_a_file(void **state)
{
	struct mapping m;
	char buf[256];

	(void)state;
	parse("7f1c0a226000-7f1c0a37c000 r-xp 00026000 fe:1a 131234                     /usr/lib/libc.so.6",
	      buf, sizeof(buf), &m);
	assert_int_equal(m.lo, 0x7f1c0a226000);
	assert_int_equal(m.hi, 0x7f1c0a37c000);
	assert_int_equal(m.perms, MAPPING_READ | MAPPING_EXEC);
	assert_int_equal(m.offset, 0x26000);
	assert_int_equal(m.dev, makedev(0xfe, 0x1a));
	assert_int_equal(m.ino, 131234);
	assert_string_equal(m.path, "/usr/lib/libc.so.6");
}

static void test_line_without_file(void **state)
{
	struct mapping m;
	char buf[256];

	(void)state;
	parse("7ffd1000-7ffd2000 rw-p 00000000 00:00 0 ", buf, sizeof(buf), &m);
	assert_string_equal(m.path, "");
	assert_int_equal(m.ino, 0);
	parse("00400000-00401000 ---s 00000000 00:00 0", buf, sizeof(buf), &m);
	assert_string_equal(m.path, "");
	assert_int_equal(m.perms, MAPPING_SHARED);
	parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]", buf,
	      sizeof(buf), &m);
	assert_int_equal(m.lo, 0xffffffffff600000);
	assert_string_equal(m.path, "[vsyscall]");
}

static void test_hostile_names(void **state)
{
	struct mapping m;
	char buf[256];

	(void)state;
	parse("1000-2000 r-xp 00000000 08:01 7 /tmp/a b  c ", buf, sizeof(buf), &m);
	assert_string_equal(m.path, "/tmp/a b  c ");
	parse("1000-2000 r-xp 00000000 08:01 7 /tmp/x\\0121000-2000 rwxp\\012", buf, sizeof(buf), &m);
	assert_string_equal(m.path, "/tmp/x\n1000-2000 rwxp\n");
	parse("1000-2000 r-xp 00000000 08:01 7 /tmp/\\01\\011\\\\012\033[2J\x80\xff", buf, sizeof(buf), &m);
	assert_string_equal(m.path, "/tmp/\\01\\011\\\n\033[2J\x80\xff");
	parse("1000-2000 r-xp 00000000 08:01 7 /tmp/x (deleted)", buf, sizeof(buf), &m);
	assert_string_equal(m.path, "/tmp/x (deleted)");
}

static void test_lines_that_are_none(void **state)
{
	static const char *const bad[] = {
		"", "x", "1000", "1000-", "1000-2000", "1000-2000 ", "1000-2000 r", "1000-2000 rwxp",
		"1000-2000 rwxq 0 0:0 0", "1000-2000 rwxp 0", "1000-2000 rwxp 0 0", "1000-2000 rwxp 0 0:0",
		"1000-2000 rwxp 0 0:0 ", "1000-2000 rwxp 0 0:0 x", "1000-2000 rwxp 0 0:0 5x",
		"2000-1000 r--p 0 0:0 0", "1000-1000 r--p 0 0:0 0", "-1000-2000 r--p 0 0:0 0",
		"1000-2000 r-p 0 0:0 0", "1000-fffffffffffffffff r--p 0 0:0 0", " 1000-2000 r--p 0 0:0 0",
	};
	struct mapping m;
	char buf[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(buf, sizeof(buf), "%s", bad[i]);
		if (procmaps_parse_line(buf, &m) != -EINVAL)
			fail_msg("accepted: '%s'", bad[i]);
	}
}

static void test_text(void **state)
{
	static const char text[] = "1000-2000 r--p 00000000 08:01 7 /a\n"
				   "2000-4000 r-xp 00001000 08:01 7 /a\n"
				   "8000-9000 rw-p 00000000 00:00 0 [heap]";
	struct procmaps pm;

	(void)state;
	assert_int_equal(procmaps_parse(text, sizeof(text) - 1, &pm), 0);
	assert_int_equal(pm.n, 3);
	assert_ptr_equal(procmaps_find(&pm, 0x1000), &pm.maps[0]);
	assert_ptr_equal(procmaps_find(&pm, 0x1fff), &pm.maps[0]);
	assert_ptr_equal(procmaps_find(&pm, 0x2000), &pm.maps[1]);
	assert_null(procmaps_find(&pm, 0xfff));
	assert_null(procmaps_find(&pm, 0x4000));
	assert_ptr_equal(procmaps_find(&pm, 0x8fff), &pm.maps[2]);
	assert_null(procmaps_find(&pm, 0x9000));
	assert_string_equal(pm.maps[2].path, "[heap]");
	procmaps_fini(&pm);
}

static void test_text_that_is_none(void **state)
{
	static const char nul[] = "1000-2000 r--p 0 8:1 7 /a\0/b\n2000-3000 r--p 0 8:1 7 /c\n";
	static const char blank[] = "1000-2000 r--p 0 8:1 7 /a\n\n2000-3000 r--p 0 8:1 7 /c\n";
	struct procmaps pm;

	(void)state;
	assert_int_equal(procmaps_parse(nul, sizeof(nul) - 1, &pm), -EINVAL);
	assert_int_equal(procmaps_parse(blank, sizeof(blank) - 1, &pm), -EINVAL);
	assert_int_equal(procmaps_parse("", 0, &pm), 0);
	assert_int_equal(pm.n, 0);
	assert_null(procmaps_find(&pm, 0));
	procmaps_fini(&pm);
}

static void test_our_own(void **state)
{
	struct procmaps pm;
	const struct mapping *m;
	void *p = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(procmaps_read("/proc/self/maps", &pm), 0);
	m = procmaps_find(&pm, (uintptr_t)test_our_own);
	assert_non_null(m);
	assert_true(m->perms & MAPPING_EXEC);
	assert_non_null(strstr(m->path, "test_procmaps"));
	m = procmaps_find(&pm, (uintptr_t)p + 4096);
	assert_non_null(m);
	assert_int_equal(m->perms & (MAPPING_READ | MAPPING_WRITE | MAPPING_EXEC), MAPPING_READ);
	procmaps_fini(&pm);
	assert_int_equal(procmaps_read("/proc/2147483647/maps", &pm), -ESRCH);
	munmap(p, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_of_a_file),
		cmocka_unit_test(test_line_without_file),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_lines_that_are_none),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_that_is_none),
		cmocka_unit_test(test_our_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
