/* SPDX-License-Identifier: MIT */
/* byte_sample: sums of weights are right on average, and intervals contain the truth as often as they should. */
#include "report/sampling/byte_sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define INTERVAL 65536

static uint64_t rng;

static double rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return ((double)(rng >> 11) + 0.5) / 9007199254740992.0;
}

static void weights_have_the_right_mean(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 16, 24, 1000, 40000, INTERVAL, 3 * INTERVAL, 100 * INTERVAL };
	const unsigned n = 100000;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const double stands_for = 1 / byte_sample_share(INTERVAL, sizes[i]);
		double sum = 0;

		for (unsigned k = 0; k < n; k++) {
			const uint64_t w = byte_sample_weight(INTERVAL, sizes[i], 0x7f0000001000 + k * 48, 12345 + k * 7);

			assert_true((double)w >= floor(stands_for) && (double)w <= floor(stands_for) + 1);
			sum += (double)w;
		}
		/* the fraction's deviation is at most a half */
		assert_true(fabs(sum / n - stands_for) < 4 * 0.5 / sqrt(n));
	}
}

static void a_block_keeps_its_weight(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(byte_sample_weight(INTERVAL, 50000, i * 16, i), byte_sample_weight(INTERVAL, 50000, i * 16, i));
}

static void without_sampling_a_block_is_one(void **state)
{
	(void)state;
	assert_int_equal(byte_sample_weight(0, 0, 0, 0), 1);
	assert_int_equal(byte_sample_weight(0, UINT64_MAX, 1, 1), 1);
	assert_true(byte_sample_share(0, 10) == 1);
}

/* @n blocks of @size bytes, and as many of @other: in how many of a hundred samples the interval contains their bytes. */
static double coverage(unsigned n, uint64_t size, uint64_t other)
{
	const unsigned runs = 2000;
	const double truth = (double)n * (double)(size + other);
	unsigned held = 0;

	for (unsigned r = 0; r < runs; r++) {
		struct byte_sample s = { 0 };
		double bytes = 0, low, high;

		for (unsigned i = 0; i < 2 * n; i++) {
			const uint64_t its = i < n ? size : other;

			if (!its || rnd() >= byte_sample_share(INTERVAL, its))
				continue;
			byte_sample_add(&s, INTERVAL, its);
			bytes += (double)(byte_sample_weight(INTERVAL, its, i * 16, r) * its);
		}
		if (!s.seen)
			low = 0, high = 3.7 * INTERVAL;
		else
			byte_sample_interval(bytes, s.bytes_variance, (double)s.bytes, &low, &high);
		held += low <= truth && truth <= high;
	}
	return 100.0 * held / runs;
}

static void intervals_contain_the_truth(void **state)
{
	(void)state;
	rng = 88172645463325252u;
	assert_true(coverage(20000, 24, 0) > 91);
	assert_true(coverage(100000, 100, 0) > 91);
	assert_true(coverage(500, 4000, 100) > 91);
	assert_true(coverage(50, 30000, 0) > 88);
	assert_true(coverage(30, INTERVAL, 24) > 85);
	assert_true(coverage(10, 10 * INTERVAL, 0) > 91);
}

/* Nor is any of them below what was seen. */
static void intervals_are_not_absurd(void **state)
{
	double low, high;

	(void)state;
	for (unsigned n = 1; n < 50; n++) {
		struct byte_sample s = { 0 };
		double bytes = 0;

		for (unsigned i = 0; i < n; i++) {
			byte_sample_add(&s, INTERVAL, 100 + i * 1000);
			bytes += (double)(byte_sample_weight(INTERVAL, 100 + i * 1000, i, i) * (100 + i * 1000));
		}
		byte_sample_interval(bytes, s.bytes_variance, (double)s.bytes, &low, &high);
		assert_true(low >= (double)s.bytes && low <= bytes && high >= bytes && high < 10 * bytes);
	}
}

static void sums_are_merged(void **state)
{
	struct byte_sample a = { 0 }, b = { 0 }, both = { 0 };

	(void)state;
	byte_sample_add(&a, INTERVAL, 100);
	byte_sample_add(&b, INTERVAL, 5000);
	byte_sample_add(&both, INTERVAL, 100);
	byte_sample_add(&both, INTERVAL, 5000);
	byte_sample_merge(&a, &b);
	assert_int_equal(a.seen, 2);
	assert_int_equal(a.bytes, both.bytes);
	assert_true(a.bytes_variance == both.bytes_variance && a.blocks_variance == both.blocks_variance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_have_the_right_mean),
		cmocka_unit_test(a_block_keeps_its_weight),
		cmocka_unit_test(without_sampling_a_block_is_one),
		cmocka_unit_test(intervals_contain_the_truth),
		cmocka_unit_test(intervals_are_not_absurd),
		cmocka_unit_test(sums_are_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
