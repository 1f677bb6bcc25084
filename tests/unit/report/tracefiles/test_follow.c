/* SPDX-License-Identifier: MIT */
/*
 * follow: a trace that is read while it is written, piece by piece; what is no part of it, and whether a process still
 * writes it.
 */
#include "report/tracefiles/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "trace/rotate_names.h"
#include "trace/writer.h"

#define SECOND 1000000u

static char folder[64];
static struct defs defs;

static const char *path_of(const char *name)
{
	static char path[4][128];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
	return p;
}

static int begin(void **state)
{
	const struct fact stack = { .kind = MMT_INFO, .info = MMT_STACK };

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_follow.XXXXXX");
	defs_init(&defs);
	return mkdtemp(folder) && defs_take(&defs, &stack) == 0 ? 0 : -1;
}

static int end(void **state)
{
	char command[100];

	(void)state;
	defs_fini(&defs);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

/* --- a writer --- */

static struct writer *create(const char *name, uint32_t tag)
{
	const struct writer_options opt = {
		.path = path_of(name), .defs = &defs, .run_tag = tag, .stored = true
	};
	struct writer *w;

	assert_int_equal(writer_open(&opt, &w), 0);
	return w;
}

static void put(struct writer *w, struct fact f, uint64_t seconds)
{
	f.time_us = seconds * SECOND;
	assert_int_equal(writer_put(w, &f), 0);
}

static void put_run(struct writer *w, uint32_t piece, uint64_t seconds)
{
	put(w, (struct fact){ .kind = MMT_INFO, .info = MMT_RUN, .run = { .id = { 1 }, .piece = piece } }, seconds);
}

static void put_alloc(struct writer *w, taddr addr, uint64_t seconds)
{
	put(w, (struct fact){ .kind = MMT_ALLOC, .block = { .addr = addr, .size = 10 } }, seconds);
}

static void flush(struct writer *w, uint64_t seconds)
{
	assert_int_equal(writer_tick(w, (seconds + 1) * SECOND), 0);
}

static void make_piece(const char *name, uint32_t tag, uint32_t piece, taddr addr)
{
	struct writer *w = create(name, tag);

	put_run(w, piece, piece);
	put_alloc(w, addr, piece);
	assert_int_equal(writer_close(w), 0);
}

/* --- the tests --- */

static void test_what_is_appended(void **state)
{
	struct writer *w = create("a.mmt", 1);
	struct follow f;
	uint64_t facts;

	(void)state;
	assert_int_equal(follow_open(&f, path_of("a.mmt")), 0);
	assert_int_equal(follow_more(&f), 0);
	assert_true(follow_is_written(&f));
	assert_int_equal(f.facts, 0);
	put_alloc(w, 0x10, 1);
	flush(w, 1);
	assert_int_equal(follow_more(&f), 0);
	assert_int_equal(f.ledger.held_blocks, 1);
	facts = f.facts;
	assert_int_equal(follow_more(&f), 0);
	assert_int_equal(f.facts, facts);
	put_alloc(w, 0x20, 3);
	put(w, (struct fact){ .kind = MMT_INFO, .info = MMT_END }, 4);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(follow_more(&f), 0);
	assert_int_equal(f.ledger.held_blocks, 2);
	assert_true(f.ledger.ended);
	assert_false(follow_is_written(&f));
	assert_int_equal(f.damages, 0);
	follow_close(&f);
}

/* As a writer that is killed, or that is being read in the middle of a write, leaves it. */
static void test_half_a_block(void **state)
{
	cleanup_free char *bytes = NULL;
	struct follow f;
	size_t n;
	int fd;

	(void)state;
	make_piece("whole.mmt", 1, 0, 0x10);
	assert_int_equal(read_whole_file(path_of("whole.mmt"), 1 << 20, &bytes, &n), 0);
	fd = open(path_of("half.mmt"), O_WRONLY | O_CREAT, 0600);
	assert_int_equal(follow_open(&f, path_of("half.mmt")), 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(follow_more(&f), 0);
		assert_int_equal(f.facts, 0);
		assert_int_equal(write(fd, bytes + i, 1), 1);
	}
	close(fd);
	assert_int_equal(follow_more(&f), 0);
	assert_int_equal(f.ledger.held_blocks, 1);
	assert_int_equal(f.damages, 0);
	follow_close(&f);
}

static void test_pieces(void **state)
{
	struct follow f;

	(void)state;
	make_piece("a.0001.mmt", 1, 1, 0x10);
	assert_int_equal(follow_open(&f, path_of("a.0001.mmt")), 0);
	assert_int_equal(follow_more(&f), 0);
	assert_int_equal(f.npaths, 1);
	make_piece("a.0002.mmt", 1, 2, 0x20);
	make_piece("a.0003.mmt", 1, 3, 0x30);
	assert_int_equal(follow_more(&f), 0);
	assert_int_equal(f.ledger.held_blocks, 3);
	assert_int_equal(f.npaths, 3);
	assert_string_equal(f.paths[2], path_of("a.0003.mmt"));
	assert_int_equal(f.missed, 0);
	follow_close(&f);
}

static void test_a_piece_of_an_older_run(void **state)
{
	struct follow f;

	(void)state;
	make_piece("a.0001.mmt", 1, 1, 0x10);
	make_piece("a.0002.mmt", 7, 2, 0x20);
	assert_int_equal(follow_open(&f, path_of("a.0001.mmt")), 0);
	assert_int_equal(follow_more(&f), 0);
	assert_int_equal(f.npaths, 1);
	assert_int_equal(f.ledger.held_blocks, 1);
	follow_close(&f);
}

static void test_a_piece_that_was_moved_away(void **state)
{
	struct follow f;

	(void)state;
	make_piece("a.0001.mmt", 1, 1, 0x10);
	make_piece("a.0004.mmt", 1, 4, 0x20);
	assert_int_equal(follow_open(&f, path_of("a.0001.mmt")), 0);
	assert_int_equal(follow_more(&f), 0);
	assert_int_equal(f.npaths, 2);
	assert_int_equal(f.missed, 2);
	assert_int_equal(f.ledger.held_blocks, 2);
	follow_close(&f);
}

/* A trace in one piece has no next one, whatever it is called. */
static void test_a_name_with_a_number(void **state)
{
	struct follow f;

	(void)state;
	make_piece("a.0001.mmt", 1, 0, 0x10);
	make_piece("a.0002.mmt", 1, 0, 0x20);
	assert_int_equal(follow_open(&f, path_of("a.0001.mmt")), 0);
	assert_int_equal(follow_more(&f), 0);
	assert_int_equal(f.npaths, 1);
	follow_close(&f);
}

static int follow_once(const char *path)
{
	struct follow f;
	int r = follow_open(&f, path);

	if (r == 0)
		r = follow_more(&f);
	follow_close(&f);
	return r;
}

static void test_what_is_no_trace(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	assert_int_equal(follow_once(path_of("fifo")), -ESPIPE);
	assert_int_equal(follow_once("/dev/null"), -ESPIPE);
	assert_int_equal(follow_once(folder), -EISDIR);
	assert_int_equal(follow_once(path_of("nothing.mmt")), -ENOENT);
	assert_int_equal(write_whole_file(path_of("text"), "a text that is no trace", 23), 0);
	assert_int_equal(follow_once(path_of("text")), -EINVAL);
	assert_int_equal(write_whole_file(path_of("empty"), "", 0), 0);
	assert_int_equal(follow_once(path_of("empty")), 0);
}

static void expect_later(const char *path, uint32_t by, const char *expected)
{
	cleanup_free char *out = NULL;

	assert_int_equal(rotate_later(path, by, &out), 0);
	assert_string_equal(out, expected);
}

static void test_names(void **state)
{
	char *out;

	(void)state;
	expect_later("a.0001.mmt", 1, "a.0002.mmt");
	expect_later("/x.0001/a.9999.mmt", 1, "/x.0001/a.10000.mmt");
	expect_later("a.0001", 3, "a.0004");
	assert_int_equal(rotate_later("a.mmt", 1, &out), -EINVAL);
	assert_int_equal(rotate_later("a.1.mmt", 1, &out), -EINVAL);
	assert_int_equal(rotate_later("a0001.mmt", 1, &out), -EINVAL);
	assert_int_equal(rotate_later("/x.0001/a.mmt", 1, &out), -EINVAL);
	assert_int_equal(rotate_later("", 1, &out), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)
		TEST(what_is_appended),
		TEST(half_a_block),
		TEST(pieces),
		TEST(a_piece_of_an_older_run),
		TEST(a_piece_that_was_moved_away),
		TEST(a_name_with_a_number),
		TEST(what_is_no_trace),
		TEST(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
