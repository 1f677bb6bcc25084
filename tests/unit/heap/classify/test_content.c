/* SPDX-License-Identifier: MIT */
/* content: what blocks look like, and how that is described. */
#include "heap/classify/content.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAP 0x30000000ull
#define TEXT 0x20000000ull
#define STACK 0x7f0000000000ull

static const char maps[] =
	"20000000-20010000 r-xp 00000000 fe:01 77 /x.so\n"
	"20010000-20020000 rw-p 00010000 fe:01 77 /x.so\n"
	"30000000-30010000 rw-p 00000000 00:00 0\n"
	"40000000-40001000 rw-p 00000000 00:00 0\n"	/* never touched */
	"7f0000000000-7f0000010000 rw-p 00000000 00:00 0\n";

static uint64_t heap[0x10000 / 8];
static struct snapshot s;
static const struct block blocks[] = {
	{ HEAP, 64 }, { HEAP + 0x100, 0x200 }, { HEAP + 0x400, 0x40 }, { HEAP + 0x800, 0x400 },
};
static struct content c;

static int setup(void **state)
{
	const struct snapshot_thread t = { .tid = 1, .sp = STACK + 0x8000 };

	(void)state;
	memset(heap, 0, sizeof(heap));
	snapshot_init(&s);
	return procmaps_parse(maps, sizeof(maps) - 1, &s.maps) ||
	       snapshot_add_piece(&s, HEAP, sizeof(heap), heap) || snapshot_add_thread(&s, &t) ||
	       snapshot_seal(&s);
}

static int teardown(void **state)
{
	(void)state;
	snapshot_fini(&s);
	return 0;
}

static enum content_kind look(taddr at, uint64_t size)
{
	content_look(&s, blocks, sizeof(blocks) / sizeof(blocks[0]), at, size, &c);
	return c.kind;
}

static void put(size_t at, const void *bytes, size_t n)
{
	memcpy((char *)heap + at, bytes, n);
}

static void says(const struct content *all, size_t n, const char *text)
{
	struct strbuf sb = STRBUF_INIT;

	content_describe(all, n, &sb);
	assert_string_equal(strbuf_str(&sb), text);
	strbuf_fini(&sb);
}

static void test_zeros(void **state)
{
	(void)state;
	assert_int_equal(look(HEAP, 64), CONTENT_ZEROS);
	assert_int_equal(look(HEAP, 1), CONTENT_ZEROS);
	assert_int_equal(look(0x40000000, 4096), CONTENT_ZEROS);
	says(&c, 1, "zeros");
}

static void test_not_there(void **state)
{
	(void)state;
	assert_int_equal(look(0x1000, 64), CONTENT_UNKNOWN);
	assert_int_equal(look(HEAP, 0), CONTENT_UNKNOWN);
	assert_int_equal(look(TEXT, 64), CONTENT_UNKNOWN);
	assert_int_equal(look(UINT64_MAX - 8, UINT64_MAX), CONTENT_UNKNOWN);
	says(&c, 1, "");
	says(&c, 0, "");
}

static void test_text(void **state)
{
	(void)state;
	put(0, "GET /index.html", 16);
	put(32, "\x80\x90\xa0\xb0", 4);
	assert_int_equal(look(HEAP, 64), CONTENT_TEXT);
	assert_string_equal(c.sample, "GET /index.html");
	assert_false(c.more);
	says(&c, 1, "text: \"GET /index.html\"");
	memset(heap, 'x', 300);
	assert_int_equal(look(HEAP + 0x800 - 0x800, 300), CONTENT_TEXT);
	assert_int_equal(strlen(c.sample), CONTENT_SAMPLE);
	assert_true(c.more);
}

static void test_short_words_are_no_text(void **state)
{
	(void)state;
	put(0, "abc\0\xff\xfe\xfd\xfc\xfb\x80\x81\x82", 12);
	assert_int_equal(look(HEAP, 16), CONTENT_UNKNOWN);
	put(0, "abcdefg\xff\xff\xfe\xfd\xfc\xfb\x80\x81\x82", 16);
	assert_int_equal(look(HEAP, 16), CONTENT_UNKNOWN);
}

/* Behind a header, as in an interpreter's strings. */
static void test_text_behind_a_header(void **state)
{
	(void)state;
	heap[0] = 1;
	heap[1] = 5;
	put(32, "a text that is much longer than the header before it", 53);
	assert_int_equal(look(HEAP, 96), CONTENT_TEXT);
	assert_int_equal(c.sample_at, 32);
}

static void test_quoted(void **state)
{
	(void)state;
	put(0, "a \"b\" \\ \n\tc\xc3\xa9", 14);
	assert_int_equal(look(HEAP, 64), CONTENT_TEXT);
	says(&c, 1, "text: \"a \\\"b\\\" \\\\ \\n\\tc\xc3\xa9\"");
	memset(heap, 0, 64);
	/* characters that reverse the direction of a terminal's text are shown as numbers */
	put(0, "name\xe2\x80\xae" "gpj.exe", 15);
	assert_int_equal(look(HEAP, 64), CONTENT_TEXT);
	says(&c, 1, "text: \"name\\xe2\\x80\\xaegpj.exe\"");
	put(0, "name\x1b[31mred", 13);
	look(HEAP, 64);
	assert_null(strchr(c.sample, '\x1b'));
}

/* A sample is not cut within a character. */
static void test_cut_at_a_character(void **state)
{
	(void)state;
	memset(heap, 'x', 200);
	put(CONTENT_SAMPLE - 1, "\xe2\x82\xac", 3);
	assert_int_equal(look(HEAP, 200), CONTENT_TEXT);
	assert_int_equal(strlen(c.sample), CONTENT_SAMPLE - 1);
}

static void test_pointers(void **state)
{
	(void)state;
	heap[0] = HEAP + 0x100;
	heap[1] = HEAP + 0x420;
	heap[2] = HEAP + 0x300;		/* behind a block */
	heap[3] = TEXT + 0x10800;
	heap[4] = STACK + 0x100;
	heap[5] = 17;
	assert_int_equal(look(HEAP, 64), CONTENT_POINTERS);
	assert_int_equal(c.to_blocks, 2);
	assert_int_equal(c.to_files, 1);
	assert_int_equal(c.to_stacks, 1);
	assert_int_equal(c.zeros, 2);
	assert_int_equal(c.numbers, 1);
	assert_int_equal(c.function, 0);
	says(&c, 1, "pointers: 4 of 8 words, 2 to blocks, 1 to code or data of files, 1 to stacks");
}

static void test_function_first(void **state)
{
	(void)state;
	heap[0] = TEXT + 0x100;
	heap[1] = 3;
	assert_int_equal(look(HEAP, 32), CONTENT_POINTERS);
	assert_int_equal(c.function, TEXT + 0x100);
	says(&c, 1, "pointers: 1 of 4 words, 1 to code or data of files, the first to code");
}

static void test_numbers(void **state)
{
	uint32_t ints[16] = { 1, 2, 3, (uint32_t)-1, 500, 6 };

	(void)state;
	heap[0] = 5;
	heap[1] = (uint64_t)-1;
	heap[2] = 60000;
	assert_int_equal(look(HEAP, 64), CONTENT_NUMBERS);
	assert_int_equal(c.numbers, 3);
	put(0, ints, sizeof(ints));
	assert_int_equal(look(HEAP, 64), CONTENT_NUMBERS);
	says(&c, 1, "small numbers");
	for (int i = 0; i < 8; i++)
		heap[i] = 0x9e3779b97f4a7c15u * (i + 1);
	assert_int_equal(look(HEAP, 64), CONTENT_UNKNOWN);
}

static void test_strings(void **state)
{
	(void)state;
	heap[0] = HEAP + 16;
	heap[1] = 5;
	put(16, "short", 6);
	assert_int_equal(look(HEAP, 32), CONTENT_STRING);
	assert_string_equal(c.sample, "short");
	says(&c, 1, "std::string: \"short\"");
	heap[1] = 6;
	assert_int_not_equal(look(HEAP, 32), CONTENT_STRING);
	heap[1] = 16;
	assert_int_not_equal(look(HEAP, 32), CONTENT_STRING);
	/* long strings have a block of their own */
	heap[0] = HEAP + 0x800;
	heap[1] = 300;
	heap[2] = 400;
	memset((char *)heap + 0x800, 'y', 300);
	assert_int_equal(look(HEAP, 32), CONTENT_STRING);
	assert_true(c.more);
	heap[2] = 200;
	assert_int_not_equal(look(HEAP, 32), CONTENT_STRING);
	heap[2] = 400;
	heap[0] = HEAP + 0x3000;
	assert_int_not_equal(look(HEAP, 32), CONTENT_STRING);
	heap[0] = HEAP + 0x800;
	heap[1] = UINT64_MAX - HEAP;
	heap[2] = UINT64_MAX;
	assert_int_not_equal(look(HEAP, 32), CONTENT_STRING);
}

static void test_several(void **state)
{
	struct content all[4] = {
		{ .kind = CONTENT_TEXT, .sample = "one" },
		{ .kind = CONTENT_TEXT, .sample = "two", .more = true },
		{ .kind = CONTENT_TEXT, .sample = "one" },
		{ .kind = CONTENT_ZEROS },
	};

	(void)state;
	says(all, 3, "text: \"one\", \"two…\"");
	says(all, 4, "mostly text: \"one\", \"two…\"");
	says(all + 3, 1, "zeros");
	all[1].kind = CONTENT_POINTERS;
	all[2].kind = CONTENT_NUMBERS;
	says(all, 4, "");
	all[1].kind = all[2].kind = all[3].kind = CONTENT_UNKNOWN;
	says(all, 4, "");
}

static void test_noise(void **state)
{
	(void)state;
	srand(3);
	for (int round = 0; round < 20000; round++) {
		struct strbuf sb = STRBUF_INIT;
		size_t n = (size_t)rand() % 300;

		for (size_t i = 0; i < 40; i++)
			heap[i] = rand() % 3 ? HEAP + (uint64_t)rand() % 0x1000
					     : ((uint64_t)rand() << 40) ^ (uint64_t)rand() << 13 ^
						       (uint64_t)rand();
		for (int i = 0; i < rand() % 40; i++)
			((uint8_t *)heap)[rand() % 320] = (uint8_t)(rand() % 3 ? 'a' + rand() % 26 : rand());
		look(HEAP + (uint64_t)rand() % 16, n);
		assert_true(c.kind < CONTENT_KINDS && strlen(c.sample) <= CONTENT_SAMPLE);
		content_describe(&c, 1, &sb);
		for (size_t i = 0; i < sb.len; i++)
			assert_true((uint8_t)sb.s[i] >= ' ' && sb.s[i] != 0x7f);
		strbuf_fini(&sb);
	}
}

#define each(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		each(test_zeros),
		each(test_not_there),
		each(test_text),
		each(test_short_words_are_no_text),
		each(test_text_behind_a_header),
		each(test_quoted),
		each(test_cut_at_a_character),
		each(test_pointers),
		each(test_function_first),
		each(test_numbers),
		each(test_strings),
		each(test_several),
		each(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
