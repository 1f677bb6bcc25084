/* SPDX-License-Identifier: MIT */
/*
 * sampling_facts: which stacks are recorded again, and when: a change is new, and so is a long time without a
 * hit.
 */
#include "attach/sampling/sampling_facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull
#define BEGIN (7 * SECOND)
#define STACK 5u

static struct recorder recorder;
static struct sampling_targets targets;
static struct sampling_sites sites;
static struct sampling_stacks stacks;
static struct sampling_site site;
static struct block_poll *poll;
static struct planting planting;
static struct rule rule;

static void over(void *ctx, const struct tracked *b, enum fate fate, uint64_t now_ns)
{
	(void)ctx;
	sampling_stacks_over(&stacks, b, fate, now_ns);
}

static int setup(void **state)
{
	static const struct fact run = { .kind = MMT_INFO, .info = MMT_RUN, .run = { .mode = "sampled" } };
	static const struct fact target = { .kind = MMT_INFO, .info = MMT_TARGET, .target = { .pid = 77 } };
	static const struct fact family = { .kind = MMT_INFO, .info = MMT_FAMILY_NAME,
					    .family_name = { .number = 0, .name = "libc" } };
	static const struct fact stack = { .kind = MMT_INFO, .info = MMT_STACK,
					   .stack = { .number = STACK } };

	(void)state;
	assert_int_equal(recorder_init(&recorder), 0);
	recorder_begin(&recorder, BEGIN, &run, &target);
	recorder_put(&recorder, &family);
	recorder_put(&recorder, &stack);
	planting.rules = &rule;
	planting.nrules = 1;
	targets.n = 1;
	/* no trap: its counts are all in `before` */
	site = (struct sampling_site){ .number = SAMPLING_NONE, .role = SAMPLING_TAKES,
				       .before = { .exposed_us = 1000 } };
	sites = (struct sampling_sites){ .all = &site, .n = 1, .planting = &planting, .targets = &targets };
	assert_int_equal(block_poll_new(getpid(), over, NULL, &poll), 0);
	sampling_stacks_init(&stacks, poll, BEGIN);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sampling_stacks_fini(&stacks);
	block_poll_free(poll);
	recorder_fini(&recorder);
	return 0;
}

static void see(uint64_t seconds)
{
	uint32_t i;

	assert_int_equal(sampling_stacks_find(&stacks, STACK, 0, &i), 0);
	sampling_stacks_see(&stacks, i, 64, BEGIN + seconds * SECOND);
	site.records++;
	site.before.hits++;
}

static const struct fact_sample *told(void)
{
	const struct ledger_sample *s = ledger_sample(&recorder.ledger, defs_family(&recorder.ledger.defs, 0),
						      defs_stack(&recorder.ledger.defs, STACK));

	return s ? &s->its : NULL;
}

static void tell(uint64_t seconds, uint64_t exposed_us, bool all)
{
	site.before.exposed_us = exposed_us;
	sampling_stacks_survey(&stacks);
	sampling_facts_stacks(&recorder, &sites, &stacks, BEGIN + seconds * SECOND, all);
}

static void a_change_is_told_once(void **state)
{
	(void)state;
	see(1);
	tell(10, 1000, false);
	assert_non_null(told());
	assert_true(told()->seen == 1 && told()->site_seen == 1 && told()->site_hits == 1 &&
		    told()->usable_bytes == 64 && told()->exposed_us == 1000);
	tell(20, 1001, false);
	assert_int_equal(told()->exposed_us, 1000);
	see(21);
	tell(30, 1001, false);
	assert_true(told()->seen == 2 && told()->site_hits == 2 && told()->exposed_us == 1001);
}

/*
 * The trap was planted for more than an eighth longer, without a hit: the rate is lower than the one
 * recorded.
 */
static void a_time_without_hits_is_recorded(void **state)
{
	(void)state;
	see(1);
	tell(10, 1000, false);
	tell(20, 1125, false);
	assert_int_equal(told()->exposed_us, 1000);
	tell(30, 1126, false);
	assert_int_equal(told()->exposed_us, 1126);
	tell(40, 1126 + 1126 / 8, false);
	assert_int_equal(told()->exposed_us, 1126);
}

static void at_the_end_all_is_told(void **state)
{
	(void)state;
	see(1);
	tell(10, 1000, false);
	tell(11, 1001, true);
	assert_int_equal(told()->exposed_us, 1001);
}

/*
 * The counts of a stack from when it was inside of a wrapper are discarded: that is recorded once, and no
 * more.
 */
static void a_stack_that_is_cleared_is_recorded_once(void **state)
{
	taddr addr;

	(void)state;
	see(1);
	tell(10, 1000, false);
	assert_false(sampling_stacks_clear(&stacks, 0, &addr));
	tell(20, 1001, false);
	assert_int_equal(told()->seen, 0);
	tell(30, 9000, true);
	assert_int_equal(told()->exposed_us, 1001);
}

/* The fates of its blocks are counted by age steps; the last fifth of the run is late. */
static void what_became_of_its_blocks(void **state)
{
	struct tracked gone = { .addr = 0x10000 };

	(void)state;
	for (unsigned n = 0; n < 4; n++) {
		see(1 + 30 * n);
		assert_int_equal(
			block_poll_add(poll, &(struct block_birth){ .addr = 0x10000 + 64 * n, .bytes = 64 }, 0,
				       BEGIN + (1 + 30 * n) * SECOND),
			0);
		assert_int_equal(sampling_stacks_hold(&stacks, 0, 0x10000 + 64 * n), 0);
	}
	/*
	 * it was there at 4 s, and not at 6: freed at 5 s, in the step from 3 s on; the others have had no
	 * look yet
	 */
	assert_true(block_poll_drop(poll, gone.addr, NULL));
	gone.birth_ns = BEGIN + SECOND;
	gone.seen_ns = gone.birth_ns + 4 * SECOND;
	sampling_stacks_over(&stacks, &gone, FATE_GONE, gone.birth_ns + 6 * SECOND);
	tell(100, 1000, false);
	assert_int_equal(survival_age_s(7), 3);
	assert_true(told()->steps[0].at_risk == 4 && told()->steps[0].gone == 0);
	assert_true(told()->steps[7].at_risk == 1 && told()->steps[7].gone == 1 &&
		    told()->steps[8].at_risk == 0);
	assert_true(told()->seen == 4 && told()->late_seen == 1);
}

static void stays(const struct tracked *b, int n)
{
	for (int i = 0; i < n; i++)
		sampling_stacks_over(&stacks, b, FATE_SAME, BEGIN);
}

static bool is_recorded(uint64_t at, uint32_t searched, uint32_t lost)
{
	tell(at, 1000 + at, true);
	return told()->searched == searched && told()->lost == lost;
}

/*
 * Of less than half of its blocks it is known that they are reachable, or more than a few seem lost, where not
 * all was seen: that says nothing of the others. But several that are lost do.
 */
static void what_was_found_reachable(void **state)
{
	const struct tracked reachable = { .birth_ns = BEGIN, .seen_ns = BEGIN, .searched = true },
			     lost = { .birth_ns = BEGIN, .seen_ns = BEGIN, .searched = true, .lost = true },
			     unsure = { .birth_ns = BEGIN, .seen_ns = BEGIN, .unsure = true },
			     unjudged = { .birth_ns = BEGIN, .seen_ns = BEGIN };

	(void)state;
	see(1);
	stays(&reachable, 10);
	stays(&unjudged, 10);
	assert_true(is_recorded(10, 10, 0));
	stays(&unsure, 1);
	assert_true(is_recorded(11, 10, 0));
	stays(&unjudged, 1);
	assert_true(is_recorded(12, 0, 0));
	stays(&reachable, 1);
	assert_true(is_recorded(13, 11, 0));
	stays(&unsure, 1);
	assert_true(is_recorded(14, 0, 0));
	stays(&lost, 2);
	assert_true(is_recorded(15, 0, 0));
	stays(&lost, 1);
	assert_true(is_recorded(16, 14, 3));
}

/* The trap was planted for eight seconds from 10 s on, and always from 100 s on. */
static void how_long_it_was_watched_of_late(void **state)
{
	(void)state;
	see(1);
	site.before.exposed_us = 0;
	for (unsigned now = 1; now <= 100; now++) {
		site.before.exposed_us += now > 10 && now <= 18 ? 1000000 : 0;
		sampling_sites_note_exposed(&sites, now * SECOND);
	}
	tell(100, site.before.exposed_us, true);
	assert_true(told()->exposed_us == 8000000 && told()->late_exposed_us == 0);
	for (unsigned now = 101; now <= 120; now++) {
		site.before.exposed_us += 1000000;
		sampling_sites_note_exposed(&sites, now * SECOND);
	}
	tell(120, site.before.exposed_us, true);
	assert_true(told()->late_exposed_us <= 20000000 && told()->late_exposed_us >= 17000000);
}

/*
 * The trap was planted for the first 70 of 100 s: of the last fifth nothing is known, so the last half is
 * late. A little in the last fifth is not enough, either, if so few allocations are to be expected there.
 */
static void late_is_the_last_half_if_nothing_is_known_of_the_last_fifth(void **state)
{
	(void)state;
	site.before.exposed_us = 0;
	for (unsigned now = 1; now <= 100; now++) {
		if (now <= 70)
			see(now);
		site.before.exposed_us += now <= 70 || now == 90 ? 1000000 : 0;
		sampling_sites_note_exposed(&sites, now * SECOND);
	}
	tell(100, site.before.exposed_us, true);
	assert_in_range(told()->late_seen, 18, 22);
	assert_in_range(told()->late_exposed_us, 11000000, 21000000);
}

/* Also the hits that were not counted, because a thread was stopped. */
static void what_was_missed(void **state)
{
	(void)state;
	see(1);
	tell(2, 5000, true);
	assert_true(told()->missed == 0 && told()->stood_us == 0);
	site.before.missed = 31;
	site.before.stood_us = 1700;
	tell(3, 6000, true);
	assert_true(told()->missed == 31 && told()->stood_us == 1700);
}

int main(void)
{
#define facts_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		facts_test(a_change_is_told_once),
		facts_test(a_time_without_hits_is_recorded),
		facts_test(at_the_end_all_is_told),
		facts_test(a_stack_that_is_cleared_is_recorded_once),
		facts_test(what_became_of_its_blocks),
		facts_test(what_was_found_reachable),
		facts_test(how_long_it_was_watched_of_late),
		facts_test(late_is_the_last_half_if_nothing_is_known_of_the_last_fifth),
		facts_test(what_was_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
