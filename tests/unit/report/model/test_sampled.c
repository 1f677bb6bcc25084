/* SPDX-License-Identifier: MIT */
/*
 * sampled: what a ledger keeps of samples, and what the samples of a group add up to;
 * tests/test_report_sampled.py tests whole reports.
 */
#include "report/model/sampled.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/account.h"
#include "report/csv/out_csv.h"
#include "report/folded/out_folded.h"
#include "report/json/out_json.h"
#include "report/model/unknown_reason.h"
#include "report/text/out_text.h"
#include "tests/unit/any_fact.h"
#include "tests/unit/ledger_facts.h"

/* --- the ledger --- */

static void tell(uint32_t stack, const struct fact_sample *its)
{
	struct fact f = { .kind = MMT_INFO, .info = MMT_SAMPLE, .time_us = now, .sample = { stack, its } };

	take(&f);
}

static uint32_t index_of(uint32_t stack)
{
	return defs_stack(&ledger.defs, stack);
}

static void the_last_one_counts(void **state)
{
	(void)state;
	tell(S1, &(struct fact_sample){ .seen = 5, .nsteps = 2, .steps = { { 5, 1, 0 }, { 4, 0, 0 } } });
	tell(S2, &(struct fact_sample){ .seen = 7 });
	tell(S1, &(struct fact_sample){ .seen = 6, .nsteps = 1, .steps = { { 6, 1, 0 } } });
	assert_int_equal(ledger.samples.n, 2);
	assert_int_equal(ledger_sample(&ledger, 0, index_of(S1))->its.seen, 6);
	assert_int_equal(ledger_sample(&ledger, 0, index_of(S1))->its.steps[1].at_risk, 0);
	assert_int_equal(ledger_sample(&ledger, 0, index_of(S2))->its.seen, 7);
	assert_null(ledger_sample(&ledger, 0, index_of(0)));
	assert_null(ledger_sample(&ledger, 1, index_of(S1)));
	assert_int_equal(ledger.nonsense, 0);
}

static void families_are_apart(void **state)
{
	(void)state;
	define_family(3, "fd");
	tell(S1, &(struct fact_sample){ .seen = 5 });
	family(3);
	tell(S1, &(struct fact_sample){ .seen = 9 });
	assert_int_equal(ledger_sample(&ledger, 0, index_of(S1))->its.seen, 5);
	assert_int_equal(ledger_sample(&ledger, 1, index_of(S1))->its.seen, 9);
}

/* An undefined stack has no blocks to print an estimate for; objects have no sites. */
static void what_makes_no_sense(void **state)
{
	struct fact objects = { .kind = MMT_INFO, .info = MMT_FAMILY_NAME,
				.family_name = { 4, "dict", NULL, .refs = true } };

	(void)state;
	tell(STACKS + 7, &(struct fact_sample){ .seen = 5 });
	assert_int_equal(ledger.undefined, 1);
	assert_int_equal(ledger.samples.n, 0);
	take(&objects);
	family(4);
	tell(S1, &(struct fact_sample){ .seen = 5 });
	assert_int_equal(ledger.nonsense, 1);
	assert_int_equal(ledger.samples.n, 0);
}

/* --- what samples add up to --- */

/*
 * @hits at random in as many rounds of a second, in which the trap was always planted; the blocks have 64
 * bytes.
 */
static struct fact_sample by_chance(uint64_t hits, uint64_t seconds)
{
	const uint64_t us = 1000000;

	return (struct fact_sample){
		.seen = hits, .late_seen = hits / 5, .usable_bytes = 64 * hits, .site_seen = hits,
		.site_hits = hits, .rounds = seconds,
		.exposed_us = seconds * us, .hits2 = hits + hits * hits / seconds, .hits_exposed = hits * us,
		.exposed2 = seconds * us * us,
		.late_exposed_us = seconds * us / 5,
	};
}

static void follow(struct fact_sample *s, uint64_t n, uint32_t steps)
{
	for (s->nsteps = 0; s->nsteps < steps; s->nsteps++)
		s->steps[s->nsteps] = (struct fact_step){ n, 0, 0 };
}

static struct summary_sample judged(const struct fact_sample *samples, size_t n)
{
	struct sampled *sum = NULL;
	struct summary_sample out;

	for (size_t i = 0; i < n; i++)
		assert_int_equal(sampled_add(&sum, 0, &samples[i]), 0);
	sampled_conclude(sum, 600, &out);
	assert_null(sum->next);
	sampled_free(sum);
	return out;
}

static void assert_near(double got, double want)
{
	if (fabs(got - want) > 1e-6 * fabs(want))
		fail_msg("%.9g instead of %.9g", got, want);
}

static void a_stack_that_stays(void **state)
{
	struct fact_sample s = by_chance(600, 600);
	struct summary_sample out;

	(void)state;
	s.standing = true;
	follow(&s, 100, 11);
	out = judged(&s, 1);
	assert_int_equal(out.survival.kind, SURVIVAL_STAYS);
	assert_true(out.standing);
	assert_near(out.allocs.value, 60);
	assert_near(out.kept_blocks.value, 60);
	assert_near(out.kept_bytes.value, 3840);
	assert_near(out.kept_bytes.low, 64 * out.kept_blocks.low);
	assert_true(out.kept_blocks.low < out.allocs.low);	/* the share is uncertain, too */
	assert_int_equal(sampled_kept_bytes(&out, 600), 38400);
}

/*
 * A hundred blocks that look the same, of a site of which one call in a thousand was seen: their addresses
 * may have been allocated again.
 */
static void a_stack_hardly_seen(void **state)
{
	struct fact_sample s = by_chance(600, 600);

	(void)state;
	follow(&s, 100, 11);
	s.exposed_us /= 10;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_STAYS);
	s.exposed_us /= 100;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_UNKNOWN);
}

/* Of a stack with @n tracked blocks, too few to know what becomes of them: what if @lost of @judged are lost? */
static struct summary_sample with_lost_and(uint64_t n, uint64_t judged_blocks, uint64_t lost, uint64_t late)
{
	struct fact_sample s = by_chance(600, 600);

	follow(&s, n, 11);
	s.searched = judged_blocks;
	s.lost = lost;
	s.late_seen = late;
	return judged(&s, 1);
}

static struct summary_sample with_lost(uint64_t n, uint64_t judged_blocks, uint64_t lost)
{
	return with_lost_and(n, judged_blocks, lost, 120);
}

static void what_is_lost_stays(void **state)
{
	const struct summary_sample out = with_lost(5, 5, 4);

	(void)state;
	assert_int_equal(with_lost(5, 0, 0).survival.kind, SURVIVAL_UNKNOWN);
	assert_int_equal(with_lost(5, 5, 0).survival.kind, SURVIVAL_UNKNOWN);
	assert_int_equal(with_lost(5, 5, 2).survival.kind, SURVIVAL_UNKNOWN);
	assert_int_equal(with_lost(7, 7, 3).survival.kind, SURVIVAL_UNKNOWN);
	/* a trace may say anything */
	assert_int_equal(with_lost(5, 0, 3).survival.kind, SURVIVAL_UNKNOWN);
	assert_int_equal(with_lost(6, 6, 3).survival.kind, SURVIVAL_STAYS);
	assert_int_equal(out.survival.kind, SURVIVAL_STAYS);
	assert_true(out.by_lost && out.searched == 5 && out.lost == 4);
	/* what is told of ages is as before */
	assert_near(out.survival.share, 1);
	/* 60 a minute, of which so large a part stays */
	assert_near(out.kept_blocks.value, 48);
	assert_true(out.kept_blocks.low > 15 && out.kept_blocks.low < 30);
	assert_true(out.kept_blocks.high >= out.allocs.value);
	/* nothing was allocated late: it may be over */
	assert_int_equal(with_lost_and(5, 5, 5, 0).survival.kind, SURVIVAL_UNKNOWN);
	/* the verdict changes nothing where the blocks' ages show that they stay */
	assert_false(with_lost(100, 100, 100).by_lost);
	assert_near(with_lost(100, 100, 100).kept_blocks.value, 60);
}

/* They stay, but something points to them: a cache that fills looks like that, until it is old. */
static void what_is_pointed_to_may_be_a_cache(void **state)
{
	struct fact_sample s = by_chance(600, 600);
	struct summary_sample out;

	(void)state;
	follow(&s, 100, 11);
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_STAYS);
	s.searched = 50;
	out = judged(&s, 1);
	assert_int_equal(unknown_reason(&out), UNKNOWN_POINTED_TO);
	s.lost = 2;
	assert_int_equal(judged(&s, 1).doubt, SURVIVAL_POINTED_TO);
	s.lost = 3;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_STAYS);
	s = by_chance(600, 600);
	follow(&s, 100, SURVIVAL_STEPS);
	s.searched = 50;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_STAYS);
}

/* The blocks at the tracked addresses may be others: then these are what is lost. */
static void what_is_lost_may_be_others(void **state)
{
	struct fact_sample s = by_chance(600, 600);

	(void)state;
	follow(&s, 100, 11);
	s.exposed_us /= 1000;
	s.searched = s.lost = 100;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_UNKNOWN);
	s = by_chance(600, 600);
	follow(&s, 100, 3);
	s.steps[2].unknown = 90;
	s.searched = s.lost = 10;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_UNKNOWN);
}

/*
 * The kernel's probes have found that of 300 blocks which the process has lost in half a minute 90 are this stack's, of
 * 48 bytes each. No trap need have seen it.
 */
static void what_probes_have_found_stays(void **state)
{
	const struct fact_losing losing = { 12, 9, 30000000, 90, 60, 120, 90 * 48 };
	struct fact_sample s = { .losing = losing };
	struct summary_sample out = judged(&s, 1), sum;

	(void)state;
	assert_int_equal(out.survival.kind, SURVIVAL_STAYS);
	assert_true(out.by_probes && out.probed == 12 && out.probed_lost == 9 && !out.seen);
	assert_near(out.kept_blocks.value, 180);
	assert_near(out.kept_blocks.low, 120);
	assert_near(out.kept_blocks.high, 240);
	assert_near(out.kept_bytes.value, 180 * 48);
	/* that too few were found is not enough */
	s.losing.blocks = s.losing.least = s.losing.most = s.losing.bytes = 0;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_UNKNOWN);
	/* it is more certain than what samples show; unless these show more: that is not lost, too */
	s = by_chance(600, 600);
	follow(&s, 100, 11);
	s.losing = losing;
	assert_true(judged(&s, 1).by_probes);
	s.losing.blocks /= 10;
	s.losing.least /= 10;
	s.losing.most /= 10;
	assert_false(judged(&s, 1).by_probes);
	assert_near(judged(&s, 1).kept_blocks.value, 60);
	sampled_sum((const struct summary_sample[]){ out, out }, 2, &sum);
	assert_true(sum.by_probes && sum.probed == 24 && sum.survival.kind == SURVIVAL_STAYS);
	assert_near(sum.kept_blocks.value, 360);
}

/* Blocks of which a half is freed soon, and the rest seems to stay, and is lost: are these its own? */
static void what_probes_have_seen_contradicts(void **state)
{
	struct fact_sample s = by_chance(600, 600);

	(void)state;
	follow(&s, 100, 11);
	for (unsigned i = 1; i < 11; i++)
		s.steps[i].at_risk = 60;
	s.steps[0].gone = 40;
	s.searched = s.lost = 50;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_STAYS);
	s.losing.seen = 100;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_UNKNOWN);
	assert_int_equal(judged(&s, 1).doubt, SURVIVAL_OTHERS);
	/* they are: only less than three were found to be, or of too few */
	s.losing.lost = 50;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_STAYS);
	s.losing = (struct fact_losing){ .seen = 2 };
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_STAYS);
	/* of 49 three are left, and lost; but none of 5,910 */
	s = by_chance(600, 600);
	follow(&s, 3, 9);
	s.steps[0] = (struct fact_step){ .at_risk = 49, .gone = 46 };
	s.seen = 49;
	s.searched = s.lost = 3;
	assert_true(judged(&s, 1).survival.kind == SURVIVAL_STAYS && judged(&s, 1).by_lost);
	s.losing.seen = 5910;
	assert_int_equal(judged(&s, 1).doubt, SURVIVAL_OTHERS);
	/* none is freed soon: they may be lost later than a window lasts */
	s = by_chance(600, 600);
	follow(&s, 100, 11);
	s.searched = s.lost = 50;
	s.losing.seen = 100;
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_STAYS);
}

/* Two groups of which one is known to leak by what is lost are one that is. */
static void what_is_lost_in_several_processes(void **state)
{
	const struct summary_sample all[] = { with_lost(5, 5, 5), with_lost(5, 0, 0) };
	struct summary_sample sum;

	(void)state;
	sampled_sum(all, 2, &sum);
	assert_int_equal(sum.survival.kind, SURVIVAL_STAYS);
	assert_true(sum.searched == 5 && sum.lost == 5 && sum.by_lost);
	assert_near(sum.kept_blocks.value, all[0].kept_blocks.value);
}

/*
 * Two stacks that look the same are one group: their rates are added, the errors are added in quadrature, and
 * the blocks are counted together.
 */
static void several_stacks(void **state)
{
	struct fact_sample s[2] = { by_chance(600, 600), by_chance(600, 600) };
	struct summary_sample one, both;

	(void)state;
	follow(&s[0], 5, 11);
	follow(&s[1], 5, 11);
	s[0].standing = true;
	one = judged(s, 1);
	both = judged(s, 2);
	assert_int_equal(one.survival.kind, SURVIVAL_UNKNOWN);	/* five are too few for an answer, */
	assert_int_equal(both.survival.kind, SURVIVAL_STAYS);	/* ten are enough */
	assert_near(both.allocs.value, 2 * one.allocs.value);
	assert_near(both.allocs.high - both.allocs.value, sqrt(2) * (one.allocs.high - one.allocs.value));
	assert_near(both.allocs.value - both.allocs.low, sqrt(2) * (one.allocs.value - one.allocs.low));
	assert_int_equal(both.seen, 1200);
	assert_int_equal(both.steps[3].at_risk, 10);
	assert_true(one.standing && !both.standing);
}

static void a_part_of_a_site(void **state)
{
	struct fact_sample s = by_chance(600, 600);

	(void)state;
	s.seen = 200;	/* of 800 that were recorded, of which the meter has 600 */
	s.site_seen = 800;
	assert_near(judged(&s, 1).allocs.value, 15);
	s.site_seen = 0;	/* a sample without that number counts as the only stack of its site */
	assert_near(judged(&s, 1).allocs.value, 60);
}

static void what_goes_is_not_kept(void **state)
{
	struct fact_sample s = by_chance(6000, 600);
	struct summary_sample out;
	struct growth g;

	(void)state;
	s.nsteps = 3;
	s.steps[0] = (struct fact_step){ 100, 10, 0 };
	s.steps[1] = (struct fact_step){ 90, 60, 0 };
	s.steps[2] = (struct fact_step){ 30, 30, 0 };
	out = judged(&s, 1);
	assert_int_equal(out.survival.kind, SURVIVAL_GOES);
	assert_true(out.kept_bytes.value == 0 && out.kept_bytes.low == 0 && out.kept_bytes.high > 0);
	assert_int_equal(sampled_kept_bytes(&out, 600), 0);
	sampled_growth(&out, 600, &g);
	assert_int_equal(g.shape, GROWTH_LEVEL);
}

static void a_table(void **state)
{
	struct fact_sample s = by_chance(60, 600);
	struct summary_sample out;
	struct growth g;

	(void)state;
	s.late_seen = 0;
	follow(&s, 60, 11);
	out = judged(&s, 1);
	assert_int_equal(out.survival.kind, SURVIVAL_TABLE);
	assert_true(out.kept_blocks.value == 0 && out.kept_blocks.low == 0);
	/* two or three in 120 s go unseen by chance, no more */
	assert_true(out.kept_blocks.high > 0.5 && out.kept_blocks.high < 2);
	sampled_growth(&out, 600, &g);
	assert_int_equal(g.shape, GROWTH_LEVEL);
	assert_near(g.since_s, 480);
}

/*
 * 100 blocks stay live for 100 s. A tenth of the time is enough to notice reuse; a thirtieth is, too, but not if
 * rounds were cut: then it may be less of the calls.
 */
static void a_part_of_the_time_may_be_less_of_the_calls(void **state)
{
	struct fact_sample s = by_chance(600, 20);

	(void)state;
	follow(&s, 100, 11);
	assert_int_equal(judged(&s, 1).survival.kind, SURVIVAL_STAYS);
	s.full = s.rounds;
	s.hits2 = 100 * s.site_hits * s.site_hits / s.rounds;
	assert_true(judged(&s, 1).allocs.at_least);
	assert_int_equal(judged(&s, 1).doubt, SURVIVAL_UNNOTICED);
	s.exposed_us *= 3;
	assert_int_equal(judged(&s, 1).doubt, SURVIVAL_SURE);
}

/* In the last fifth, traps were planted hardly at all: it means nothing that no hit was seen then. */
static void no_table_unless_watched_of_late(void **state)
{
	struct fact_sample s = by_chance(600, 600), other;
	struct summary_sample out;

	(void)state;
	s.late_seen = 0;
	follow(&s, 60, 11);
	s.late_exposed_us = 2900000;
	out = judged(&s, 1);
	assert_int_equal(out.survival.kind, SURVIVAL_UNKNOWN);
	s.late_exposed_us = 3100000;
	out = judged(&s, 1);
	assert_int_equal(out.survival.kind, SURVIVAL_TABLE);
	/* the values of two stacks are added */
	s.late_exposed_us = 1600000;
	other = s;
	out = judged((struct fact_sample[]){ s, other }, 2);
	assert_int_equal(out.survival.kind, SURVIVAL_TABLE);
}

/* Of a stack in lockstep, the missed hits have no upper bound, and so neither have the live blocks. */
static void in_lockstep(void **state)
{
	struct fact_sample s = by_chance(600, 600);
	struct summary_sample out;

	(void)state;
	follow(&s, 60, 11);
	out = judged(&s, 1);
	assert_false(out.allocs.at_least || out.kept_bytes.at_least);
	s.missed = 620;
	s.stood_us = 60000;
	out = judged(&s, 1);
	assert_true(out.allocs.at_least && out.kept_bytes.at_least);
	assert_int_equal(sampled_bytes_to_ask_for(&out, 600), UINT64_MAX);
}

static void nothing_is_known(void **state)
{
	const struct fact_sample s = { .seen = 1, .usable_bytes = 64 };
	struct summary_sample out = judged(&s, 1);
	struct growth g;

	(void)state;
	assert_int_equal(out.survival.kind, SURVIVAL_UNKNOWN);
	assert_true(isinf(out.allocs.high) && isinf(out.kept_bytes.high) && out.kept_bytes.value == 0);
	assert_int_equal(sampled_bytes_to_ask_for(&out, 600), UINT64_MAX);
	sampled_growth(&out, 600, &g);
	assert_int_equal(g.shape, GROWTH_UNKNOWN);
}

/*
 * Four fifths of the blocks cannot be tracked any more: as many as all of them may be live, but the report
 * does not count them as live.
 */
static void unknown_blocks_are_not_called_live(void **state)
{
	struct fact_sample s = by_chance(600, 600);
	struct summary_sample out;

	(void)state;
	follow(&s, 100, 11);
	s.steps[10] = (struct fact_step){ 100, 0, 80 };
	out = judged(&s, 1);
	assert_int_equal(out.survival.kind, SURVIVAL_UNKNOWN);
	assert_true(out.kept_blocks.value == 0 && out.kept_blocks.low == 0 && out.kept_bytes.value == 0 &&
		    out.kept_bytes.low == 0);
	assert_near(out.may_keep_blocks.value, 60);
	assert_near(out.may_keep_bytes.value, 3840);
	assert_near(out.kept_bytes.high, out.may_keep_bytes.high);
	assert_int_equal(sampled_kept_bytes(&out, 600), 0);
	assert_near((double)sampled_bytes_to_ask_for(&out, 600), floor(out.kept_bytes.high * 10));
}

/* --- reports of any numbers --- */

static void print_all(const struct groups_options *opt)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	assert_int_equal(account_summary(&ledger, opt, &s), 0);
	assert_true(s.ngroups > 0);
	assert_int_equal(out_json(&s, 0, &sb), 0);
	assert_null(strstr(strbuf_str(&sb), "nan"));
	assert_null(strstr(strbuf_str(&sb), "inf"));
	strbuf_reset(&sb);
	assert_int_equal(out_text(&s, 0, &sb), 0);
	assert_null(strstr(strbuf_str(&sb), "nan"));
	assert_null(strstr(strbuf_str(&sb), "inf"));
	assert_int_equal(out_csv(&s, 0, &sb), 0);
	assert_int_equal(out_folded(&s, 0, &sb), 0);
	strbuf_fini(&sb);
	summary_fini(&s);
}

/* Numbers that no run has: reports can be made all the same. */
static void any_numbers(void **state)
{
	static const struct fact run = { .kind = MMT_INFO, .info = MMT_RUN, .run = { .mode = "sampled" } };
	uint64_t rng = 4242;

	(void)state;
	take(&run);
	for (int round = 0; round < 300; round++) {
		struct fact f = { .kind = MMT_INFO, .info = MMT_BUDGET, .time_us = now += 100000,
				  .budget = any_budget(&rng) };

		take(&f);
		for (uint32_t i = 0; i < STACKS; i++)
			tell(i, any_sample(&rng));
		alloc(16 * any_number(&rng), 32, (uint32_t)(any_random(&rng) % STACKS));
		print_all(&(struct groups_options){ .min_bytes = any_random(&rng) % 2 });
	}
}

int main(void)
{
#define ledger_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		ledger_test(the_last_one_counts),
		ledger_test(families_are_apart),
		ledger_test(what_makes_no_sense),
		cmocka_unit_test(a_stack_that_stays),
		cmocka_unit_test(a_stack_hardly_seen),
		cmocka_unit_test(what_is_lost_stays),
		cmocka_unit_test(what_is_pointed_to_may_be_a_cache),
		cmocka_unit_test(what_is_lost_may_be_others),
		cmocka_unit_test(what_is_lost_in_several_processes),
		cmocka_unit_test(what_probes_have_found_stays),
		cmocka_unit_test(what_probes_have_seen_contradicts),
		cmocka_unit_test(several_stacks),
		cmocka_unit_test(a_part_of_a_site),
		cmocka_unit_test(what_goes_is_not_kept),
		cmocka_unit_test(a_table),
		cmocka_unit_test(a_part_of_the_time_may_be_less_of_the_calls),
		cmocka_unit_test(no_table_unless_watched_of_late),
		cmocka_unit_test(in_lockstep),
		cmocka_unit_test(nothing_is_known),
		cmocka_unit_test(unknown_blocks_are_not_called_live),
		ledger_test(any_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
