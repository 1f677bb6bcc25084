/* SPDX-License-Identifier: MIT */
/* rbobjects: strings and arrays inside their objects and outside, of both layouts; damaged ones. */
#include "attach/stacks/ruby/rbobjects.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/attach/stacks/ruby/made_ruby.h"

static int mem;
static const struct rb_layout *old, *new;
static char buf[16];

static int setup(void **state)
{
	(void)state;
	mem = open("/proc/self/mem", O_RDONLY);
	old = rb_layouts_find(0x0301);
	new = rb_layouts_find(0x0303);
	return mem < 0 || !old || !new;
}

static int teardown(void **state)
{
	(void)state;
	return close(mem);
}

static bool read_as(const struct rb_layout *l, const struct string *s)
{
	memset(buf, '?', sizeof(buf));
	return rb_read_string(mem, l, (uintptr_t)s, buf, sizeof(buf));
}

static void strings(void **state)
{
	struct string s;

	(void)state;
	make_short(&s, "load", false);
	assert_true(read_as(old, &s));
	assert_string_equal(buf, "load");
	make_short(&s, "load", true);
	assert_true(read_as(new, &s));
	assert_string_equal(buf, "load");
	make_long(&s, "orders.rb");
	assert_true(read_as(old, &s));
	assert_string_equal(buf, "orders.rb");
	assert_true(read_as(new, &s));
	assert_string_equal(buf, "orders.rb");
	make_short(&s, "", false);
	assert_true(read_as(old, &s));
	assert_string_equal(buf, "");
	/* cut where the buffer ends */
	make_long(&s, "a longer name than fits");
	assert_true(read_as(old, &s));
	assert_string_equal(buf, "a longer name t");
}

static void no_strings(void **state)
{
	struct string s;

	(void)state;
	make_long(&s, "orders.rb");
	s.flags = RB_ARRAY | RB_OUTSIDE;
	assert_false(read_as(old, &s));
	s.flags = 0;
	assert_false(read_as(old, &s));
	make_long(&s, "orders.rb");
	s.pointer = 16;
	assert_false(read_as(old, &s));
	assert_false(rb_read_string(mem, old, 16, buf, sizeof(buf)));
}

static void elements(void **state)
{
	const uint64_t three[] = { 7, 8, 9 };
	uint64_t inside[5] = { RB_ARRAY | RB_INSIDE | 2ull << 15, 0, 5, 6, 77 }, out = 0;
	struct array a;

	(void)state;
	make_array(&a, three, 3);
	for (uint64_t i = 0; i < 3; i++) {
		assert_true(rb_read_element(mem, (uintptr_t)&a, i, &out));
		assert_int_equal(out, three[i]);
	}
	assert_false(rb_read_element(mem, (uintptr_t)&a, 3, &out));
	assert_false(rb_read_element(mem, (uintptr_t)&a, UINT64_MAX, &out));
	for (uint64_t i = 0; i < 2; i++) {
		assert_true(rb_read_element(mem, (uintptr_t)inside, i, &out));
		assert_int_equal(out, 5 + i);
	}
	assert_false(rb_read_element(mem, (uintptr_t)inside, 2, &out));
	a.flags = RB_STRING;
	assert_false(rb_read_element(mem, (uintptr_t)&a, 0, &out));
}

/* Whatever is in an object, nothing is written behind the buffer, and its text ends (with the sanitizers). */
static void random_words(void **state)
{
	uint64_t object[5], out;

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++) {
		for (size_t k = 0; k < 5; k++)
			object[k] = (uint64_t)rand() << (rand() % 48) ^ (rand() % 4 ? 0 : (uintptr_t)object);
		object[0] = (object[0] & ~(uint64_t)RB_TYPE) | (i & 1 ? RB_STRING : RB_ARRAY);
		if (rb_read_string(mem, i & 2 ? old : new, (uintptr_t)object, buf, sizeof(buf)))
			assert_true(memchr(buf, 0, sizeof(buf)));
		(void)rb_read_element(mem, (uintptr_t)object, (uint64_t)rand(), &out);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings),
		cmocka_unit_test(no_strings),
		cmocka_unit_test(elements),
		cmocka_unit_test(random_words),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
