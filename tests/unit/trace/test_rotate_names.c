/* SPDX-License-Identifier: MIT */
/*
 * rotate_names: each piece can be read alone, all together are the run, and names are written into all of
 * them at the end.
 */
#include "trace/rotate_names.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fdio.h"
#include "tests/unit/writer_example.h"

static void names_of_pieces(void **state)
{
	static const struct { const char *path, *want; uint32_t piece;
	} cases[] = {
		{ "svc.mmt", "svc.0001.mmt", 1 },     { "svc", "svc.0002", 2 },
		{ "a.b/svc", "a.b/svc.9999", 9999 },  { "./.mmt", "./.mmt.10000", 10000 },
		{ "a%s.x.mmt", "a%s.x.0003.mmt", 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cleanup_free char *name = NULL;
		assert_int_equal(rotate_name(cases[i].path, cases[i].piece, &name), 0);
		assert_string_equal(name, cases[i].want);
	}
	assert_true(rotate_possible("absent"));
	assert_false(rotate_possible("/dev/null"));
	assert_false(rotate_possible("."));
}

static void pieces_that_are_there(void **state)
{
	uint32_t piece = 7;

	(void)state;
	assert_int_equal(rotate_first_present("svc.mmt", &piece), 0);
	assert_int_equal(piece, 0);
	/* also a link that leads nowhere */
	assert_int_equal(symlink("nowhere", "svc.0030.mmt"), 0);
	assert_int_equal(rotate_first_present("svc.mmt", &piece), 0);
	assert_int_equal(piece, 30);
	assert_int_equal(write_whole_file("svc.0002.mmt", "", 0), 0);
	assert_int_equal(rotate_first_present("svc.mmt", &piece), 0);
	assert_int_equal(piece, 2);
}

struct turns {
	uint32_t begun, finished;
	int fail_at;		/* the finish of this piece fails */
};

static int begin(void *ctx, struct writer *w, uint32_t piece)
{
	const struct fact f = INFORMATION(RUN, .run = { .piece = piece, .mode = "exact" });
	struct turns *t = ctx;

	assert_int_equal(piece, ++t->begun);
	return writer_put(w, &f);
}

static int finish(void *ctx, struct writer *w, uint32_t piece)
{
	const struct fact f = INFORMATION(COUNT, .count = { MMT_COUNT_EVENTS, piece });
	struct turns *t = ctx;

	assert_int_equal(piece, ++t->finished);
	return (int)piece == t->fail_at ? -EDOM : writer_put(w, &f);
}

static struct writer *open_pieces(const char *path, struct turns *turns, uint64_t rotate)
{
	const struct writer_options opt = { .path = path, .rotate_bytes = rotate, .defs = &defs,
					    .run_tag = TAG, .begin = begin, .finish = finish, .ctx = turns };
	struct writer *w;

	assert_int_equal(writer_open(&opt, &w), 0);
	return w;
}

static const char *piece_of_svc(uint32_t piece)
{
	static char name[32];

	snprintf(name, sizeof(name), "svc.%04u", piece);
	return name;
}

/* Of the first @n, as far as they exist. */
static uint64_t size_of_pieces(uint32_t n)
{
	uint64_t bytes = 0;

	for (uint32_t i = 1; i <= n; i++)
		bytes += access(piece_of_svc(i), F_OK) ? 0 : size_of(piece_of_svc(i));
	return bytes;
}

/* Piece @i has all definitions that it needs, and its own facts. */
static void assert_piece(const struct tape *got, uint32_t i)
{
	char first[80], last[32];

	snprintf(first, sizeof(first), " piece %u last 0 start 0 NULL \"exact\" NULL NULL NULL NULL\n31.12 @", i);
	snprintf(last, sizeof(last), " 1 %u\n", i);
	assert_int_equal(got->ndamage + got->undefined, 0);
	assert_same_stacks(&got->defs);
	assert_non_null(strstr(strbuf_str(&got->info), first));
	assert_non_null(strstr(strbuf_str(&got->info), last));
}

static void each_piece_stands_alone(void **state)
{
	struct turns turns = { 0 };
	struct writer *w = open_pieces("svc", &turns, 20000);
	struct tape want, all;

	(void)state;
	tape_init(&want);
	tape_init(&all);
	assert_int_equal(put_random(w, 50000, 9, &want), 0);
	assert_int_equal(writer_tick(w, MOST), 0);
	assert_int_equal(writer_bytes(w), size_of_pieces(turns.begun));
	assert_int_equal(writer_close(w), 0);
	assert_true(turns.begun > 5);
	assert_int_equal(turns.finished, turns.begun);
	assert_int_equal(access("svc", F_OK), -1);
	for (uint32_t i = 1; i <= turns.begun; i++) {
		struct tape got;

		tape_init(&got);
		assert_int_equal(tape_read(&got, piece_of_svc(i)), 0);
		assert_piece(&got, i);
		strbuf_puts(&all.events, strbuf_str(&got.events));
		tape_fini(&got);
		assert_true(size_of(piece_of_svc(i)) < 40000 &&
			    (i == turns.begun || size_of(piece_of_svc(i)) >= 20000));
	}
	assert_string_equal(strbuf_str(&all.events), strbuf_str(&want.events));
	tape_fini(&want);
	tape_fini(&all);
}

/* What was put before is written all the same. */
static void a_turn_that_fails(void **state)
{
	struct turns turns = { .fail_at = 3 };
	struct writer *w = open_pieces("svc", &turns, 5000);
	struct fact f = { .kind = MMT_TIME };
	struct tape want, got;

	(void)state;
	tape_init(&want);
	tape_init(&got);
	assert_int_equal(put_random(w, 50000, 9, &want), -EDOM);
	assert_int_equal(turns.begun, 3);
	assert_int_equal(writer_put(w, &f), -EDOM);
	assert_int_equal(writer_tick(w, MOST), -EDOM);
	assert_int_equal(writer_put_names(w), -EDOM);
	assert_int_equal(writer_close(w), -EDOM);
	assert_int_equal(turns.finished, 3);
	for (uint32_t i = 1; i <= 3; i++)
		assert_int_equal(tape_read(&got, piece_of_svc(i)), 0);
	assert_int_equal(got.ndamage, 0);
	assert_string_equal(strbuf_str(&got.events), strbuf_str(&want.events));
	tape_fini(&want);
	tape_fini(&got);
}

/* The last fact put before a change of pieces that fails at the end of the run. */
static void a_last_turn_that_fails(void **state)
{
	struct turns turns = { .fail_at = 1 };
	struct writer *w = open_pieces("svc", &turns, 5000);
	struct fact f = { .kind = MMT_TIME, .time_us = 3 };
	struct tape got;

	(void)state;
	tape_init(&got);
	assert_int_equal(writer_put(w, &f), 0);
	assert_int_equal(writer_close(w), -EDOM);
	assert_int_equal(tape_read(&got, "svc.0001"), 0);
	assert_string_equal(strbuf_str(&got.events), "12.0 @3\n");
	tape_fini(&got);
}

/* So small that one fact fills a piece: pieces and facts go on. */
static void the_smallest_pieces(void **state)
{
	struct turns turns = { 0 };
	struct writer *w = open_pieces("svc", &turns, 1);
	struct tape got;

	(void)state;
	tape_init(&got);
	assert_int_equal(put_random(w, 2000, 3, NULL), 0);
	assert_int_equal(writer_close(w), 0);
	assert_in_range(turns.begun, 2000, 2001);
	assert_int_equal(tape_read(&got, "svc.0777"), 0);
	assert_int_equal(got.nevents, 1);
	tape_fini(&got);
}

static void name_frames(void)
{
	for (uint32_t i = 0; i < defs.nframes; i++) {
		char function[16];
		const struct fact_name name[] = { { function, NULL, "x.c", i, true },
						  { "outer", NULL, NULL, 0, false } };
		const struct fact f = INFORMATION(NAMES, .names = { i, name, 2 });

		snprintf(function, sizeof(function), "f%u", i);
		assert_int_equal(defs_take(&defs, &f), 0);
	}
}

static void assert_named(const char *path)
{
	struct tape got;

	tape_init(&got);
	assert_int_equal(tape_read(&got, path), 0);
	assert_int_equal(got.ndamage + got.undefined, 0);
	assert_true(got.defs.nframes > 0);
	for (uint32_t i = 0; i < got.defs.nframes; i++) {
		char function[16];
		struct fact_name names[2];
		struct fact f;

		snprintf(function, sizeof(function), "f%u", got.defs.frames[i].number);
		assert_int_equal(got.defs.frames[i].nnames, 2);
		defs_names_fact(&got.defs, i, names, &f);
		assert_string_equal(names[0].function, function);
		assert_int_equal(names[0].inlined, true);
		assert_string_equal(names[1].function, "outer");
	}
	tape_fini(&got);
}

/* Only where the piece's file is unchanged. Another file under its name is not touched. */
static void names_in_all_pieces(void **state)
{
	struct turns turns = { 0 };
	struct writer *w = open_pieces("svc", &turns, 20000);
	cleanup_free char *mine = NULL, *now = NULL;
	uint64_t before, bytes;
	size_t n, n_now;

	(void)state;
	assert_int_equal(put_random(w, 50000, 9, NULL), 0);
	assert_true(turns.begun > 6);
	assert_int_equal(rename("svc.0002", "moved"), 0);
	assert_int_equal(rename("svc.0003", "kept"), 0);
	assert_int_equal(read_whole_file("kept", 1 << 20, &mine, &n), 0);
	assert_int_equal(write_whole_file("svc.0003", mine, n), 0);
	assert_int_equal(rename("svc.0004", "behind"), 0);
	assert_int_equal(symlink("behind", "svc.0004"), 0);
	assert_int_equal(truncate("svc.0005", (off_t)size_of("svc.0005") - 1), 0);
	name_frames();
	assert_int_equal(writer_tick(w, MOST), 0);
	before = writer_bytes(w);
	bytes = size_of_pieces(turns.begun);
	assert_int_equal(writer_put_names(w), 0);
	assert_true(writer_bytes(w) > before);
	assert_int_equal(writer_bytes(w) - before, size_of_pieces(turns.begun) - bytes);
	assert_int_equal(writer_close(w), 0);

	assert_named("svc.0001");
	assert_named("svc.0006");
	assert_named(piece_of_svc(turns.begun));
	assert_int_equal(read_whole_file("svc.0003", 1 << 20, &now, &n_now), 0);
	assert_int_equal(n_now, n);
	assert_memory_equal(now, mine, n);
	static const char *const untouched[] = { "moved", "kept", "behind", "svc.0005" };
	for (size_t i = 0; i < 4; i++) {
		struct tape got;
		tape_init(&got);
		assert_int_equal(tape_read(&got, untouched[i]), 0);
		assert_int_equal(got.defs.nnames, 0);
		tape_fini(&got);
	}
}

/* The names in a piece do not make its run longer than its last fact. */
static void names_have_the_time_of_their_piece(void **state)
{
	struct turns turns = { 0 };
	struct writer *w = open_pieces("svc", &turns, 1);
	struct fact f = { .kind = MMT_ALLOC, .time_us = 10, .block = { .addr = 16, .stack = 1 } };
	struct tape got;

	(void)state;
	tape_init(&got);
	assert_int_equal(writer_put(w, &f), 0);
	assert_int_equal(writer_tick(w, 2000000), 0);
	f.time_us = 3000000;
	assert_int_equal(writer_put(w, &f), 0);
	name_frames();
	assert_int_equal(writer_put_names(w), 0);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(tape_read(&got, "svc.0001"), 0);
	assert_int_equal(got.defs.nnames, 2);
	assert_int_equal(got.undefined, 0);
	assert_int_equal(got.last_us, 10);
	tape_fini(&got);
}

/* More names than fit into one block; and a frame whose names fit into no block gets none. */
static void many_names(void **state)
{
	static char text[MMT_BLOCK_MAX / 2];
	const struct fact_name small = { text + sizeof(text) - 1000, NULL, NULL, 1, false };
	const struct fact_name half = { text + 20000, NULL, NULL, 0, true }, large[] = { half, half, half };
	struct writer *w = open_writer("t.mmt", 0, true);
	struct tape got;

	(void)state;
	tape_init(&got);
	memset(text, 'x', sizeof(text) - 1);
	for (uint32_t i = EXAMPLE_STACKS; i < 3000; i++) {
		define((struct fact)INFORMATION(FRAME, .frame = { i, FACT_NONE, i, false, false }));
		define((struct fact)INFORMATION(NODE, .node = { i, 0, i }));
		define((struct fact)INFORMATION(STACK, .stack = { i, i, MMT_END_WHOLE, FACT_NONE }));
		if (i == 100 || i == 150)	/* one that is too large, one that needs a block of its own */
			define((struct fact)INFORMATION(NAMES, .names = { i, large, i == 100 ? 3 : 2 }));
		else if (i != 200)
			define((struct fact)INFORMATION(NAMES, .names = { i, &small, 1 }));
		const struct fact f = EVENT(ALLOC, .addr = i * 16, .size = 1, .stack = i);
		assert_int_equal(writer_put(w, &f), 0);
	}
	assert_int_equal(writer_tick(w, MOST), 0);
	uint64_t before = writer_raw_bytes(w);
	assert_int_equal(writer_put_names(w), 0);
	assert_in_range(writer_raw_bytes(w) - before, 3900000, 4100000);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_int_equal(got.ndamage + got.undefined, 0);
	assert_int_equal(got.defs.nframes, 3000 - EXAMPLE_STACKS);
	assert_int_equal(got.ndefinitions, 4 * got.defs.nframes - 2);
	for (uint32_t i = 0; i < got.defs.nframes; i++) {
		uint32_t number = got.defs.frames[i].number;
		assert_int_equal(got.defs.frames[i].nnames, number == 100 || number == 200 ? 0
							    : number == 150		   ? 2
											   : 1);
	}
	tape_fini(&got);
}

/* A piece without room for its names is unchanged; the others have theirs. */
static void no_room_for_names(void **state)
{
	struct turns turns = { 0 };
	struct writer *w = open_pieces("svc", &turns, 20000);
	struct rlimit old, now;
	uint64_t large;
	struct tape got;

	(void)state;
	tape_init(&got);
	assert_int_equal(put_random(w, 51000, 9, NULL), 0);
	assert_int_equal(writer_tick(w, MOST), 0);
	large = size_of("svc.0001");
	assert_true(size_of(piece_of_svc(turns.begun)) + 1000 < large);
	name_frames();
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	now = (struct rlimit){ large + 40, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	assert_int_equal(writer_put_names(w), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(size_of("svc.0001"), large);
	assert_int_equal(tape_read(&got, "svc.0001"), 0);
	assert_int_equal(got.ndamage + got.defs.nnames, 0);
	assert_named(piece_of_svc(turns.begun));
	assert_int_equal(writer_close(w), 0);
	tape_fini(&got);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_of_pieces),
		TEST(pieces_that_are_there),
		TEST(each_piece_stands_alone),
		TEST(a_turn_that_fails),
		TEST(a_last_turn_that_fails),
		TEST(the_smallest_pieces),
		TEST(names_in_all_pieces),
		TEST(names_have_the_time_of_their_piece),
		TEST(many_names),
		TEST(no_room_for_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
