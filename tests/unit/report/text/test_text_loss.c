/* SPDX-License-Identifier: MIT */
/* The line on what the whole process has lost (report/text/text_loss.h). */
#include "report/text/text_loss.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define EACH 40	/* bytes a block */

static struct summary_sample sample;
static struct summary s;

static int begin(void **state)
{
	(void)state;
	summary_init(&s);
	s.columns = 200;
	s.run.budget = (struct summary_budget){ .told = true, .loss_s = 30, .loss = { 300, 12000 } };
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (size_t i = 0; i < s.ngroups; i++)
		s.groups[i].sampled = NULL;
	summary_fini(&s);
	return 0;
}

/* A group that leaks so many blocks a minute, and so many of its ten tracked blocks are lost. */
static void add(double blocks, uint64_t lost)
{
	struct summary_frame frame = { .pc = 1, .function = "get" };

	sample = (struct summary_sample){
		.survival = { .kind = SURVIVAL_STAYS }, .kept_bytes = { .value = EACH * blocks }, .searched = 10,
		.lost = lost,
	};
	summary_add_group(&s, &(struct summary_group){ .stack = { &frame, 1 } });
	s.groups[s.ngroups - 1].sampled = &sample;
}

static void assert_line(const char *line)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	text_loss(&sb, &s);
	assert_string_equal(strbuf_str(&sb), line);
}

#define LOST "lost in 30s: 300 blocks, 11.7 KiB (23.4 KiB/min); "
#define ASK ": a short watch without --budget names "
#define NOTES ". The last notes say what is in such blocks\n"
#define REST ASK "the rest" NOTES

static void nothing_is_said_where_nothing_is_known(void **state)
{
	(void)state;
	s.run.budget.loss_s = 0;
	assert_line("");
}

static void nobody_was_seen(void **state)
{
	(void)state;
	assert_line(LOST "its code was not seen" ASK "it" NOTES);
	add(0, 0);
	sample.survival.kind = SURVIVAL_UNKNOWN;
	assert_line(LOST "its code was not seen" ASK "it" NOTES);
	sample.lost = 1;
	assert_line(LOST "which of the groups below loses them is not certain" ASK "it" NOTES);
}

/* 600 blocks a minute are lost. Of what a group leaks, the part that its tracked blocks show to be lost counts. */
static void a_part_was_seen(void **state)
{
	(void)state;
	add(300, 5);
	assert_line(LOST "the groups that leak explain about 25% of it" REST);
}

static void all_was_seen(void **state)
{
	(void)state;
	add(450, 10);
	assert_line(LOST "the groups that leak explain about 75% of it\n");
	sample.kept_bytes.value = EACH * 570;
	assert_line(LOST "the groups that leak explain about all of it\n");
}

static void with_hidden_groups_nothing_is_explained(void **state)
{
	(void)state;
	s.filters = "--focus x";
	assert_line("lost in 30s: 300 blocks, 11.7 KiB (23.4 KiB/min)\n");
	s.filters = NULL;
	s.suppressed.groups = 1;
	assert_line("lost in 30s: 300 blocks, 11.7 KiB (23.4 KiB/min)\n");
}

/* Then what may leak is not at the head of the report. */
static void what_is_explained(void **state)
{
	(void)state;
	add(600, 10);
	sample.kept_bytes.low = EACH * 440;
	assert_false(text_loss_is_explained(&s));
	sample.kept_bytes.low = EACH * 460;
	assert_true(text_loss_is_explained(&s));
	s.filters = "--focus x";
	assert_false(text_loss_is_explained(&s));
	s.filters = NULL;
	s.run.budget.loss = (struct summary_sum){ 0 };
	assert_false(text_loss_is_explained(&s));
}

/* It leaks what something points to. */
static void what_is_reachable_explains_nothing(void **state)
{
	(void)state;
	add(600, 0);
	assert_line(LOST "its code was not seen" ASK "it" NOTES);
}

static void no_block_was_lost(void **state)
{
	(void)state;
	s.run.budget.loss = (struct summary_sum){ 0 };
	assert_line("no block was lost in 30s: what grows, if anything does, is still pointed to\n");
}

/* All that such a group loses is lost. */
static void probes_have_found_a_part(void **state)
{
	(void)state;
	add(150, 0);
	sample.by_probes = true;
	assert_line(LOST "the groups that leak explain about 25% of it" REST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_said_where_nothing_is_known, begin, end),
		cmocka_unit_test_setup_teardown(nobody_was_seen, begin, end),
		cmocka_unit_test_setup_teardown(a_part_was_seen, begin, end),
		cmocka_unit_test_setup_teardown(all_was_seen, begin, end),
		cmocka_unit_test_setup_teardown(what_is_explained, begin, end),
		cmocka_unit_test_setup_teardown(with_hidden_groups_nothing_is_explained, begin, end),
		cmocka_unit_test_setup_teardown(what_is_reachable_explains_nothing, begin, end),
		cmocka_unit_test_setup_teardown(no_block_was_lost, begin, end),
		cmocka_unit_test_setup_teardown(probes_have_found_a_part, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
