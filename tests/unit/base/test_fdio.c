/* SPDX-License-Identifier: MIT */
/* fdio: short reads and writes are completed, limits, and result files that appear only when complete. */
#include "base/fdio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

static char folder[] = "/tmp/mm-test-fdio-XXXXXX";
static int home = -1;

/* Each test runs in a folder of its own, which is also the current one. */
static int enter(void **state)
{
	(void)state;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	home = open(".", O_PATH | O_DIRECTORY);
	return chdir(folder);
}

static int leave(void **state)
{
	cleanup_closedir DIR *dir = opendir(".");

	(void)state;
	for (struct dirent *e; (e = readdir(dir)); )
		unlink(e->d_name);
	if (fchdir(home))
		return -1;
	close(home);
	return rmdir(folder);
}

static size_t entries(void)
{
	cleanup_closedir DIR *dir = opendir(".");
	size_t n = 0;

	while (readdir(dir))
		n++;
	return n - 2;
}

static void assert_holds(const char *path, const char *what)
{
	cleanup_free char *text = NULL;
	size_t n;

	assert_int_equal(read_whole_file(path, 1 << 20, &text, &n), 0);
	assert_int_equal(n, strlen(what));
	assert_string_equal(text, what);
}

/* A pipe has room for 64 KiB: both sides get short counts many times. */
static void whole_through_a_pipe(void **state)
{
	enum { SIZE = 1000003 };
	int fds[2], status;
	char *data = malloc(SIZE), *got;
	size_t n;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)(i * 7 + i / 256);
	assert_int_equal(pipe(fds), 0);
	pid_t pid = fork();
	if (!pid)
		_exit(write_full(fds[1], data, SIZE) ? 1 : 0);
	close(fds[1]);
	assert_int_equal(read_whole_fd(fds[0], SIZE, &got, &n), 0);
	assert_int_equal(n, SIZE);
	assert_memory_equal(got, data, SIZE);
	assert_int_equal(got[SIZE], 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fds[0]);
	free(got);
	free(data);
}

static void limits_hold(void **state)
{
	char *text;
	size_t n;

	(void)state;
	assert_int_equal(write_whole_file("f", "12345", 5), 0);
	assert_int_equal(read_whole_file("f", 4, &text, &n), -EFBIG);
	assert_int_equal(read_whole_file("f", 5, &text, &n), 0);
	assert_string_equal(text, "12345");
	free(text);
	assert_int_equal(read_whole_file("/dev/zero", 100000, &text, &n), -EFBIG);
	assert_int_equal(read_whole_file("absent", 100, &text, &n), -ENOENT);
	assert_int_equal(read_whole_file(".", 100, &text, &n), -EISDIR);
}

/* A FIFO where a file was expected must not block the reader. */
static void a_fifo_does_not_hold_the_reader(void **state)
{
	char *text;
	size_t n;

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(read_whole_file("pipe", 100, &text, &n), 0);
	assert_int_equal(n, 0);
	free(text);
}

static void proc_files_have_no_size(void **state)
{
	cleanup_free char *text = NULL;
	size_t n;

	(void)state;
	assert_int_equal(read_whole_file("/proc/self/maps", 1 << 24, &text, &n), 0);
	assert_int_equal(n, strlen(text));
	assert_non_null(strstr(text, "[stack]"));
}

static void pread_stops_at_the_end(void **state)
{
	char buf[8] = "";

	(void)state;
	assert_int_equal(write_whole_file("f", "abcdef", 6), 0);
	cleanup_close int fd = open("f", O_RDONLY);
	assert_int_equal(pread_full(fd, buf, 8, 4), 2);
	assert_string_equal(buf, "ef");
	assert_int_equal(pread_full(fd, buf, 8, 100), 0);
	assert_int_equal(pread_full(-1, buf, 8, 0), -EBADF);
}

static void appears_when_whole(void **state)
{
	struct outfile of;
	struct stat st;

	(void)state;
	umask(0);
	assert_int_equal(outfile_open(&of, "report"), 0);
	assert_int_equal(write_full(of.fd, "half", 4), 0);
	assert_int_equal(access("report", F_OK), -1);
	assert_int_equal(write_full(of.fd, " whole", 6), 0);
	assert_int_equal(outfile_commit(&of), 0);
	assert_holds("report", "half whole");
	assert_int_equal(stat("report", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(entries(), 1);
}

static void old_one_stays_until_then(void **state)
{
	struct outfile of;

	(void)state;
	assert_int_equal(write_whole_file("report", "old", 3), 0);
	assert_int_equal(outfile_open(&of, "report"), 0);
	assert_int_equal(write_full(of.fd, "new", 3), 0);
	assert_holds("report", "old");
	outfile_abort(&of);
	outfile_abort(&of);
	assert_holds("report", "old");
	assert_int_equal(entries(), 1);
	assert_int_equal(write_whole_file("report", "new", 3), 0);
	assert_holds("report", "new");
}

static void a_strangers_link_is_refused(void **state)
{
	(void)state;
	assert_int_equal(write_whole_file("precious", "dear", 4), 0);
	assert_int_equal(symlink("precious", "report"), 0);
	assert_int_equal(chmod(".", 01777), 0);
	assert_int_equal(write_whole_file("report", "x", 1), -ELOOP);
	assert_holds("precious", "dear");
	assert_int_equal(chmod(".", 0700), 0);
	assert_int_equal(write_whole_file("report", "x", 1), 0);
	assert_holds("precious", "x");
}

/* Its owner could read our output. (Only root can make the test a FIFO of another user.) */
static void a_strangers_fifo_is_refused(void **state)
{
	cleanup_close int reader = -1;

	(void)state;
	assert_int_equal(mkfifo("report", 0666), 0);
	reader = open("report", O_RDONLY | O_NONBLOCK);
	assert_int_equal(chmod(".", 01777), 0);
	assert_int_equal(write_whole_file("report", "x", 1), 0); /* our own */
	if (geteuid() == 0) {
		assert_int_equal(chown("report", 65534, 65534), 0);
		assert_int_equal(write_whole_file("report", "x", 1), -EPERM);
	}
	assert_int_equal(chmod(".", 0700), 0);
	assert_int_equal(write_whole_file("report", "x", 1), 0); /* only we could have made it */
}

static void devices_are_written_in_place(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(write_whole_file("/dev/null", "x", 1), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(write_whole_file("/dev/full", "x", 1), -ENOSPC);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	assert_int_equal(write_whole_file("pipe", "x", 1), -ENXIO);
}

static void impossible_names(void **state)
{
	(void)state;
	assert_int_equal(write_whole_file("", "x", 1), -ENOENT);
	assert_int_equal(write_whole_file("absent/report", "x", 1), -ENOENT);
	assert_int_equal(write_whole_file("absent/", "x", 1), -EISDIR);
	assert_int_equal(write_whole_file("/", "x", 1), -EISDIR);
	assert_int_equal(write_whole_file(".", "x", 1), -EISDIR);
	assert_int_equal(entries(), 0);
}

/* Renaming onto what has become a folder meanwhile fails, and leaves nothing behind. */
static void failed_commit_cleans_up(void **state)
{
	struct outfile of;

	(void)state;
	assert_int_equal(outfile_open(&of, "report"), 0);
	assert_int_equal(mkdir("report", 0700), 0);
	assert_int_equal(outfile_commit(&of), -EISDIR);
	assert_int_equal(entries(), 1);
	assert_int_equal(rmdir("report"), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whole_through_a_pipe),
		TEST(limits_hold),
		TEST(a_fifo_does_not_hold_the_reader),
		TEST(proc_files_have_no_size),
		TEST(pread_stops_at_the_end),
		TEST(appears_when_whole),
		TEST(old_one_stays_until_then),
		TEST(a_strangers_link_is_refused),
		TEST(a_strangers_fifo_is_refused),
		TEST(devices_are_written_in_place),
		TEST(impossible_names),
		TEST(failed_commit_cleans_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
