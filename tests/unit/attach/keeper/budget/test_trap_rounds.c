/* SPDX-License-Identifier: MIT */
/*
 * trap_rounds: which traps are planted, and when, as the budget closes and opens. The test sets the clock of
 * the rounds; the code is a page of its own.
 */
#include "attach/keeper/budget/trap_rounds.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/keeper/budget/exposure_spans.h"
#include "attach/keeper/state.h"

#define MS 1000000ull
#define PAGE 4096u
#define INT3 0xcc
#define NOP 0x90
#define SITES 64u
#define HOT 48u			/* the first HOT sites have a quota */
#define PERIOD_MS 1000
#define AT_ONCE 16u		/* traps planted in one round of the loop, at most */
#define LOOKS (2 * 16 * MS)	/* the round queue is looked at this often: so much later, at most */

static struct keeper *k;
static uint8_t *page;

static void *room(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void be_rich(bool rich)
{
	struct token_bucket *s = &k->budget.cost.bucket;

	s->level_ns = rich ? s->capacity_ns : -s->capacity_ns;
}

static void know(uint32_t i)
{
	struct site *s = &k->shared->sites[i];

	*s = (struct site){
		.addr = (taddr)(uintptr_t)page + 32 * i, .nbytes = SITE_BYTES,
		.emu = { .op = EMU_NOP, .len = 1 },
	};
	memset(s->bytes, NOP, SITE_BYTES);
	k->shared->meters[i].period_ms = PERIOD_MS;
	k->shared->meters[i].quota = i < HOT ? 4 : 0;
	assert_int_equal(trap_rounds_plant(k, i), 0);
}

static int setup(void **state)
{
	(void)state;
	k = room(sizeof(*k));
	k->shared = room(sizeof(*k->shared));
	page = room(PAGE);
	memset(page, NOP, PAGE);
	assert_int_equal(mprotect(page, PAGE, PROT_READ | PROT_EXEC), 0);
	k->mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	assert_true(k->mem >= 0);
	k->now_ns = keeper_clock_ns();
	k->paid = k->budget.cost.open = true;
	k->budget.cost.schedstat = -1;
	token_bucket_init(&k->budget.cost.bucket, 10000, k->now_ns);
	for (uint32_t i = 0; i < SITES; i++)
		know(i);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(k->mem);
	munmap(page, PAGE);
	munmap(k->shared, sizeof(*k->shared));
	munmap(k, sizeof(*k));
	return 0;
}

static uint32_t learned(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SITES; i++) {
		bool is = k->budget.rounds.all[i].state == ROUND_PLANTED;

		assert_int_equal(page[32 * i], is ? INT3 : NOP);
		n += is;
	}
	return n;
}

static void go_on_for(uint64_t ns)
{
	for (uint64_t end = k->now_ns + ns; k->now_ns < end; k->now_ns += MS) {
		uint32_t before = learned();

		trap_rounds_run(k);
		assert_true(learned() <= before + AT_ONCE);
	}
}

/* The token bucket was empty for so long that the round of every site is due: all are shut. */
static void close_all(void)
{
	be_rich(false);
	trap_rounds_run(k);
	assert_false(k->budget.cost.open);
	go_on_for(2 * PERIOD_MS * MS);
	assert_int_equal(learned(), 0);
	for (uint32_t i = 0; i < SITES; i++)
		assert_int_equal(k->budget.rounds.all[i].state, ROUND_SHUT);
}

static void a_new_site_comes_within_a_period(void **state)
{
	(void)state;
	assert_int_equal(learned(), 0);
	go_on_for(PERIOD_MS * MS / 2);
	assert_in_range(learned(), SITES / 4, SITES * 3 / 4);
	go_on_for(PERIOD_MS * MS / 2 + LOOKS);
	assert_int_equal(learned(), SITES);
}

static void none_planted_when_it_is_closed(void **state)
{
	(void)state;
	go_on_for(PERIOD_MS * MS + LOOKS);
	assert_int_equal(learned(), SITES);
	be_rich(false);
	trap_rounds_run(k);
	go_on_for(LOOKS + SITES / AT_ONCE * MS);
	assert_int_equal(learned(), 0);
	close_all();
}

/* Sites that may be hot do not begin all at once; the others begin nearly without delay. */
static void all_begin_soon_after_it_opens(void **state)
{
	uint32_t early = 0;

	(void)state;
	close_all();
	be_rich(true);
	trap_rounds_run(k);
	assert_true(k->budget.cost.open);
	for (uint32_t i = 0; i < SITES; i++) {
		uint64_t in_ns = k->budget.rounds.due.at_ns[i] - k->now_ns;

		assert_true(time_heap_has(&k->budget.rounds.due, i));
		assert_true(in_ns < (i < HOT ? 400 * MS : 10 * MS));
		early += i < HOT && in_ns < 100 * MS;
	}
	assert_in_range(early, HOT / 8, HOT / 2);
	go_on_for(10 * MS + LOOKS);
	assert_in_range(learned(), SITES - HOT, SITES - HOT / 2);
	go_on_for(390 * MS);
	assert_int_equal(learned(), SITES);
}

/* The site rests for a day; its period becomes a second again while all are shut. */
static void a_shut_site_is_brought_forward(void **state)
{
	const struct trap_round *m = &k->budget.rounds.all[0];

	(void)state;
	k->shared->meters[0].period_ms = 86400 * 1000;
	go_on_for(2 * PERIOD_MS * MS);
	assert_true(m->round_end_ns > k->now_ns + 3600ull * 1000 * MS);
	be_rich(false);
	go_on_for(100 * MS);
	assert_int_equal(m->state, ROUND_SHUT);
	k->shared->meters[0].period_ms = PERIOD_MS;
	assert_int_equal(trap_rounds_plant(k, 0), 0);
	assert_true(m->round_end_ns <= k->now_ns + PERIOD_MS * MS);
	be_rich(true);
	go_on_for(400 * MS + LOOKS);
	assert_int_equal(m->state, ROUND_PLANTED);
	go_on_for(2 * PERIOD_MS * MS);
	assert_true(m->round_end_ns < k->now_ns + 2 * PERIOD_MS * MS);
}

/*
 * Modules are loaded or unloaded: the budget opens, but no round begins until the modules have been looked
 * at.
 */
static void not_while_modules_move(void **state)
{
	(void)state;
	close_all();
	trap_rounds_modules(k);
	be_rich(true);
	go_on_for(500 * MS);
	assert_true(k->budget.cost.open);
	assert_int_equal(learned(), 0);
	atomic_store(&k->shared->modules.seen, atomic_load(&k->shared->modules.reported));
	go_on_for(400 * MS + LOOKS);
	assert_int_equal(learned(), SITES);
}

/* A thread is about to reach the site: its trap is planted at once, whichever site is due, unless none may be. */
static void a_round_begins_now(void **state)
{
	struct trap_round *m = &k->budget.rounds.all[0];

	(void)state;
	assert_int_equal(learned(), 0);
	m->hot = true;
	assert_true(trap_rounds_begin_now(k, 0));
	assert_int_equal(learned(), 1);
	assert_int_equal(m->state, ROUND_PLANTED);
	assert_false(m->hot);
	/* it is planted already: another round begins */
	m->round_end_ns = k->now_ns;
	assert_true(trap_rounds_begin_now(k, 0));
	assert_int_equal(learned(), 1);
	assert_true(m->round_end_ns > k->now_ns);
	go_on_for(2 * PERIOD_MS * MS);
	close_all();
	assert_false(trap_rounds_begin_now(k, 0));
	assert_int_equal(learned(), 0);
}

static void not_of_a_site_without_rounds(void **state)
{
	(void)state;
	k->budget.rounds.all[0].state = ROUND_NONE;
	assert_false(trap_rounds_begin_now(k, 0));
	assert_int_equal(page[0], NOP);
}

/*
 * The processor time of a running thread is known to a tick of the scheduler: what it seems to have worked until the
 * first hit is no more than can have been.
 */
static void no_more_work_than_there_was_time(void **state)
{
	struct quiet_clock *c = &k->budget.cost.quiet;
	struct trap_round *m = &k->budget.rounds.all[0];

	(void)state;
	assert_true(trap_rounds_begin_now(k, 0));
	m->began_quiet_ns = c->sum_ns;
	m->began_work_ns = c->work_ns;
	c->sum_ns += MS;
	c->work_ns += 10 * MS;
	exposure_spans_hit(k, 0);
	assert_int_equal(m->hits, 1);
	assert_int_equal(m->began_work_ns, c->work_ns - MS);
	/* only of the first */
	m->began_work_ns = 0;
	exposure_spans_hit(k, 0);
	assert_int_equal(m->hits, 2);
	assert_int_equal(m->began_work_ns, 0);
}

/* Four hits within a moment: the site is hot, if its quota ended the interval. */
static void only_a_full_interval_shows_what_is_hot(void **state)
{
	struct trap_round *m = &k->budget.rounds.all[0];

	(void)state;
	assert_true(trap_rounds_begin_now(k, 0));
	for (int full = 0; full < 2; full++) {
		exposure_spans_begin(k, 0);
		for (int i = 0; i < 4; i++)
			exposure_spans_hit(k, 0);
		exposure_spans_end(k, 0, full);
		assert_int_equal(m->full, full);
		assert_int_equal(m->hot, full);
	}
}

int main(void)
{
#define rounds_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		rounds_test(a_new_site_comes_within_a_period),
		rounds_test(none_planted_when_it_is_closed),
		rounds_test(all_begin_soon_after_it_opens),
		rounds_test(a_shut_site_is_brought_forward),
		rounds_test(not_while_modules_move),
		rounds_test(a_round_begins_now),
		rounds_test(not_of_a_site_without_rounds),
		rounds_test(no_more_work_than_there_was_time),
		rounds_test(only_a_full_interval_shows_what_is_hot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
