/* SPDX-License-Identifier: MIT */
/*
 * iseqs: code objects of Ruby 3.1, made by hand: their places; methods in C; what is made anew at the same address,
 * freed, or damaged.
 */
#include "attach/stacks/ruby/ruby.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/stacks/scripts/script_codes.h"
#include "tests/unit/attach/stacks/ruby/made_script.h"

#define LATER (2ull * SCRIPT_TRUSTED_NS)
#define GONE "(code that is gone)"

static struct script_places places;
static struct script_codes codes;

static void forget(void)
{
	script_codes_begin(&codes, &ruby_language, &made_runtime.base);
}

static int setup(void **state)
{
	(void)state;
	script_places_init(&places);
	script_codes_init(&codes, &places);
	forget();
	return !make_script();
}

static int teardown(void **state)
{
	(void)state;
	script_codes_fini(&codes);
	script_places_fini(&places);
	return close(made_runtime.base.mem);
}

/* Of the first of @links[0..n), as of @now_ns. */
static int place_of(const struct chain_link *links, uint32_t n, uint64_t now_ns, uint32_t *place)
{
	struct record_hit hit = { .head.time_ns = now_ns, .chain_len = (uint16_t)n, .chain_end = CHAIN_CUT };
	const struct script_chain chain = { &made_runtime.base, &hit, links, n };

	return ruby_language.place(&chain, 0, &codes, place);
}

static void place_is(uint32_t place, const char *function, const char *file, uint32_t line)
{
	assert_true(place < places.n);
	assert_string_equal(places.all[place].function, function);
	assert_string_equal(places.all[place].file, file);
	assert_int_equal(places.all[place].line, line);
}

/* Word @word of number 1, as of @now_ns. */
static void is_at(uint32_t word, uint64_t now_ns, const char *function, const char *file, uint32_t line)
{
	const struct chain_link l = link_of_iseq(1, word, 0);
	uint32_t place = UINT32_MAX;

	assert_int_equal(place_of(&l, 1, now_ns, &place), 0);
	place_is(place, function, file, line);
}

static void lines_of_a_method(void **state)
{
	static const uint32_t line[WORDS] = { 10, 10, 11, 11, 11, 12, 12, 12 };

	(void)state;
	assert_int_equal(offsetof(struct body, lines), made_runtime.layout.body.lines);
	assert_int_equal(offsetof(struct body, index), made_runtime.layout.body.index);
	for (uint32_t word = 0; word < WORDS; word++)
		is_at(word, 0, "f1", "a.rb", line[word]);
	assert_int_equal(codes.gone, 0);
}

/* Before the first instruction it is the first line; behind the last one there is none. */
static void positions(void **state)
{
	struct chain_link l = link_of_iseq(1, 0, 0);
	uint32_t place;

	(void)state;
	l.at -= 8;
	assert_int_equal(place_of(&l, 1, 0, &place), 0);
	place_is(place, "f1", "a.rb", 10);
	is_at(WORDS, 0, "f1", "a.rb", 0);
	l.at = 1;
	assert_int_equal(place_of(&l, 1, 0, &place), 0);
	place_is(place, "f1", "a.rb", 0);
}

/* A path is a string, or an array whose first one it is. */
static void paths(void **state)
{
	(void)state;
	made_iseqs[1].body.path = (uintptr_t)&made_iseqs[1].real_path;
	is_at(0, 0, "f1", "/somewhere/else.rb", 10);
}

static void methods_in_c(void **state)
{
	const struct chain_link links[] = { link_of_method(0), link_of_method(1), link_of_iseq(2, 3, 0) };
	uint32_t place;

	(void)state;
	assert_int_equal(place_of(links, 3, 0, &place), 0);
	place_is(place, "each", "a.rb", 21);
	assert_int_equal(place_of(links + 1, 2, 0, &place), 0);
	place_is(place, "new", "a.rb", 21);
	/* at the beginning of a fiber nothing has called it */
	assert_int_equal(place_of(links, 2, 0, &place), -ENOENT);
	/* without a table of symbols they have no names */
	forget();
	made_runtime.symbols = 0;
	assert_int_equal(place_of(links, 3, 0, &place), 0);
	place_is(place, "(method in C)", "a.rb", 21);
	assert_int_equal(codes.gone, 0);
}

/* A block in C has another object there, or none; it may be where a method was before. */
static void blocks_in_c(void **state)
{
	struct chain_link links[] = { link_of_method(0), link_of_iseq(2, 3, 0) };
	uint32_t place;

	(void)state;
	made_methods[0].method.flags = RB_INTERNAL | 1u << 12;
	assert_int_equal(place_of(links, 2, 0, &place), -ENOENT);
	assert_int_equal(place_of(links, 2, 10 * LATER, &place), -ENOENT);
	assert_int_equal(codes.n, 1);
	make_method(0, "each");
	assert_int_equal(place_of(links, 2, 20 * LATER, &place), 0);
	place_is(place, "each", "a.rb", 21);
	made_methods[0].method.flags = 0;
	assert_int_equal(place_of(links, 2, 30 * LATER, &place), -ENOENT);
	links[0].code = 16;
	assert_int_equal(place_of(links, 2, 0, &place), -ENOENT);
	links[0].code = 0;
	assert_int_equal(place_of(links, 2, 0, &place), -ENOENT);
	assert_int_equal(codes.gone, 0);
}

/* Another one at the same address has other places, once what was known is compared. */
static void made_anew(void **state)
{
	(void)state;
	is_at(2, 0, "f1", "a.rb", 11);
	make_iseq(1, "g1", "b.rb", 70);
	/* the same label and path objects, but other instructions */
	made_iseqs[1].body.code = (uintptr_t)made_iseqs[2].code;
	is_at(2, SCRIPT_TRUSTED_NS - 1, "f1", "a.rb", 11);
	made_iseqs[1].body.code = (uintptr_t)made_iseqs[1].code;
	made_iseqs[1].body.label = (uintptr_t)&made_iseqs[2].label;
	is_at(2, LATER, "f2", "b.rb", 71);
	/* what marks it for the garbage collection is not compared */
	made_iseqs[1].iseq.flags ^= 3u << 5;
	is_at(2, 3 * LATER, "f2", "b.rb", 71);
	assert_int_equal(codes.n, 2);
}

/* What is known of it stays; of a line that was not read before, nothing is. */
static void freed_after_it_was_read(void **state)
{
	(void)state;
	is_at(2, 0, "f1", "a.rb", 11);
	made_iseqs[1].iseq.flags = 0;
	is_at(2, LATER, "f1", "a.rb", 11);
	is_at(5, LATER, "f1", "a.rb", 0);
	assert_int_equal(codes.gone, 0);
}

static void freed_before(void **state)
{
	(void)state;
	made_iseqs[1].iseq.flags = 0;
	is_at(2, 0, GONE, GONE, 0);
	make_iseq(1, "f1", "a.rb", 10);
	is_at(2, LATER, "f1", "a.rb", 11);
	forget();
	made_iseqs[1].iseq.body = 16;
	is_at(2, 0, GONE, GONE, 0);
	make_iseq(1, "f1", "a.rb", 10);
	forget();
	made_iseqs[1].label.flags = RB_ARRAY;
	is_at(2, 0, GONE, GONE, 0);
	assert_int_equal(codes.gone, 3);
}

/* Whatever the words of a body are, there is a place, and what is read is within the tables (with the sanitizers). */
static void random_words(void **state)
{
	uint64_t *words = (uint64_t *)&made_iseqs[1].body;

	(void)state;
	srand(1);
	for (uint64_t i = 0; i < 3000; i++) {
		const struct chain_link links[] = { link_of_method(0), link_of_iseq(1, (uint32_t)rand() % 9, 0) };
		uint32_t place = UINT32_MAX;

		make_iseq(1, "f1", "a.rb", 10);
		for (int k = rand() % 6; k >= 0; k--)
			words[(size_t)rand() % (sizeof(struct body) / 8)] =
				rand() % 3 ? (uint64_t)rand() << rand() % 40 : words[(size_t)rand() % 19];
		made_methods[0].definition.id = rand() % 2 ? CURRENT(0) : (uint64_t)rand() << rand() % 40;
		assert_int_equal(place_of(links + 1, 1, i * LATER, &place), 0);
		assert_true(place < places.n);
		assert_int_equal(place_of(links, 2, i * LATER, &place), 0);
		assert_true(place < places.n);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_of_a_method, setup, teardown),
		cmocka_unit_test_setup_teardown(positions, setup, teardown),
		cmocka_unit_test_setup_teardown(paths, setup, teardown),
		cmocka_unit_test_setup_teardown(methods_in_c, setup, teardown),
		cmocka_unit_test_setup_teardown(blocks_in_c, setup, teardown),
		cmocka_unit_test_setup_teardown(made_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(freed_after_it_was_read, setup, teardown),
		cmocka_unit_test_setup_teardown(freed_before, setup, teardown),
		cmocka_unit_test_setup_teardown(random_words, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
