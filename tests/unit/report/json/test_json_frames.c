/* SPDX-License-Identifier: MIT */
/* json_frames: each frame once, and strings that a reader can put together again. */
#include "report/json/json_frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODULE "/lib/libshop.so"
#define MANY 1000

static void assert_numbers(struct json_frames *f, const struct summary_frame *frames, size_t n, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < n; i++) {
		json_frames_number(f, &sb, &frames[i]);
		strbuf_putc(&sb, ' ');
	}
	assert_int_equal(strbuf_error(&sb), 0);
	assert_string_equal(strbuf_str(&sb), want);
	strbuf_fini(&sb);
}

static void assert_tables(struct json_frames *f, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	json_frames_put(f, &sb, "{");
	assert_int_equal(strbuf_error(&sb), 0);
	assert_string_equal(strbuf_str(&sb), want);
	strbuf_fini(&sb);
	json_frames_fini(f);
}

static void the_same_frame_has_one_number(void **state)
{
	const char *module = MODULE;
	struct summary_frame frames[] = {
		{ .pc = 0x5010, .offset = 0x10, .module = module, .function = "f" },
		{ .pc = 0x5020, .offset = 0x20, .module = module, .function = "f" },
		{ .pc = 0x5010, .offset = 0x10, .module = module, .function = "f" },
		{ .pc = 0x5010, .offset = 0x10, .module = module, .function = "f", .inlined = true },
		{ .pc = 0x5010, .offset = 0x10, .module = module, .function = "f", .line = 7 },
	};
	struct json_frames f;

	(void)state;
	frames[1].function = frames[2].function = frames[3].function = frames[4].function = frames[0].function;
	json_frames_init(&f);
	assert_numbers(&f, frames, 5, "0 1 0 2 3 ");
	assert_tables(&f, "{\"frames\": [\n16,1,2,0,0,0,\n32,1,2,0,0,0,\n16,1,2,0,0,1,\n16,1,2,0,7,0],\n"
			  "\"strings\": [0,0,\"\",0,\n0,0,\"" MODULE "\",0,\n0,0,\"f\",0],\n\"modules\": [\n\"" MODULE "\",\"\"]");
}

/* A module that was replaced by another one of the same path has two build ids. */
static void modules_with_their_build_ids(void **state)
{
	const char *module = MODULE, *old = "aa", *new = "bb";
	const struct summary_frame frames[] = {
		{ .pc = 1, .module = module, .build_id = old }, { .pc = 2, .module = module, .build_id = new },
		{ .pc = 3, .module = module, .build_id = old }, { .pc = 4, .module = "" },
	};
	struct json_frames f;

	(void)state;
	json_frames_init(&f);
	assert_numbers(&f, frames, 4, "0 1 2 3 ");
	assert_tables(&f, "{\"frames\": [\n0,1,0,0,0,0,\n0,1,0,0,0,0,\n0,1,0,0,0,0,\n4,0,0,0,0,0],\n"
			  "\"strings\": [0,0,\"\",0,\n0,0,\"" MODULE "\",0],\n"
			  "\"modules\": [\n\"" MODULE "\",\"aa\",\n\"" MODULE "\",\"bb\"]");
}

static void nothing(void **state)
{
	struct json_frames f;

	(void)state;
	json_frames_init(&f);
	assert_tables(&f, "{\"frames\": [],\n\"strings\": [0,0,\"\",0],\n\"modules\": []");
}

/* The offset; without a module the address in the process; what a double cannot hold is a string. */
static void addresses(void **state)
{
	const struct summary_frame frames[] = {
		{ .pc = 0x7f0000000010, .offset = 0x10, .module = MODULE },
		{ .pc = 0x7f0000000011, .offset = 0x11, .module = "" },
		{ .pc = 0xffffffffff600400 },
	};
	struct json_frames f;

	(void)state;
	json_frames_init(&f);
	assert_numbers(&f, frames, 3, "0 1 2 ");
	assert_tables(&f, "{\"frames\": [\n16,1,0,0,0,0,\n139637976727569,0,0,0,0,0,\n"
			  "\"0xffffffffff600400\",0,0,0,0,0],\n\"strings\": [0,0,\"\",0,\n0,0,\"" MODULE "\",0],\n"
			  "\"modules\": [\n\"" MODULE "\",\"\"]");
}

/* Sorted, each with what it shares with the one before; the numbers of frames are those of the sorted list. */
static void strings_share_their_ends(void **state)
{
	const struct summary_frame frames[] = {
		{ .function = "shop::remove(int)", .linkage = "_ZN4shop6removeEi" },
		{ .function = "shop::add(int)", .linkage = "_ZN4shop3addEi" },
		{ .function = "shop::add" }, { .function = "aa" }, { .function = "a" },
	};
	struct json_frames f;

	(void)state;
	json_frames_init(&f);
	assert_numbers(&f, frames, 5, "0 1 2 3 4 ");
	assert_tables(&f, "{\"frames\": [\n0,0,5,0,0,0,\n0,0,4,0,0,0,\n0,0,3,0,0,0,\n0,0,2,0,0,0,\n0,0,1,0,0,0],\n"
			  "\"strings\": [0,0,\"\",0,\n0,0,\"a\",0,\n1,0,\"a\",0,\n0,0,\"shop::add\",0,\n9,0,\"(int)\",9,\n"
			  "6,5,\"remove\",12],\n\"modules\": []");
}

/* What is shared ends where a character ends: else the rest would not be UTF-8. */
static void characters_stay_whole(void **state)
{
	const struct summary_frame frames[] = {
		{ .function = "a\xc3\xa4z" }, { .function = "a\xc3\xbcz" }, { .function = "a\xc4\xbcz" },
	};
	struct json_frames f;

	(void)state;
	json_frames_init(&f);
	assert_numbers(&f, frames, 3, "0 1 2 ");
	assert_tables(&f, "{\"frames\": [\n0,0,1,0,0,0,\n0,0,2,0,0,0,\n0,0,3,0,0,0],\n"
			  "\"strings\": [0,0,\"\",0,\n0,0,\"a\xc3\xa4z\",0,\n1,1,\"\xc3\xbc\",0,\n1,1,\"\xc4\xbc\",0],\n\"modules\": []");
}

/* So that one string can be had without all those before it. */
static void some_strings_are_whole(void **state)
{
	static struct summary_frame frames[MANY];
	static char names[MANY][16];
	struct strbuf sb = STRBUF_INIT;
	struct json_frames f;
	size_t whole = 0;

	(void)state;
	json_frames_init(&f);
	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "function_%03zu", i);
		frames[i].function = names[i];
		json_frames_number(&f, &sb, &frames[i]);
	}
	strbuf_reset(&sb);
	json_frames_put(&f, &sb, "{");
	assert_int_equal(strbuf_error(&sb), 0);
	for (const char *at = sb.s; (at = strstr(at, "\n0,0,\"function_")) != NULL; at++)
		whole++;
	assert_in_range(whole, MANY / 100, MANY / 10);
	strbuf_fini(&sb);
	json_frames_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_frame_has_one_number),
		cmocka_unit_test(modules_with_their_build_ids),
		cmocka_unit_test(nothing),
		cmocka_unit_test(addresses),
		cmocka_unit_test(strings_share_their_ends),
		cmocka_unit_test(characters_stay_whole),
		cmocka_unit_test(some_strings_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
