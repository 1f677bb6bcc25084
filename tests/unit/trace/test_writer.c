/* SPDX-License-Identifier: MIT */
/* writer: what is put is in the file, with all definitions that it needs, after a second at the latest. */
#include "trace/writer.h"

#include <errno.h>
#include <stdio.h>

#include "base/fdio.h"
#include "tests/unit/writer_example.h"

static void what_is_put_is_read(void **state)
{
	(void)state;
	for (int stored = 0; stored < 2; stored++) {
		struct writer *w = open_writer("t.mmt", 0, stored);
		struct tape want, got;
		struct stat st;

		tape_init(&want);
		tape_init(&got);
		assert_int_equal(put_random(w, 100000, 5, &want), 0);
		assert_string_equal(writer_path(w), "t.mmt");
		uint64_t raw = writer_raw_bytes(w);
		assert_int_equal(writer_close(w), 0);
		assert_int_equal(tape_read(&got, "t.mmt"), 0);
		assert_int_equal(got.nevents, want.nevents);
		assert_string_equal(strbuf_str(&got.events), strbuf_str(&want.events));
		assert_int_equal(got.ndamage + got.undefined, 0);
		assert_int_equal(got.defs.nstacks, EXAMPLE_STACKS);
		assert_same_stacks(&got.defs);
		assert_int_equal(got.defs.nfamilies, 2);
		assert_int_equal(stat("t.mmt", &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
		assert_true(stored ? (uint64_t)st.st_size > raw : (uint64_t)st.st_size < raw);
		tape_fini(&want);
		tape_fini(&got);
	}
}

/* Every kind of information, too. */
static void every_kind(void **state)
{
	cleanup_strbuf struct strbuf want = STRBUF_INIT;
	struct writer *w = open_writer("t.mmt", 0, false);
	struct tape got;

	(void)state;
	tape_init(&got);
	for (size_t i = 0; i < FACT_EXAMPLES; i++) {
		const struct fact *f = &fact_examples[i];
		if (f->kind != MMT_INFO || (f->info >= MMT_FAMILY_NAME && f->info <= MMT_NAMES) ||
		    f->info == MMT_PLACE || f->info == MMT_TAG || f->info == MMT_SAMPLE ||
		    f->info == MMT_MERGED || f->info == MMT_HANG)
			continue;
		assert_int_equal(writer_put(w, f), 0);
		fact_text(&want, f);
	}
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_string_equal(strbuf_str(&got.info), strbuf_str(&want));
	tape_fini(&got);
}

/* A place names a stack, and is of a family. */
static void places_have_family_and_stack(void **state)
{
	const struct fact family = { .kind = MMT_FAMILY, .family = 3 };
	struct fact place =
		INFORMATION(PLACE,
			    .place = { .stack = 4, .allocs = 5, .points = example_points, .npoints = 2 });
	struct writer *w = open_writer("t.mmt", 0, false);
	struct tape got;

	(void)state;
	tape_init(&got);
	assert_int_equal(writer_put(w, &family), 0);
	assert_int_equal(writer_put(w, &place), 0);
	place.place.stack = EXAMPLE_STACKS;
	assert_int_equal(writer_put(w, &place), -EINVAL);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_string_equal(strbuf_str(&got.info), "31.15 @0 4 5 0 0: 0 1 0\n");
	assert_int_equal(got.family, 3);
	assert_int_equal(defs_family(&got.defs, 3), 0);
	assert_true(defs_stack(&got.defs, 4) != DEFS_NONE);
	tape_fini(&got);
}

/* A sample, too, names a stack, and is of a family. */
static void samples_have_family_and_stack(void **state)
{
	const struct fact family = { .kind = MMT_FAMILY, .family = 3 };
	struct fact sample = INFORMATION(SAMPLE, .sample = { 4, &example_samples[0] });
	struct writer *w = open_writer("t.mmt", 0, false);
	cleanup_strbuf struct strbuf want = STRBUF_INIT;
	struct tape got;

	(void)state;
	tape_init(&got);
	assert_int_equal(writer_put(w, &family), 0);
	assert_int_equal(writer_put(w, &sample), 0);
	fact_text(&want, &sample);
	sample.sample.stack = EXAMPLE_STACKS;
	assert_int_equal(writer_put(w, &sample), -EINVAL);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_int_equal(got.family, 3);
	assert_string_equal(strbuf_str(&got.info), strbuf_str(&want));
	assert_true(defs_stack(&got.defs, 4) != DEFS_NONE);
	tape_fini(&got);
}

/* A probe is of a family, too, and names are of a frame. */
static void probes_and_names_have_their_parts(void **state)
{
	const struct fact probe = INFORMATION(PROBE, .probe = { 0, 3, "alloc malloc", NULL, NULL });
	const struct fact names = INFORMATION(NAMES, .names = { 5, example_names, 1 });
	struct writer *w = open_writer("t.mmt", 0, false);
	struct tape got;

	(void)state;
	tape_init(&got);
	assert_int_equal(writer_put(w, &probe), 0);
	assert_int_equal(writer_put(w, &names), 0);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_int_equal(got.undefined, 0);
	assert_string_equal(got.defs.families[defs_family(&got.defs, 3)].name, "refs");
	assert_int_equal(got.defs.frames[defs_frame(&got.defs, 5)].nnames, 1);
	assert_int_equal(got.defs.nmodules, 1);
	tape_fini(&got);
}

/* If more becomes known of a module, it is written again; a family that was put by hand is not. */
static void what_becomes_known(void **state)
{
	const struct fact family = { .kind = MMT_FAMILY, .family = 3 };
	struct writer *w = open_writer("t.mmt", 0, false);
	const struct fact alloc = EVENT(ALLOC, .addr = 16, .stack = 0);
	struct fact f;
	struct tape got;

	(void)state;
	tape_init(&got);
	define((struct fact)INFORMATION(MODULE, .module = { 2, 2, 1, 2, 3, NULL, NULL }));
	defs_module_fact(&defs, 2, &f);
	assert_int_equal(writer_put(w, &f), 0);
	define((struct fact)INFORMATION(MODULE, .module = { 2, 2, 1, 2, 3, "/late", NULL }));
	defs_module_fact(&defs, 2, &f);
	assert_int_equal(writer_put(w, &f), 0);
	defs_family_fact(&defs, 1, &f);
	assert_int_equal(writer_put(w, &f), 0);
	assert_int_equal(writer_put(w, &family), 0);
	assert_int_equal(writer_put(w, &alloc), 0);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_string_equal(got.defs.modules[0].path, "/late");
	assert_int_equal(got.ndefinitions, 2 + 1 + 1);
	tape_fini(&got);
}

/* A full block is written even without writer_tick: no more is lost than a block holds. */
static void a_full_block_is_written(void **state)
{
	struct writer *w = open_writer("t.mmt", 0, true);
	uint64_t random = 3, before = 0, steps = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		const struct fact f = { .kind = MMT_FREE, .block.addr = example_random(&random) };
		assert_int_equal(writer_put(w, &f), 0);
		assert_true(writer_raw_bytes(w) - before < 300000);
		steps += writer_raw_bytes(w) > before;
		before = writer_raw_bytes(w);
	}
	assert_in_range(steps, 7, 9);
	assert_int_equal(writer_close(w), 0);
}

/* An error of the caller is returned, and does not end the writing. */
static void errors_of_the_caller(void **state)
{
	static char text[MMT_BLOCK_MAX];
	const struct fact unknown = EVENT(ALLOC, .addr = 16, .stack = EXAMPLE_STACKS);
	const struct fact twice =
		EVENT(TWICE, .addr = 16, .stack = 1, .first = 0, .alloc = EXAMPLE_STACKS + 1);
	const struct fact good = EVENT(ALLOC, .addr = 32, .size = 1, .stack = 1), none = { .kind = 20 };
	const struct fact note = INFORMATION(NOTE, .note = text);
	struct writer *w = open_writer("t.mmt", 0, false);
	struct tape got;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	tape_init(&got);
	assert_int_equal(writer_put(w, &unknown), -EINVAL);
	assert_int_equal(writer_put(w, &twice), -EINVAL);
	assert_int_equal(writer_put(w, &none), -EINVAL);
	assert_int_equal(writer_put(w, &note), -EMSGSIZE);
	assert_int_equal(writer_put(w, &good), 0);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_string_equal(strbuf_str(&got.events), "0: 1.0 @0 0x20 1 1\n");
	tape_fini(&got);
	assert_int_equal(writer_close(NULL), 0);
}

/* A definition that is put by hand is not written again, and its parts are written before it. */
static void definitions_by_hand(void **state)
{
	const struct fact alloc = EVENT(ALLOC, .addr = 16, .stack = 3);
	struct writer *w = open_writer("t.mmt", 0, true);
	struct fact f;
	struct tape got;

	(void)state;
	tape_init(&got);
	defs_stack_fact(&defs, 3, &f);
	assert_int_equal(writer_put(w, &f), 0);
	assert_int_equal(writer_put(w, &f), 0);
	assert_int_equal(writer_put(w, &alloc), 0);
	defs_node_fact(&defs, 2, &f);
	assert_int_equal(writer_put(w, &f), 0);
	defs_frame_fact(&defs, 2, &f);
	assert_int_equal(writer_put(w, &f), 0);
	assert_int_equal(writer_tick(w, 1000000), 0);
	uint64_t before = writer_raw_bytes(w);
	assert_int_equal(writer_put(w, &f), 0);
	defs_tag_fact(&defs, 1, &f);
	assert_int_equal(writer_put(w, &f), 0);
	assert_int_equal(writer_tick(w, MOST), 0);
	assert_int_equal(writer_raw_bytes(w), before);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_int_equal(got.undefined, 0);
	assert_int_equal(got.defs.nstacks, 1);
	assert_same_stacks(&got.defs);
	tape_fini(&got);
}

/* If the program is killed now, all that was put more than 0.7 s ago is in the file. */
static void readable_at_any_time(void **state)
{
	const struct fact first = { .kind = MMT_FREE, .time_us = 500, .block.addr = 16 };
	const struct fact second = { .kind = MMT_FREE, .time_us = 700499, .block.addr = 32 };
	struct writer *w = open_writer("t.mmt", 0, false);
	struct tape got;

	(void)state;
	tape_init(&got);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_int_equal(writer_put(w, &first), 0);
	assert_int_equal(writer_put(w, &second), 0);
	assert_int_equal(writer_tick(w, 0), 0);
	assert_int_equal(writer_tick(w, 700499), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_int_equal(got.nevents, 0);
	assert_int_equal(writer_tick(w, 700500), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_int_equal(got.nevents, 2);
	assert_int_equal(got.ndamage, 0);
	assert_int_equal(writer_close(w), 0);
	tape_fini(&got);
}

/* Also from one block to the next, whose first time is absolute. */
static void time_never_goes_back(void **state)
{
	const struct fact late = { .kind = MMT_TIME, .time_us = 5000000 },
			  early = { .kind = MMT_TIME, .time_us = 7 };
	struct writer *w = open_writer("t.mmt", 0, false);
	struct tape got;

	(void)state;
	tape_init(&got);
	assert_int_equal(writer_put(w, &late), 0);
	assert_int_equal(writer_tick(w, 6000000), 0);
	assert_int_equal(writer_put(w, &early), 0);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(tape_read(&got, "t.mmt"), 0);
	assert_string_equal(strbuf_str(&got.events), "12.0 @5000000\n12.0 @5000000\n");
	tape_fini(&got);
}

/* --- the document --- */

/* The bytes of the example in doc/trace-format.md: lines of a number, bytes, and what they mean. */
static size_t read_example(int home, uint8_t *bytes, size_t max)
{
	cleanup_free char *text = NULL;
	size_t n, count = 0;

	assert_int_equal(read_whole_file_at(home, "doc/trace-format.md", 1 << 20, &text, &n), 0);
	for (char *line = strstr(text, "## An example"); line; line = strchr(line + 1, '\n')) {
		unsigned int at, byte;
		int used = 0;

		if (line[1] != ' ' || sscanf(line, " %4x: %n", &at, &used) != 1 || !used)
			continue;
		assert_int_equal(at, count);
		for (char *p = line + used; sscanf(p, "%2x%n", &byte, &used) == 1 && used == 2 && p[2] == ' ';
		     p += 3) {
			assert_true(count < max);
			bytes[count++] = (uint8_t)byte;
		}
	}
	return count;
}

static int begin_example(void *ctx, struct writer *w, uint32_t piece)
{
	const struct fact f =
		INFORMATION(RUN, .run = { .start_ns = 1700000000000000000, .frontend = "ptrace" });

	(void)ctx;
	(void)piece;
	return writer_put(w, &f);
}

static void the_documents_example(void **state)
{
	const struct fact first = { .kind = MMT_ALLOC, .time_us = 1000,
				    .block = { .addr = 0x5000, .size = 24, .stack = 0 } };
	const struct fact second = { .kind = MMT_ALLOC, .time_us = 1003,
				     .block = { .addr = 0x5028, .size = 200, .stack = 0 } };
	const struct fact release = { .kind = MMT_FREE, .time_us = 1020, .block.addr = 0x5000 };
	const struct fact end = { .kind = MMT_INFO, .info = MMT_END, .time_us = 2000 };
	const struct fact_name name = { "main", NULL, "svc.c", 12, false };
	const struct writer_options opt = {
		.path = "t.mmt", .stored = true, .defs = &defs, .run_tag = 0x12345678, .begin = begin_example
	};
	const struct folder *folder = *state;
	uint8_t want[1024];
	cleanup_free char *got = NULL;
	struct writer *w;
	size_t n;

	defs_fini(&defs);
	define((struct fact)INFORMATION(
		MODULE, .module = { 0, 0, 0x400000, 0x401000, 0x402000, "/bin/svc", "c0ffee" }));
	define((struct fact)INFORMATION(FRAME, .frame = { 0, 1, 0x401234, false, false }));
	define((struct fact)INFORMATION(NODE, .node = { 1, 0, 0 }));
	define((struct fact)INFORMATION(STACK, .stack = { 0, 1, MMT_END_WHOLE, FACT_NONE }));
	define((struct fact)INFORMATION(NAMES, .names = { 0, &name, 1 }));
	assert_int_equal(writer_open(&opt, &w), 0);
	assert_int_equal(writer_put(w, &first), 0);
	assert_int_equal(writer_put(w, &second), 0);
	assert_int_equal(writer_put(w, &release), 0);
	assert_int_equal(writer_put(w, &end), 0);
	assert_int_equal(writer_put_names(w), 0);
	assert_int_equal(writer_close(w), 0);
	assert_int_equal(read_whole_file("t.mmt", sizeof(want), &got, &n), 0);
	assert_int_equal(n, read_example(folder->home, want, sizeof(want)));
	assert_memory_equal(got, want, n);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_put_is_read),
		TEST(every_kind),
		TEST(places_have_family_and_stack),
		TEST(samples_have_family_and_stack),
		TEST(probes_and_names_have_their_parts),
		TEST(what_becomes_known),
		TEST(a_full_block_is_written),
		TEST(errors_of_the_caller),
		TEST(definitions_by_hand),
		TEST(readable_at_any_time),
		TEST(time_never_goes_back),
		TEST(the_documents_example),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
