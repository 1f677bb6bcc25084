/* SPDX-License-Identifier: MIT */
/* answer: what is written can be read; what is cut, too long or malformed is refused. */
#include "symbolize/answer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <cmocka.h>

static const struct names_frame two[] = { { "inner()", "_Z5innerv", "/src/a.h", 3, true }, { 0 } };

static void reads_back(void **state)
{
	struct names_frame frames[ANSWER_FRAMES_MAX];
	struct strbuf sb = STRBUF_INIT;
	struct answer a;
	ssize_t got;

	(void)state;
	answer_put_frames(&sb, 7, two, 2);
	got = answer_read(sb.s, sb.len, frames, &a);
	assert_int_equal(got, sb.len);
	assert_int_equal(a.kind, ANSWER_FRAMES);
	assert_int_equal(a.index, 7);
	assert_int_equal(a.n, 2);
	assert_string_equal(a.frames[0].function, "inner()");
	assert_string_equal(a.frames[0].linkage, "_Z5innerv");
	assert_string_equal(a.frames[0].file, "/src/a.h");
	assert_int_equal(a.frames[0].line, 3);
	assert_true(a.frames[0].inlined);
	assert_null(a.frames[1].function);
	assert_null(a.frames[1].linkage);
	assert_null(a.frames[1].file);
	assert_false(a.frames[1].inlined);
	strbuf_reset(&sb);
	answer_put_note(&sb, "because");
	assert_int_equal(answer_read(sb.s, sb.len, frames, &a), sb.len);
	assert_int_equal(a.kind, ANSWER_NOTE);
	assert_string_equal(a.note, "because");
	strbuf_reset(&sb);
	answer_put(&sb, ANSWER_DONE);
	assert_int_equal(answer_read(sb.s, sb.len, frames, &a), sb.len);
	assert_int_equal(a.kind, ANSWER_DONE);
	strbuf_fini(&sb);
}

static void cut(void **state)
{
	struct names_frame frames[ANSWER_FRAMES_MAX];
	struct strbuf sb = STRBUF_INIT;
	struct answer a;

	(void)state;
	answer_put_frames(&sb, 7, two, 2);
	for (size_t n = 0; n < sb.len; n++)
		assert_int_equal(answer_read(sb.s, n, frames, &a), 0);
	strbuf_fini(&sb);
}

static ssize_t read_changed(size_t at, uint32_t value)
{
	struct names_frame frames[ANSWER_FRAMES_MAX];
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	struct answer a;

	answer_put_frames(&sb, 7, two, 2);
	memcpy(sb.s + at, &value, sizeof(value));
	return answer_read(sb.s, sb.len, frames, &a);
}

static void refuses(void **state)
{
	size_t kind = offsetof(struct answer_head, kind), count = offsetof(struct answer_head, count);
	size_t size = offsetof(struct answer_head, size), frame = sizeof(struct answer_head);

	(void)state;
	assert_int_equal(read_changed(kind, ANSWER_KINDS), -EINVAL);
	assert_int_equal(read_changed(kind, ANSWER_DONE), -EINVAL);
	assert_int_equal(read_changed(count, 0), -EINVAL);
	assert_int_equal(read_changed(count, 1), -EINVAL);
	assert_int_equal(read_changed(count, 3), -EINVAL);
	assert_int_equal(read_changed(count, UINT32_MAX), -EINVAL);
	assert_int_equal(read_changed(size, ANSWER_BYTES_MAX + 1), -EINVAL);
	assert_int_equal(read_changed(frame + 4, UINT32_MAX), -EINVAL);
	assert_int_equal(read_changed(frame + 4, 5), -EINVAL);
	assert_int_equal(read_changed(frame + 8, UINT32_MAX), -EINVAL);
	assert_int_equal(read_changed(frame + 8, 9), -EINVAL);
	assert_int_equal(read_changed(frame + 12, 1000), -EINVAL);
}

/* Frames that do not fit are left out, but never the function that contains the code. */
static void fits(void **state)
{
	struct names_frame many[600], frames[ANSWER_FRAMES_MAX];
	char *name = malloc(100000), *giant = malloc(2 * ANSWER_BYTES_MAX);
	struct strbuf sb = STRBUF_INIT;
	struct answer a;

	(void)state;
	memset(name, 'x', 99999);
	name[99999] = '\0';
	memset(giant, 'y', 2 * ANSWER_BYTES_MAX - 1);
	giant[2 * ANSWER_BYTES_MAX - 1] = '\0';
	for (size_t i = 0; i < 600; i++)
		many[i] = (struct names_frame){ name, NULL, NULL, 1, true };
	many[599] = (struct names_frame){ "whole", NULL, "file", 2, false };
	answer_put_frames(&sb, 1, many, 600);
	assert_true(sb.len <= sizeof(struct answer_head) + ANSWER_BYTES_MAX);
	assert_int_equal(answer_read(sb.s, sb.len, frames, &a), sb.len);
	assert_int_equal(a.n, 11);
	assert_string_equal(a.frames[10].function, "whole");
	strbuf_reset(&sb);
	for (size_t i = 0; i < 599; i++)
		many[i].function = "f";
	answer_put_frames(&sb, 1, many, 600);
	assert_int_equal(answer_read(sb.s, sb.len, frames, &a), sb.len);
	assert_int_equal(a.n, ANSWER_FRAMES_MAX);
	assert_string_equal(a.frames[a.n - 1].function, "whole");
	strbuf_reset(&sb);
	many[0].function = giant;
	answer_put_frames(&sb, 1, many, 1);
	assert_int_equal(answer_read(sb.s, sb.len, frames, &a), sb.len);
	assert_null(a.frames[0].function);
	strbuf_fini(&sb);
	free(name);
	free(giant);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back),
		cmocka_unit_test(cut),
		cmocka_unit_test(refuses),
		cmocka_unit_test(fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
