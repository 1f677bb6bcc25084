/* SPDX-License-Identifier: MIT */
/*
 * replay: several files as one run; what is missing or damaged is reported, files that do not belong together
 * are refused.
 */
#include "report/tracefiles/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "trace/writer.h"

#define SECOND 1000000u

static char folder[] = "/tmp/test_replay.XXXXXX";
static struct ledger ledger;

/* --- files --- */

struct piece {
	const char *name;
	uint32_t piece, last;
	uint8_t id;
	bool ended;
	uint64_t from_s, to_s;	/* times of its first and its last fact */
	taddr alloc, release;	/* 0: none */
};

static const char *path_of(const char *name)
{
	static char path[8][100];
	static unsigned next;
	char *p = path[next++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s", folder, name);
	return p;
}

static void put(struct writer *w, struct fact f, uint64_t seconds)
{
	f.time_us = seconds * SECOND;
	assert_int_equal(writer_put(w, &f), 0);
}

static void make(const struct piece *p)
{
	const struct fact stack = { .kind = MMT_INFO, .info = MMT_STACK };
	struct defs defs;
	struct writer_options opt = {
		.path = path_of(p->name), .defs = &defs, .run_tag = p->id, .stored = true
	};
	struct writer *w;

	defs_init(&defs);
	assert_int_equal(defs_take(&defs, &stack), 0);
	assert_int_equal(writer_open(&opt, &w), 0);
	put(w, (struct fact){ .kind = MMT_INFO, .info = MMT_RUN,
			      .run = { .id = { p->id }, .piece = p->piece, .last = p->last } }, p->from_s);
	if (p->alloc)
		put(w, (struct fact){ .kind = MMT_ALLOC, .block = { .addr = p->alloc, .size = 10 } },
		    p->from_s);
	if (p->release)
		put(w, (struct fact){ .kind = MMT_FREE, .block = { .addr = p->release } }, p->to_s);
	put(w, (struct fact){ .kind = MMT_TIME }, p->to_s);
	if (p->ended)
		put(w, (struct fact){ .kind = MMT_INFO, .info = MMT_END }, p->to_s);
	assert_int_equal(writer_close(w), 0);
	defs_fini(&defs);
}

/* "two.mmt": a piece of two blocks. */
static void make_two_blocks(uint32_t tag)
{
	struct defs defs;
	const struct writer_options opt = {
		.path = path_of("two.mmt"), .defs = &defs, .run_tag = tag, .stored = true
	};
	struct writer *w;

	defs_init(&defs);
	assert_int_equal(writer_open(&opt, &w), 0);
	put(w,
	    (struct fact){ .kind = MMT_INFO, .info = MMT_RUN, .run = { .id = { (uint8_t)tag }, .piece = 2 } },
	    10);
	assert_int_equal(writer_tick(w, 12 * SECOND), 0);
	put(w, (struct fact){ .kind = MMT_TIME }, 13);
	assert_int_equal(writer_close(w), 0);
	defs_fini(&defs);
}

static const struct piece whole = { "whole.mmt", .id = 1, .ended = true, .to_s = 9, .alloc = 0x10 };
static const struct piece first = { "first.mmt", 1, 0, 2, false, 0, 10, 0x10, 0 };
static const struct piece second = { "second.mmt", 2, 0, 2, false, 10, 20, 0x20, 0x10 };
static const struct piece third = { "third.mmt", 3, 0, 2, true, 20, 30, 0x30, 0x20 };
static const struct piece fourth_to_sixth = { "later.mmt", 4, 6, 2, true, 30, 40, 0x40, 0x30 };
static const struct piece stranger = { "stranger.mmt", 2, 0, 3, true, 10, 20, 0x20, 0 };

static int make_files(void **state)
{
	(void)state;
	log_set_quiet();
	if (!mkdtemp(folder))
		return -1;
	make(&whole);
	make(&first);
	make(&second);
	make(&third);
	make(&fourth_to_sixth);
	make(&stranger);
	return 0;
}

static int remove_files(void **state)
{
	char command[100];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

/* --- reading, and the messages on stderr --- */

static char said[4096];

static int read_paths(const char *const *paths, size_t n)
{
	const struct replay_options opt = { 0 };
	int stderr_copy = dup(2),
	    file = open(path_of("stderr"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), r;
	ssize_t len;

	assert_true(stderr_copy >= 0 && file >= 0);
	dup2(file, 2);
	r = replay_files(paths, n, &opt, &ledger);
	dup2(stderr_copy, 2);
	close(stderr_copy);
	len = pread(file, said, sizeof(said) - 1, 0);
	said[len > 0 ? len : 0] = '\0';
	close(file);
	return r;
}

#define read_files(...)                                                                                      \
	read_paths((const char *const[]){ __VA_ARGS__ },                                                     \
		   sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static bool has_note(const char *part)
{
	for (size_t i = 0; i < ledger.nnotes; i++)
		if (strstr(ledger.notes[i], part))
			return true;
	return false;
}

static uint64_t damages(void)
{
	for (size_t i = 0; i < ledger.nlost; i++)
		if (strcmp(ledger.lost[i].reason, LEDGER_DAMAGED) == 0)
			return ledger.lost[i].count;
	return 0;
}

static int fini(void **state)
{
	(void)state;
	ledger_fini(&ledger);
	return 0;
}

/* --- files that belong together --- */

static void a_whole_run(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("whole.mmt")), 0);
	assert_int_equal(ledger.held_blocks, 1);
	assert_int_equal(ledger.now_us, 9 * SECOND);
	assert_true(ledger.ended);
	assert_int_equal(ledger.nnotes, 0);
	assert_int_equal(ledger.ngaps, 0);
	assert_string_equal(said, "");
}

static void pieces_in_any_order(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("third.mmt"), path_of("first.mmt"), path_of("second.mmt")), 0);
	assert_int_equal(ledger.held_blocks, 1);
	assert_true(ledger_holds(&ledger, 0, 0x30, NULL));
	assert_int_equal(ledger.unmatched_frees, 0);
	assert_int_equal(ledger.now_us, 30 * SECOND);
	assert_int_equal(ledger.nnotes, 0);
	assert_int_equal(ledger.run.piece, 1);
	assert_int_equal(ledger.run.last, 3);
}

static void a_file_may_hold_several(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("later.mmt"), path_of("third.mmt"), path_of("second.mmt"),
				    path_of("first.mmt")),
			 0);
	assert_int_equal(ledger.nnotes, 0);
	assert_int_equal(ledger.run.last, 6);
}

static void missing_pieces_are_a_gap(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("first.mmt"), path_of("later.mmt")), 0);
	assert_int_equal(ledger.ngaps, 1);
	assert_int_equal(ledger.gaps[0].start_us, 10 * SECOND);
	assert_int_equal(ledger.gaps[0].length_us, 20 * SECOND);
	assert_string_equal(ledger.gaps[0].why, "pieces 2 to 3 of the trace are missing");
	assert_true(has_note("pieces 2 to 3 of the trace are missing"));
	assert_int_equal(ledger.nown_notes, 0);
	assert_int_equal(ledger.held_blocks, 2);	/* their frees were not seen */
}

static void one_missing_piece(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("first.mmt"), path_of("third.mmt")), 0);
	assert_string_equal(ledger.gaps[0].why, "piece 2 of the trace is missing");
}

static void it_may_begin_later(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("second.mmt"), path_of("third.mmt")), 0);
	assert_true(has_note("begins with piece 2"));
	assert_int_equal(ledger.unmatched_frees, 1);
	assert_int_equal(ledger.nown_notes, 1);
	assert_int_equal(ledger.ngaps, 0);
}

static void without_an_end(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("first.mmt"), path_of("second.mmt")), 0);
	assert_true(has_note("ends at 20.0 s without an end"));
	assert_int_equal(ledger.nown_notes, 1);
}

/* --- files that do not --- */

static void other_runs_are_refused(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("first.mmt"), path_of("stranger.mmt")), -EINVAL);
	assert_non_null(strstr(said, "first.mmt"));
	assert_non_null(strstr(said, "stranger.mmt"));
	assert_non_null(strstr(said, "different runs"));
}

static void the_same_piece_twice_is_refused(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("first.mmt"), path_of("second.mmt"), path_of("second.mmt")),
			 -EINVAL);
	assert_non_null(strstr(said, "both have piece 2"));
}

static void the_same_run_twice_is_refused(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("whole.mmt"), path_of("whole.mmt")), -EINVAL);
	assert_non_null(strstr(said, "the same run"));
}

static void what_is_no_trace_is_refused(void **state)
{
	(void)state;
	assert_int_equal(write_whole_file(path_of("text"), "hello\n", 6), 0);
	assert_int_equal(read_files(path_of("text")), -EINVAL);
	assert_non_null(strstr(said, "text is not a trace"));
}

static void no_trace_among_pieces(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("first.mmt"), path_of("text")), -EINVAL);
	assert_non_null(strstr(said, "text is not a trace"));
}

static void what_is_not_there(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("nowhere.mmt")), -ENOENT);
	assert_non_null(strstr(said, "nowhere.mmt: No such file"));
}

static void what_is_not_there_among_others(void **state)
{
	(void)state;
	assert_int_equal(read_files(path_of("first.mmt"), path_of("nowhere.mmt")), -ENOENT);
	assert_non_null(strstr(said, "nowhere.mmt: No such file"));
}

/* --- several in one file --- */

/* The files @names, one behind the other, as "cat.mmt"; the first without its last @cut bytes. */
static void cat_paths(size_t cut, const char *const *names, size_t n)
{
	struct strbuf all = STRBUF_INIT;

	for (size_t i = 0; i < n; i++) {
		char *data;
		size_t size;

		assert_int_equal(read_whole_file(path_of(names[i]), 1 << 20, &data, &size), 0);
		strbuf_append(&all, data, i ? size : size - cut);
		free(data);
	}
	assert_int_equal(write_whole_file(path_of("cat.mmt"), all.s, all.len), 0);
	strbuf_fini(&all);
}

#define cat(cut, ...)										\
	cat_paths(cut, (const char *const[]){ __VA_ARGS__ },					\
		  sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))

static void pieces_in_one_file(void **state)
{
	(void)state;
	cat(0, "first.mmt", "second.mmt", "third.mmt", "later.mmt");
	assert_int_equal(read_files(path_of("cat.mmt")), 0);
	assert_int_equal(ledger.nnotes, 0);
	assert_int_equal(ledger.ngaps, 0);
	assert_int_equal(damages(), 0);
	assert_int_equal(ledger.run.last, 6);
}

static void pieces_missing_in_one_file(void **state)
{
	(void)state;
	cat(0, "first.mmt", "later.mmt");
	assert_int_equal(read_files(path_of("cat.mmt")), 0);
	assert_int_equal(ledger.ngaps, 1);
	assert_int_equal(ledger.gaps[0].start_us, 10 * SECOND);
	assert_int_equal(ledger.gaps[0].length_us, 20 * SECOND);
	assert_true(has_note("pieces 2 to 3 of the trace are missing"));
	assert_int_equal(damages(), 0);
}

/* The file's name only has the number of its first piece. */
static void a_file_behind_several_in_one(void **state)
{
	(void)state;
	cat(0, "first.mmt", "second.mmt");
	assert_int_equal(read_files(path_of("cat.mmt"), path_of("third.mmt")), 0);
	assert_int_equal(ledger.ngaps, 0);
	assert_int_equal(ledger.nnotes, 0);
}

static void assert_disorder(void)
{
	assert_int_equal(read_files(path_of("cat.mmt")), 0);
	assert_true(has_note("cat.mmt holds pieces of the run twice or out of order"));
	assert_true(damages() >= 1);
	ledger_fini(&ledger);
}

static void doubled_in_one_file(void **state)
{
	(void)state;
	cat(0, "whole.mmt", "whole.mmt");
	assert_disorder();
	cat(0, "first.mmt", "first.mmt");
	assert_disorder();
	cat(0, "first.mmt", "second.mmt", "first.mmt");
	assert_disorder();
	assert_int_equal(ledger_init(&ledger), 0);
}

/* The head of the second is within the damage at the end of the first. */
static void doubled_behind_damage(void **state)
{
	(void)state;
	make_two_blocks(2);
	cat(3, "two.mmt", "two.mmt");
	assert_disorder();
	assert_int_equal(ledger_init(&ledger), 0);
}

static void doubled_in_another_file(void **state)
{
	(void)state;
	cat(0, "first.mmt", "second.mmt", "third.mmt");
	assert_int_equal(read_files(path_of("cat.mmt"), path_of("second.mmt")), 0);
	assert_true(has_note("second.mmt holds pieces of the run twice"));
	assert_int_equal(damages(), 1);
}

/* The run's head is repeated with later values: that does not begin another piece. */
static void more_of_the_same_piece(void **state)
{
	const struct fact run = { .kind = MMT_INFO, .info = MMT_RUN, .run = { .id = { 9 }, .piece = 1 } };
	struct defs defs;
	const struct writer_options opt = { .path = path_of("more.mmt"), .defs = &defs };
	struct writer *w;

	(void)state;
	defs_init(&defs);
	assert_int_equal(writer_open(&opt, &w), 0);
	put(w, run, 0);
	put(w, run, 1);
	put(w, (struct fact){ .kind = MMT_INFO, .info = MMT_END }, 2);
	assert_int_equal(writer_close(w), 0);
	defs_fini(&defs);
	assert_int_equal(read_files(path_of("more.mmt")), 0);
	assert_int_equal(ledger.nnotes, 0);
	assert_int_equal(damages(), 0);
}

/* --- files with nothing in them --- */

static void make_empty(void)
{
	char *data;
	size_t n;

	assert_int_equal(read_whole_file(path_of("first.mmt"), 1 << 20, &data, &n), 0);
	assert_int_equal(write_whole_file(path_of("empty.mmt"), data, MMT_FILE_HEAD), 0);
	free(data);
}

static void a_piece_that_has_just_begun(void **state)
{
	(void)state;
	make_empty();
	assert_int_equal(read_files(path_of("empty.mmt"), path_of("first.mmt"), path_of("second.mmt")), 0);
	assert_int_equal(ledger.nnotes, 1);
	assert_true(has_note("without an end"));
	assert_int_equal(damages(), 0);
	assert_int_equal(ledger.held_blocks, 1);
	assert_string_equal(said, "");
}

static void nothing_else(void **state)
{
	(void)state;
	make_empty();
	assert_int_equal(read_files(path_of("empty.mmt")), 0);
	assert_int_equal(ledger.nnotes, 1);
	assert_true(has_note("without an end"));
	ledger_fini(&ledger);
	assert_int_equal(read_files(path_of("empty.mmt"), path_of("empty.mmt")), 0);
	assert_int_equal(ledger.nnotes, 1);
	assert_int_equal(ledger.held_blocks, 0);
}

/* --- damage --- */

/* @name with byte @at flipped, or cut there (@cut), as "damaged.mmt". */
static void damage(const char *name, off_t at, bool cut)
{
	char *data;
	size_t n;

	assert_int_equal(read_whole_file(path_of(name), 1 << 20, &data, &n), 0);
	if (at < 0)
		at += (off_t)n;
	if (!cut)
		data[at] ^= 0x55;
	assert_int_equal(write_whole_file(path_of("damaged.mmt"), data, cut ? (size_t)at : n), 0);
	free(data);
}

static void a_cut_trace(void **state)
{
	(void)state;
	damage("whole.mmt", -3, true);
	assert_int_equal(read_files(path_of("damaged.mmt")), 0);
	assert_true(has_note("damaged.mmt is damaged at its end"));
	assert_true(has_note("without an end"));
	assert_int_equal(damages(), 1);
	assert_string_equal(said, "");
}

static void a_damaged_block(void **state)
{
	(void)state;
	damage("whole.mmt", -1, false);
	assert_int_equal(read_files(path_of("damaged.mmt")), 0);
	assert_true(has_note("damaged.mmt is damaged at"));
	assert_true(has_note("checksum"));
	assert_int_equal(damages(), 1);
}

/* A piece that has lost the block with its number. */
static void a_piece_without_its_head(void **state)
{
	(void)state;
	damage("second.mmt", MMT_FILE_HEAD + MMT_BLOCK_HEAD + 1, false);
	assert_int_equal(read_files(path_of("damaged.mmt"), path_of("first.mmt"), path_of("third.mmt")), 0);
	assert_true(has_note("damaged.mmt has lost its beginning"));
	assert_true(has_note("piece 2 of the trace is missing"));
}

/* The first block, which names the run, is lost; the other one has a tag. */
static void a_stranger_without_its_head(void **state)
{
	(void)state;
	make_two_blocks(2);
	damage("two.mmt", MMT_FILE_HEAD + MMT_BLOCK_HEAD + 1, false);
	assert_int_equal(read_files(path_of("damaged.mmt"), path_of("first.mmt")), 0);
	assert_true(has_note("damaged.mmt has lost its beginning"));
	ledger_fini(&ledger);
	make_two_blocks(3);
	damage("two.mmt", MMT_FILE_HEAD + MMT_BLOCK_HEAD + 1, false);
	assert_int_equal(read_files(path_of("damaged.mmt"), path_of("first.mmt")), -EINVAL);
	assert_non_null(strstr(said, "damaged.mmt"));
	assert_non_null(strstr(said, "different runs"));
}

/* --- what a file may demand --- */

/* Each family has a table of all stacks. */
static void many_families(void **state)
{
	struct defs defs;
	const struct writer_options opt = { .path = path_of("families.mmt"), .defs = &defs };
	struct writer *w;

	(void)state;
	defs_init(&defs);
	assert_int_equal(writer_open(&opt, &w), 0);
	for (uint32_t i = 1; i <= 200; i++) {
		const struct fact f = { .kind = MMT_INFO, .info = MMT_FAMILY_NAME,
					.family_name = { .number = i, .name = "x" } };

		assert_int_equal(defs_take(&defs, &f), 0);
		put(w, f, 0);
	}
	assert_int_equal(writer_close(w), 0);
	defs_fini(&defs);
	assert_int_equal(read_files(path_of("families.mmt")), 0);
	assert_int_equal(ledger.nbooks, 64);
	assert_int_equal(ledger.nonsense, 200 - 63);
}

int main(void)
{
#define replay_test(f) cmocka_unit_test_teardown(f, fini)
	const struct CMUnitTest tests[] = {
		replay_test(a_whole_run),
		replay_test(pieces_in_any_order),
		replay_test(a_file_may_hold_several),
		replay_test(missing_pieces_are_a_gap),
		replay_test(one_missing_piece),
		replay_test(it_may_begin_later),
		replay_test(without_an_end),
		replay_test(other_runs_are_refused),
		replay_test(the_same_piece_twice_is_refused),
		replay_test(the_same_run_twice_is_refused),
		replay_test(what_is_no_trace_is_refused),
		replay_test(no_trace_among_pieces),
		replay_test(what_is_not_there),
		replay_test(what_is_not_there_among_others),
		replay_test(a_cut_trace),
		replay_test(a_damaged_block),
		replay_test(a_piece_without_its_head),
		replay_test(a_stranger_without_its_head),
		replay_test(pieces_in_one_file),
		replay_test(pieces_missing_in_one_file),
		replay_test(a_file_behind_several_in_one),
		replay_test(doubled_in_one_file),
		replay_test(doubled_behind_damage),
		replay_test(doubled_in_another_file),
		replay_test(more_of_the_same_piece),
		replay_test(a_piece_that_has_just_begun),
		replay_test(nothing_else),
		replay_test(many_families),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
