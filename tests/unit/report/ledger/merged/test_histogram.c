/* SPDX-License-Identifier: MIT */
/* histogram: each value is in the bin that begins at the power of two below it. */
#include "report/ledger/merged/histogram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void bins(void **state)
{
	static const uint64_t values[] = { 0, 1, 2, 3, 4, 7, 8, 4096, UINT64_MAX >> 1, UINT64_MAX };
	static const unsigned in[] = { 0, 1, 2, 2, 3, 3, 4, 13, 63, 64 };

	(void)state;
	for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		struct histogram h = { 0 };

		histogram_add(&h, values[i], 1, 10);
		histogram_add(&h, values[i], 1, 5);
		assert_int_equal(h.bins[in[i]].blocks, 2);
		assert_int_equal(h.bins[in[i]].bytes, 15);
		assert_true(histogram_from(in[i]) <= values[i]);
		assert_true(in[i] == HISTOGRAM_BINS - 1 || values[i] < histogram_from(in[i] + 1));
	}
	assert_int_equal(histogram_from(0), 0);
	assert_int_equal(histogram_from(1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
