/* SPDX-License-Identifier: MIT */
/* rows: a table, the groups below it and --block-list use the same numbers. */
#include "report/names/rows.h"

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
	struct rows entries = { 0 };
	struct summary s;
	struct strbuf sb = STRBUF_INIT;
	const char *row;

	(void)state;
	summary_init(&s);
	s.run.seconds = 600;
	summary_add_family(&s, &(struct summary_family){ .name = "dict", .refs = true, .live = 1 });
	add(&s, 1, 5000, 10, (struct growth){ GROWTH_LEVEL, 0, 5, 0, false });
	add(&s, 1, 900, 11, (struct growth){ GROWTH_GROWS, 5, 0, 0, false });
	add(&s, 1, 3, 12, (struct growth){ GROWTH_GROWS, 40, 0, 0, false });
	for (int64_t net = 1; net <= 4; net++)
		add(&s, net, 20 - (uint64_t)net, 13, (struct growth){ GROWTH_GROWS, 8 + (double)net, 0, 0, false });
	add(&s, 1, 7000, 14, (struct growth){ GROWTH_LEVEL, 0, 5, 0, false });
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
	assert_int_equal(rows_make(&s, &entries), 0);
	assert_int_equal(entries.count[0], 5);
	for (size_t i = 0; i < s.nrefs; i++) {
		static const size_t numbers[] = { [10] = 5, [11] = 3, [12] = 2, [13] = 1, [14] = 4 };

		assert_int_equal(rows_number_of_refs(&entries, i), numbers[s.refs[i].signature]);
	}
	assert_non_null(
		strstr(strbuf_str(&sb), "    net counts: 19 with 1, 18 with 2, 17 with 3, 16 with 4\n"));
	rows_fini(&entries);
	strbuf_fini(&sb);
	summary_fini(&s);
}

static void add_blocks(struct summary *s, const char *function, uint64_t blocks, enum growth_shape shape)
{
	struct summary_frame frame = { .function = function, .file = "a.c", .line = 1 };

	summary_add_group(s, &(struct summary_group){ .family = "libc", .blocks = blocks, .bytes = 100 * blocks,
						      .allocs = 9, .frees = 9 - blocks, .growth.shape = shape,
						      .stack = { &frame, 1, .wrappers = 0 } });
}

static void assert_row(const struct rows *r, size_t index, size_t number, const char *name, double share)
{
	const struct summary_group *row = &r->by_stack.view.groups[index];
	struct strbuf sb = STRBUF_INIT;

	assert_int_equal(row->number, number);
	assert_true(row_share(&r->by_stack.view, row) == share);
	row_mark(&sb, &r->by_stack.view, row->family, number);
	strbuf_putc(&sb, ' ');
	row_name(&sb, row);
	assert_string_equal(strbuf_str(&sb), name);
	strbuf_fini(&sb);
}

/* Formats that have what was freed number the rest as those that have not. */
static void what_is_gone_is_behind_the_rest(void **state)
{
	struct summary s;
	struct rows r;

	(void)state;
	summary_init(&s);
	s.run.seconds = 600;
	summary_add_family(&s, &(struct summary_family){ .name = "libc", .live = 4, .bytes = 400 });
	add_blocks(&s, "gone", 0, GROWTH_UNKNOWN);
	add_blocks(&s, "kept", 3, GROWTH_LEVEL);
	add_blocks(&s, "may_grow", 1, GROWTH_UNKNOWN);
	summary_sort(&s);
	assert_int_equal(rows_make(&s, &r), 0);
	assert_row(&r, 0, 1, "[1] may_grow a.c:1", 0.25);
	assert_row(&r, 1, 2, "[2] kept a.c:1", 0.75);
	assert_row(&r, 2, 3, "[3] gone a.c:1", 0);
	rows_fini(&r);
	summary_fini(&s);
}

/* In the order of the scan, each group as it is: what is lost with it is no part of it. */
static void a_group_of_a_scan_is_a_row(void **state)
{
	struct summary s;
	struct rows r;

	(void)state;
	summary_init(&s);
	s.scanned = true;
	s.totals.live_bytes = 400;
	summary_add_group(&s, &(struct summary_group){ .blocks = 3, .bytes = 300, .verdict = VERDICT_DEFINITE,
						       .kind = { .label = "24 bytes", .indirect_blocks = 1, .indirect_bytes = 100 } });
	summary_add_group(&s, &(struct summary_group){ .blocks = 1, .bytes = 100, .verdict = VERDICT_INDIRECT,
						       .kind = { .label = "Session", .class_name = "shop::Session" } });
	summary_sort(&s);
	assert_int_equal(rows_make(&s, &r), 0);
	assert_row(&r, 0, 1, "[1] 24 bytes", 0.75);
	assert_row(&r, 1, 2, "[2] shop::Session", 0.25);
	assert_int_equal(row_sum(&r.by_stack.view, &r.by_stack.view.groups[0]).blocks, 3);
	rows_fini(&r);
	summary_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_in_the_tables_order),
		cmocka_unit_test(what_is_gone_is_behind_the_rest),
		cmocka_unit_test(a_group_of_a_scan_is_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
