/* SPDX-License-Identifier: MIT */
/* tracefile: obstacles to a trace, and what is left of it when a write fails. */
#include "trace/tracefile.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <sys/wait.h>

#include "base/fdio.h"
#include "tests/unit/writer_example.h"

static void refused(void **state)
{
	const struct writer_options opt = { .path = "link", .defs = &defs },
				    none = { .path = "no/where", .defs = &defs },
				    folder = { .path = ".", .defs = &defs },
				    full = { .path = "/dev/full", .defs = &defs };
	struct writer *w;
	struct stat st;

	(void)state;
	assert_int_equal(write_whole_file("mine", "x", 1), 0);
	assert_int_equal(symlink("mine", "link"), 0);
	assert_int_equal(chmod(".", 01777), 0);
	assert_int_equal(writer_open(&opt, &w), -ELOOP);
	assert_int_equal(stat("mine", &st), 0);
	assert_int_equal(st.st_size, 1);
	assert_int_equal(writer_open(&none, &w), -ENOENT);
	assert_int_equal(writer_open(&folder, &w), -EISDIR);
	assert_int_equal(writer_open(&full, &w), -ENOSPC);
}

/*
 * An old file is replaced, not overwritten: a process that has it open, or another link to it, still has the
 * old contents.
 */
static void an_old_file(void **state)
{
	struct tape got;
	struct stat st;

	(void)state;
	tape_init(&got);
	assert_int_equal(write_whole_file("t.mmt", "old", 3), 0);
	assert_int_equal(link("t.mmt", "other"), 0);
	struct writer *w = open_writer("t.mmt", 0, false);
	assert_int_equal(put_random(w, 10, 1, NULL), 0);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(stat("other", &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_int_equal(got.ndamage, 0);
	tape_fini(&got);
}

/* Written in place, and without pieces. Nothing but the trace is written. */
static void a_fifo(void **state)
{
	struct tape want, got;
	int status;

	(void)state;
	tape_init(&want);
	tape_init(&got);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	int fd = open("pipe", O_RDONLY | O_NONBLOCK);
	pid_t pid = fork();
	if (!pid) {
		struct writer *w = open_writer("pipe", 1000, false);
		_exit(put_random(w, 20000, 4, NULL) || writer_close(w));
	}
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	assert_int_equal(tape_read(&got, "pipe"), 0);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	struct writer *w = open_writer("same", 0, false);
	assert_int_equal(put_random(w, 20000, 4, &want), 0);
	assert_int_equal(writer_close(w), 0);
	assert_string_equal(strbuf_str(&got.events), strbuf_str(&want.events));
	assert_int_equal(got.ndamage, 0);
	tape_fini(&want);
	tape_fini(&got);
}

/* The error if the FIFO is not read; the writer has not waited for long. */
static void a_fifo_that_is_not_read(void **state)
{
	const struct fact f = { .kind = MMT_TIME };
	time_t start = time(NULL);

	(void)state;
	assert_int_equal(mkfifo("pipe", 0600), 0);
	int fd = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	alarm(20);
	struct writer *w = open_writer("pipe", 0, true);
	assert_int_equal(put_random(w, 100000, 4, NULL), -ETIMEDOUT);
	assert_true(time(NULL) - start < 10);
	assert_int_equal(writer_put(w, &f), -ETIMEDOUT);
	assert_int_equal(writer_close(w), -ETIMEDOUT);
	alarm(0);
	close(fd);
}

/* Less than a second late: nothing is lost, although it is more than fits into a FIFO. */
static void a_fifo_that_is_read_late(void **state)
{
	const struct timespec late = { .tv_nsec = 400000000 };
	struct tape want, got;
	int status;

	(void)state;
	tape_init(&want);
	tape_init(&got);
	assert_int_equal(mkfifo("pipe", 0600), 0);
	int fd = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	pid_t pid = fork();
	if (!pid) {
		struct writer *w = open_writer("pipe", 0, true);
		_exit(put_random(w, 50000, 4, NULL) || writer_close(w));
	}
	nanosleep(&late, NULL);
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
	assert_int_equal(tape_read(&got, "pipe"), 0);
	close(fd);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	struct writer *w = open_writer("same", 0, true);
	assert_int_equal(put_random(w, 50000, 4, &want), 0);
	assert_int_equal(writer_close(w), 0);
	assert_string_equal(strbuf_str(&got.events), strbuf_str(&want.events));
	assert_int_equal(got.ndamage, 0);
	tape_fini(&want);
	tape_fini(&got);
}

/*
 * With room for @limit bytes. Asserts that what is read is a prefix of @whole; returns how many events it
 * has.
 */
static size_t write_with_limit(rlim_t limit, const struct tape *whole)
{
	struct rlimit old, now;
	struct tape got;

	tape_init(&got);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	now = (struct rlimit){ limit, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);

	struct writer *w = open_writer("t.mmt", 0, true);
	const struct fact f = { .kind = MMT_TIME };
	int err = put_random(w, 3000, 6, NULL);
	if (err) {
		assert_int_equal(err, -EFBIG);
		assert_int_equal(writer_put(w, &f), -EFBIG);
		assert_int_equal(writer_tick(w, MOST), -EFBIG);
	}
	int closed = writer_close(w);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_true(closed == -EFBIG || (!closed && !err));

	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_int_equal(got.ndamage, 0);
	size_t n = strlen(strbuf_str(&got.events));
	assert_int_equal(strncmp(strbuf_str(&got.events), strbuf_str(&whole->events), n), 0);
	assert_int_equal(closed == 0, got.nevents == whole->nevents);
	size_t nevents = got.nevents;
	tape_fini(&got);
	return nevents;
}

/*
 * Every limit, so that every write fails once, at each of its bytes in turn (in steps): the file ends with a
 * whole block.
 */
static void no_room(void **state)
{
	struct tape whole;
	struct stat st;
	size_t before = 0, steps = 0;

	(void)state;
	tape_init(&whole);
	struct writer *w = open_writer("t.mmt", 0, true);
	assert_int_equal(put_random(w, 3000, 6, &whole), 0);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(stat("t.mmt", &st), 0);
	signal(SIGXFSZ, SIG_IGN);
	for (rlim_t limit = MMT_FILE_HEAD; limit < (rlim_t)st.st_size + 97; limit += 97) {
		size_t now = write_with_limit(limit, &whole);
		assert_true(now >= before);
		steps += now > before;
		before = now;
	}
	assert_int_equal(before, whole.nevents);
	assert_true(steps >= 6);
	signal(SIGXFSZ, SIG_DFL);
	tape_fini(&whole);
}

/*
 * No room even for the head: no file is left, under any name. No room for names: all later calls return the
 * error.
 */
static void no_room_at_the_ends(void **state)
{
	const struct writer_options opt = { .path = "t.mmt", .defs = &defs };
	const struct fact f = EVENT(ALLOC, .addr = 16, .stack = 1);
	const struct fact names = INFORMATION(NAMES, .names = { 0, example_names, 3 });
	struct rlimit old, now;
	struct writer *w;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	now = (struct rlimit){ MMT_FILE_HEAD - 1, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	assert_int_equal(writer_open(&opt, &w), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	cleanup_closedir DIR *dir = opendir(".");
	for (struct dirent *e; (e = readdir(dir)); )
		assert_true(!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."));

	define(names);
	w = open_writer("t.mmt", 0, true);
	assert_int_equal(writer_put(w, &f), 0);
	assert_int_equal(writer_tick(w, MOST), 0);
	now.rlim_cur = size_of("t.mmt") + 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	assert_int_equal(writer_put_names(w), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(size_of("t.mmt"), now.rlim_cur - 20);
	assert_int_equal(writer_put(w, &f), -EFBIG);
	assert_int_equal(writer_close(w), -EFBIG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refused),
		TEST(an_old_file),
		TEST(a_fifo),
		TEST(a_fifo_that_is_not_read),
		TEST(a_fifo_that_is_read_late),
		TEST(no_room),
		TEST(no_room_at_the_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
