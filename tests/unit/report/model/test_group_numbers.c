/* SPDX-License-Identifier: MIT */
/* group_numbers: a table, the groups below it and --block-list use the same numbers. */
#include "report/model/group_numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/text/out_text.h"

static void add(struct summary *s, int64_t net, uint64_t objects, uint32_t signature, struct growth growth)
{
	struct summary_use taken = {
		.count = objects, .per_object = 1, .acquired_in_all = objects, .outstanding = objects
	};

	summary_add_refs(s, &(struct summary_refs){ .family = "dict",
						    .objects = objects,
						    .net = net,
						    .signature = signature,
						    .growth = growth,
						    .acquired = &taken,
						    .nacquired = 1 });
}

/*
 * Numbers are in the order of the table's rows: what grows by its speed, several that are one by all of
 * theirs; then what does not, by size.
 */
static void numbers_are_in_the_tables_order(void **state)
{
	struct group_numbers entries = { 0 };
	struct summary s;
	struct strbuf sb = STRBUF_INIT;
	const char *row;

	(void)state;
	summary_init(&s);
	s.run.seconds = 600;
	summary_add_family(&s, &(struct summary_family){ .name = "dict", .refs = true, .live = 1 });
	add(&s, 1, 5000, 10, (struct growth){ GROWTH_LEVEL, 0, 5 });
	add(&s, 1, 900, 11, (struct growth){ GROWTH_GROWS, 5, 0 });
	add(&s, 1, 3, 12, (struct growth){ GROWTH_GROWS, 40, 0 });
	for (int64_t net = 1; net <= 4; net++)
		add(&s, net, 20 - (uint64_t)net, 13, (struct growth){ GROWTH_GROWS, 8 + (double)net, 0 });
	add(&s, 1, 7000, 14, (struct growth){ GROWTH_LEVEL, 0, 5 });
	summary_sort(&s);
	assert_int_equal(out_text(&s, 0, &sb), 0);
	row = strbuf_str(&sb);
	for (unsigned number = 1; number <= 5; number++) {
		static const char *const objects[] = { "70", "3", "900", "7000", "5000" };
		char want[64];

		snprintf(want, sizeof(want), "\n  [%u] %11s ", number, objects[number - 1]);
		row = strstr(row, want);
		assert_non_null(row);
	}
	assert_int_equal(group_numbers_make(&s, &entries), 0);
	assert_int_equal(entries.count[0], 5);
	for (size_t i = 0; i < s.nrefs; i++) {
		static const size_t numbers[] = { [10] = 5, [11] = 3, [12] = 2, [13] = 1, [14] = 4 };

		assert_int_equal(entries.of_refs[i], numbers[s.refs[i].signature]);
	}
	assert_non_null(
		strstr(strbuf_str(&sb), "    net counts: 19 with 1, 18 with 2, 17 with 3, 16 with 4\n"));
	group_numbers_fini(&entries);
	strbuf_fini(&sb);
	summary_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_in_the_tables_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
