/* SPDX-License-Identifier: MIT */
/* addr_search: every address in and around small arrays, compared with counting. */
#include "base/addr_search.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct range {
	char before;
	taddr lo;
	uint64_t hi;
};

/* Ranges of one address each, at 10, 20, ...; with @twins, two of each. */
static void make(struct range *all, size_t n, int twins)
{
	for (size_t i = 0; i < n; i++) {
		all[i].lo = 10 * (twins ? i / 2 + 1 : i + 1);
		all[i].hi = all[i].lo + 1;
	}
}

static void counted(void **state)
{
	struct range all[9];

	(void)state;
	for (size_t n = 0; n <= 9; n++)
		for (int twins = 0; twins < 2; twins++) {
			make(all, n, twins);
			for (taddr at = 0; at <= 101; at++) {
				size_t begun = 0, ended = 0;

				for (size_t i = 0; i < n; i++) {
					begun += all[i].lo <= at;
					ended += all[i].hi <= at;
				}
				assert_int_equal(ADDR_SEARCH(all, n, lo, at), begun);
				assert_int_equal(ADDR_SEARCH(all, n, hi, at), ended);
			}
		}
}

static void ends(void **state)
{
	const struct range whole[] = { { 0, 0, UINT64_MAX } };
	const struct range *none = NULL;

	(void)state;
	assert_int_equal(ADDR_SEARCH(none, 0, lo, 5), 0);
	assert_int_equal(ADDR_SEARCH(whole, 1, lo, 0), 1);
	assert_int_equal(ADDR_SEARCH(whole, 1, hi, UINT64_MAX - 1), 0);
	assert_int_equal(ADDR_SEARCH(whole, 1, hi, UINT64_MAX), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counted),
		cmocka_unit_test(ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
