/* SPDX-License-Identifier: MIT */
/* threadstacks: threads as glibc leaves them in memory, living, ended, and corrupt. */
#include "heap/threadstacks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/memory_example.h"

#define LIBC 0x7f0000800000u	/* the loader's data: heads of the three lists */
#define USED 0x100u
#define USER 0x110u
#define CACHE 0x120u
#define STACKS 0x7f0000000000u	/* each thread's: a guard page, and its stack */
#define STACK 0x10000u
#define STRUCT 0x900u
#define MAIN_STACK 0x7ffc00000000u
#define MAIN_TLS 0x7f0000900000u

struct process {
	struct memory_example m;
	uint64_t *libc, *main_tls, *main_stack;
	uint64_t *stack[8];
	size_t nstacks;
	struct threadstacks st;
};

static taddr lo_of(size_t i)
{
	return STACKS + i * 0x20000u;
}

static taddr pthread_of(size_t i)
{
	return lo_of(i) + 4096 + STACK - STRUCT;
}

static uint64_t *word(struct process *p, taddr at)
{
	if (at >= MAIN_STACK)
		return p->main_stack + (at - MAIN_STACK) / 8;
	if (at >= MAIN_TLS)
		return p->main_tls + (at - MAIN_TLS) / 8;
	if (at >= LIBC)
		return p->libc + (at - LIBC) / 8;
	return p->stack[(at - STACKS) / 0x20000u] + ((at - STACKS) % 0x20000u - 4096) / 8;
}

/* As list_add: at the head. */
static void link_in(struct process *p, taddr head, taddr at)
{
	const taddr next = *word(p, head);

	*word(p, at) = next;
	*word(p, at + 8) = head;
	*word(p, next + 8) = at;
	*word(p, head) = at;
}

static void make_struct(struct process *p, taddr at, int32_t tid)
{
	*word(p, at) = at;
	*word(p, at + 16) = at;
	memcpy(word(p, at + 0x2d0), &tid, sizeof(tid));
}

static struct process *process_new(void)
{
	struct process *p = calloc(1, sizeof(*p));
	struct snapshot_thread *t;

	assert_non_null(p);
	example_init(&p->m);
	for (size_t i = 0; i < 8; i++) {
		example_gap(&p->m, lo_of(i), 4096, "---p", "");
		p->stack[i] = example_map(&p->m, lo_of(i) + 4096, STACK, "rw-p", "");
	}
	p->libc = example_map(&p->m, LIBC, 0x10000, "rw-p", "/lib/ld.so");
	p->main_tls = example_map(&p->m, MAIN_TLS, 0x2000, "rw-p", "");
	p->main_stack = example_map(&p->m, MAIN_STACK, 0x8000, "rw-p", "[stack]");
	for (taddr head = LIBC + USED; head <= LIBC + CACHE; head += 16)
		*word(p, head) = *word(p, head + 8) = head;
	make_struct(p, MAIN_TLS + 0x740, 1000);
	link_in(p, LIBC + USER, MAIN_TLS + 0x740 + 0x2c0);
	t = example_thread(&p->m, 1000, MAIN_STACK + 0x6000);
	t->regs.fs_base = MAIN_TLS + 0x740;
	return p;
}

static void process_free(struct process *p)
{
	threadstacks_fini(&p->st);
	example_fini(&p->m);
	free(p);
}

/* A struct pthread on top of the next stack, in the list at @head; returns its address. */
static taddr add(struct process *p, taddr head, int32_t tid)
{
	const size_t i = p->nstacks++;
	const taddr at = pthread_of(i);

	make_struct(p, at, tid);
	*word(p, at + 0x690) = lo_of(i);
	*word(p, at + 0x698) = 4096 + STACK;
	*word(p, at + 0x6a0) = 4096;
	link_in(p, head, at + 0x2c0);
	return at;
}

static struct snapshot_thread *run(struct process *p, taddr pthread, pid_t tid, taddr sp)
{
	struct snapshot_thread *t = example_thread(&p->m, tid, sp);

	t->regs.fs_base = pthread;
	return t;
}

static void find(struct process *p)
{
	example_seal(&p->m);
	assert_int_equal(threadstacks_find(&p->st, &p->m.s), 0);
}

static bool dead(const struct process *p, taddr at)
{
	for (size_t i = 0; i < p->st.ndead; i++)
		if (at >= p->st.dead[i].lo && at < p->st.dead[i].hi)
			return true;
	return false;
}

static void test_living(void **state)
{
	struct process *p = process_new();
	const taddr a = add(p, LIBC + USED, 1001), sp = lo_of(0) + 0x8000;

	(void)state;
	run(p, a, 1001, sp);
	find(p);
	assert_true(dead(p, MAIN_STACK) && dead(p, MAIN_STACK + 0x6000 - 136));
	assert_false(dead(p, MAIN_STACK + 0x6000 - 128));
	assert_true(dead(p, lo_of(0) + 4096) && dead(p, sp - 136));
	assert_false(dead(p, sp - 128) || dead(p, a) || dead(p, a - 8) || dead(p, lo_of(0) + 4095));
	assert_int_equal(p->st.n, 2);
	assert_int_equal(p->st.unknown + p->st.elsewhere + p->st.ended, 0);
	assert_false(p->st.unsure);
	process_free(p);
}

/* Its sp is not on its own stack: so no part of that is known to be dead. */
static void test_coroutine(void **state)
{
	struct process *p = process_new();
	const taddr a = add(p, LIBC + USED, 1001);

	(void)state;
	run(p, a, 1001, lo_of(5) + 0x8000);
	find(p);
	assert_false(dead(p, lo_of(0) + 0x2000) || dead(p, lo_of(5) + 0x2000));
	assert_int_equal(p->st.elsewhere, 1);
	process_free(p);
}

static void test_not_known(void **state)
{
	struct process *p = process_new();
	const taddr a = add(p, LIBC + USED, 1001), b = add(p, LIBC + USED, 1002);

	(void)state;
	run(p, a, 1001, lo_of(0) + 0x8000)->known = false;
	run(p, b, 1002, lo_of(1) + 0x8000)->running = true;
	find(p);
	assert_false(dead(p, lo_of(0) + 0x2000) || dead(p, lo_of(1) + 0x2000));
	assert_true(dead(p, MAIN_STACK));
	assert_int_equal(p->st.unknown, 2);
	process_free(p);
}

/*
 * Two threads on one stack, as when one has lent the other a piece of it: only the part below the lower sp is
 * dead.
 */
static void test_two_on_one(void **state)
{
	struct process *p = process_new();
	const taddr a = add(p, LIBC + USED, 1001);

	(void)state;
	run(p, a, 1001, lo_of(0) + 0x9000);
	run(p, MAIN_TLS, 1002, lo_of(0) + 0x5000);
	find(p);
	assert_false(dead(p, lo_of(0) + 0x6000) || dead(p, lo_of(0) + 0x5000));
	assert_true(dead(p, lo_of(0) + 0x4000));
	process_free(p);
}

static void test_ended(void **state)
{
	struct process *p = process_new();
	const taddr living = add(p, LIBC + USED, 1001), waits = add(p, LIBC + USED, 0),
		    joined = add(p, LIBC + CACHE, -1), detached = add(p, LIBC + CACHE, 0);

	(void)state;
	run(p, living, 1001, lo_of(0) + 0x8000);
	find(p);
	assert_int_equal(p->st.ended, 3);
	/* the thread that was not joined: its result is in the struct */
	assert_true(dead(p, lo_of(1) + 4096) && dead(p, waits - 8));
	assert_false(dead(p, waits) || dead(p, waits + 0x600));
	/* cached stacks: the DTV's address is live */
	assert_true(dead(p, joined) && !dead(p, joined + 8) && dead(p, joined + 16) &&
		    dead(p, joined + STRUCT - 8));
	assert_true(dead(p, detached - 8) && !dead(p, detached + 8) && dead(p, detached + 0x600));
	process_free(p);
}

/*
 * A list of detached threads only, which is not known to be a cache: they might as well be waiting to be
 * joined.
 */
static void test_ended_of_no_known_list(void **state)
{
	struct process *p = process_new();
	const taddr at = LIBC + 0x400;
	taddr waits;

	(void)state;
	*word(p, at) = *word(p, at + 8) = at;
	waits = add(p, at, 0);
	find(p);
	assert_true(dead(p, waits - 8));
	assert_false(dead(p, waits) || dead(p, waits + 0x600));
	process_free(p);
}

static void test_broken_ring(void **state)
{
	struct process *p = process_new();
	const taddr joined = add(p, LIBC + CACHE, -1), other = add(p, LIBC + CACHE, -1);

	(void)state;
	*word(p, other + 0x2c0 + 8) = joined;
	find(p);
	assert_int_equal(p->st.ended, 0);
	assert_false(dead(p, joined) || dead(p, lo_of(0) + 0x2000));
	process_free(p);
}

/* A ring that leads back into itself, but not to its head. */
static void test_endless_ring(void **state)
{
	struct process *p = process_new();
	const taddr a = add(p, LIBC + CACHE, -1), b = add(p, LIBC + CACHE, -1);

	(void)state;
	*word(p, a + 0x2c0) = b + 0x2c0;	/* a is the last: it should lead to the head */
	*word(p, b + 0x2c0 + 8) = a + 0x2c0;
	find(p);
	assert_int_equal(p->st.ended, 0);
	process_free(p);
}

static void test_lists_not_found(void **state)
{
	struct process *p = process_new();

	(void)state;
	*word(p, MAIN_TLS + 0x740 + 0x2c0) = 0;
	find(p);
	assert_true(p->st.unsure);
	process_free(p);
}

/* An invalid extent: the stack would not contain the struct, or would have no end. */
static void test_bad_extents(void **state)
{
	static const struct {
		uint64_t lo, size, guard;
	} bad[] = {
		{ 0, 4096 + STACK, 4096 },
		{ UINT64_MAX - 15, 32, 0 },
		{ STACKS, UINT64_MAX, 4096 },
		{ STACKS, 4096, 4096 },
		{ STACKS, 4096 + STACK, 4097 },
		{ STACKS, 4096 + STACK, UINT64_MAX & ~UINT64_C(4095) },
		{ STACKS, 0x40000, 4096 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct process *p = process_new();
		const taddr a = add(p, LIBC + USED, 1001);

		*word(p, a + 0x690) = bad[i].lo;
		*word(p, a + 0x698) = bad[i].size;
		*word(p, a + 0x6a0) = bad[i].guard;
		run(p, a, 1001, lo_of(0) + 0x8000);
		find(p);
		assert_int_equal(p->st.elsewhere, 1);
		assert_false(dead(p, lo_of(0) + 0x2000));
		process_free(p);
	}
}

static void test_tls(void **state)
{
	struct process *p = process_new();
	const taddr a = add(p, LIBC + USED, 1001), dtv = LIBC + 0x1000;

	(void)state;
	*word(p, a + 8) = dtv + 16;
	*word(p, dtv) = 3;		/* there is room for so many modules */
	*word(p, dtv + 32) = a - 0x180;
	*word(p, dtv + 48) = UINT64_MAX;	/* not allocated yet */
	*word(p, dtv + 64) = LIBC;		/* dynamic: elsewhere */
	run(p, a, 1001, lo_of(0) + 0x8000);
	find(p);
	assert_int_equal(p->st.all[1].tls, a - 0x180);
	assert_int_equal(p->st.all[1].tls_end, a + STRUCT);
	assert_int_equal(p->st.all[0].tls, MAIN_TLS + 0x740);
	process_free(p);
}

/* --- many threads --- */

#define CROWD 20000u
#define CROWD_STACKS 0x7e0000000000u

/* @n living threads and @n ended ones, a page each; @broken: a link of the living ones leads nowhere. */
static void crowd_init(struct memory_example *m, size_t n, bool broken)
{
	uint64_t *libc, *stacks;
	taddr last = LIBC + USED, ended = LIBC + CACHE;

	example_init(m);
	stacks = example_map(m, CROWD_STACKS, 2 * n * 4096, "rw-p", "");
	libc = example_map(m, LIBC, 0x1000, "rw-p", "/lib/ld.so");
	for (size_t i = 0; i < 2 * n; i++) {
		const taddr lo = CROWD_STACKS + i * 4096, pthread = lo + 4096 - STRUCT,
			    link = pthread + 0x2c0;
		uint64_t *w = stacks + (pthread - CROWD_STACKS) / 8;
		taddr *before = i % 2 ? &ended : &last;
		int32_t tid = i % 2 ? -1 : (int32_t)(1001 + i);

		w[0] = w[2] = pthread;
		memcpy(&w[0x2d0 / 8], &tid, sizeof(tid));
		w[0x690 / 8] = lo;
		w[0x698 / 8] = 4096;
		w[0x2c8 / 8] = *before;
		*(*before >= LIBC ? libc + (*before - LIBC) / 8 : stacks + (*before - CROWD_STACKS) / 8) =
			link;
		*before = link;
		if (!(i % 2))
			example_thread(m, tid, lo + 0x400)->regs.fs_base = pthread;
	}
	stacks[(last - CROWD_STACKS) / 8] = broken ? last : LIBC + USED;
	libc[(USED + 8) / 8] = last;
	stacks[(ended - CROWD_STACKS) / 8] = LIBC + CACHE;
	libc[(CACHE + 8) / 8] = ended;
	example_seal(m);
}

/* The least CPU time of three runs, in seconds; @st has the result of the last one. */
static double crowd_find(size_t n, bool broken, struct threadstacks *st)
{
	struct memory_example m;
	double least = 1e9;

	crowd_init(&m, n, broken);
	for (int i = 0; i < 3; i++) {
		const clock_t began = clock();

		assert_int_equal(threadstacks_find(st, &m.s), 0);
		least = fmin(least, (double)(clock() - began) / CLOCKS_PER_SEC);
		if (i < 2)
			threadstacks_fini(st);
	}
	example_fini(&m);
	return least;
}

static void test_crowd(void **state)
{
	struct threadstacks st;

	(void)state;
	crowd_find(CROWD, false, &st);
	assert_int_equal(st.n, 2 * CROWD);
	assert_int_equal(st.ended, CROWD);
	assert_int_equal(st.unknown + st.elsewhere, 0);
	assert_false(st.unsure);
	assert_int_equal(st.ndead, 3 * CROWD);	/* below sp; for an ended thread, around the DTV's address */
	assert_int_equal(st.dead[0].lo, CROWD_STACKS);
	assert_int_equal(st.dead[0].hi, CROWD_STACKS + 0x400 - 128);
	threadstacks_fini(&st);
}

/*
 * Ten times as many take about ten times as long; when each was compared with each other, it was a hundred
 * times.
 */
static void test_crowd_in_time(void **state)
{
	(void)state;
	for (int broken = 0; broken < 2; broken++) {
		struct threadstacks few, many;
		const double one = crowd_find(CROWD / 10, broken, &few),
			     ten = crowd_find(CROWD, broken, &many);

		assert_int_equal(many.unsure, broken);
		threadstacks_fini(&few);
		threadstacks_fini(&many);
		if (ten > 50 * fmax(one, 0.001))
			fail_msg("%u threads: %.4f s, %u threads: %.4f s", CROWD / 10, one, CROWD, ten);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_living),
		cmocka_unit_test(test_coroutine),
		cmocka_unit_test(test_not_known),
		cmocka_unit_test(test_two_on_one),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_ended_of_no_known_list),
		cmocka_unit_test(test_broken_ring),
		cmocka_unit_test(test_endless_ring),
		cmocka_unit_test(test_lists_not_found),
		cmocka_unit_test(test_bad_extents),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_crowd_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
