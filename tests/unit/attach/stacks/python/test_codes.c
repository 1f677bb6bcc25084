/* SPDX-License-Identifier: MIT */
/*
 * codes: code objects as CPython 3.11 has them, made by hand in our own memory: their places, what is made
 * anew at the same address, what is freed, names of all widths.
 */
#include "attach/stacks/python/python.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/stacks/python/runtime.h"
#include "attach/stacks/scripts/script_codes.h"
#include "tests/unit/attach/stacks/python/made_code.h"

#define GENERATOR (1u << 8)
#define LATER (2ull * SCRIPT_TRUSTED_NS)

static struct python_runtime rt;
static struct script_places places;
static struct script_codes codes;
static struct text load, orders, users;
static struct bytes lines;
static struct code_object object;

static int setup(void **state)
{
	(void)state;
	rt = (struct python_runtime) { .layout = *layouts_find(0x030b),
				       .code_type = (uintptr_t)&type_object };
	python_runtime_lay_out(&rt);
	rt.base.mem = open("/proc/self/mem", O_RDONLY);
	script_places_init(&places);
	script_codes_init(&codes, &places);
	script_codes_begin(&codes, &python_language, &rt.base);
	make_text(&load, "load", 4, 1, true);
	make_text(&orders, "orders.py", 9, 1, true);
	make_text(&users, "users.py", 8, 1, true);
	make_code(&object, &lines, &load, &orders, 10);
	return rt.base.mem < 0;
}

static int teardown(void **state)
{
	(void)state;
	script_codes_fini(&codes);
	script_places_fini(&places);
	return close(rt.base.mem);
}

/* The place of a frame of @object at @at. */
static int place_of(const uint8_t *at, uint16_t kind, uint64_t now_ns, uint32_t *place)
{
	const struct chain_link link = { (uint64_t)kind << 48, (uintptr_t)&object, (uintptr_t)at };
	struct record_hit hit = { .head.time_ns = now_ns, .chain_len = 1, .chain_end = CHAIN_WHOLE };
	const struct script_chain chain = { &rt.base, &hit, &link, 1 };

	return python_language.place(&chain, 0, &codes, place);
}

/* Of instruction number @i. */
static uint32_t place_at(uint32_t i, uint64_t now_ns)
{
	uint32_t place = UINT32_MAX;

	assert_int_equal(place_of(&object.bytecode[2 * i], 0, now_ns, &place), 0);
	assert_true(place < places.n);
	return place;
}

static void forget(void)
{
	script_codes_begin(&codes, &python_language, &rt.base);
}

static void is_at(uint32_t place, const char *function, const char *file, uint32_t line)
{
	assert_string_equal(places.all[place].function, function);
	assert_string_equal(places.all[place].file, file);
	assert_int_equal(places.all[place].line, line);
}

static void lines_of_a_function(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct code_object, first_line), rt.layout.code.first_line);
	assert_int_equal(offsetof(struct code_object, qualname), rt.layout.code.name);
	assert_int_equal(offsetof(struct code_object, bytecode), rt.layout.code.bytecode);
	is_at(place_at(1, 0), "load", "orders.py", 11);
	is_at(place_at(2, 0), "load", "orders.py", 12);
	assert_int_equal(place_at(1, 0), place_at(1, 5));
	assert_int_not_equal(place_at(1, 0), place_at(2, 0));
}

/* As in the interpreter's own tracebacks; but a generator has begun. */
static void not_begun(void **state)
{
	uint32_t place;

	(void)state;
	assert_int_equal(place_of(object.bytecode, 0, 0, &place), -ENOENT);
	assert_int_equal(place_of(object.bytecode - 2, 0, 0, &place), -ENOENT);
	assert_int_equal(place_of(object.bytecode - 2, GENERATOR, 0, &place), 0);
	is_at(place, "load", "orders.py", 10);
}

/* Another function at the same address has other places, once what was known is compared. */
static void made_anew(void **state)
{
	const uint32_t before = place_at(1, 0);

	(void)state;
	make_code(&object, &lines, &load, &users, 10);
	assert_int_equal(place_at(1, SCRIPT_TRUSTED_NS - 1), before);
	is_at(place_at(1, LATER), "load", "users.py", 11);
	make_code(&object, &lines, &load, &orders, 10);
	assert_int_equal(place_at(1, 2 * LATER), before);
	assert_int_equal(codes.gone, 0);
}

/* It is not read any more; what is known of it stays. */
static void freed_after_it_was_read(void **state)
{
	const uint32_t before = place_at(1, 0);

	(void)state;
	object.references = (uintptr_t)&object;
	assert_int_equal(place_at(1, LATER), before);
	is_at(place_at(2, LATER), "load", "orders.py", 12);
	assert_int_equal(codes.gone, 0);
}

/* Nothing is taken from what is left of it: by an allocator's words in its head, or by another type. */
static void freed_before(void **state)
{
	(void)state;
	for (uint64_t references = 0; references < 2; references++) {
		forget();
		object.references = references ? (uintptr_t)&object : 0;
		is_at(place_at(1, 0), "(code that is gone)", "(code that is gone)", 0);
	}
	make_code(&object, &lines, &load, &orders, 10);
	is_at(place_at(1, LATER), "load", "orders.py", 11);
	forget();
	object.type = 0;
	is_at(place_at(1, 0), "(code that is gone)", "(code that is gone)", 0);
	assert_int_equal(codes.gone, 3);
}

static void names_of_all_widths(void **state)
{
	static const uint8_t latin[] = { 'n', 0xe4 };
	static const uint16_t two[] = { 0x4e00, 'x' };
	static const uint32_t four[] = { 0x1f40d };
	struct text t;

	(void)state;
	make_text(&t, latin, 2, 1, false);
	make_code(&object, &lines, &t, &orders, 1);
	is_at(place_at(1, 0), "n\xc3\xa4", "orders.py", 2);
	make_text(&t, two, 2, 2, false);
	forget();
	is_at(place_at(1, 0), "\xe4\xb8\x80x", "orders.py", 2);
	make_text(&t, four, 1, 4, false);
	forget();
	is_at(place_at(1, 0), "\xf0\x9f\x90\x8d", "orders.py", 2);
	/* not compact, as no name is */
	t.state = 4u << 2;
	forget();
	is_at(place_at(1, 0), "(code that is gone)", "(code that is gone)", 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_of_a_function, setup, teardown),
		cmocka_unit_test_setup_teardown(not_begun, setup, teardown),
		cmocka_unit_test_setup_teardown(made_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(freed_after_it_was_read, setup, teardown),
		cmocka_unit_test_setup_teardown(freed_before, setup, teardown),
		cmocka_unit_test_setup_teardown(names_of_all_widths, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
