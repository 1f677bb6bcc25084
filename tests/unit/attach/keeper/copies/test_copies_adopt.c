/* SPDX-License-Identifier: MIT */
/*
 * copies_adopt: a watch of a copy begins, and its sites have other numbers than those that the keeper has, or
 * are others. The copy's memory is a page of our own; its keeper is in the middle of recording.
 */
#include "attach/keeper/copies/copies.h"

#include <errno.h>

#include "tests/unit/code_page.h"

#define N 4u

static struct keeper *first, *k;
static struct slots *slots;

static void *room(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static struct site site_at(uint32_t offset)
{
	struct site s = { .addr = at(offset), .nbytes = SITE_BYTES, .emu = { .op = EMU_NOP, .len = 1 } };

	memcpy(s.bytes, file + offset, SITE_BYTES);
	return s;
}

/* Of trap @i of the keeper. */
static uint32_t offset_of(uint32_t i)
{
	return 64 + 100 * i;
}

/* N traps, as the keeper that has forked the copy had them. */
static void plant_all(void)
{
	for (uint32_t i = 0; i < N; i++) {
		const struct site s = site_at(offset_of(i));

		assert_int_equal(trap_plant(&k->traps, mem, i, &s), 0);
	}
}

static int setup(void **state)
{
	(void)state;
	new_file(5);
	slots = room(sizeof(*slots));
	first = room(sizeof(*first));
	first->rooms = room((SLOTS + 1) * sizeof(*first));
	k = &first->rooms[0];
	k->first = first;
	k->slot = &slots->all[0];
	k->shared = &k->slot->shared;
	k->shared->bell = -1;
	k->target = getpid();
	k->mem = mem;
	k->adopter_fd = -1;
	calls_init(&k->calls);
	ring_init(&k->shared->ring, k->shared->ring_bytes, SHARED_RING);
	atomic_store(&k->slot->state, SLOT_CLAIMED);
	plant_all();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(trap_lift_all(&k->traps, mem), 0);
	assert_memory_equal(page, file, PAGE);
	close(k->adopter_fd);
	close(k->traps.maps);
	munmap(first->rooms, (SLOTS + 1) * sizeof(*first));
	munmap(first, sizeof(*first));
	munmap(slots, sizeof(*slots));
	return 0;
}

/* The watch has planned this as its site @i. */
static struct site *wants(uint32_t i, struct site s)
{
	k->shared->sites[i] = s;
	return &k->shared->sites[i];
}

static void adopt(uint32_t nsites)
{
	assert_int_equal(copies_adopt(k, getpid(), nsites), 0);
	assert_int_equal(atomic_load(&k->slot->state), SLOT_ADOPTED);
	assert_int_equal(k->adopter, getpid());
}

static void assert_is(uint32_t new, uint32_t old)
{
	assert_int_equal(k->slot->map[old], new);
	assert_int_equal(k->shared->plant_result[new], 0);
	assert_int_equal(trap_find(&k->traps, at(offset_of(old))), new);
	assert_int_equal(page[offset_of(old)], INT3);
}

/* Trap @old is none of the watch's: it is out, and known to have been there. */
static void assert_lifted(uint32_t old)
{
	assert_int_equal(k->slot->map[old], SLOT_NO_SITE);
	assert_int_equal(page[offset_of(old)], file[offset_of(old)]);
	assert_true(trap_was_ever_at(&k->traps, at(offset_of(old))));
}

static void with_other_numbers(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < N; i++)
		wants(N - 1 - i, site_at(offset_of(i)));
	adopt(N);
	for (uint32_t i = 0; i < N; i++)
		assert_is(N - 1 - i, i);
}

static void one_that_is_not_wanted_and_one_that_is_new(void **state)
{
	(void)state;
	wants(0, site_at(offset_of(1)));
	wants(1, site_at(1000));
	wants(2, site_at(offset_of(3)));
	adopt(3);
	assert_is(0, 1);
	assert_is(2, 3);
	assert_lifted(0);
	assert_lifted(2);
	/* the watch plants it itself */
	assert_int_equal(k->shared->plant_result[1], -EAGAIN);
	assert_int_equal(page[1000], file[1000]);
	assert_int_equal(trap_find(&k->traps, at(1000)), NO_TRAP);
}

/* Fewer are adopted than the parent had: what the watch plants then has numbers that the parent's had. */
static void new_ones_behind_few(void **state)
{
	(void)state;
	wants(0, site_at(offset_of(1)));
	for (uint32_t i = 1; i < N; i++)
		wants(i, site_at(1000 + 50 * i));
	adopt(N);
	assert_is(0, 1);
	for (uint32_t i = 1; i < N; i++) {
		assert_int_equal(k->shared->plant_result[i], -EAGAIN);
		assert_int_equal(trap_plant(&k->traps, mem, i, &k->shared->sites[i]), 0);
		assert_int_equal(page[1000 + 50 * i], INT3);
	}
}

/* At the same address, but for another rule or family, or of other code: what was recorded is not that. */
static void another_site_at_the_same_address(void **state)
{
	(void)state;
	wants(0, site_at(offset_of(0)))->rule = 7;
	wants(1, site_at(offset_of(1)))->family = 3;
	wants(2, site_at(offset_of(2)))->flags = SITE_WAIT;
	wants(3, site_at(offset_of(3)))->bytes[5] ^= 1;
	adopt(N);
	for (uint32_t i = 0; i < N; i++) {
		assert_lifted(i);
		assert_int_equal(k->shared->plant_result[i], -EAGAIN);
	}
}

static void two_sites_of_one_address(void **state)
{
	(void)state;
	wants(0, site_at(offset_of(2)));
	wants(1, site_at(offset_of(2)));
	adopt(2);
	assert_is(0, 2);
	assert_int_equal(k->shared->plant_result[1], -EAGAIN);
}

/* The parent planted it while it forked: it is in the table, and not in the copy's memory. */
static void one_that_is_missing(void **state)
{
	const uint32_t missing = offset_of(2);

	(void)state;
	assert_int_equal(pwrite(mem, &file[missing], 1, (off_t)at(missing)), 1);
	for (uint32_t i = 0; i < N; i++)
		wants(i, site_at(offset_of(i)));
	adopt(N);
	for (uint32_t i = 0; i < N; i++)
		assert_is(i, i);
}

/* What is open in a thread, and what it is to do again, has new numbers; or is forgotten with its trap. */
static void what_is_open_in_a_thread(void **state)
{
	struct tracee *t = threads_add(&k->threads, getpid()), *other = threads_add(&k->threads, 1);
	const struct call outer = { .sp = 2000, .trap = 2 }, inner = { .sp = 1000, .trap = 1, .family = 1 };
	bool tail;

	(void)state;
	assert_true(calls_open(&k->calls, &t->calls, &outer, &tail));
	assert_true(calls_open(&k->calls, &t->calls, &inner, &tail));
	t->redo = 2;
	other->redo = 1;
	wants(0, site_at(offset_of(2)));
	adopt(1);
	assert_int_equal(t->redo, 0);
	assert_int_equal(other->redo, NO_TRAP);
	assert_int_equal(calls_around(&k->calls, &t->calls, 500, 0)->trap, 0);
	assert_null(calls_around(&k->calls, &t->calls, 500, 1));
}

/* A thread in the middle of a step, or held: not now, and nothing is changed. */
static void not_while_a_thread_steps(void **state)
{
	struct tracee *t = threads_add(&k->threads, getpid());

	(void)state;
	wants(0, site_at(offset_of(2)));
	t->stepping = 1;
	assert_int_equal(copies_adopt(k, getpid(), 1), -EAGAIN);
	t->stepping = NO_TRAP;
	t->state = TRACEE_HELD;
	assert_int_equal(copies_adopt(k, getpid(), 1), -EAGAIN);
	assert_int_equal(atomic_load(&k->slot->state), SLOT_CLAIMED);
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(page[offset_of(i)], INT3);
	t->state = TRACEE_RUNNING;
	adopt(1);
}

static void what_is_recorded_has_the_old_numbers(void **state)
{
	struct record *rec = ring_reserve(&k->shared->ring, 64);

	(void)state;
	rec->kind = RECORD_HIT;
	ring_commit(&k->shared->ring, rec, 64);
	adopt(0);
	assert_int_equal(k->slot->mapped_until, 64);
	assert_int_equal(copies_adopt(k, getpid(), 0), -EINVAL);	/* once */
}

static void what_is_refused(void **state)
{
	(void)state;
	assert_int_equal(copies_adopt(k, getpid(), SHARED_SITES + 1), -EINVAL);
	assert_int_equal(copies_adopt(k, 0x7fffffff, 0), -ESRCH);
	assert_int_equal(copies_adopt(first, getpid(), 0), -EINVAL);	/* in no slot */
	assert_int_equal(k->adopter, 0);
	adopt(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(with_other_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_is_not_wanted_and_one_that_is_new, setup, teardown),
		cmocka_unit_test_setup_teardown(new_ones_behind_few, setup, teardown),
		cmocka_unit_test_setup_teardown(another_site_at_the_same_address, setup, teardown),
		cmocka_unit_test_setup_teardown(two_sites_of_one_address, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_is_missing, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_open_in_a_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(not_while_a_thread_steps, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_recorded_has_the_old_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, open_page, close_page);
}
