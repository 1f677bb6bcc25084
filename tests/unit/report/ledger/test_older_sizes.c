/* SPDX-License-Identifier: MIT */
/* older_sizes: classes of sizes, and what was freed in each over time. */
#include "report/ledger/older_sizes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define SPAN MMT_SERIES_FIRST_US

static void add(struct older_sizes *s, uint64_t now_us, uint64_t size)
{
	const struct older_freed one = { .size = size, .blocks = 1, .bytes = size };

	assert_int_equal(older_sizes_add(s, now_us, &one), 0);
}

static size_t found(const struct older_sizes *s, uint64_t size)
{
	return older_sizes_find(s, size);
}

/* What is given for a request is of its class; what glibc gives for a smaller or larger one is not. */
static void requests_of_glibc(void **state)
{
	struct older_sizes s = { 0 };

	(void)state;
	add(&s, 0, 24);
	add(&s, 0, 56);
	add(&s, 0, 328);
	for (uint64_t request = 0; request < 400; request++) {
		const uint64_t given = request <= 24 ? 24 : ((request + 8 + 15) & ~15ull) - 8;
		const size_t wanted = given == 24 ? 0 : given == 56 ? 1 : given == 328 ? 2 : SIZE_MAX;

		assert_int_equal(found(&s, request), wanted);
		assert_int_equal(found(&s, given), wanted);
	}
	older_sizes_fini(&s);
}

/* jemalloc's classes, which are those of others, too, or coarser. */
static void requests_of_others(void **state)
{
	static const uint64_t classes[] = { 16, 32, 48, 128, 160, 256, 320, 1024, 1280, 14336 };
	struct older_sizes s = { 0 };
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		add(&s, 0, classes[i]);
	for (uint64_t request = 1; request <= 14336; request++) {
		uint64_t least = request <= 128 ? (request - 1) / 16 * 16 : 1, given;

		for (uint64_t step = 32; request > 128 && least == 1; step *= 2)
			if (request <= step * 8)
				least = (request - 1) / step * step;
		given = least + (request <= 128 ? 16 : request > 8192 ? 2048 : request > 4096 ? 1024 :
				 request > 2048 ? 512 : request > 1024 ? 256 : request > 512 ? 128 :
				 request > 256 ? 64 : 32);
		while (classes[at] < request)
			at++;
		assert_int_equal(found(&s, request), classes[at] == given ? at : SIZE_MAX);
	}
	older_sizes_fini(&s);
}

/* The size that a class is given out with leads to the class; there are not many. */
static void the_size_of_a_class_is_of_it(void **state)
{
	struct older_sizes s = { 0 }, again = { 0 };

	(void)state;
	for (uint64_t size = 0; size < 5000; size++)
		add(&s, 0, size);
	for (uint32_t log = 12; log < 64; log++)
		for (uint64_t part = 0; part < 16; part++)
			add(&s, 0, (1ull << log) + (part << log) / 16);
	assert_true(s.n > 400 && s.n < 600);
	for (size_t i = 0; i < s.n; i++) {
		assert_true(!i || s.all[i - 1].size < s.all[i].size);
		assert_int_equal(found(&s, s.all[i].size), i);
		add(&again, 0, s.all[i].size);
		assert_int_equal(again.n, i + 1);
		assert_int_equal(again.all[i].size, s.all[i].size);
	}
	assert_int_equal(older_sizes_blocks(&s), 5000 + 52 * 16);
	assert_true(older_sizes_memory(&s) > s.n * sizeof(*s.all));
	older_sizes_fini(&again);
	older_sizes_fini(&s);
	assert_int_equal(s.n, 0);
}

/* As those of a shrunken trace: what kind of sizes they are stays known. */
static void large_sizes_of_glibc(void **state)
{
	struct older_sizes s = { 0 }, again = { 0 };

	(void)state;
	add(&s, 0, 1208);
	add(&again, 0, s.all[0].size);
	assert_int_equal(found(&again, 1208), 0);
	assert_int_equal(found(&again, 1100), SIZE_MAX);
	add(&again, 0, 1280);
	assert_int_equal(again.n, 1);
	assert_int_equal(found(&again, 1100), 0);
	older_sizes_fini(&again);
	older_sizes_fini(&s);
}

static void bytes_are_known_over_time(void **state)
{
	struct older_sizes s = { 0 };

	(void)state;
	add(&s, SPAN / 2, 100);
	add(&s, 3 * SPAN + 1, 100);
	add(&s, 3 * SPAN + 2, 4000);
	assert_int_equal(older_sizes_pass(&s, 5 * SPAN), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.all[0].blocks, 2);
	assert_int_equal(s.all[0].bytes, 200);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(series_point(&s.all[0].series, i), i < 3 ? 100 : 200);
	assert_int_equal(series_point(&s.all[1].series, 2), 0);
	assert_int_equal(series_point(&s.all[1].series, 4), 4000);
	older_sizes_fini(&s);
}

/* As a shrunken trace has them: they were freed earlier. */
static void points_are_added(void **state)
{
	const uint64_t points[] = { 0, 100, 100, 300 };
	struct older_freed earlier = { .size = 100, .blocks = 4, .bytes = 400, .span_us = SPAN, .points = points,
				       .n = 4 };
	struct older_sizes s = { 0 };

	(void)state;
	add(&s, SPAN / 2, 100);
	assert_int_equal(older_sizes_add(&s, 4 * SPAN + 1, &earlier), 0);
	assert_int_equal(older_sizes_pass(&s, 5 * SPAN), 0);
	assert_int_equal(s.all[0].blocks, 5);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(series_point(&s.all[0].series, i), points[i] + 100);
	assert_int_equal(series_point(&s.all[0].series, 4), 500);
	earlier.span_us = 12345;
	assert_int_equal(older_sizes_add(&s, 5 * SPAN, &earlier), -EINVAL);
	assert_int_equal(s.all[0].blocks, 5);
	older_sizes_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_of_glibc),
		cmocka_unit_test(requests_of_others),
		cmocka_unit_test(large_sizes_of_glibc),
		cmocka_unit_test(the_size_of_a_class_is_of_it),
		cmocka_unit_test(bytes_are_known_over_time),
		cmocka_unit_test(points_are_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
