/* SPDX-License-Identifier: MIT */
/*
 * writer_example: a run of some stacks for the writer, each test in a folder of its own; and events at
 * random.
 */
#ifndef WRITER_EXAMPLE_H
#define WRITER_EXAMPLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/fact_example.h"
#include "tests/unit/folder.h"
#include "tests/unit/trace_tape.h"
#include "trace/writer.h"

#define TAG 0x1234

static struct defs defs;

static inline void define(struct fact f)
{
	assert_int_equal(defs_take(&defs, &f), 0);
}

/*
 * Stack s: s + 1 frames deep, all through the first node, in two modules, every third with a tag; stack 0 has
 * no frame.
 */
static inline int enter(void **state)
{
	defs_init(&defs);
	define((struct fact)INFORMATION(FAMILY_NAME, .family_name = { .number = 0, .name = "libc" }));
	define((struct fact)INFORMATION(FAMILY_NAME, .family_name = { 3, "refs", "ref", true, false }));
	define((struct fact)INFORMATION(MODULE, .module = { 0, 0, 0x1000, 0x1000, 0x2000, "/bin/a", "aa" }));
	define((struct fact)INFORMATION(MODULE, .module = { 1, 1, 0x3000, 0x3000, 0x4000, "/lib/b", "bb" }));
	define((struct fact)INFORMATION(TAG, .tag = { 0, "first" }));
	define((struct fact)INFORMATION(TAG, .tag = { 1, "second" }));
	define((struct fact)INFORMATION(STACK, .stack = { 0, 0, MMT_END_LOST, FACT_NONE }));
	for (uint32_t i = 0; i < EXAMPLE_STACKS - 1; i++) {
		define((struct fact)INFORMATION(FRAME, .frame = { i, i % 3, 0x1000 + i, false, i % 2 }));
		define((struct fact)INFORMATION(NODE, .node = { i + 1, i, i }));
		define((struct fact)INFORMATION(STACK, .stack = { i + 1, i + 1, MMT_END_WHOLE, i % 3 }));
	}
	return folder_enter(state);
}

static inline int leave(void **state)
{
	defs_fini(&defs);
	return folder_leave(state);
}

static inline const char *tag_of(const struct defs *d, uint32_t stack)
{
	return d->stacks[stack].tag == DEFS_NONE ? "" : d->tags[d->stacks[stack].tag].text;
}

/* The stacks of a piece are the same as those of the run, whatever their indices. */
static inline void assert_same_stacks(const struct defs *got)
{
	for (uint32_t i = 0; i < got->nstacks; i++) {
		uint32_t mine[EXAMPLE_STACKS], its[EXAMPLE_STACKS], number = got->stacks[i].number;
		uint32_t n = defs_path(got, i, its, EXAMPLE_STACKS);

		assert_int_equal(n, defs_path(&defs, defs_stack(&defs, number), mine, EXAMPLE_STACKS));
		assert_int_equal(got->stacks[i].end, defs.stacks[defs_stack(&defs, number)].end);
		assert_string_equal(tag_of(got, i), tag_of(&defs, defs_stack(&defs, number)));
		for (uint32_t k = 0; k < n; k++) {
			struct fact a, b;
			cleanup_strbuf struct strbuf ta = STRBUF_INIT, tb = STRBUF_INIT;

			defs_frame_fact(got, its[k], &a);
			defs_frame_fact(&defs, mine[k], &b);
			fact_text(&ta, &a);
			fact_text(&tb, &b);
			assert_string_equal(strbuf_str(&ta), strbuf_str(&tb));
		}
	}
}

/* Put @n random facts, and what must be read into @want. Returns 0 or the error. */
static inline int put_random(struct writer *w, int n, uint64_t seed, struct tape *want)
{
	uint64_t now = 0;

	for (int i = 0; i < n; i++) {
		struct fact f = example_event(&seed, &now);
		int err = writer_put(w, &f);

		if (!err && want)
			err = tape_take(want, &f);
		if (!err && i % 500 == 499)
			err = writer_tick(w, now += 1000000);
		if (err)
			return err;
	}
	return 0;
}

static inline struct writer *open_writer(const char *path, uint64_t rotate, bool stored)
{
	const struct writer_options opt = {
		.path = path, .rotate_bytes = rotate, .stored = stored, .defs = &defs, .run_tag = TAG
	};
	struct writer *w;

	assert_int_equal(writer_open(&opt, &w), 0);
	return w;
}

static inline uint64_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

#endif
