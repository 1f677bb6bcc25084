/* SPDX-License-Identifier: MIT */
/*
 * debugfile: found where it belongs, accepted only if it is the right one, and nothing else is opened on the
 * way.
 */
#include "symbolize/files/debugfile.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "base/strbuf.h"
#include "tests/unit/elf_example.h"

#define BY_ID "usr/lib/debug/.build-id/11/22000000000000000000000000000000000000.debug"

static const struct example whole = { .has_build_id = true, .build_id = { 0x11, 0x22 } };
static const struct example other = { .has_build_id = true, .build_id = { 0x11, 0x23 } };
static const struct example anonymous = { .has_build_id = false };

/* A root directory of its own, removed at the end. */
struct place {
	char path[64];
	int fd;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	strcpy(p->path, "/tmp/test_debugfile.XXXXXX");
	if (!mkdtemp(p->path))
		return -1;
	p->fd = open(p->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*state = p;
	return p->fd < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[128];

	close(p->fd);
	snprintf(command, sizeof(command), "rm -rf %s", p->path);
	free(p);
	return system(command);
}

/* Make the folders of @name, and return its path below the root. */
static char *prepare(const struct place *p, const char *name)
{
	char *path;

	assert_true(asprintf(&path, "%s/%s", p->path, name) > 0);
	for (char *slash = path + strlen(p->path) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	return path;
}

static void lay(const struct place *p, const char *name, const struct example *e)
{
	cleanup_free char *path = prepare(p, name), *bytes = NULL;
	cleanup_close int fd = example_build(e);
	size_t n;

	assert_true(fd >= 0);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(read_whole_fd(fd, 1u << 20, &bytes, &n), 0);
	assert_int_equal(write_whole_file(path, bytes, n), 0);
}

/* The result of debugfile_open for a file like @e at /opt/bin/prog. */
static int look(const struct place *p, const struct example *e)
{
	struct elffile file, found;
	int rc;

	assert_int_equal(elffile_open(example_build(e), &file), 0);
	rc = debugfile_open(file.elf, "/opt/bin/prog", p->fd, &found);
	if (!rc)
		elffile_close(&found);
	elffile_close(&file);
	return rc;
}

static void by_build_id(void **state)
{
	const struct place *p = *state;

	assert_int_equal(look(p, &whole), -ENOENT);
	lay(p, BY_ID, &other);
	assert_int_equal(look(p, &whole), -ENOENT);
	lay(p, BY_ID, &anonymous);
	assert_int_equal(look(p, &whole), -ENOENT);
	lay(p, BY_ID, &whole);
	assert_int_equal(look(p, &whole), 0);
	assert_int_equal(look(p, &other), -ENOENT);
}

static void no_other_files(void **state)
{
	const struct place *p = *state;
	cleanup_free char *path = prepare(p, BY_ID), *outside = prepare(p, "outside"), *inside = NULL;

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(look(p, &whole), -ENOENT);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(look(p, &whole), -ENOENT);
	rmdir(path);
	lay(p, "outside", &whole);
	assert_int_equal(symlink(outside, path), 0);
	assert_int_equal(look(p, &whole), -ENOENT);
	unlink(path);
	assert_int_equal(symlink("../../../../../../../../../../outside", path), 0);
	assert_int_equal(look(p, &whole), 0);
	unlink(path);
	assert_true(asprintf(&inside, "/outside") > 0);
	assert_int_equal(symlink(inside, path), 0);
	assert_int_equal(look(p, &whole), 0);
}

/* A file with a .gnu_debuglink of @name and @sum, and no build-id. */
static struct example linked(const char *name, uint32_t sum, uint8_t *bytes, struct example_section *section)
{
	size_t n = (strlen(name) + 4) & ~3ul;

	memset(bytes, 0, n);
	memcpy(bytes, name, strlen(name));
	memcpy(bytes + n, &sum, sizeof(sum));
	*section = (struct example_section){ ".gnu_debuglink", 0, bytes, n + sizeof(sum) };
	return (struct example){ .sections = section, .nsections = 1 };
}

static int look_linked(const struct place *p, const char *name, uint32_t sum)
{
	uint8_t bytes[128];
	struct example_section section;
	struct example e = linked(name, sum, bytes, &section);

	return look(p, &e);
}

static uint32_t sum_of(const struct example *e)
{
	cleanup_close int fd = example_build(e);
	uint32_t sum = 0;

	assert_int_equal(debugfile_checksum(fd, &sum), 0);
	return sum;
}

static void by_link(void **state)
{
	static const char *const places[] = { "opt/bin/d", "opt/bin/.debug/d", "usr/lib/debug/opt/bin/d" };
	const struct place *p = *state;
	uint32_t sum = sum_of(&anonymous);

	for (size_t i = 0; i < 3; i++) {
		cleanup_free char *path = prepare(p, places[i]);

		assert_int_equal(look_linked(p, "d", sum), -ENOENT);
		lay(p, places[i], &anonymous);
		assert_int_equal(look_linked(p, "d", sum), 0);
		assert_int_equal(look_linked(p, "d", sum + 1), -ENOENT);
		unlink(path);
	}
	lay(p, "opt/bin/.debug/d", &anonymous);
	assert_int_equal(look_linked(p, ".debug/d", sum), -ENOENT);
	assert_int_equal(look_linked(p, "../bin/.debug/d", sum), -ENOENT);
	assert_int_equal(look_linked(p, "", sum), -ENOENT);
}

/* If both files have a build-id, these decide, whatever the checksum is. */
static void by_link_with_build_id(void **state)
{
	const struct place *p = *state;
	uint8_t bytes[128];
	struct example_section section;
	struct example e = linked("d", sum_of(&other), bytes, &section);

	e.has_build_id = true;
	memcpy(e.build_id, whole.build_id, sizeof(e.build_id));
	lay(p, "opt/bin/d", &other);
	assert_int_equal(look(p, &e), -ENOENT);
	lay(p, "opt/bin/d", &whole);
	assert_int_equal(look(p, &e), 0);
}

static int look_alt(const struct place *p, const char *name)
{
	uint8_t bytes[160] = { 0 };
	size_t n = strlen(name) + 1;
	struct example_section section = { ".gnu_debugaltlink", 0, bytes, n + sizeof(whole.build_id) };
	struct elffile file, found;
	int rc;

	memcpy(bytes, name, n);
	memcpy(bytes + n, whole.build_id, sizeof(whole.build_id));
	assert_int_equal(
		elffile_open(example_build(&(struct example){ .sections = &section, .nsections = 1 }), &file),
		0);
	rc = debugfile_open_alt(file.elf, p->fd, &found);
	if (!rc)
		elffile_close(&found);
	elffile_close(&file);
	return rc;
}

static void alternate(void **state)
{
	const struct place *p = *state;

	lay(p, "usr/lib/debug/.dwz/x86_64-linux-gnu/lib.debug", &whole);
	lay(p, "usr/lib/debug/elsewhere", &whole);
	assert_int_equal(look_alt(p, "../../../.dwz/x86_64-linux-gnu/lib.debug"), 0);
	assert_int_equal(look_alt(p, "/usr/lib/debug/.dwz/x86_64-linux-gnu/lib.debug"), 0);
	assert_int_equal(look_alt(p, "/usr/lib/debug/.dwz/../elsewhere"), -ENOENT);
	assert_int_equal(look_alt(p, "/usr/lib/debug/elsewhere"), -ENOENT);
	lay(p, "usr/lib/debug/.dwz/x86_64-linux-gnu/lib.debug", &other);
	assert_int_equal(look_alt(p, "../../../.dwz/x86_64-linux-gnu/lib.debug"), -ENOENT);
	lay(p, BY_ID, &whole);
	assert_int_equal(look_alt(p, "anything"), 0);
}

static void checksum(void **state)
{
	cleanup_close int fd = memfd_create("sum", MFD_CLOEXEC);
	uint32_t sum;

	(void)state;
	assert_int_equal(debugfile_checksum(fd, &sum), 0);
	assert_int_equal(sum, 0);
	assert_int_equal(write_full(fd, "123456789", 9), 0);
	assert_int_equal(debugfile_checksum(fd, &sum), 0);
	assert_int_equal(sum, 0xcbf43926);
	assert_int_equal(debugfile_checksum(-1, &sum), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_build_id, setup, teardown),
		cmocka_unit_test_setup_teardown(no_other_files, setup, teardown),
		cmocka_unit_test_setup_teardown(by_link, setup, teardown),
		cmocka_unit_test_setup_teardown(by_link_with_build_id, setup, teardown),
		cmocka_unit_test_setup_teardown(alternate, setup, teardown),
		cmocka_unit_test(checksum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
