/* SPDX-License-Identifier: MIT */
/* calls: open calls of a thread, as real stacks grow and are left, and the pool that they come from. */
#include "attach/keeper/traps/calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TOP 0x7ffd00001000ull	/* rsp in the outermost frame */

static struct calls calls;
static uint16_t thread, other;

static int setup(void **state)
{
	(void)state;
	calls_init(&calls);
	memset(&thread, 0, sizeof(thread));
	memset(&other, 0, sizeof(other));
	thread = NO_CALL;
	other = NO_CALL;
	return 0;
}

/* A call that can be recognized by its arguments. */
static struct call call_of(taddr sp, uint32_t trap, uint16_t family, uint64_t mark)
{
	return (struct call){ .sp = sp, .trap = trap, .family = family,
			      .args = { mark, mark + 1, mark + 2, mark + 3, mark + 4, mark + 5 } };
}

/* A call that begins, and is not a tail call. */
static void opens(uint16_t *t, taddr sp, uint32_t trap, uint16_t family, uint64_t mark)
{
	struct call call = call_of(sp, trap, family, mark);
	bool tail = true;

	assert_true(calls_open(&calls, t, &call, &tail));
	assert_false(tail);
}

static void closes(uint16_t *t, taddr sp, uint32_t trap, uint16_t family, uint64_t mark)
{
	struct call c;

	assert_true(calls_close(&calls, t, sp, family, &c));
	assert_int_equal(c.trap, trap);
	assert_int_equal(c.family, family);
	assert_int_equal(c.sp, sp);
	for (int i = 0; i < 6; i++)
		assert_int_equal(c.args[i], mark + i);
}

static void closes_nothing(uint16_t *t, taddr sp, uint16_t family)
{
	struct call c;

	assert_false(calls_close(&calls, t, sp, family, &c));
}

/* The whole pool is free, and each entry is in it once. */
static void assert_none_lost(void)
{
	static bool seen[CALLS_MAX];
	uint32_t n = 0;

	memset(seen, 0, sizeof(seen));
	for (uint16_t i = calls.free; i != NO_CALL; i = calls.all[i].next) {
		assert_true(i < CALLS_MAX);
		assert_false(seen[i]);
		seen[i] = true;
		n++;
	}
	assert_int_equal(n, calls.used);
}

static void one_call(void **state)
{
	(void)state;
	closes_nothing(&thread, TOP, 1);
	opens(&thread, TOP, 7, 1, 100);
	closes(&thread, TOP, 7, 1, 100);
	closes_nothing(&thread, TOP, 1);
	assert_none_lost();
}

static void a_call_has_an_inside(void **state)
{
	(void)state;
	assert_false(calls_inside(&calls, &thread, TOP, 1));
	opens(&thread, TOP, 7, 1, 100);
	assert_false(calls_inside(&calls, &thread, TOP, 1)); /* its own end */
	assert_true(calls_inside(&calls, &thread, TOP - 8, 1));
	assert_true(calls_inside(&calls, &thread, TOP - 100000, 1));
	assert_false(calls_inside(&calls, &thread, TOP - 8, 2)); /* a call of another family */
	assert_false(calls_inside(&calls, &other, TOP - 8, 1)); /* another thread's */
	closes(&thread, TOP, 7, 1, 100);
	assert_false(calls_inside(&calls, &thread, TOP - 8, 1));
}

/* If rsp is above a call, the call was left without a return. */
static void looking_from_above_forgets(void **state)
{
	(void)state;
	opens(&thread, TOP - 64, 7, 1, 100);
	assert_false(calls_inside(&calls, &thread, TOP, 1));
	assert_none_lost();
	closes_nothing(&thread, TOP - 64, 1);
}

static void calls_nest(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++)
		opens(&thread, TOP - 48 * i, i, 1, 1000 * i);
	for (int i = 99; i >= 0; i--) {
		assert_int_equal(calls_inside(&calls, &thread, TOP - 48 * i, 1), i > 0);
		closes(&thread, TOP - 48 * i, i, 1, 1000 * i);
	}
	assert_none_lost();
}

static void an_inner_end_is_not_the_outer(void **state)
{
	(void)state;
	opens(&thread, TOP, 7, 1, 100);
	closes_nothing(&thread, TOP - 32, 1); /* a watched function without an entry trap returns, inside */
	closes(&thread, TOP, 7, 1, 100);
}

static void families_nest_in_each_other(void **state)
{
	(void)state;
	opens(&thread, TOP, 1, 2, 100);		/* __gf_malloc */
	opens(&thread, TOP - 64, 2, 1, 200);	/* calls malloc */
	assert_false(calls_inside(&calls, &thread, TOP - 64, 1));
	assert_true(calls_inside(&calls, &thread, TOP - 64, 2));
	closes_nothing(&thread, TOP - 64, 2);
	closes(&thread, TOP - 64, 2, 1, 200);
	closes(&thread, TOP, 1, 2, 100);
	assert_none_lost();
}

static void threads_do_not_meet(void **state)
{
	(void)state;
	opens(&thread, TOP, 1, 1, 100);
	opens(&other, TOP, 2, 1, 200); /* a copy of the stack: a child that shares memory */
	closes(&thread, TOP, 1, 1, 100);
	closes(&other, TOP, 2, 1, 200);
	assert_none_lost();
}

/* realloc(NULL) jumps to malloc: one call, with realloc's arguments. */
static void a_tail_call_keeps_the_outer(void **state)
{
	struct call call = call_of(TOP, 2, 1, 500);
	bool tail = false;

	(void)state;
	opens(&thread, TOP, 1, 1, 100);
	assert_true(calls_open(&calls, &thread, &call, &tail));
	assert_true(tail);
	closes(&thread, TOP, 1, 1, 100);
	closes_nothing(&thread, TOP, 1);
	assert_none_lost();
}

/* A jump to a function of another family is also a call of that family. */
static void a_tail_call_into_another_family(void **state)
{
	(void)state;
	opens(&thread, TOP, 1, 1, 100);
	opens(&thread, TOP, 2, 2, 200);
	closes(&thread, TOP, 2, 2, 200);
	closes(&thread, TOP, 1, 1, 100);
	assert_none_lost();
}

/* alloc f (1) jumps to alloc g (2), which jumps to alloc h (1): f's call, and g's. */
static void tail_calls_through_two_families(void **state)
{
	struct call third = call_of(TOP, 3, 1, 900);
	bool tail = false;

	(void)state;
	opens(&thread, TOP, 1, 1, 100);
	opens(&thread, TOP, 2, 2, 200);
	assert_true(calls_open(&calls, &thread, &third, &tail));
	assert_true(tail);
	assert_int_equal(calls_at(&calls, &thread, TOP), 2);
	/* whichever ends first: neither is above the other */
	closes(&thread, TOP, 1, 1, 100);
	closes(&thread, TOP, 2, 2, 200);
	assert_none_lost();
}

static void all_that_return_to_one_place(void **state)
{
	struct call c = call_of(TOP, 1, 1, 100);
	bool tail;

	(void)state;
	c.ret = 0x5000;
	assert_true(calls_open(&calls, &thread, &c, &tail));
	c = call_of(TOP, 2, 2, 200); /* its return address was not read */
	assert_true(calls_open(&calls, &thread, &c, &tail));
	c = call_of(TOP, 3, 3, 300);
	c.ret = 0x6000;
	assert_true(calls_open(&calls, &thread, &c, &tail));
	assert_int_equal(calls_at(&calls, &thread, TOP), 3);
	assert_false(calls_close_any(&calls, &thread, TOP - 8, 0x5000, &c));
	assert_true(calls_close_any(&calls, &thread, TOP, 0x5000, &c));
	assert_int_equal(c.family, 2);
	assert_true(calls_close_any(&calls, &thread, TOP, 0x5000, &c));
	assert_int_equal(c.family, 1);
	assert_false(calls_close_any(&calls, &thread, TOP, 0x5000, &c));
	closes(&thread, TOP, 3, 3, 300);
	assert_int_equal(calls_at(&calls, &thread, TOP), 0);
	assert_none_lost();
}

/* When longjmp leaves f, the call that f had jumped to is left as well. */
static void longjmp_out_of_a_tail_call(void **state)
{
	(void)state;
	opens(&thread, TOP, 1, 1, 100);
	opens(&thread, TOP, 2, 2, 200);
	opens(&thread, TOP, 1, 1, 300);
	closes_nothing(&thread, TOP, 2);
	closes(&thread, TOP, 1, 1, 300);
	assert_none_lost();
}

static void the_one_around(void **state)
{
	const struct call *c;

	(void)state;
	assert_null(calls_around(&calls, &thread, TOP, 5));
	opens(&thread, TOP, 1, 5, 100);
	opens(&thread, TOP - 64, 2, 1, 200);
	opens(&thread, TOP - 128, 3, 5, 300);
	c = calls_around(&calls, &thread, TOP - 256, 5);
	assert_int_equal(c->trap, 3);
	calls_remove(&calls, &thread, c);
	c = calls_around(&calls, &thread, TOP - 256, 5);
	assert_int_equal(c->trap, 1);
	assert_ptr_equal(calls_around(&calls, &thread, TOP, 5), c); /* the call began there */
	assert_null(calls_around(&calls, &thread, TOP + 8, 5)); /* it was left: forgotten */
	assert_none_lost();
}

static void longjmp_out_and_call_again(void **state)
{
	(void)state;
	opens(&thread, TOP, 1, 1, 100);
	opens(&thread, TOP - 64, 2, 1, 200);
	opens(&thread, TOP, 1, 1, 300);		/* at the very same rsp: the first was left */
	assert_false(calls_inside(&calls, &thread, TOP, 1));
	closes(&thread, TOP, 1, 1, 300);
	closes_nothing(&thread, TOP, 1);
	assert_none_lost();
}

static void an_exception_through_several(void **state)
{
	(void)state;
	opens(&thread, TOP, 1, 1, 100);
	for (int i = 1; i < 50; i++)
		opens(&thread, TOP - 64 * i, 2, 1, 200);
	closes(&thread, TOP, 1, 1, 100);	/* caught in the outermost, which returns */
	assert_none_lost();
	opens(&thread, TOP - 64, 3, 1, 300);
	opens(&thread, TOP + 64, 4, 1, 400);	/* caught further out, where a new call begins */
	closes(&thread, TOP + 64, 4, 1, 400);
	assert_none_lost();
}

static void a_thread_ends_inside(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++)
		opens(&thread, TOP - 64 * i, 1, 1, i);
	opens(&other, TOP, 2, 1, 100);
	calls_drop(&calls, &thread);
	assert_int_equal(thread, NO_CALL);
	closes_nothing(&thread, TOP, 1);
	closes(&other, TOP, 2, 1, 100);
	assert_none_lost();
	calls_drop(&calls, &thread); /* dropping twice does no harm */
	assert_none_lost();
}

static void the_pool_runs_dry(void **state)
{
	struct call deeper = call_of(TOP - 8 * CALLS_MAX, 1, 1, 1), elsewhere = call_of(TOP, 1, 1, 1);
	struct call jumped = call_of(TOP, 2, 1, 1);
	bool tail;

	(void)state;
	for (uint32_t i = 0; i < CALLS_MAX; i++)
		opens(&thread, TOP - 8 * i, 1, 1, i);
	assert_false(calls_open(&calls, &thread, &deeper, &tail));
	assert_false(calls_open(&calls, &other, &elsewhere, &tail));
	closes_nothing(&other, TOP, 1);
	assert_true(calls_inside(&calls, &thread, TOP - 8 * CALLS_MAX, 1));
	closes(&thread, TOP - 8 * (CALLS_MAX - 1), 1, 1, CALLS_MAX - 1);
	opens(&other, TOP, 1, 1, 100);		/* the entry that became free */
	assert_false(calls_open(&calls, &thread, &deeper, &tail));
	/* calls that need no new entry still work: a tail call, and the same rsp again */
	assert_true(calls_open(&calls, &other, &jumped, &tail));
	assert_true(tail);
	opens(&other, TOP, 1, 1, 300);
	calls_drop(&calls, &thread);
	closes(&other, TOP, 1, 1, 300);
	assert_none_lost();
}

/* --- compared with a model --- */

#define DEPTH 64

struct model {
	uint32_t n;
	struct { taddr sp; uint32_t trap; uint64_t mark; } open[DEPTH];
};

static void forget_below(struct model *m, taddr sp)
{
	while (m->n && m->open[m->n - 1].sp < sp)
		m->n--;
}

static void model_opens(struct model *m, uint16_t *t, taddr sp, uint32_t trap, uint64_t mark)
{
	struct call call = call_of(sp, trap, 1, mark);
	bool same, want_tail, tail;

	forget_below(m, sp);
	same = m->n && m->open[m->n - 1].sp == sp;
	want_tail = same && m->open[m->n - 1].trap != trap;
	if (same && !want_tail)
		m->n--;
	assert_true(calls_open(&calls, t, &call, &tail));
	assert_int_equal(tail, want_tail);
	if (want_tail)
		return;
	m->open[m->n].sp = sp;
	m->open[m->n].trap = trap;
	m->open[m->n++].mark = mark;
}

static void model_closes(struct model *m, uint16_t *t, taddr sp)
{
	forget_below(m, sp);
	if (!m->n || m->open[m->n - 1].sp != sp) {
		closes_nothing(t, sp, 1);
		return;
	}
	m->n--;
	closes(t, sp, m->open[m->n].trap, 1, m->open[m->n].mark);
}

/* Random stacks of several threads; a stack pointer is one of DEPTH, so that all cases meet. */
static void agrees_with_a_model(void **state)
{
	static uint16_t threads[5];
	static struct model models[5];

	(void)state;
	srandom(3);
	for (int i = 0; i < 5; i++)
		threads[i] = NO_CALL;
	for (uint64_t step = 0; step < 300000; step++) {
		int i = random() % 5;
		taddr sp = TOP - 16 * (random() % DEPTH);

		switch (random() % 8) {
		case 0: case 1: case 2: case 3:
			model_opens(&models[i], &threads[i], sp, random() % 3, step);
			break;
		case 4: case 5: case 6:
			model_closes(&models[i], &threads[i], sp);
			break;
		default:
			forget_below(&models[i], sp);
			assert_int_equal(calls_inside(&calls, &threads[i], sp, 1),
					 models[i].n && models[i].open[0].sp > sp);
		}
	}
	for (int i = 0; i < 5; i++)
		calls_drop(&calls, &threads[i]);
	assert_none_lost();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_call, setup),
		cmocka_unit_test_setup(a_call_has_an_inside, setup),
		cmocka_unit_test_setup(looking_from_above_forgets, setup),
		cmocka_unit_test_setup(calls_nest, setup),
		cmocka_unit_test_setup(an_inner_end_is_not_the_outer, setup),
		cmocka_unit_test_setup(families_nest_in_each_other, setup),
		cmocka_unit_test_setup(threads_do_not_meet, setup),
		cmocka_unit_test_setup(a_tail_call_keeps_the_outer, setup),
		cmocka_unit_test_setup(a_tail_call_into_another_family, setup),
		cmocka_unit_test_setup(tail_calls_through_two_families, setup),
		cmocka_unit_test_setup(all_that_return_to_one_place, setup),
		cmocka_unit_test_setup(longjmp_out_of_a_tail_call, setup),
		cmocka_unit_test_setup(the_one_around, setup),
		cmocka_unit_test_setup(longjmp_out_and_call_again, setup),
		cmocka_unit_test_setup(an_exception_through_several, setup),
		cmocka_unit_test_setup(a_thread_ends_inside, setup),
		cmocka_unit_test_setup(the_pool_runs_dry, setup),
		cmocka_unit_test_setup(agrees_with_a_model, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
