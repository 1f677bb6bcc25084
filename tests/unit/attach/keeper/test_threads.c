/* SPDX-License-Identifier: MIT */
/* threads: the table compared with a model, with colliding numbers, full, and the list of the active. */
#include "attach/keeper/threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attach/keeper/traps/calls.h"

static struct threads table;

static int setup(void **state)
{
	(void)state;
	memset(&table, 0, sizeof(table));
	return 0;
}

/* The invariants of the fields, whatever happened. */
static void assert_sound(void)
{
	uint32_t used = 0, slots = 0, active = 0;

	assert_true(table.bound <= THREADS_MAX);
	assert_true(table.next_free < THREADS_MAX);
	for (uint32_t i = 0; i < THREADS_MAX; i++) {
		used += table.all[i].state != TRACEE_FREE;
		active += table.all[i].state != TRACEE_FREE && table.all[i].active;
		if (table.all[i].state != TRACEE_FREE)
			assert_true(i < table.bound);
	}
	for (uint32_t s = 0; s < THREADS_HASH; s++)
		slots += table.slots[s] != 0;
	assert_int_equal(used, table.used);
	assert_int_equal(slots, table.used);
	assert_int_equal(active, table.nactive);
	for (uint32_t i = 0; i < table.nactive; i++)
		assert_true(table.all[table.active[i]].active);
}

static void a_new_one_is_blank(void **state)
{
	struct tracee *t;

	(void)state;
	assert_null(threads_find(&table, 1));
	assert_null(threads_first(&table));
	t = threads_add(&table, 1);
	assert_non_null(t);
	assert_int_equal(t->tid, 1);
	assert_int_equal(t->state, TRACEE_RUNNING);
	assert_int_equal(t->stepping, NO_TRAP);
	assert_int_equal(t->redo, NO_TRAP);
	assert_int_equal(t->calls, NO_CALL);
	assert_false(t->known || t->guest || t->interrupted || t->in_vfork || t->active || t->hit_pending);
	/* adding it again finds the same entry, in its current state */
	t->state = TRACEE_STOPPED;
	t->hits = 5;
	assert_ptr_equal(threads_add(&table, 1), t);
	assert_int_equal(t->state, TRACEE_STOPPED);
	assert_int_equal(t->hits, 5);
	assert_int_equal(table.used, 1);
	threads_remove(&table, t);
	assert_null(threads_find(&table, 1));
	assert_int_equal(table.used, 0);
	assert_int_equal(table.bound, 0);
	/* a thread that gets the same slot inherits nothing */
	t = threads_add(&table, 2);
	assert_int_equal(t->hits, 0);
	assert_int_equal(t->state, TRACEE_RUNNING);
	assert_null(threads_find(&table, 1));
	assert_sound();
}

/* Numbers that differ only above the table's size hash to the same slot. */
static pid_t colliding(int i)
{
	return 77 + i * (pid_t)THREADS_HASH;
}

static void collisions(void **state)
{
	(void)state;
	/* in between, their neighbours: the runs of slots overlap */
	for (int i = 0; i < 20; i++) {
		assert_non_null(threads_add(&table, colliding(i)));
		assert_non_null(threads_add(&table, colliding(i) + 1));
	}
	/* every order of leaving a gap: odd ones, then from the front */
	for (int i = 1; i < 20; i += 2)
		threads_remove(&table, threads_find(&table, colliding(i)));
	for (int i = 0; i < 20; i++) {
		struct tracee *t = threads_find(&table, colliding(i));

		assert_int_equal(t != NULL, i % 2 == 0);
		assert_true(!t || t->tid == colliding(i));
		assert_non_null(threads_find(&table, colliding(i) + 1));
	}
	for (int i = 0; i < 20; i += 2)
		threads_remove(&table, threads_find(&table, colliding(i)));
	for (int i = 0; i < 20; i++) {
		assert_null(threads_find(&table, colliding(i)));
		assert_non_null(threads_find(&table, colliding(i) + 1));
	}
	assert_sound();
}

/* A run of slots that passes the end of the table goes on at its start. */
static void collisions_around_the_end(void **state)
{
	pid_t last = 0;

	(void)state;
	/* a number that hashes to the last slot */
	for (pid_t tid = 1; !last; tid++) {
		struct tracee *t = threads_add(&table, tid);

		if (table.slots[THREADS_HASH - 1])
			last = tid;
		threads_remove(&table, t);
	}
	for (int i = 0; i < 8; i++)
		assert_non_null(threads_add(&table, last + i * (pid_t)THREADS_HASH));
	for (int i = 0; i < 8; i++) {
		threads_remove(&table, threads_find(&table, last + i * (pid_t)THREADS_HASH));
		for (int j = 0; j < 8; j++)
			assert_int_equal(threads_find(&table, last + j * (pid_t)THREADS_HASH) != NULL, j > i);
	}
	assert_sound();
}

/* --- compared with a model --- */

#define TIDS 3000

static pid_t tid_of(int k)
{
	/* ten to each slot, slots next to each other */
	return 1000 + k / 10 + (k % 10) * (pid_t)THREADS_HASH;
}

static void assert_visits(const bool *present, uint32_t n)
{
	static bool visited[TIDS];
	uint32_t seen = 0;

	memset(visited, 0, sizeof(visited));
	for (struct tracee *t = threads_first(&table); t; t = threads_next(&table, t)) {
		int k = (t->tid - 1000) % (int)THREADS_HASH * 10 + (t->tid - 1000) / (int)THREADS_HASH;

		assert_true(k >= 0 && k < TIDS && present[k] && !visited[k]);
		visited[k] = true;
		seen++;
	}
	assert_int_equal(seen, n);
}

static void agrees_with_a_model(void **state)
{
	static bool present[TIDS];
	uint64_t now = 1;
	uint32_t n = 0;

	(void)state;
	srandom(4);
	for (int step = 0; step < 200000; step++) {
		int k = random() % TIDS;
		/* it fills and empties in waves */
		bool add = random() % 8 < (step / 20000 % 2 ? 2 : 6);
		struct tracee *t = threads_find(&table, tid_of(k));

		assert_int_equal(t != NULL, present[k]);
		assert_true(!t || t->tid == tid_of(k));
		if (add) {
			struct tracee *added = threads_add(&table, tid_of(k));

			assert_true(t ? added == t : added != NULL);
			n += !present[k];
			present[k] = true;
			if (random() % 4 == 0)
				threads_mark_active(&table, added, now);
		} else if (t) {
			threads_remove(&table, t);
			present[k] = false;
			n--;
		}
		now += random() % 50000;
		assert_int_equal(table.used, n);
		if (step % 5000 == 0) {
			assert_sound();
			assert_visits(present, n);
		}
	}
	for (int k = 0; k < TIDS; k++)
		assert_int_equal(threads_find(&table, tid_of(k)) != NULL, present[k]);
}

static void pointers_stay_valid(void **state)
{
	struct tracee *kept[100];

	(void)state;
	for (int i = 0; i < 200; i++) {
		struct tracee *t = threads_add(&table, 500 + i);

		if (i % 2)
			kept[i / 2] = t;
	}
	for (int i = 0; i < 200; i += 2)
		threads_remove(&table, threads_find(&table, 500 + i));
	for (int i = 0; i < 100; i++) {
		assert_ptr_equal(threads_find(&table, 501 + 2 * i), kept[i]);
		assert_int_equal(kept[i]->tid, 501 + 2 * i);
	}
}

static void removal_while_visiting(void **state)
{
	uint32_t seen = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		threads_add(&table, 10 + i);
	for (struct tracee *t = threads_first(&table); t; t = threads_next(&table, t)) {
		seen++;
		if (t->tid % 3)
			threads_remove(&table, t);
	}
	assert_int_equal(seen, 1000);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(threads_find(&table, 10 + i) != NULL, (10 + i) % 3 == 0);
	for (struct tracee *t = threads_first(&table); t; t = threads_next(&table, t))
		threads_remove(&table, t);
	assert_int_equal(table.used, 0);
	assert_int_equal(table.bound, 0);
	assert_sound();
}

/* After most are gone, loops over all threads are short again. */
static void bound_comes_back(void **state)
{
	(void)state;
	for (int i = 0; i < 5000; i++)
		threads_add(&table, 10 + i);
	assert_int_equal(table.bound, 5000);
	for (int i = 4999; i >= 3; i--)
		threads_remove(&table, threads_find(&table, 10 + i));
	assert_int_equal(table.bound, 3);
	/* and free entries below are found */
	threads_remove(&table, threads_find(&table, 10));
	for (int i = 0; i < 10; i++)
		threads_add(&table, 9000 + i);
	assert_true(table.bound <= 13);
	assert_sound();
}

static void full(void **state)
{
	struct tracee *t;

	(void)state;
	for (uint32_t i = 0; i < THREADS_MAX; i++)
		assert_non_null(threads_add(&table, 100 + i));
	assert_null(threads_add(&table, 99));
	assert_null(threads_find(&table, 99));
	t = threads_find(&table, 100);
	assert_non_null(t);
	assert_ptr_equal(threads_add(&table, 100), t); /* already in the table: needs no room */
	assert_sound();
	/* a free entry is found anywhere: the last, the first, one in the middle */
	for (int i = 0; i < 3; i++) {
		const pid_t leaves[] = { 100 + THREADS_MAX - 1, 100, 100 + THREADS_MAX / 2 };

		threads_remove(&table, threads_find(&table, leaves[i]));
		assert_non_null(threads_add(&table, 200000 + i));
		assert_null(threads_add(&table, 99));
	}
	assert_sound();
	for (struct tracee *x = threads_first(&table); x; x = threads_next(&table, x))
		threads_remove(&table, x);
	assert_sound();
	assert_int_equal(table.used, 0);
}

/* --- the active --- */

static uint32_t count_active(uint64_t now)
{
	uint32_t i = 0, n = 0;
	struct tracee *t;

	while ((t = threads_active(&table, &i, now))) {
		assert_int_not_equal(t->state, TRACEE_FREE);
		n++;
	}
	assert_sound();
	return n;
}

static void active_are_those_that_hit_lately(void **state)
{
	const uint64_t now = 1000000000;

	(void)state;
	for (int i = 0; i < 10; i++)
		threads_add(&table, 10 + i);
	assert_int_equal(count_active(now), 0);
	for (int i = 0; i < 5; i++)
		threads_mark_active(&table, threads_find(&table, 10 + i), now);
	threads_mark_active(&table, threads_find(&table, 10), now); /* marking twice counts once */
	assert_int_equal(table.nactive, 5);
	assert_int_equal(count_active(now), 5);
	assert_int_equal(count_active(now + ACTIVE_NS - 1), 5);
	/* one hits again, the others become inactive */
	threads_mark_active(&table, threads_find(&table, 12), now + ACTIVE_NS - 1);
	assert_int_equal(count_active(now + ACTIVE_NS), 1);
	assert_int_equal(table.nactive, 1);
	assert_true(threads_find(&table, 12)->active);
	assert_false(threads_find(&table, 10)->active);
	/* and become active again */
	threads_mark_active(&table, threads_find(&table, 10), now + ACTIVE_NS);
	assert_int_equal(count_active(now + ACTIVE_NS), 2);
}

static void the_dead_are_not_active(void **state)
{
	struct tracee *t;

	(void)state;
	for (int i = 0; i < 5; i++)
		threads_mark_active(&table, threads_add(&table, 10 + i), 1);
	for (int i = 0; i < 5; i += 2)
		threads_remove(&table, threads_find(&table, 10 + i));
	assert_int_equal(count_active(1), 2);
	/* a thread that gets a dead one's entry is not active because of that */
	t = threads_add(&table, 20);
	assert_false(t->active);
	assert_int_equal(count_active(1), 2);
}

static void more_active_than_listed(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * ACTIVE_MAX; i++)
		threads_mark_active(&table, threads_add(&table, 10 + i), 1);
	assert_int_equal(table.nactive, ACTIVE_MAX);
	assert_int_equal(count_active(1), ACTIVE_MAX);
	/* threads outside the list are added when it has room again */
	assert_int_equal(count_active(1 + ACTIVE_NS), 0);
	threads_mark_active(&table, threads_find(&table, 10 + 2 * ACTIVE_MAX - 1), 1 + ACTIVE_NS);
	assert_int_equal(count_active(1 + ACTIVE_NS), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_new_one_is_blank, setup),
		cmocka_unit_test_setup(collisions, setup),
		cmocka_unit_test_setup(collisions_around_the_end, setup),
		cmocka_unit_test_setup(agrees_with_a_model, setup),
		cmocka_unit_test_setup(pointers_stay_valid, setup),
		cmocka_unit_test_setup(removal_while_visiting, setup),
		cmocka_unit_test_setup(bound_comes_back, setup),
		cmocka_unit_test_setup(full, setup),
		cmocka_unit_test_setup(active_are_those_that_hit_lately, setup),
		cmocka_unit_test_setup(the_dead_are_not_active, setup),
		cmocka_unit_test_setup(more_active_than_listed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
