/* SPDX-License-Identifier: MIT */
/* Which groups have a row: ten of many, or all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/model/row_choice.h"

#define MANY 30

static void make(size_t top, struct row_choice *out)
{
	struct row_item items[MANY];

	for (size_t i = 0; i < MANY; i++)
		items[i] = (struct row_item){ .part = (enum row_part)(i % ROWS_PARTS), .known = true,
					      .rate = (double)i };
	assert_int_equal(row_choice_make(items, MANY, top, out), 0);
}

static size_t rows(const struct row_choice *r)
{
	return r->in_table[ROWS_LOST] + r->in_table[ROWS_GROWING] + r->in_table[ROWS_LIVE];
}

static void ten_of_many(void **state)
{
	struct row_choice r;

	(void)state;
	make(20, &r);
	assert_int_equal(rows(&r), 10);
	assert_int_equal(r.in_table[ROWS_LOST], 4);
	assert_int_equal(r.nshown, 20);
	row_choice_fini(&r);
}

static void all_of_them(void **state)
{
	struct row_choice r;

	(void)state;
	make(0, &r);
	assert_int_equal(rows(&r), MANY);
	for (enum row_part part = 0; part < ROWS_PARTS; part++)
		assert_int_equal(r.in_table[part], r.counts[part]);
	assert_int_equal(r.nshown, MANY);
	row_choice_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_of_many),
		cmocka_unit_test(all_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
