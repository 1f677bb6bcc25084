/* SPDX-License-Identifier: MIT */
/*
 * token_bucket: if no more is spent than is left, the promise holds in any ten seconds, and two thirds of it
 * can be spent.
 */
#include "attach/keeper/budget/token_bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS 1000000ull
#define S 1000000000ull
#define START (77 * S + 3)
#define TAKEN_MAX 400000

/* Everything that was spent, to find the worst ten seconds without slots. */
static struct {
	uint64_t at[TAKEN_MAX], ns[TAKEN_MAX];
	size_t n;
} taken;

static struct token_bucket s;

static void begin(uint32_t ppm)
{
	taken.n = 0;
	token_bucket_init(&s, ppm, START);
}

static void take(uint64_t ns, uint64_t now)
{
	assert_true(taken.n < TAKEN_MAX);
	taken.at[taken.n] = now;
	taken.ns[taken.n++] = ns;
	token_bucket_take(&s, ns, now);
}

/* Half-open: what was spent exactly ten seconds ago does not count any more. */
static uint64_t worst_ten(void)
{
	uint64_t sum = 0, worst = 0;
	size_t first = 0;

	for (size_t i = 0; i < taken.n; i++) {
		sum += taken.ns[i];
		while (taken.at[first] + TEN_SECONDS_NS <= taken.at[i])
			sum -= taken.ns[first++];
		if (sum > worst)
			worst = sum;
	}
	return worst;
}

static uint64_t sum_of_all(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < taken.n; i++)
		sum += taken.ns[i];
	return sum;
}

static uint64_t left(uint64_t now)
{
	int64_t tokens = token_bucket_level(&s, now), room = token_bucket_room(&s, now),
		least = tokens < room ? tokens : room;

	return least > 0 ? (uint64_t)least : 0;
}

/* Spend all that is left, as soon as it is there. */
static void greedy(void **state)
{
	static const uint32_t ppms[] = { 500, 1000, 10000, 50000, 500000 };

	(void)state;
	for (size_t i = 0; i < sizeof(ppms) / sizeof(ppms[0]); i++) {
		uint64_t promise = ppms[i] * 10000ull;

		begin(ppms[i]);
		for (uint64_t now = START; now < START + 100 * S; now += 1700000)
			take(left(now), now);
		assert_in_range(worst_ten(), promise * 8 / 10, promise);
		/* a full token bucket at first, then two thirds of the rate */
		assert_in_range(sum_of_all(), promise * 68 / 10, promise * 71 / 10);
	}
}

/*
 * The worst case for a token bucket: a long idle time, then everything, at the edges of slots and of ten
 * seconds.
 */
static void bursts_after_idleness(void **state)
{
	(void)state;
	begin(10000);
	for (uint64_t now = START; now < START + 400 * S; now += 5 * S - 1) {
		take(left(now), now);
		for (int k = 1; k < 50; k++)
			take(left(now + k * MS), now + k * MS);
	}
	assert_true(worst_ten() <= 100 * MS);
}

static void random_takers(void **state)
{
	(void)state;
	srandom(3);
	for (int one_iteration = 0; one_iteration < 20; one_iteration++) {
		uint64_t now = START;

		begin(1 + random() % 500000);
		for (int i = 0; i < 5000; i++) {
			uint64_t most = left(now);

			take(most ? (uint64_t)random() % (most + 1) : 0, now);
			now += random() % 8 ? random() % (20 * MS) : random() % (12 * S);
		}
		assert_true(worst_ten() <= s.promise_ns);
	}
}

/* The slots never count too little, and hardly too much. */
static void worst_is_told(void **state)
{
	(void)state;
	srandom(4);
	begin(10000);
	for (uint64_t now = START, i = 0; i < 20000; i++) {
		take(random() % 1000000, now);
		now += random() % (8 * MS);
	}
	assert_true(s.recent.worst_ns >= worst_ten());
	assert_true(s.recent.worst_ns <= worst_ten() + worst_ten() / 100);
}

/*
 * What could not be avoided is paid back: nothing is left until the ten seconds are over, and until the debt
 * is paid.
 */
static void debts(void **state)
{
	(void)state;
	begin(10000); /* 100 ms in ten seconds: 66.7 come in, 33.3 are in the token bucket */
	take(400 * MS, START);
	assert_int_equal(left(START), 0);
	assert_true(token_bucket_room(&s, START + 10 * S - 20 * MS) < 0);
	assert_int_equal(token_bucket_room(&s, START + 10 * S + 10 * MS), 100 * MS);
	assert_int_equal(left(START + 10 * S + 10 * MS), 0);
	assert_int_equal(left(START + 54 * S), 0);
	assert_true(left(START + 56 * S) > 0);
	assert_int_equal(s.recent.worst_ns, 400 * MS);
	/* a virtual machine was frozen for a minute */
	begin(10000);
	take(60 * S, START);
	assert_int_equal(left(START + 149 * S), 0);
	assert_true(left(START + 151 * S) > 0);
	assert_int_equal(s.recent.worst_ns, 60 * S);
}

/* Hours without a call, and calls so close together that nothing is filled in. */
static void times_of_all_sizes(void **state)
{
	(void)state;
	begin(10000);
	take(30 * MS, START);
	for (uint64_t k = 0; k < 1000; k++)
		assert_true(token_bucket_level(&s, START + k) == s.level_ns);
	assert_int_equal(left(START + 100000 * S), 100 * MS / 3);
	/* a thousand small steps add up to a large one */
	begin(10000);
	take(30 * MS, START);
	for (uint64_t now = START; now <= START + S; now += 99999)
		(void)token_bucket_level(&s, now);
	assert_in_range(token_bucket_level(&s, START + S), (3333333 + 6600000), (3333334 + 6666667));
}

/* The half is spent by others, in the same ten seconds. */
static void a_shared_promise(void **state)
{
	uint64_t now = START;

	(void)state;
	begin(10000);
	token_bucket_share(&s, 5000, now);
	assert_int_equal(s.capacity_ns, 100 * MS / 2 / 3);
	assert_int_equal(token_bucket_level(&s, now), s.capacity_ns);
	for (; now < START + 60 * S; now += 10 * MS)
		if (token_bucket_level(&s, now) >= (int64_t)MS)
			take(MS, now);
	assert_true(worst_ten() <= 50 * MS && sum_of_all() > 60 * 100 * MS / 10 / 4);
	assert_true(token_bucket_room(&s, now) >= 50 * (int64_t)MS);
	/* what others spend is of no account for the bucket, but of the promise */
	const int64_t level = token_bucket_level(&s, now), room = token_bucket_room(&s, now);

	token_bucket_note(&s, 40 * MS, now);
	assert_int_equal(token_bucket_level(&s, now), level);
	assert_int_equal(token_bucket_room(&s, now), room - 40 * (int64_t)MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greedy),
		cmocka_unit_test(bursts_after_idleness),
		cmocka_unit_test(random_takers),
		cmocka_unit_test(worst_is_told),
		cmocka_unit_test(debts),
		cmocka_unit_test(times_of_all_sizes),
		cmocka_unit_test(a_shared_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
