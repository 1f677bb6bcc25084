/* SPDX-License-Identifier: MIT */
/* round_queue: which site's round begins next, and that no more is begun than can be paid for. */
#include "attach/keeper/budget/round_queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define US 1000ll
#define MS 1000000ll
#define S 1000000000ll
#define QUOTA 4u

static struct round_queue queue;

/* Of 1 %, 6.7 ms come in a second; a stop is 50 us. */
static struct round_queue_tokens tokens(int64_t spare_ns)
{
	return (struct round_queue_tokens){
		.spare_ns = spare_ns, .most_ns = 16 * MS, .ppm = 6667, .stop_ns = 50 * US,
	};
}

static int setup(void **state)
{
	(void)state;
	memset(&queue, 0, sizeof(queue));
	return 0;
}

static bool begins(uint64_t now_ns, int64_t spare_ns)
{
	const struct round_queue_tokens p = tokens(spare_ns);

	return round_queue_begin(&queue, now_ns, QUOTA, &p, 0);
}

static void the_longest_first(void **state)
{
	(void)state;
	assert_int_equal(round_queue_first(&queue, 10), TIME_HEAP_NONE);
	round_queue_wait(&queue, 7, 2);
	round_queue_wait(&queue, 3, 3);
	round_queue_wait(&queue, 9, 1);
	round_queue_wait(&queue, 5, 0);
	round_queue_drop(&queue, 5);
	assert_int_equal(round_queue_first(&queue, 10), 9);
	assert_true(begins(10, 10 * MS));
	assert_int_equal(round_queue_first(&queue, 10), 7);
	assert_true(begins(10, 10 * MS));
	assert_int_equal(round_queue_first(&queue, 10), 3);
}

/* Four hits are 200 us: exactly that much must be spare, on top of what is owed already. */
static void what_is_owed_is_not_spent_twice(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		round_queue_wait(&queue, i, i);
	assert_false(begins(10, 200 * US - 1));
	assert_int_equal(round_queue_first(&queue, S), 0);
	assert_true(begins(S, 200 * US));
	assert_false(begins(S, 200 * US));
	assert_false(begins(S, 400 * US - 1));
	/* two hits were served, and have been paid from the token bucket */
	round_queue_paid(&queue, 2);
	assert_true(begins(2 * S, 300 * US));
	assert_int_equal(queue.owed, 6);
	round_queue_paid(&queue, 6);
	assert_int_equal(queue.owed, 0);
}

/*
 * It does not ask again before the missing amount has come in: 100 us in 15 ms; the exact moment is random.
 */
static void it_waits_for_what_is_missing(void **state)
{
	const struct round_queue_tokens p = tokens(100 * US);

	(void)state;
	round_queue_wait(&queue, 1, 0);
	assert_false(round_queue_begin(&queue, S, QUOTA, &p, 3 * MS));
	assert_int_equal(round_queue_first(&queue, S + 17 * MS), TIME_HEAP_NONE);
	assert_int_equal(round_queue_first(&queue, S + 19 * MS), 1);
	/* far in debt: rounds of other sites may end without their hits */
	assert_false(begins(2 * S, -100 * MS));
	assert_int_equal(round_queue_first(&queue, 2 * S + 100 * MS), 1);
}

/* Nor does the next round begin at the same moment. */
static void one_after_the_other(void **state)
{
	const struct round_queue_tokens p = tokens(10 * MS);

	(void)state;
	round_queue_wait(&queue, 1, 0);
	round_queue_wait(&queue, 2, 0);
	assert_true(round_queue_begin(&queue, S, QUOTA, &p, 2 * MS));
	assert_int_equal(round_queue_first(&queue, S + 1 * MS), TIME_HEAP_NONE);
	assert_int_equal(round_queue_first(&queue, S + 2 * MS), 2);
}

/* A small budget, slow stops: a round costs more than there ever is. It begins all the same, alone. */
static void a_round_that_is_too_dear(void **state)
{
	struct round_queue_tokens p = { .most_ns = 100 * US, .ppm = 333, .stop_ns = 50 * US };

	(void)state;
	round_queue_wait(&queue, 1, 0);
	round_queue_wait(&queue, 2, 0);
	p.spare_ns = 74 * US;
	assert_false(round_queue_begin(&queue, S, QUOTA, &p, 0));
	p.spare_ns = 75 * US;
	assert_true(round_queue_begin(&queue, S, QUOTA, &p, 0));
	p.spare_ns = 100 * US;
	assert_false(round_queue_begin(&queue, S, QUOTA, &p, 0));
}

/*
 * Fifty sites whose quota ends their round at once, and whose round is due again a second later: together
 * they spend what comes in, and each gets the same share.
 */
static void fifty_hot_sites_share_what_comes_in(void **state)
{
	enum { SITES = 50, SECONDS = 100 };
	uint64_t back[SITES] = { 0 };	/* when its next round is due */
	uint32_t rounds[SITES] = { 0 }, all = 0;
	int64_t spare = 0;

	(void)state;
	for (int64_t now = 1; now < SECONDS * S; now += MS) {
		uint32_t i;

		spare += 6667;	/* filled in within a millisecond */
		for (i = 0; i < SITES; i++)
			if (back[i] && back[i] <= (uint64_t)now) {
				round_queue_wait(&queue, i, back[i]);
				back[i] = 0;
			}
		for (i = 0; now == 1 && i < SITES; i++)
			round_queue_wait(&queue, i, 1);
		i = round_queue_first(&queue, (uint64_t)now);
		if (i == TIME_HEAP_NONE || !begins((uint64_t)now, spare))
			continue;
		/* hits cost more than was estimated */
		spare -= QUOTA * 80 * US;
		round_queue_paid(&queue, QUOTA);
		rounds[i]++;
		all++;
		back[i] = (uint64_t)(now + S);
	}
	assert_true(spare > -400 * US);
	assert_in_range(all * QUOTA * 80 * US / MS, 640, 667);	/* of 667 ms */
	for (uint32_t i = 0; i < SITES; i++)
		assert_in_range(rounds[i], all / SITES - 1, all / SITES + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_longest_first, setup),
		cmocka_unit_test_setup(what_is_owed_is_not_spent_twice, setup),
		cmocka_unit_test_setup(it_waits_for_what_is_missing, setup),
		cmocka_unit_test_setup(one_after_the_other, setup),
		cmocka_unit_test_setup(a_round_that_is_too_dear, setup),
		cmocka_unit_test_setup(fifty_hot_sites_share_what_comes_in, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
