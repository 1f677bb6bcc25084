/* SPDX-License-Identifier: MIT */
/*
 * The lines on what may leak (report/text/groups/text_may_leak.h) where a trace cannot make the case; the others
 * are in tests/test_report_sampled.py.
 */
#include "report/text/groups/text_may_leak.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct summary_sample samples[3];
static struct summary s;

/* A group of get() at line 8, as each of them. */
static void add(struct summary_sample *its, taddr pc)
{
	struct summary_frame frame = { .pc = pc, .function = "get", .file = "svc.c", .line = 8 };

	*its = (struct summary_sample){ .may_keep_bytes = { .high = 1000 }, .survival = { .followed = 2 } };
	summary_add_group(&s, &(struct summary_group){ .stack = { &frame, 1 } });
	s.groups[s.ngroups - 1].sampled = its;
}

static int begin(void **state)
{
	(void)state;
	summary_init(&s);
	s.run.mode = "sampled";
	s.run.seconds = 60;
	s.columns = 200;
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

static bool explained;

static void assert_lines(const char *lines)
{
	struct strbuf sb = STRBUF_INIT;
	struct text_part part;

	text_part(&s, 0, &part);
	text_may_leak(&sb, &s, &part, explained);
	assert_string_equal(strbuf_str(&sb), lines);
	strbuf_fini(&sb);
}

static void no_bound(void **state)
{
	(void)state;
	add(&samples[0], 0x100);
	samples[0].may_keep_bytes.high = INFINITY;
	assert_lines("[1] get svc.c:8 may leak, and how much is not known yet; a longer watch would show whether it "
		     "leaks\n");
	samples[0].may_keep_bytes = (struct estimate){ .high = 1000, .at_least = true };
	assert_lines("[1] get svc.c:8 may leak, and how much is not known yet; a longer watch would show whether it "
		     "leaks\n");
}

/* Where it is known which groups lose blocks, only what stays and is pointed to is asked for. */
static void what_is_lost_is_explained(void **state)
{
	(void)state;
	add(&samples[0], 0x100);
	samples[0].survival.followed = 100;
	explained = true;
	assert_lines("");
	samples[0].doubt = SURVIVAL_POINTED_TO;
	assert_lines("[1] get svc.c:8 may leak at most 1000 B/min; a watch of about 10m would show whether it leaks\n");
	explained = false;
}

/* As wide as the terminal, continued behind the number. */
static void on_a_narrow_terminal(void **state)
{
	(void)state;
	s.columns = 60;
	add(&samples[0], 0x100);
	samples[0].survival.followed = 4;
	assert_lines("[1] get svc.c:8 may leak at most 1000 B/min; a watch of\n"
		     "    about 6m would show whether it leaks\n");
}

static void nothing_is_known(void **state)
{
	(void)state;
	add(&samples[0], 0x100);
	s.groups[0].sampled = NULL;
	assert_lines("[1] get svc.c:8 may leak, and how much is not known yet; a longer watch would show whether it "
		     "leaks\n");
}

static void nothing_may_leak(void **state)
{
	(void)state;
	assert_lines("");
	add(&samples[0], 0x100);
	samples[0].survival.kind = SURVIVAL_GOES;
	assert_lines("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_bound, begin, end),
		cmocka_unit_test_setup_teardown(what_is_lost_is_explained, begin, end),
		cmocka_unit_test_setup_teardown(on_a_narrow_terminal, begin, end),
		cmocka_unit_test_setup_teardown(nothing_is_known, begin, end),
		cmocka_unit_test_setup_teardown(nothing_may_leak, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
