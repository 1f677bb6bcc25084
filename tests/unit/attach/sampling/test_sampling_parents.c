/* SPDX-License-Identifier: MIT */
/*
 * sampling_parents: when a trial begins, what it concludes from the callers' hits, and what it decides. The
 * process whose code and stacks are read is this one; that a thread is held until a trap is planted is tested
 * in tests/live/test_sampled.py.
 */
#include "attach/sampling/sampling_parents.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000000ull
#define BEGIN (100 * SECOND)
#define BLOCK 0x5000ull
#define SIZE 64u
#define TID 7u
#define RSP 0x7000ull

static struct sampling_parents parents;
static struct sampling_targets targets;
static struct sampling_sites sites;
static struct planting planting;
static struct link keeper;
static struct module *home;

/* The function on trial; it is called directly, from here. */
__attribute__((noinline, used)) static taddr tried(void)
{
	__asm__ volatile("");
	return (taddr)(uintptr_t)__builtin_return_address(0);
}

__attribute__((noinline)) static taddr other_caller(void)
{
	taddr at = tried();

	__asm__ volatile("");
	return at;
}

/* Another function, which ends with a jump to it, as far as its code shows not always. */
__attribute__((naked, noinline)) static taddr jumps_there(void)
{
	__asm__("test %rsp, %rsp\n"
		"jz 1f\n"
		"jmp.d32 tried\n"
		"1: ret\n");
}

enum { INNER, OUTER, INNER_TOO, SITES };

static int setup(void **state)
{
	const struct sampling_site inner = { .addr = (taddr)(uintptr_t)tried + 1,
					     .function = (taddr)(uintptr_t)tried, .number = 0,
					     .role = SAMPLING_TAKES };
	const struct sampling_site outer = { .addr = tried(), .number = SAMPLING_NONE,
					     .role = SAMPLING_TRIAL };
	const struct sampling_site second = { .addr = (taddr)(uintptr_t)jumps_there + 1,
					      .function = (taddr)(uintptr_t)jumps_there, .number = 2,
					      .role = SAMPLING_TAKES };

	(void)state;
	keeper.shared = calloc(1, sizeof(*keeper.shared));
	assert_non_null(keeper.shared);
	memset(keeper.used, 0, sizeof(keeper.used));
	planting = (struct planting){ .link = &keeper };
	assert_int_equal(decoder_new(&planting.decoder), 0);
	assert_int_equal(modules_new(getpid(), &planting.modules), 0);
	home = modules_find(planting.modules, (taddr)(uintptr_t)tried);
	assert_true(home && home->img);
	memset(&targets, 0, sizeof(targets));
	targets.planting = &planting;
	targets.n = 1;
	/* not at the function's own address */
	targets.all[0].home = home;
	targets.all[0].addr = 1;
	sampling_sites_init(&sites, &planting, &targets);
	sites.all = calloc(SITES, sizeof(*sites.all));
	assert_non_null(sites.all);
	sites.all[INNER] = inner;
	sites.all[INNER].module = home;
	sites.all[OUTER] = outer;
	sites.all[INNER_TOO] = second;
	sites.n = SITES;
	for (uint32_t i = 0; i < SITES; i++)
		assert_int_equal(addrmap_put(&sites.by_addr, sites.all[i].addr, &i), 0);
	sampling_parents_init(&parents, &sites, 10000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sampling_parents_fini(&parents);
	sampling_sites_fini(&sites);
	sampling_targets_fini(&targets);
	decoder_free(planting.decoder);
	modules_free(planting.modules);
	free(keeper.shared);
	return 0;
}

/* A block came out at the site, in a thread that is not held. */
static void site_hit(taddr caller)
{
	const struct record_hit hit = { .head = { .tid = TID, .time_ns = BEGIN } };
	const struct block_birth block = { .addr = BLOCK, .bytes = SIZE };

	sites.all[INNER].passes++;
	assert_int_equal(sampling_parents_site_hit(&parents, INNER, &hit, &block, caller), 0);
}

/* A trial under way: one caller has a trap. */
static struct sampling_trial *begin(void)
{
	parents.trials[3] = (struct sampling_trial){
		.function = sites.all[INNER].function, .inner = INNER, .outer = { OUTER }, .nouter = 1,
		.until_ns = BEGIN + 60 * SECOND,
	};
	return &parents.trials[3];
}

/* A thread that was held when it got the block returns to its caller, with @what, @after_ns later. */
static bool has_start;	/* its heap knows where a block begins */

static void comes_out_later(uint32_t tid, uint64_t what, uint64_t after_ns)
{
	const struct sampling_last last = { .function = sites.all[INNER].function, .block = BLOCK, .size = SIZE,
					    .time_ns = BEGIN, .has_start = has_start };
	const struct record_hit hit = { .head = { .tid = tid, .time_ns = BEGIN + after_ns },
					.regs = { .rax = what } };

	if (tid == TID)
		assert_int_equal(addrmap_put(&parents.last, TID, &last), 0);
	assert_int_equal(sampling_parents_trial_hit(&parents, OUTER, &hit), 0);
}

static void comes_out(uint32_t tid, uint64_t what)
{
	comes_out_later(tid, what, SECOND / 10000);
}

static void comes_out_often(unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		comes_out(TID, BLOCK);
}

/* The decision by @now_ns: 1 a wrapper; 0 not a wrapper, or not known, and the trial is over; -1 none yet. */
static int decided(uint64_t now_ns)
{
	taddr function = 0;
	uint32_t target = 0;
	bool passes = sampling_parents_decide(&parents, now_ns, &function, &target);

	assert_true(!passes || (function == sites.all[INNER].function && target == 1));
	return passes ? 1 : parents.trials[3].function ? -1 : 0;
}

/* --- when a trial begins --- */

static void several_direct_callers_are_worth_it(void **state)
{
	taddr one = tried(), other = other_caller();

	(void)state;
	site_hit(one);
	/* with a single caller there is nothing to find out */
	assert_int_equal(parents.trials[0].function, 0);
	site_hit(0);
	assert_int_equal(parents.trials[0].function, 0);	/* the caller must be known */
	site_hit(other);
	assert_int_equal(parents.trials[0].function, sites.all[INNER].function);
	assert_int_equal(sites.all[INNER].tries, 1);
	/* from now on callers are collected, each once */
	site_hit(one);
	site_hit(one);
	site_hit(other);
	assert_true(parents.trials[0].callers[0] == one && parents.trials[0].callers[1] == other);
	assert_true(!parents.trials[0].callers[2]);
}

/* A caller gets its trap as soon as it is seen, not when a thread waits for it. */
static void callers_have_a_trap_before_a_thread_is_held(void **state)
{
	taddr one = tried(), other = other_caller();
	const struct sampling_trial *t = &parents.trials[0];

	(void)state;
	site_hit(one);
	site_hit(other);
	sampling_parents_hold(&parents, BEGIN);
	/* no caller has a trap yet that the thread could reach, */
	assert_int_equal(keeper.shared->meters[0].hold, 0);
	assert_true(sampling_parents_next_ns(&parents) == UINT64_MAX); /* and nothing to wake up for */
	site_hit(one);
	assert_int_equal(t->nouter, 1);
	assert_true(sites.all[t->outer[0]].addr == one && sites.all[t->outer[0]].role == SAMPLING_TRIAL);
	site_hit(one);
	site_hit(other + 1);	/* not behind a call */
	assert_int_equal(t->nouter, 1);
	site_hit(other);
	assert_int_equal(t->nouter, 2);
	assert_int_equal(planting.nwaiting, 2);
	sampling_parents_hold(&parents, BEGIN + SECOND);
	assert_int_equal(keeper.shared->meters[0].hold, 4);
}

/* 1 %, of which a quarter may be spent on holds, at two thirds of that rate. */
static void what_a_hold_has_cost_is_paid_for_before_the_next(void **state)
{
	_Atomic uint32_t *hold = &keeper.shared->meters[0].hold;

	(void)state;
	parents.trials[3] = (struct sampling_trial){
		.function = sites.all[INNER].function, .inner = INNER, .outer = { OUTER }, .nouter = 1,
		.until_ns = BEGIN + 60 * SECOND,
	};
	sampling_parents_hold(&parents, BEGIN);
	assert_int_equal(atomic_exchange(hold, 0), 4);
	assert_in_range(sampling_parents_next_ns(&parents), BEGIN + SECOND / 100 + 1, BEGIN + SECOND / 10);
	sampling_parents_hold(&parents, BEGIN + SECOND / 100);
	assert_int_equal(*hold, 0);	/* one after the other */
	atomic_store(&keeper.shared->budget.held_ns, SECOND / 1000);
	sampling_parents_hold(&parents, BEGIN + SECOND / 10);
	sampling_parents_hold(&parents, BEGIN + SECOND / 10 + SECOND * 6 / 10);
	assert_int_equal(*hold, 0);
	assert_in_range(sampling_parents_next_ns(&parents), BEGIN + SECOND * 7 / 10, BEGIN + SECOND * 8 / 10);
	sampling_parents_hold(&parents, BEGIN + SECOND / 10 + SECOND * 7 / 10);
	assert_int_equal(*hold, 4);
}

/* Callers that are too rare may be unseen: a hot site has one trial even with a single caller. */
static void a_hot_site_is_tried_once(void **state)
{
	taddr one = tried();
	struct sampling_site *site = &sites.all[INNER];

	(void)state;
	atomic_store(&keeper.shared->meters[site->number].full, 1);
	site->tries = 1;
	site_hit(one);
	assert_int_equal(parents.trials[0].function, 0);
	site->tries = 0;
	site_hit(one);
	assert_int_equal(parents.trials[0].function, site->function);
}

/* Not behind a call; an inner site; three levels up; a jump leads to the site; tried often enough. */
static void what_is_not_tried(void **state)
{
	taddr one = tried(), other = other_caller();

	(void)state;
	site_hit(one + 1);
	site_hit(other + 1);
	assert_int_equal(parents.trials[0].function, 0);
	sites.all[INNER].role = SAMPLING_INNER;
	site_hit(other);
	assert_int_equal(parents.trials[0].function, 0);
	sites.all[INNER].role = SAMPLING_TAKES;
	targets.all[0].level = SAMPLING_LEVELS;
	site_hit(other);
	assert_int_equal(parents.trials[0].function, 0);
	targets.all[0].level = 0;
	sites.all[INNER].joined = true;
	site_hit(other);
	assert_int_equal(parents.trials[0].function, 0);
	sites.all[INNER].joined = false;
	sites.all[INNER].tries = 4;
	site_hit(other);
	assert_int_equal(parents.trials[0].function, 0);
}

/* --- what the function returns --- */

static void something_else_comes_out(void **state)
{
	(void)state;
	begin();
	comes_out(TID, BLOCK);
	comes_out(TID, BLOCK);
	comes_out(TID, BLOCK + SIZE);
	assert_int_equal(decided(BEGIN), -1);
	comes_out(TID, BLOCK + SIZE);
	assert_int_equal(decided(BEGIN), 0);
	assert_int_equal(sites.all[INNER].tries, 4);	/* for good */
	assert_int_equal(sites.all[INNER].role, SAMPLING_TAKES);
}

/* A header before the block has the same length each time. */
static void a_place_inside_of_it(void **state)
{
	struct sampling_trial *t = begin();

	(void)state;
	comes_out(TID, BLOCK + 16);
	comes_out(TID, BLOCK + 16);
	assert_true(t->same == 2 && t->delta == 16 && !t->other);
	comes_out(TID, BLOCK + 32);
	assert_true(t->same == 2 && t->other == 1);
}

/* A header of varying length: if the heap knows where a block begins, that is no reason against a wrapper. */
static void any_place_inside_of_it(void **state)
{
	struct sampling_trial *t = begin();

	(void)state;
	has_start = true;
	comes_out(TID, BLOCK + 1);
	comes_out(TID, BLOCK + 5);
	comes_out(TID, BLOCK + 3);
	assert_true(t->same == 3 && t->delta == 5 && !t->other);
	comes_out(TID, BLOCK + SIZE);
	assert_true(t->same == 3 && t->other == 1);
	has_start = false;
}

/* A thread that was not held when it got the block shows nothing; nor does a thread that has ended. */
static void threads_that_were_not_held(void **state)
{
	struct sampling_trial *t = begin();
	const struct sampling_last last = { .function = sites.all[INNER].function, .block = BLOCK, .size = SIZE,
					    .time_ns = BEGIN };

	(void)state;
	comes_out(TID + 1, BLOCK + SIZE);
	assert_int_equal(addrmap_put(&parents.last, TID + 2, &last), 0);
	sampling_parents_thread_end(&parents, TID + 2);
	comes_out(TID + 2, BLOCK + SIZE);
	assert_true(!t->same && !t->other);
}

/*
 * The thread was to reach a trap that was lifted by the time it came. If it has another value the next time
 * it comes there, that proves nothing. If it has the block, that counts, whenever it comes.
 */
static void a_thread_that_returned_unseen(void **state)
{
	struct sampling_trial *t = begin();

	(void)state;
	comes_out_later(TID, BLOCK + SIZE, SECOND / 100);
	assert_true(!t->same && !t->other);
	assert_int_equal(addrmap_count(&parents.last), 0);
	comes_out_later(TID, BLOCK, SECOND);
	assert_true(t->same == 1 && !t->other);
	comes_out_later(TID, BLOCK + SIZE, SECOND / 100 - 1);
	assert_int_equal(t->other, 1);
	t = begin();
	for (int i = 0; i < 4; i++)
		comes_out(TID, BLOCK);
	assert_int_equal(decided(BEGIN), -1);
	assert_true(t->checking);
	comes_out(TID, BLOCK + SIZE);
	assert_int_equal(t->other, 0);
}

/* It was held for one function, returned unseen, and reaches a caller of another function on trial. */
static void a_thread_that_reaches_another_trap(void **state)
{
	struct sampling_trial *t = begin();
	const struct sampling_last last = { .function = sites.all[INNER].function + 64, .block = BLOCK,
					    .size = SIZE, .time_ns = BEGIN };
	const struct record_hit hit = { .head = { .tid = TID, .time_ns = BEGIN }, .regs = { .rax = BLOCK + SIZE } };

	(void)state;
	assert_int_equal(addrmap_put(&parents.last, TID, &last), 0);
	assert_int_equal(sampling_parents_trial_hit(&parents, OUTER, &hit), 0);
	assert_true(!t->same && !t->other);
}

static void nobody_came(void **state)
{
	(void)state;
	begin();
	comes_out(TID, BLOCK);
	assert_int_equal(decided(BEGIN + 59 * SECOND), -1);
	assert_int_equal(decided(BEGIN + 61 * SECOND), 0);
	assert_int_equal(sites.all[INNER].tries, 0);	/* another try is worth it */
}

/* --- it has no result --- */

/* Never run: they call the function on trial, and do not use the result; or do. */
__attribute__((naked, noinline, used)) static void ignores_it(void)
{
	__asm__("call tried\n"
		"behind_ignored: mov $1, %eax\n"
		"ret\n"
		"call tried\n"
		"behind_used: mov %rax, %rdi\n"
		"ret\n"
		"call tried\n"
		"behind_returned: ret\n");
}

extern const char behind_ignored[], behind_used[], behind_returned[];

/* It has stored the block somewhere, and rax has its address by chance. */
static void no_caller_uses_the_result(void **state)
{
	struct sampling_trial *t = begin();

	(void)state;
	t->callers[0] = (taddr)(uintptr_t)behind_ignored;
	t->callers[1] = (taddr)(uintptr_t)behind_returned;
	comes_out_often(4);
	assert_int_equal(decided(BEGIN), 0);
	assert_int_equal(sites.all[INNER].tries, 0);	/* of one of them it is not known */
	t = begin();
	t->callers[0] = (taddr)(uintptr_t)behind_ignored;
	comes_out_often(4);
	assert_int_equal(decided(BEGIN), 0);
	assert_int_equal(sites.all[INNER].tries, 4);	/* for good */
}

/* One caller loses the block at once; another one uses it. */
static void one_caller_does_not_use_the_result(void **state)
{
	struct sampling_trial *t = begin();

	(void)state;
	t->callers[0] = (taddr)(uintptr_t)behind_ignored;
	t->callers[1] = (taddr)(uintptr_t)behind_used;
	comes_out_often(4);
	assert_int_equal(decided(BEGIN), -1);
	assert_true(t->checking);
}

/* --- its code shows that it allocates each time --- */

/* Never run. Two functions that call an allocator, and a caller of each. */
__attribute__((naked, noinline, used)) static void straight(void)
{
	__asm__("push %rbx\n"
		"call getppid@PLT\n"
		"in_straight: pop %rbx\n"
		"ret\n"
		"call straight\n"
		"behind_straight: test %rax, %rax\n"
		"call branching\n"
		"behind_branching: ret\n");
}

__attribute__((naked, noinline, used)) static void branching(void)
{
	__asm__("test %rdi, %rdi\n"
		"jz 1f\n"
		"call getppid@PLT\n"
		"in_branching: ret\n"
		"1: xor %eax, %eax\n"
		"ret\n");
}

extern const char in_straight[], in_branching[], behind_straight[], behind_branching[];

/* A trial of @function, which calls the allocator before @inner, and was called before @caller. */
static struct sampling_trial *trial_of_code(void (*function)(void), const char *inner, const char *caller)
{
	struct sampling_trial *t;

	sites.all[INNER].addr = (taddr)(uintptr_t)inner;
	sites.all[INNER].function = (taddr)(uintptr_t)function;
	t = begin();
	t->callers[0] = (taddr)(uintptr_t)caller;
	return t;
}

static void a_function_without_a_branch(void **state)
{
	const struct sampling_trial *t = trial_of_code(straight, in_straight, behind_straight);

	(void)state;
	comes_out_often(11);
	assert_int_equal(decided(BEGIN), -1);
	assert_true(t->always && !t->checking);
	comes_out_often(1);
	assert_int_equal(decided(BEGIN), 1);
	assert_int_equal(sites.all[INNER].role, SAMPLING_INNER);
}

static void it_returns_something_else_at_last(void **state)
{
	(void)state;
	trial_of_code(straight, in_straight, behind_straight);
	comes_out_often(11);
	assert_int_equal(decided(BEGIN), -1);
	comes_out(TID, BLOCK + SIZE);
	assert_int_equal(decided(BEGIN), 0);
	assert_int_equal(sites.all[INNER].tries, 0);	/* it may be the result of another call */
}

/* A function that may return before it allocates; code that may be a function's cold part. */
static void its_code_does_not_show_it(void **state)
{
	const struct sampling_trial *t = trial_of_code(branching, in_branching, behind_branching);

	(void)state;
	sites.all[OUTER].addr = t->callers[0];
	comes_out_often(12);
	assert_int_equal(decided(BEGIN), -1);
	assert_true(!t->always && t->checking);
	trial_of_code(straight, in_straight, behind_branching);
	comes_out_often(12);
	assert_int_equal(decided(BEGIN), 0);
	assert_int_equal(sites.all[INNER].role, SAMPLING_TAKES);
}

/* --- does it always allocate before it returns? --- */

static struct sampling_trial *checking(void)
{
	struct sampling_trial *t = begin();

	for (int i = 0; i < 4; i++)
		comes_out(TID, BLOCK);
	assert_int_equal(decided(BEGIN), -1);
	assert_true(t->checking);
	sites.all[OUTER].number = 1;
	return t;
}

/* The thread was held at the caller until the trap at the inner site was planted. */
static void led_back(uint32_t tid)
{
	const struct sampling_last last = {
		.function = sites.all[INNER].function, .led_from = sites.all[OUTER].addr, .rsp = RSP,
		.lifts = { sites.all[INNER].passes, atomic_load(&keeper.shared->budget.closed),
			   atomic_load(&keeper.shared->counts.dropped) },
	};

	assert_int_equal(addrmap_put(&parents.last, tid, &last), 0);
}

static void returns_at(uint32_t tid, uint64_t what, uint64_t rsp, uint64_t after_ns)
{
	const struct record_hit hit = { .head = { .tid = tid, .time_ns = BEGIN + after_ns },
					.regs = { .rax = what, .rsp = rsp } };

	assert_int_equal(sampling_parents_trial_hit(&parents, OUTER, &hit), 0);
}

static void returns(uint32_t tid, uint64_t what)
{
	returns_at(tid, what, RSP, 0);
}

static void allocates(unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		led_back(TID);
		site_hit(sites.all[OUTER].addr);
		returns(TID, BLOCK);
	}
}

static void allocates_each_time(void **state)
{
	(void)state;
	checking();
	allocates(7);
	assert_int_equal(decided(BEGIN + SECOND), -1);
	allocates(1);
	assert_int_equal(decided(BEGIN + SECOND), 1);
	assert_int_equal(sites.all[INNER].role, SAMPLING_INNER);
	assert_true(targets.n == 2 && targets.all[1].home == home &&
		    targets.all[1].addr == sites.all[INNER].function - home->bias);
	assert_true(targets.all[1].level == 1 && targets.all[1].delta == 0);
	assert_int_equal(parents.nwrappers, 1);
	assert_int_equal(addrmap_count(&parents.last), 0);	/* nothing is left for the next trial */
}

/* A pool: it mostly returns what it has. */
static void returns_what_it_has(void **state)
{
	struct sampling_trial *t = checking();

	(void)state;
	allocates(6);
	led_back(TID);
	returns(TID, BLOCK);
	assert_true(t->fresh == 6 && t->stale == 1);
	assert_int_equal(decided(BEGIN + SECOND), -1);
	led_back(TID);
	returns(TID, BLOCK);
	assert_int_equal(decided(BEGIN + SECOND), 0);
	assert_int_equal(sites.all[INNER].tries, 4);
}

/* A thread that is first seen where it allocates does not show how often it does not. */
static void threads_that_were_not_led(void **state)
{
	struct sampling_trial *t = checking();

	(void)state;
	for (int i = 0; i < 20; i++) {
		site_hit(sites.all[OUTER].addr);
		returns(TID, BLOCK);
	}
	led_back(TID);
	site_hit(sites.all[OUTER].addr);
	site_hit(sites.all[OUTER].addr);	/* it was not seen as it returned between */
	returns(TID, BLOCK);
	assert_true(!t->fresh && !t->stale && !t->unclear);
}

/* Another thread may have lifted the trap by its hit; the budget was spent; a hit was lost. */
static void the_trap_may_have_been_lifted(void **state)
{
	struct sampling_trial *t = checking();

	(void)state;
	led_back(TID + 1);
	site_hit(0);
	returns(TID + 1, BLOCK);
	led_back(TID);
	atomic_store(&keeper.shared->budget.closed, 1);
	returns(TID, BLOCK);
	led_back(TID);
	atomic_store(&keeper.shared->counts.dropped, 1);
	returns(TID, BLOCK);
	assert_true(!t->fresh && !t->stale && t->unclear == 3);
}

/* Between two calls from here, the thread calls the function from elsewhere: what it gets there shows nothing. */
static void calls_from_elsewhere(void **state)
{
	struct sampling_trial *t = checking();

	(void)state;
	led_back(TID);
	site_hit(sites.all[OUTER].addr + 5);
	returns(TID, BLOCK);
	assert_true(!t->fresh && !t->stale && t->unclear == 1);
	led_back(TID);
	site_hit(sites.all[OUTER].addr + 5);
	site_hit(sites.all[OUTER].addr);
	returns(TID, BLOCK);
	assert_true(t->fresh == 1 && !t->stale && t->unclear == 1);
}

/* A function that keeps one of two equal strings: it has allocated, and returns the older one. */
static void returns_another_block_than_it_got(void **state)
{
	struct sampling_trial *t = checking();

	(void)state;
	allocates(7);
	led_back(TID);
	site_hit(sites.all[OUTER].addr);
	returns(TID, BLOCK + 2 * SIZE);
	assert_true(t->fresh == 7 && t->other == 1);
	assert_int_equal(decided(BEGIN + SECOND), -1);
	led_back(TID);
	site_hit(sites.all[OUTER].addr);
	returns(TID, BLOCK + 2 * SIZE);
	assert_int_equal(decided(BEGIN + SECOND), 0);
	assert_int_equal(sites.all[INNER].tries, 4);	/* for good */
}

/*
 * A function that calls itself is left by older calls, too. What was held in the newest one does not allocate
 * before these return.
 */
static void older_calls_return(void **state)
{
	struct sampling_trial *t = checking();

	(void)state;
	led_back(TID);
	returns_at(TID, BLOCK, RSP + 64, 0);
	assert_true(!t->stale && t->unclear == 1);
	led_back(TID);
	returns_at(TID, BLOCK, RSP - 64, 0);
	assert_true(t->stale == 1 && t->unclear == 1);
}

/*
 * Another function, which may have blocks of its own, ends with a jump to the wrapper: its callers show nothing,
 * and threads are held at the others only.
 */
static void callers_of_another_function(void **state)
{
	struct sampling_trial *t = begin();
	const uint32_t caller = OUTER;

	(void)state;
	sites.all[INNER_TOO].addr = jumps_there();
	sites.all[INNER_TOO].role = SAMPLING_TRIAL;
	sampling_sites_meter(&sites, &sites.all[INNER_TOO], 8, 1000);
	t->outer[0] = INNER_TOO;
	t->outer[1] = caller;
	t->nouter = 2;
	comes_out_often(4);
	assert_int_equal(decided(BEGIN), -1);
	assert_true(t->checking && t->nouter == 1 && t->outer[0] == caller);
	assert_int_equal(sites.all[INNER_TOO].period_ms, SAMPLING_RESTING_MS);
	t = begin();
	t->outer[0] = INNER_TOO;
	t->same = 4;
	assert_int_equal(decided(BEGIN), 0);
	assert_int_equal(sites.all[INNER].tries, 0);	/* another try may find others */
}

/* Never run: a call of a function of another file, through a stub. */
__attribute__((naked, noinline, used)) static void calls_another_file(void)
{
	__asm__("call getppid@PLT\n"
		"behind_the_call: ret\n");
}

extern const char behind_the_call[];

/* Where the stub leads is known: to the function on trial, or to another one. */
static void a_caller_in_another_file(void **state)
{
	struct sampling_trial *t;

	(void)state;
	sites.all[OUTER].addr = (taddr)(uintptr_t)behind_the_call;
	sites.all[INNER].function = (taddr)(uintptr_t)getpid;
	begin();
	comes_out_often(4);
	assert_int_equal(decided(BEGIN), 0);
	sites.all[INNER].function = (taddr)(uintptr_t)getppid;
	t = checking();
	led_back(TID);
	returns(TID, BLOCK);
	assert_true(t->stale == 1 && !t->unclear);
}

/* It returned unseen, and has got the same block again from a pool. */
static void a_block_that_comes_back(void **state)
{
	struct sampling_trial *t = checking();

	(void)state;
	led_back(TID);
	site_hit(sites.all[OUTER].addr);
	returns_at(TID, BLOCK, RSP, SECOND / 100);
	assert_true(!t->fresh && !t->stale && !t->unclear);
}

/* With two sites in the function, it may have allocated at the one without a trap. */
static void it_has_another_site(void **state)
{
	struct sampling_trial *t = checking();

	(void)state;
	sites.all[OUTER].function = sites.all[INNER].function;
	for (int i = 0; i < 13; i++) {
		led_back(TID);
		returns(TID, BLOCK);
	}
	assert_true(!t->stale && t->unclear == 13);
	allocates(13);
	assert_int_equal(decided(BEGIN + SECOND), -1);
	allocates(1);
	assert_int_equal(decided(BEGIN + SECOND), 1);
}

/* A caller whose trap is gone does not hold up the others. */
static void a_caller_without_a_trap(void **state)
{
	struct sampling_trial *t = checking();

	(void)state;
	t->outer[1] = INNER;	/* its role is another one by now */
	t->nouter = 2;
	t->holds = 1;
	sampling_parents_hold(&parents, BEGIN);
	assert_int_equal(keeper.shared->meters[0].hold, 0);
	sampling_parents_hold(&parents, BEGIN + SECOND);
	assert_int_equal(keeper.shared->meters[1].hold, 4);
}

/* Another trial with the same caller, which is being checked, too. */
static struct sampling_trial *second_trial(void)
{
	parents.trials[1] = (struct sampling_trial){
		.function = sites.all[INNER_TOO].function, .inner = INNER_TOO,
		.outer = { OUTER }, .nouter = 1,
		.checking = true, .until_ns = BEGIN + 60 * SECOND,
	};
	return &parents.trials[1];
}

/* A function may end with a jump to one of two: each gets the threads that are held for it. */
static void two_functions_with_the_same_caller(void **state)
{
	const struct record_hit hit = { .head = { .tid = TID, .time_ns = BEGIN, .flags = RECORD_HELD },
					.regs = { .rax = BLOCK } };

	(void)state;
	checking();
	second_trial();
	sampling_parents_hold(&parents, BEGIN);
	assert_int_equal(keeper.shared->meters[1].hold, 4);
	assert_int_equal(sampling_parents_trial_hit(&parents, OUTER, &hit), 0);
	assert_true(sites.all[INNER_TOO].quota == 8 && !sites.all[INNER].quota);
	sampling_parents_hold(&parents, BEGIN + SECOND);
	assert_int_equal(sampling_parents_trial_hit(&parents, OUTER, &hit), 0);
	assert_int_equal(sites.all[INNER].quota, 8);
}

/* The end of one trial does not end the rounds that the other needs. */
static void the_other_goes_on(void **state)
{
	(void)state;
	checking();
	sampling_sites_meter(&sites, &sites.all[OUTER], 8, 1000);
	second_trial()->stale = 2;
	assert_int_equal(decided(BEGIN), -1);
	assert_int_equal(parents.trials[1].function, 0);
	assert_true(sites.all[OUTER].quota == 8 && sites.all[OUTER].period_ms == 1000);
	assert_int_equal(decided(BEGIN + 61 * SECOND), 0);
	assert_int_equal(sites.all[OUTER].period_ms, SAMPLING_RESTING_MS);
}

int main(void)
{
#define parents_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		parents_test(several_direct_callers_are_worth_it),
		parents_test(callers_have_a_trap_before_a_thread_is_held),
		parents_test(what_a_hold_has_cost_is_paid_for_before_the_next),
		parents_test(a_hot_site_is_tried_once),
		parents_test(what_is_not_tried),
		parents_test(something_else_comes_out),
		parents_test(any_place_inside_of_it),
		parents_test(a_place_inside_of_it),
		parents_test(threads_that_were_not_held),
		parents_test(a_thread_that_returned_unseen),
		parents_test(a_thread_that_reaches_another_trap),
		parents_test(nobody_came),
		parents_test(no_caller_uses_the_result),
		parents_test(one_caller_does_not_use_the_result),
		parents_test(a_function_without_a_branch),
		parents_test(it_returns_something_else_at_last),
		parents_test(its_code_does_not_show_it),
		parents_test(allocates_each_time),
		parents_test(returns_what_it_has),
		parents_test(threads_that_were_not_led),
		parents_test(the_trap_may_have_been_lifted),
		parents_test(a_caller_without_a_trap),
		parents_test(calls_from_elsewhere),
		parents_test(returns_another_block_than_it_got),
		parents_test(it_has_another_site),
		parents_test(older_calls_return),
		parents_test(callers_of_another_function),
		parents_test(a_caller_in_another_file),
		parents_test(a_block_that_comes_back),
		parents_test(two_functions_with_the_same_caller),
		parents_test(the_other_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
