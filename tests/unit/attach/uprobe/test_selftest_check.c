/* SPDX-License-Identifier: MIT */
/* selftest_check: records that are those of the calls, and each way in which they may not be. */
#include "attach/uprobe/selftest_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SP 0x7ffd00001000ull
#define SLICE 64u
#define TID 40u

static void brief(struct selftest_check *c, uint32_t tid, uint64_t number, bool entry, bool right)
{
	const struct uprobe_brief b = {
		.head = { .tid = tid, .kind = UPROBE_HIT_BRIEF, .site = entry ? SELFTEST_OPENS : SELFTEST_BRIEF,
			  .flags = entry ? UPROBE_AT_ENTRY : 0 },
		.args = { number },
	};

	assert_int_equal(selftest_check_record(c, &b.head, sizeof(b)), right);
}

/* The end of call @number, as it is recorded. */
static struct uprobe_hit *end_of(const struct selftest_check *c, uint64_t number)
{
	struct uprobe_hit *h = calloc(1, sizeof(*h) + SLICE);
	const uint64_t mark = selftest_mark(number);

	h->head = (struct uprobe_head){ .tid = TID, .kind = UPROBE_HIT, .site = c->returns ? SELFTEST_OPENS : SELFTEST_EXIT };
	h->outer = SELFTEST_OPENS;
	h->args[0] = h->regs[10] = number;
	h->args[1] = SP + 24;
	h->regs[19] = SP;
	h->slice_len = SLICE;
	memcpy(h->slice + 24, &mark, sizeof(mark));
	return h;
}

static void take(struct selftest_check *c, struct uprobe_hit *h, bool right)
{
	assert_int_equal(selftest_check_record(c, &h->head, sizeof(*h) + SLICE), right);
	free(h);
}

static void as_they_were_made(void **state)
{
	(void)state;
	for (int returns = 0; returns < 2; returns++) {
		struct selftest_check c = { .returns = returns };

		brief(&c, TID, 1, false, true);
		brief(&c, TID, 2, true, true);
		/* another thread's come between */
		brief(&c, TID + 1, 1, false, true);
		take(&c, end_of(&c, 2), true);
		assert_int_equal(selftest_check_calls(&c), 3);
		assert_true(selftest_check_all(&c, TID, 2));
		assert_true(selftest_check_all(&c, TID + 1, 1));
		/* a thread that has made no call */
		assert_true(selftest_check_all(&c, TID + 2, 0));
	}
}

static void a_call_that_is_missing(void **state)
{
	struct selftest_check c = { 0 };

	(void)state;
	brief(&c, TID, 1, false, true);
	brief(&c, TID, 3, false, false);
	assert_string_equal(c.wrong, "there is no record, or a wrong one, of call 2");
	/* the first one stays */
	brief(&c, TID, 2, false, false);
	assert_string_equal(c.wrong, "there is no record, or a wrong one, of call 2");
}

static void an_end_that_is_missing(void **state)
{
	struct selftest_check c = { 0 }, d = { 0 }, last = { 0 };

	(void)state;
	brief(&c, TID, 1, true, true);
	brief(&c, TID, 2, false, false);
	take(&d, end_of(&d, 1), false);
	assert_string_equal(d.wrong, "there is no record, or a wrong one, of the end of call 1");
	brief(&last, TID, 1, true, true);
	assert_false(selftest_check_all(&last, TID, 1));
	assert_string_equal(last.wrong, "the last records are missing, of call 1");
}

static void the_last_ones_are_missing(void **state)
{
	struct selftest_check c = { 0 }, none = { 0 };

	(void)state;
	brief(&c, TID, 1, false, true);
	assert_false(selftest_check_all(&c, TID, 2));
	assert_false(selftest_check_all(&none, TID, 1));
}

static void with_something_else_in_it(void **state)
{
	struct selftest_check c;
	struct uprobe_hit *h;

	(void)state;
	for (int i = 0; i < 7; i++) {
		c = (struct selftest_check){ 0 };
		brief(&c, TID, 1, true, true);
		h = end_of(&c, 1);
		h->args[0] += i == 0;
		h->regs[10] += i == 1;
		h->outer += i == 2;
		h->slice[24] ^= (unsigned char)(i == 3);
		h->args[1] -= i == 4 ? 25 : 0;
		h->slice_len = i == 5 ? 31 : SLICE;
		h->head.site = i == 6 ? SELFTEST_OPENS : SELFTEST_EXIT;
		take(&c, h, false);
	}
}

static void of_no_call(void **state)
{
	const struct uprobe_head end = { .tid = TID, .kind = UPROBE_THREAD_END };
	struct selftest_check c = { 0 };

	(void)state;
	brief(&c, 1, 1, false, true);
	brief(&c, 2, 1, false, true);
	brief(&c, 3, 1, false, false);
	c = (struct selftest_check){ 0 };
	assert_false(selftest_check_record(&c, &end, sizeof(end)));
	assert_string_equal(c.wrong, "there is a record of no call, of thread 40");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_they_were_made),
		cmocka_unit_test(a_call_that_is_missing),
		cmocka_unit_test(an_end_that_is_missing),
		cmocka_unit_test(the_last_ones_are_missing),
		cmocka_unit_test(with_something_else_in_it),
		cmocka_unit_test(of_no_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
