/* SPDX-License-Identifier: MIT */
/* startname: a program with several names, in a folder of our own, is started by each of them. */
#include "attach/target/startname.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_NAME "checker3.10"

static char folder[] = "/tmp/test_startname.XXXXXX";

static char *in_folder(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int setup(void **state)
{
	char command[PATH_MAX + 64];

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(command, sizeof(command), "cp /bin/sleep %s", in_folder(FILE_NAME));
	return system(command) || symlink(FILE_NAME, in_folder("server")) || symlink(FILE_NAME, in_folder("checker3")) ||
	       symlink(FILE_NAME, in_folder("checker3.9"));
}

static int teardown(void **state)
{
	static const char *const names[] = { FILE_NAME, "server", "checker3", "checker3.9" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_folder(names[i]));
	return rmdir(folder);
}

/* The first mapping of the file, when the kernel has mapped it. */
static bool find_mapping(const struct procmaps *maps, struct mapping *out)
{
	struct stat st;

	if (stat(in_folder(FILE_NAME), &st) < 0)
		return false;
	for (size_t i = 0; i < maps->n; i++) {
		*out = maps->maps[i];
		if (out->ino == st.st_ino && out->dev == st.st_dev)
			return true;
	}
	return false;
}

/* What it is called if it is started by @name; NULL: by its usual name. */
static char *called(const char *name)
{
	char maps_path[64], path[PATH_MAX], *found = NULL;
	struct mapping m;
	bool mapped = false;
	const pid_t pid = fork();

	if (pid == 0) {
		execl(in_folder(name), name, "60", (char *)NULL);
		_exit(1);
	}
	snprintf(maps_path, sizeof(maps_path), "/proc/%d/maps", (int)pid);
	for (int i = 0; i < 1000 && !mapped; i++) {
		struct procmaps maps;

		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		if (procmaps_read(maps_path, &maps) < 0)
			continue;
		mapped = find_mapping(&maps, &m);
		procmaps_fini(&maps);
	}
	assert_true(mapped);
	snprintf(path, sizeof(path), "%s", in_folder(FILE_NAME));
	found = startname(pid, &m, path);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return found;
}

static void by_another_name(void **state)
{
	char *found = called("server");

	(void)state;
	assert_string_equal(found, in_folder("server"));
	free(found);
	found = called("checker3.9");
	assert_string_equal(found, in_folder("checker3.9"));
	free(found);
}

static void by_its_own(void **state)
{
	(void)state;
	assert_null(called(FILE_NAME));
}

/* Its own name says more: which version it is. */
static void by_a_part_of_its_own(void **state)
{
	(void)state;
	assert_null(called("checker3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_another_name),
		cmocka_unit_test(by_its_own),
		cmocka_unit_test(by_a_part_of_its_own),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
