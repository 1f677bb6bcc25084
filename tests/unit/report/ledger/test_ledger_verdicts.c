/* SPDX-License-Identifier: MIT */
/*
 * ledger_verdicts: the verdicts of a snapshot count once all of them were read, for the blocks that were live
 * then.
 */
#include "report/ledger/ledger.h"

#include "tests/unit/ledger_facts.h"

static const struct fact_sum sums[VERDICT_COUNT] = {
	{ 0, 0 }, { 1, 100 }, { 2, 200 }, { 3, 300 }, { 4, 400 }
};
static const char *const doubts[] = { "one thread ran", NULL };

static void look(uint32_t number, bool taken, uint64_t judged)
{
	const struct fact_verdicts its = {
		.number = number, .known = taken, .why_not = taken ? NULL : "too long", .allocator = "glibc",
		.judged = judged,
		.expected_ns = 5, .had_ns = 7, .sums = sums, .nsums = VERDICT_COUNT, .doubts = doubts,
		.ndoubts = 2,
	};
	const struct fact f = { .kind = MMT_INFO, .info = MMT_VERDICTS, .time_us = now, .look = &its };

	take(&f);
}

static void judged(enum verdict verdict, taddr addr, uint64_t with_blocks)
{
	const struct fact_judged its = { addr, with_blocks, 10 * with_blocks };
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_JUDGED, .time_us = now, .judged = { verdict, &its, 1 }
	};

	take(&f);
}

static enum verdict verdict_of(taddr addr)
{
	struct live_block b;

	assert_true(ledger_holds(&ledger, 0, addr, &b));
	return ledger_verdict(&ledger, &b);
}

static void all_or_nothing(void **state)
{
	(void)state;
	alloc(A, 10, S1);
	alloc(B, 20, S2);
	assert_false(ledger_has_verdicts(&ledger));
	look(1, true, 2);
	judged(VERDICT_DEFINITE, A, 3);
	assert_false(ledger_has_verdicts(&ledger));
	assert_int_equal(verdict_of(A), VERDICT_UNKNOWN);
	judged(VERDICT_REACHABLE, B, 0);
	assert_true(ledger_has_verdicts(&ledger));
	assert_int_equal(verdict_of(A), VERDICT_DEFINITE);
	assert_int_equal(verdict_of(B), VERDICT_REACHABLE);
	judged(VERDICT_REACHABLE, B, 0);
	assert_false(ledger_has_verdicts(&ledger));
	assert_int_equal(ledger.nonsense, 0);
}

static void what_is_kept_of_a_look(void **state)
{
	(void)state;
	look(1, true, 0);
	assert_true(ledger_has_verdicts(&ledger));
	assert_string_equal(ledger.look.fact.allocator, "glibc");
	assert_null(ledger.look.fact.why_not);
	assert_int_equal(ledger.look.fact.nsums, VERDICT_COUNT);
	assert_int_equal(ledger.look.fact.sums[VERDICT_POSSIBLE].bytes, 300);
	assert_int_equal(ledger.look.fact.ndoubts, 2);
	assert_string_equal(ledger.look.fact.doubts[0], "one thread ran");
	assert_string_equal(ledger.look.fact.doubts[1], "");
	look(2, false, 0);
	assert_false(ledger_has_verdicts(&ledger));
	assert_string_equal(ledger.look.fact.why_not, "too long");
}

/* A later block at the address is another one. */
static void of_the_blocks_of_that_moment(void **state)
{
	(void)state;
	alloc(A, 10, S1);
	alloc(B, 20, S2);
	look(1, true, 2);
	judged(VERDICT_DEFINITE, A, 0);
	judged(VERDICT_POSSIBLE, B, 0);
	simple(MMT_FREE, A);
	alloc(A, 11, S1);
	alloc(A + 64, 12, S1);
	assert_int_equal(verdict_of(A), VERDICT_UNKNOWN);
	assert_int_equal(verdict_of(A + 64), VERDICT_UNKNOWN);
	assert_int_equal(verdict_of(B), VERDICT_POSSIBLE);
}

/*
 * A snapshot that the next piece of the run repeats is the same one; another snapshot discards its verdicts.
 */
static void looks(void **state)
{
	(void)state;
	alloc(A, 10, S1);
	alloc(B, 20, S2);
	look(1, true, 2);
	judged(VERDICT_DEFINITE, A, 5);
	look(1, true, 2);
	judged(VERDICT_REACHABLE, B, 0);
	assert_int_equal(verdict_of(A), VERDICT_DEFINITE);
	assert_int_equal(ledger.look.with.count, 1);
	look(2, true, 1);
	assert_int_equal(ledger.look.with.count, 0);
	judged(VERDICT_POSSIBLE, B, 0);
	assert_int_equal(verdict_of(A), VERDICT_UNKNOWN);
	assert_int_equal(verdict_of(B), VERDICT_POSSIBLE);
}

/* A block that is being resized gets its verdict when it is back. */
static void put_aside(void **state)
{
	struct fact f = event(MMT_ASIDE, A);

	(void)state;
	alloc(A, 10, S1);
	f.block.key = 9;
	take(&f);
	look(1, true, 1);
	judged(VERDICT_POSSIBLE, A, 0);
	assert_int_equal(ledger_settle(&ledger), 0);
	assert_int_equal(verdict_of(A), VERDICT_POSSIBLE);
}

static void what_makes_no_sense(void **state)
{
	(void)state;
	alloc(A, 10, S1);
	judged(VERDICT_DEFINITE, A, 0);
	assert_int_equal(ledger.nonsense, 1);
	look(1, false, 1);
	judged(VERDICT_DEFINITE, A, 0);
	assert_int_equal(ledger.nonsense, 2);
	look(2, true, 2);
	judged(VERDICT_COUNT, A, 7);
	judged(VERDICT_DEFINITE, B, 7);
	assert_int_equal(ledger.nonsense, 2);
	assert_true(ledger_has_verdicts(&ledger));
	assert_int_equal(verdict_of(A), VERDICT_UNKNOWN);
	assert_int_equal(ledger.look.with.count, 0);
	for (uint32_t i = 3; i < 2 * LEDGER_LOOKS_MAX; i++)
		look(i, true, 0);
	assert_true(ledger.nonsense > 2);
}

/* The memory of a verdict: none for most blocks, a few bytes for a block that others are lost with. */
static void memory(void **state)
{
	size_t before, n = 100000;

	(void)state;
	for (size_t i = 0; i < n; i++)
		alloc(A + 32 * i, 10, S1);
	before = ledger_memory(&ledger);
	look(1, true, n);
	for (size_t i = 0; i < n; i++)
		judged(i % 2 ? VERDICT_DEFINITE : VERDICT_INDIRECT, A + 32 * i, i % 2);
	assert_true(ledger_has_verdicts(&ledger));
	assert_true(ledger_memory(&ledger) - before < 8 * n);
	assert_true(ledger.look.with.n < 3 * n);
}

int main(void)
{
#define ledger_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		ledger_test(all_or_nothing),
		ledger_test(what_is_kept_of_a_look),
		ledger_test(of_the_blocks_of_that_moment),
		ledger_test(looks),
		ledger_test(put_aside),
		ledger_test(what_makes_no_sense),
		ledger_test(memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
