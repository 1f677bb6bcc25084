/* SPDX-License-Identifier: MIT */
/*
 * memory_limit: what the kernel's files report of memory; and that there is memory for a small copy, and none
 * for one that is larger than any machine.
 */
#include "attach/snapshot/memory_limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

static void fields(void **state)
{
	const char *text = "VmRSS:\t  12 kB\nRssAnon:\t     340 kB\nRssAnonymous: 1 kB\nHuge: "
			   "99999999999999999999 kB\nBad: x kB";
	uint64_t bytes = 7;

	(void)state;
	assert_true(memory_limit_find(text, "RssAnon", &bytes));
	assert_int_equal(bytes, 340 << 10);
	assert_true(memory_limit_find(text, "VmRSS", &bytes));
	assert_int_equal(bytes, 12 << 10);
	assert_false(memory_limit_find(text, "Rss", &bytes));
	assert_false(memory_limit_find(text, "Huge", &bytes));
	assert_false(memory_limit_find(text, "Bad", &bytes));
	assert_false(memory_limit_find("", "Bad", &bytes));
}

static void small_and_large(void **state)
{
	struct memory_limit room;

	(void)state;
	assert_true(memory_limit_for_copy(1 << 20, &room));
	assert_true(room.needed > 1 << 20 && room.available >= room.needed);
	assert_false(memory_limit_for_copy(1ull << 50, &room));
	assert_true(room.needed > 1ull << 50 && room.available < room.needed);
}

/* However little is missing. */
static void as_text(void **state)
{
	const struct memory_limit little = { .needed = (64u << 20) + 1, .available = 64u << 20 };
	const struct memory_limit much = { .needed = 70ull << 30, .available = 3ull << 20 };
	char text[MEMORY_LIMIT_TEXT];

	(void)state;
	assert_string_equal(memory_limit_text(&little, text),
			    "takes 65 MiB, and 64 MiB of memory are available");
	assert_string_equal(memory_limit_text(&much, text),
			    "takes 71681 MiB, and 3 MiB of memory are available");
}

static void put(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/*
 * The least that any control group above leaves; caches that the kernel would drop first do not count as
 * used.
 */
static void in_groups(void **state)
{
	char root[] = "/tmp/mm-room-XXXXXX", a[64], b[64], v1[64], command[64];

	(void)state;
	assert_non_null(mkdtemp(root));
	snprintf(a, sizeof(a), "%s/a", root);
	snprintf(b, sizeof(b), "%s/a/b", root);
	snprintf(v1, sizeof(v1), "%s/memory", root);
	assert_int_equal(mkdir(a, 0700) | mkdir(b, 0700) | mkdir(v1, 0700), 0);
	assert_true(memory_limit_in_group(root, "0::/a/b\n") == UINT64_MAX);
	put(b, "memory.max", "max\n");
	put(b, "memory.current", "1000\n");
	put(a, "memory.max", "5000\n");
	put(a, "memory.current", "4900\n");
	assert_int_equal(memory_limit_in_group(root, "0::/a/b\n"), 100);
	put(a, "memory.stat", "anon 900\ninactive_filex 1\ninactive_file 3000\n");
	assert_int_equal(memory_limit_in_group(root, "0::/a/b\n"), 3100);
	put(b, "memory.max", "1500\n");
	assert_int_equal(memory_limit_in_group(root, "0::/a/b\n"), 500);
	put(a, "memory.current", "6000\n");
	put(a, "memory.stat", "");
	assert_int_equal(memory_limit_in_group(root, "0::/a/b\n"), 0);
	/* version 1, seen from inside a container: the path is the host's */
	put(v1, "memory.limit_in_bytes", "700\n");
	put(v1, "memory.usage_in_bytes", "300\n");
	assert_int_equal(memory_limit_in_group(root, "9:name=systemd:/\n4:memory:/of/the/host\n0::/\n"), 400);
	assert_true(memory_limit_in_group(root, "") == UINT64_MAX);
	snprintf(command, sizeof(command), "rm -r %s", root);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields),
		cmocka_unit_test(small_and_large),
		cmocka_unit_test(as_text),
		cmocka_unit_test(in_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
