/* SPDX-License-Identifier: MIT */
/* out_folded: lines that flame graph tools read as intended, whatever the names of functions are. */
#include "report/folded/out_folded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/refs_example.h"
#include "tests/unit/report_example.h"

static void assert_folded(struct summary *s, const char *want)
{
	struct strbuf sb = STRBUF_INIT;

	assert_int_equal(out_folded(s, 0, &sb), 0);
	assert_string_equal(strbuf_str(&sb), want);
	strbuf_fini(&sb);
	summary_fini(s);
}

static void the_example(void **state)
{
	struct summary s;

	(void)state;
	report_example(&s);
	assert_folded(&s, "[...];0x7f0000000001;evil\\x1b[2J\"\\\\x0a\\xff\xc3\xbc:,;keep<int>_[i] 1048576\n"
			  "[no stack] 24\n"
			  "main;session_open 65536\n");
}

static void add(struct summary *s, const char *family, const char *leaf, const char *root, uint64_t bytes)
{
	struct summary_frame stack[] = { { .pc = bytes, .function = leaf },
					 { .pc = bytes, .function = root } };

	summary_add_group(s,
			  &(struct summary_group){ .family = family, .bytes = bytes, .stack = { stack, 2 } });
}

static void the_same_stacks_are_added_up_and_sorted(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	add(&s, "libc", "b", "main", 1);
	add(&s, "libc", "a", "main", 20);
	add(&s, "libc", "b", "main", 300);
	assert_folded(&s, "main;a 20\nmain;b 301\n");
}

/*
 * Tools would take a number at the end of a leaf's name for the bytes, and our bytes for those of another
 * run.
 */
static void numbers_at_the_end_of_names(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	add(&s, "libc", "f 12", "main", 1);
	add(&s, "libc", "g 1.5", "12", 2);
	add(&s, "libc", " 7", "h2", 3);
	add(&s, "libc", "operator new", "", 4);
	assert_folded(&s, "0x4;operator new 4\n12;g_1.5 2\nh2;_7 3\nmain;f_12 1\n");
}

static void families_stand_apart(void **state)
{
	struct summary s;

	(void)state;
	summary_init(&s);
	add(&s, "libc", "a", "main", 1);
	add(&s, "pool;x", "a", "main", 2);
	assert_folded(&s, "libc;main;a 1\npool:x;main;a 2\n");
}

static void nameless_code(void **state)
{
	struct summary_frame frame = { .pc = 0x1234, .module = "/lib/a;b.so", .offset = 0x34 };
	struct summary s;

	(void)state;
	summary_init(&s);
	summary_add_group(&s, &(struct summary_group){ .bytes = 5, .stack = { &frame, 1 } });
	assert_folded(&s, "a:b.so+0x34 5\n");
}

/*
 * Only the surplus references, at the most suspect call site; cached objects and older ones that lost some
 * have no weight.
 */
static void references(void **state)
{
	struct summary s;

	(void)state;
	dict_example(&s);
	assert_folded(&s, "default_lookup;leaky_lookup 529\n");
}

static void tags_are_leaves(void **state)
{
	struct summary_frame frame = { .function = "f" };
	struct summary s;

	(void)state;
	summary_init(&s);
	summary_add_group(&s, &(struct summary_group){ .bytes = 5, .tag = "t;1", .stack = { &frame, 1 } });
	summary_add_group(&s, &(struct summary_group){ .bytes = 6, .stack = { &frame, 1 } });
	assert_folded(&s, "f 6\nf;<t:1> 5\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example),
		cmocka_unit_test(the_same_stacks_are_added_up_and_sorted),
		cmocka_unit_test(numbers_at_the_end_of_names),
		cmocka_unit_test(families_stand_apart),
		cmocka_unit_test(nameless_code),
		cmocka_unit_test(references),
		cmocka_unit_test(tags_are_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
