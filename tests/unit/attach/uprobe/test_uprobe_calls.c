/* SPDX-License-Identifier: MIT */
/* What a hit of the kernel's probes means: calls that nest, that jump to each other, and hits without a call. */
#include "attach/uprobe/uprobe_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "attach/keeper/shared/event.h"

#define TID 7

static struct uprobe_calls calls;
static const uint64_t args[6] = { 1, 2, 3, 4, 5, 6 };

/* malloc, whose entry is not recorded; realloc; free. */
static const struct site site_malloc = { .family = 1, .flags = SITE_RETURNS | SITE_EXIT | SITE_EMIT | SITE_INNER },
			 site_realloc = { .family = 1, .flags = SITE_RETURNS | SITE_EXIT | SITE_EMIT | SITE_INNER |
							       SITE_ENTRY | SITE_OPENING },
			 site_free = { .family = 1, .flags = SITE_EMIT | SITE_INNER | SITE_RELEASE };

static int set_up(void **state)
{
	(void)state;
	uprobe_calls_init(&calls);
	return 0;
}

static int clean_up(void **state)
{
	(void)state;
	uprobe_calls_fini(&calls);
	return 0;
}

/* @sp: rsp at the entry of the function. */
static struct uprobe_meaning hit(const struct site *s, uint32_t number, bool entry, uint64_t sp)
{
	const struct uprobe_head h = { .tid = TID, .site = number, .flags = entry ? UPROBE_AT_ENTRY : 0 };
	struct uprobe_meaning m;

	if (s->flags & SITE_RETURNS && !entry)
		sp += 8;
	assert_int_equal(uprobe_calls_hit(&calls, &h, s, sp, args, &m), 0);
	return m;
}

static void a_call(void **state)
{
	struct uprobe_meaning m;

	(void)state;
	m = hit(&site_realloc, 2, true, 1000);
	assert_true(m.emit && m.flags == RECORD_OPENS);
	m = hit(&site_realloc, 2, false, 1000);
	assert_true(m.emit && m.flags == RECORD_CLOSES && m.has_call);
	assert_true(m.call.trap == 2 && m.call.args[1] == 2);
	m = hit(&site_malloc, 1, false, 1000);
	assert_true(m.emit && m.flags == RECORD_STATIC && !m.has_call);
}

/* realloc(NULL) jumps to malloc: both return at the same place, malloc's return first. It is one call. */
static void a_jump(void **state)
{
	struct uprobe_meaning m;

	(void)state;
	(void)hit(&site_realloc, 2, true, 1000);
	m = hit(&site_malloc, 1, false, 1000);
	assert_true(m.emit && m.flags == RECORD_CLOSES && m.call.trap == 2);
	assert_false(hit(&site_realloc, 2, false, 1000).emit);
}

/* What happens below an open call of the family is internal, but a release is an event nevertheless. */
static void inside(void **state)
{
	struct uprobe_meaning m;

	(void)state;
	(void)hit(&site_realloc, 2, true, 1000);
	assert_false(hit(&site_malloc, 1, false, 900).emit);
	m = hit(&site_free, 3, false, 900);
	assert_true(m.emit && m.flags == RECORD_WITHIN);
	assert_true(hit(&site_realloc, 2, false, 1000).emit);
	m = hit(&site_free, 3, false, 900);
	assert_true(m.emit && m.flags == 0);
}

/* The entry was lost: something has been allocated nevertheless. */
static void a_return_alone(void **state)
{
	struct uprobe_meaning m;

	(void)state;
	m = hit(&site_realloc, 2, false, 1000);
	assert_true(m.emit && m.flags == RECORD_UNOPENED && !m.has_call);
	/* the function has jumped to it */
	assert_false(hit(&site_realloc, 2, false, 1000).emit);
	assert_true(hit(&site_realloc, 2, false, 1100).emit);
}

/* Its beginning is forgotten in the middle, as that of any call: also one that begins where another has ended. */
static void a_loss_in_the_middle(void **state)
{
	struct uprobe_meaning m;

	(void)state;
	(void)hit(&site_realloc, 2, true, 1000);
	assert_true(hit(&site_realloc, 2, false, 1000).flags == RECORD_CLOSES);
	(void)hit(&site_realloc, 2, true, 1000);
	uprobe_calls_forget(&calls);
	m = hit(&site_realloc, 2, false, 1000);
	assert_true(m.emit && m.flags == RECORD_UNOPENED);
	assert_int_equal(calls.dropped, 1);
}

/* There is no room for a call that begins where another one has ended: its return is not that of the other one. */
static void no_room(void **state)
{
	const struct call other = { .sp = 5000, .family = 1 };
	uint16_t open = NO_CALL;
	bool tail;

	(void)state;
	(void)hit(&site_realloc, 2, true, 1000);
	assert_true(hit(&site_realloc, 2, false, 1000).flags == RECORD_CLOSES);
	for (struct call c = other; calls_open(&calls.calls, &open, &c, &tail);)
		c.sp -= 8;
	(void)hit(&site_realloc, 2, true, 1000);
	assert_int_equal(calls.dropped, 1);
	assert_true(hit(&site_realloc, 2, false, 1000).flags == RECORD_UNOPENED);
}

/* Left by longjmp: forgotten when the stack is above it; and with its thread. */
static void left(void **state)
{
	(void)state;
	(void)hit(&site_realloc, 2, true, 1000);
	assert_true(hit(&site_malloc, 1, false, 1100).emit);
	assert_true(hit(&site_realloc, 2, false, 1000).flags == RECORD_UNOPENED);
	(void)hit(&site_realloc, 2, true, 1000);
	assert_int_equal(uprobe_calls_threads(&calls), 1);
	uprobe_calls_end(&calls, TID);
	assert_int_equal(uprobe_calls_threads(&calls), 0);
	assert_true(hit(&site_malloc, 1, false, 900).emit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_call, set_up, clean_up),
		cmocka_unit_test_setup_teardown(a_jump, set_up, clean_up),
		cmocka_unit_test_setup_teardown(inside, set_up, clean_up),
		cmocka_unit_test_setup_teardown(a_return_alone, set_up, clean_up),
		cmocka_unit_test_setup_teardown(a_loss_in_the_middle, set_up, clean_up),
		cmocka_unit_test_setup_teardown(no_room, set_up, clean_up),
		cmocka_unit_test_setup_teardown(left, set_up, clean_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
