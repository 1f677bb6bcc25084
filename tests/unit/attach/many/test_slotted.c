/* SPDX-License-Identifier: MIT */
/* slotted: which slot is whose, in slots that are filled in here as keepers do. */
#include "attach/many/slotted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define MIB (1ull << 20)
#define COPY 1000	/* its number; no process is asked */

static struct slots *slots;
static pid_t dead;	/* the number of a process that has ended */
static pid_t zombie;	/* that of one for which nothing has waited yet */

static pid_t make_ended(void)
{
	siginfo_t si;
	const pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT), 0);
	return pid;
}

static int setup(void **state)
{
	(void)state;
	slots = slotted_open(-1);
	zombie = make_ended();
	dead = make_ended();
	return !slots || waitpid(dead, NULL, 0) != dead;
}

static int teardown(void **state)
{
	(void)state;
	slotted_close(slots);
	return waitpid(zombie, NULL, 0) != zombie;
}

/* Slot @i, born @age_s seconds ago. */
static struct slot *put(uint32_t i, enum slot_state state, pid_t keeper, uint64_t age_s)
{
	struct slot *s = &slots->all[i];
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	s->pid = COPY + (pid_t)i;
	s->keeper = keeper;
	s->born_ns = ((uint64_t)now.tv_sec - age_s) * 1000000000u;
	atomic_store(&s->state, state);
	return s;
}

static bool is_first(void *ctx, pid_t pid)
{
	(void)ctx;
	return pid == COPY;
}

static void claimed_once(void **state)
{
	struct slot *s = put(5, SLOT_OFFERED, getpid(), 0);

	(void)state;
	assert_null(slotted_find(slots, COPY + 5));
	assert_false(slotted_claim(slots, COPY));
	assert_true(slotted_claim(slots, COPY + 5));
	assert_false(slotted_claim(slots, COPY + 5));
	assert_ptr_equal(slotted_find(slots, COPY + 5), s);
	atomic_store(&s->closed, 1);
	assert_null(slotted_find(slots, COPY + 5));
}

/* Nothing watches its copy any more: the copy is to be found as any process. */
static void not_of_a_keeper_that_was_killed(void **state)
{
	(void)state;
	put(0, SLOT_OFFERED, dead, 0);
	put(1, SLOT_CLAIMED, dead, 0);
	put(2, SLOT_OFFERED, zombie, 0);
	put(3, SLOT_CLAIMED, zombie, 0);
	assert_false(slotted_claim(slots, COPY));
	assert_null(slotted_find(slots, COPY + 1));
	assert_false(slotted_claim(slots, COPY + 2));
	assert_null(slotted_find(slots, COPY + 3));
}

static void swept(void **state)
{
	struct slot *needed = put(0, SLOT_CLAIMED, getpid(), 60), *other = put(1, SLOT_CLAIMED, getpid(), 60),
		    *offered = put(2, SLOT_OFFERED, getpid(), 60);

	(void)state;
	slotted_sweep(slots, is_first, NULL);
	assert_false(atomic_load(&needed->closed));
	/* its keeper frees it */
	assert_true(atomic_load(&other->closed));
	assert_int_equal(atomic_load(&other->state), SLOT_CLAIMED);
	assert_false(atomic_load(&offered->closed));
	assert_int_equal(atomic_load(&offered->state), SLOT_OFFERED);
}

/* Only when the watches have put its copies right. */
static void swept_of_a_keeper_that_was_killed(void **state)
{
	struct slot *young = put(1, SLOT_OFFERED, dead, 1), *old = put(2, SLOT_OFFERED, dead, 60),
		    *claimed = put(3, SLOT_CLAIMED, dead, 60), *adopted = put(4, SLOT_ADOPTED, dead, 60),
		    *unreaped = put(5, SLOT_OFFERED, zombie, 60);

	(void)state;
	atomic_store(&old->crowded, 1);
	slotted_sweep(slots, is_first, NULL);
	assert_int_equal(atomic_load(&young->state), SLOT_OFFERED);
	assert_int_equal(atomic_load(&old->state), SLOT_FREE);
	assert_int_equal(atomic_load(&claimed->state), SLOT_FREE);
	assert_int_equal(atomic_load(&adopted->state), SLOT_FREE);
	assert_int_equal(atomic_load(&unreaped->state), SLOT_FREE);
	assert_false(atomic_load(&old->crowded));
	assert_false(atomic_load(&claimed->closed));
}

static void due_ones(void **state)
{
	const uint64_t now = put(11, SLOT_OFFERED, getpid(), 0)->born_ns;
	uint32_t i = 0;

	(void)state;
	for (uint32_t k = 0; k < SLOTS; k++)
		atomic_store(&slots->all[k].state, SLOT_FREE);
	assert_int_equal(slotted_due_ms(slots, now, 50), 50);
	atomic_store(&put(3, SLOT_OFFERED, getpid(), 0)->crowded, 1);
	atomic_store(&put(9, SLOT_CLAIMED, getpid(), 0)->crowded, 1);
	put(10, SLOT_OFFERED, getpid(), 0)->born_ns = now - SLOTTED_DUE_NS / 4;
	put(12, SLOT_OFFERED, getpid(), 0)->born_ns = now - SLOTTED_DUE_NS;
	put(13, SLOT_CLAIMED, getpid(), 7);
	assert_int_equal(slotted_due(slots, &i, now), COPY + 3);
	assert_int_equal(slotted_due(slots, &i, now), COPY + 12);
	assert_int_equal(slotted_due(slots, &i, now), 0);
	/* those of a keeper that was killed are due for long: not at once */
	assert_int_equal(slotted_due_ms(slots, now, 50), 10);
	atomic_store(&slots->all[3].state, SLOT_FREE);
	atomic_store(&slots->all[12].state, SLOT_FREE);
	assert_int_equal(slotted_due_ms(slots, now, 500), 76);
	assert_int_equal(slotted_due_ms(slots, now, 50), 50);
}

static void as_many_as_there_is_memory_for(void **state)
{
	(void)state;
	assert_int_equal(slotted_most(0), 0);
	assert_int_equal(slotted_most(40 * MIB), 0);
	assert_int_equal(slotted_most(45 * MIB), 1);
	assert_int_equal(slotted_most(450 * MIB), 10);
	assert_int_equal(slotted_most(UINT64_MAX), SLOTS);
	assert_true(atomic_load(&slots->most) <= SLOTS);
}

static void without_any(void **state)
{
	uint32_t i = 0;

	(void)state;
	slotted_fit(NULL);
	slotted_sweep(NULL, is_first, NULL);
	assert_false(slotted_claim(NULL, COPY));
	assert_null(slotted_find(NULL, COPY));
	assert_int_equal(slotted_due(NULL, &i, 0), 0);
	assert_int_equal(slotted_due_ms(NULL, 0, 50), 50);
	slotted_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(claimed_once, setup, teardown),
		cmocka_unit_test_setup_teardown(not_of_a_keeper_that_was_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(swept, setup, teardown),
		cmocka_unit_test_setup_teardown(swept_of_a_keeper_that_was_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(due_ones, setup, teardown),
		cmocka_unit_test_setup_teardown(as_many_as_there_is_memory_for, setup, teardown),
		cmocka_unit_test(without_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
