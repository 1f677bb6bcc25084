/* SPDX-License-Identifier: MIT */
/*
 * sampling_stacks: a fair sample of a stack's blocks, and what is counted of those that are not tracked any
 * more.
 */
#include "attach/sampling/sampling_stacks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull
#define BEGIN 7000000000ull

static struct block_poll *poll;
static struct sampling_stacks s;

static void over(void *ctx, const struct tracked *b, enum fate fate, uint64_t now_ns)
{
	(void)ctx;
	sampling_stacks_over(&s, b, fate, now_ns);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(block_poll_new(getpid(), over, NULL, &poll), 0);
	sampling_stacks_init(&s, poll, BEGIN);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sampling_stacks_fini(&s);
	block_poll_free(poll);
	return 0;
}

static uint32_t stack(uint32_t number)
{
	uint32_t i;

	assert_int_equal(sampling_stacks_find(&s, number, 3, &i), 0);
	return i;
}

static taddr address(unsigned n)
{
	return 0x10000000 + 48ull * n;
}

/* As the watch does for a hit. */
static bool hit(uint32_t i, unsigned n, uint64_t now_ns)
{
	taddr instead;

	sampling_stacks_see(&s, i, 48, now_ns);
	if (!sampling_stacks_wants(&s, i, &instead))
		return false;
	assert_int_equal(
		block_poll_add(poll, &(struct block_birth){ .addr = address(n), .bytes = 48 }, i, now_ns), 0);
	assert_int_equal(sampling_stacks_hold(&s, i, address(n)), 0);
	return true;
}

static void the_same_stack_is_one(void **state)
{
	(void)state;
	assert_int_equal(stack(17), 0);
	assert_int_equal(stack(18), 1);
	assert_int_equal(stack(17), 0);
	assert_int_equal(s.all[1].number, 18);
	assert_int_equal(s.all[1].site, 3);
}

/* The n-th block is as likely to be in the sample as the first. */
static void a_sample_is_fair(void **state)
{
	uint32_t i = stack(1);
	unsigned in_half = 0;

	(void)state;
	for (unsigned n = 0; n < 20000; n++)
		(void)hit(i, n, BEGIN + n * 1000000ull);
	assert_int_equal(s.all[i].nheld, SAMPLING_TRACKED);
	assert_int_equal(block_poll_count(poll), SAMPLING_TRACKED);
	assert_int_equal(s.all[i].seen, 20000);
	assert_int_equal(s.all[i].usable_bytes, 20000 * 48);
	for (uint32_t k = 0; k < s.all[i].nheld; k++)
		in_half += s.all[i].held[k] < address(10000);
	/* 100 +- 7 */
	assert_in_range(in_half, 65, 135);
	/* blocks that made room for others count as tracked until then */
	assert_true(s.all[i].ended[0].at_risk > SAMPLING_TRACKED);
	assert_int_equal(s.all[i].ended[0].gone, 0);
}

static void what_is_over_is_counted(void **state)
{
	uint32_t i = stack(1);
	struct survival_step steps[SURVIVAL_STEPS];

	(void)state;
	assert_true(hit(i, 0, BEGIN));
	assert_true(hit(i, 1, BEGIN));
	/* its address is another's: the first block was freed, at half of the time since it was last seen */
	assert_true(hit(i, 0, BEGIN + 8 * SECOND));
	assert_int_equal(s.all[i].gone, 1);
	assert_int_equal(s.all[i].nheld, 2);
	assert_true(sampling_stacks_holds(&s, i, address(0)));
	assert_false(sampling_stacks_holds(&s, i, address(2)));
	sampling_stacks_survey(&s);
	sampling_stacks_steps(&s.all[i], steps);
	assert_int_equal(steps[0].at_risk, 3);
	assert_int_equal(steps[7].at_risk, 1);		/* from 3 s on */
	assert_int_equal(steps[7].gone, 1);
}

/*
 * @n blocks that live at an age of ten seconds, of which @gone more were freed within a second; and a window with
 * @given blocks, of which @again were given out again.
 */
static uint32_t windowed(unsigned n, unsigned gone, unsigned given, unsigned again)
{
	uint32_t i = stack(1);

	for (unsigned k = 0; k < n + gone; k++)
		survival_count(s.all[i].ended, k < n ? 10 : 0.5, k < n ? SURVIVAL_STILL : SURVIVAL_GONE);
	for (unsigned k = 0; k < given; k++)
		sampling_stacks_given(&s, i);
	for (unsigned k = 0; k < again; k++)
		sampling_stacks_again(&s, i);
	sampling_stacks_survey(&s);
	return i;
}

static enum survival_kind said_of(uint32_t i)
{
	struct survival_step steps[SURVIVAL_STEPS];
	struct survival said;

	sampling_stacks_steps(&s.all[i], steps);
	survival_conclude(steps, 0, 9, 9, &said);
	return said.kind;
}

/* That most addresses are given out again at once, while most tracked blocks stay live, cannot be. */
static void windows_contradict(void **state)
{
	struct survival_step steps[SURVIVAL_STEPS];
	uint32_t i = windowed(28, 6, 40, 30);

	(void)state;
	assert_true(s.all[i].handed_on);
	assert_int_equal(said_of(i), SURVIVAL_UNKNOWN);
	sampling_stacks_steps(&s.all[i], steps);
	assert_int_equal(steps[0].at_risk, 34);
	assert_int_equal(steps[5].gone, 6);
	/* of those that seemed to reach an age of a second, nothing is known */
	assert_int_equal(steps[6].at_risk, 28);
	assert_int_equal(steps[6].unknown, 28);
	assert_int_equal(steps[7].at_risk, 0);
	sampling_stacks_again(&s, i);
	assert_int_equal(s.all[i].again, 31);
}

/* Of a leak hardly any address is; and with few blocks in windows nothing is known. */
static void windows_agree(void **state)
{
	(void)state;
	assert_int_equal(said_of(windowed(28, 6, 40, 6)), SURVIVAL_STAYS);
}

static void windows_with_few_blocks_say_nothing(void **state)
{
	(void)state;
	assert_int_equal(said_of(windowed(28, 6, 7, 7)), SURVIVAL_STAYS);
}

/* What is lost sight of may have been freed soon: that is no contradiction. */
static void lost_ones_may_be_freed(void **state)
{
	uint32_t i = stack(1);

	(void)state;
	for (unsigned k = 0; k < 34; k++)
		survival_count(s.all[i].ended, 0.5, SURVIVAL_LOST);
	(void)windowed(6, 0, 40, 30);
	assert_false(s.all[i].handed_on);
}

/* More was given out again than given out, since the stack was cleared meanwhile. */
static void windows_of_a_cleared_stack(void **state)
{
	uint32_t i = windowed(28, 6, 40, 30);
	taddr addr;

	(void)state;
	assert_false(sampling_stacks_clear(&s, i, &addr));
	sampling_stacks_again(&s, i);
	assert_int_equal(s.all[i].given + s.all[i].again, 0);
	sampling_stacks_survey(&s);
	assert_false(s.all[i].handed_on);
}

/* One of its blocks is over; it was looked whether it is lost. */
static void is_over(uint32_t i, unsigned n, enum fate fate, bool lost)
{
	const struct tracked b = { .addr = address(n), .stack = i, .birth_ns = BEGIN, .seen_ns = BEGIN + SECOND,
				   .searched = true, .lost = lost };

	sampling_stacks_over(&s, &b, fate, BEGIN + SECOND);
}

static void judge(unsigned n, enum verdict verdict, unsigned seconds, bool last)
{
	block_poll_judge(poll, address(n), &(struct block_judged){ verdict, BEGIN + seconds * SECOND, last });
}

/* The first block that is tracked. */
static bool is_judged(bool searched, bool lost, bool unsure)
{
	struct tracked b;

	block_poll_get(poll, 0, &b);
	return b.searched == searched && b.lost == lost && b.unsure == unsure;
}

/* Only of those that are still there at the last look it is counted which are lost. */
static void what_is_lost_is_counted(void **state)
{
	uint32_t i = stack(1);
	taddr addr;

	(void)state;
	is_over(i, 0, FATE_SAME, true);
	is_over(i, 1, FATE_SAME, false);
	is_over(i, 2, FATE_GONE, true);
	is_over(i, 3, FATE_UNKNOWN, true);
	assert_true(s.all[i].searched == 2 && s.all[i].lost == 1);
	assert_false(sampling_stacks_clear(&s, i, &addr));
	assert_true(s.all[i].searched == 0 && s.all[i].lost == 0);
	/* the poll keeps it, and knows no others */
	assert_true(hit(i, 5, BEGIN));
	judge(6, VERDICT_DEFINITE, 10, false);
	assert_true(is_judged(false, false, false));
	judge(5, VERDICT_DEFINITE, 0, false); /* it was another block then */
	assert_true(is_judged(false, false, false));
	judge(5, VERDICT_UNKNOWN, 1, false);
	assert_true(is_judged(false, false, true));
	judge(5, VERDICT_REACHABLE, 1, false); /* it may just be on its way */
	assert_true(is_judged(false, false, false));
	judge(5, VERDICT_REACHABLE, 1, true);
	assert_true(is_judged(true, false, false));
	block_poll_judge_anew(poll);
	assert_true(is_judged(false, false, false));
	judge(5, VERDICT_REACHABLE, 10, false);
	assert_true(is_judged(true, false, false));
	judge(5, VERDICT_INDIRECT, 20, false);
	assert_true(is_judged(true, true, false));
	/* for ever, unless a copy in which all was seen shows something else */
	judge(5, VERDICT_UNKNOWN, 30, true);
	assert_true(is_judged(true, true, false));
	block_poll_judge_anew(poll);
	judge(5, VERDICT_REACHABLE, 40, false);
	assert_true(is_judged(true, false, false));
}

static void all_is_forgotten(void **state)
{
	uint32_t i = stack(1);
	unsigned told = 0;
	taddr addr;

	(void)state;
	for (unsigned n = 0; n < 5; n++)
		assert_true(hit(i, n, BEGIN));
	while (sampling_stacks_clear(&s, i, &addr))
		told++;
	assert_int_equal(told, 5);
	assert_int_equal(block_poll_count(poll), 0);
	assert_int_equal(s.all[i].seen + s.all[i].usable_bytes + s.all[i].ended[0].at_risk, 0);
	assert_true(s.all[i].changed);
}

static void there_is_an_end_to_stacks(void **state)
{
	uint32_t i;

	(void)state;
	for (uint32_t n = 0; n < SAMPLING_STACKS; n++)
		assert_int_equal(sampling_stacks_find(&s, n, 0, &i), 0);
	assert_int_equal(sampling_stacks_find(&s, SAMPLING_STACKS, 0, &i), -ENOSPC);
	assert_int_equal(s.stacks_without_room, 1);
	assert_int_equal(sampling_stacks_find(&s, 5, 0, &i), 0);
	assert_int_equal(i, 5);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(the_same_stack_is_one), WITH(a_sample_is_fair),	      WITH(what_is_over_is_counted),
		WITH(all_is_forgotten),	     WITH(there_is_an_end_to_stacks), WITH(windows_contradict),
		WITH(windows_agree),	     WITH(windows_with_few_blocks_say_nothing),
		WITH(what_is_lost_is_counted), WITH(lost_ones_may_be_freed), WITH(windows_of_a_cleared_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
