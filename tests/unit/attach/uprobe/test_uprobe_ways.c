/* SPDX-License-Identifier: MIT */
/* uprobe_ways: what a kernel lacks is named. */
#include "attach/uprobe/uprobe_ways.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/folder.h"

static char why[256];

static void assert_has(enum uprobe_way way, int version, const char *files)
{
	assert_int_equal(uprobe_way_check(way, version, files, why, sizeof(why)), 0);
}

static void assert_lacks(enum uprobe_way way, int version, const char *files, const char *what)
{
	assert_int_equal(uprobe_way_check(way, version, files, why, sizeof(why)),
			 way == UPROBE_WAY_AUTO ? -ENOSYS : -EOPNOTSUPP);
	assert_non_null(strstr(why, what));
	assert_non_null(strstr(why, "this kernel ("));
}

static void put(const char *path)
{
	char part[128] = ".";

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), ".%.*s", (int)(slash - path), path);
		(void)!mkdir(part, 0755);
	}
	snprintf(part, sizeof(part), ".%s", path);
	close(open(part, O_CREAT | O_WRONLY, 0644));
}

static void since_when(void **state)
{
	(void)state;
	assert_lacks(UPROBE_WAY_AUTO, 510, ".", "distinguish their hits: they came with Linux 5.15");
	assert_lacks(UPROBE_WAY_AUTO, 418, ".", "Linux 5.15");
	assert_lacks(UPROBE_WAY_SESSION, 612, ".", "no uprobe sessions: they came with Linux 6.13");
	assert_lacks(UPROBE_WAY_MULTI, 601, ".", "no uprobe_multi links for a process: they came with Linux 6.12");
	assert_has(UPROBE_WAY_SESSION, 613, ".");
	assert_has(UPROBE_WAY_MULTI, 612, ".");
}

static void files_that_are_not_there(void **state)
{
	(void)state;
	assert_lacks(UPROBE_WAY_AUTO, 601, ".", "no type information (CONFIG_DEBUG_INFO_BTF)");
	assert_lacks(UPROBE_WAY_PERF, 601, ".", "no uprobes as perf events (CONFIG_UPROBE_EVENTS)");
	put("/sys/kernel/btf/vmlinux");
	put("/sys/bus/event_source/devices/uprobe/type");
	assert_has(UPROBE_WAY_AUTO, 515, ".");
	assert_has(UPROBE_WAY_PERF, 515, ".");
	(void)!system("rm -r sys");
}

static void names(void **state)
{
	char release[80];

	(void)state;
	assert_int_equal(uprobe_way_of(NULL), UPROBE_WAY_AUTO);
	assert_int_equal(uprobe_way_of("session"), UPROBE_WAY_SESSION);
	assert_int_equal(uprobe_way_of("multi"), UPROBE_WAY_MULTI);
	assert_int_equal(uprobe_way_of("perf"), UPROBE_WAY_PERF);
	assert_string_equal(uprobe_way_name(UPROBE_WAY_PERF), "perf events");
	assert_true(uprobe_linux_version() >= 515);
	assert_true(strlen(uprobe_linux_release(release, sizeof(release))) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(since_when),
		cmocka_unit_test_setup_teardown(files_that_are_not_there, folder_enter, folder_leave),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
