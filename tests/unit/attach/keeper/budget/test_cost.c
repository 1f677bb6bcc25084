/* SPDX-License-Identifier: MIT */
/*
 * cost: when a thread may be held, how much is reserved, how much is spare, and what is learned of
 * stop costs. What stops cost by the kernel's account is in tests/live/test_budget.py.
 */
#include "attach/keeper/budget/cost.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/keeper/loop.h"
#include "attach/keeper/state.h"

#define MS 1000000ull
#define PROMISE_NS (100 * MS)	/* 1 % of ten seconds */

static const struct stop_cost latency = { .wake_ns = 40000, .restart_ns = 20000, .cpu_ns = 10000 };
static struct keeper *k;

static void begin(uint32_t ppm)
{
	k->shared->budget_ppm = ppm;
	k->shared->hold_ns = 1000 * MS;
	cost_init(k);
	close(k->budget.cost.schedstat);
	/* not this machine's latencies, which are ten times as long on some machines */
	k->budget.cost.latency = latency;
	k->budget.cost.trap_stop_ns = latency.wake_ns + latency.restart_ns;
	k->budget.cost.most_burst_ns = 8 * k->budget.cost.trap_stop_ns;
}

static int setup(void **state)
{
	sigset_t chld;

	(void)state;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	k = calloc(1, sizeof(*k));
	assert_non_null(k);
	k->shared = calloc(1, sizeof(*k->shared));
	assert_non_null(k->shared);
	begin(10000);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(k->shared);
	free(k);
	return 0;
}

static void charge(uint64_t ns, enum cost_of what)
{
	cost_charge(k, keeper_clock_ns() - ns, COST_ALL, what);
}

static void be_full(void)
{
	k->budget.cost.bucket.level_ns = k->budget.cost.bucket.capacity_ns;
}

static uint32_t left_for_holds(void)
{
	uint32_t n = 0;

	while (cost_may_hold(k) && n < 100) {
		k->held++;
		n++;
	}
	k->held = 0;
	return n;
}

/* As many as could all last for their full time. */
static void holds_are_paid_for(void **state)
{
	(void)state;
	assert_int_equal(k->budget.cost.hold_ns, PROMISE_NS / 3 / COST_HOLDS);
	assert_in_range(left_for_holds(), 9, 11);
	charge(20 * MS, COST_HELD);
	assert_in_range(left_for_holds(), 3, 4);
	charge(9 * MS, COST_HELD);
	assert_in_range(left_for_holds(), 0, 1);
	assert_true(k->budget.cost.open);
	assert_in_range(atomic_load(&k->shared->budget.held_ns), 29 * MS, 30 * MS);
}

/* A pause of all threads: nine tenths of what the last ten seconds leave, divided by their number. */
static void how_long_a_pause_may_be(void **state)
{
	(void)state;
	k->threads.used = 3;
	assert_in_range(budget_pause_ns(k, 3), 29 * MS, 30 * MS);
	charge(50 * MS, COST_ROUND);
	assert_in_range(atomic_load(&k->shared->budget.room_ns), 44 * MS, 45 * MS);
	assert_in_range(budget_pause_ns(k, 3), 14 * MS, 15 * MS);
	k->threads.used = 300;
	assert_in_range(budget_pause_ns(k, 300), MS / 10, MS / 6);
	/* nothing is known of those that sleep: they count */
	assert_in_range(budget_pause_ns(k, 0), MS / 10, MS / 6);
	charge(60 * MS, COST_ATTACHED);
	assert_int_equal(budget_pause_ns(k, 0), 0);
	assert_int_equal(atomic_load(&k->shared->budget.room_ns), 0);
	k->paid = false;
	assert_true(budget_pause_ns(k, 0) == UINT64_MAX);
}

/* Stops at traps that have a part of the budget do not pay for pauses: they have left what these cost. */
static void a_pause_beside_a_share(void **state)
{
	struct token_bucket *bucket = &k->budget.cost.bucket;
	struct tracee t = { 0 };
	int64_t level;

	(void)state;
	budget_share(k, k->shared->budget_ppm / 2);
	level = token_bucket_level(bucket, keeper_clock_ns());
	t.stopped_ns = keeper_clock_ns() - 10 * MS;
	budget_paused(k, &t);
	assert_true(token_bucket_level(bucket, keeper_clock_ns()) >= level);
	assert_in_range(token_bucket_room(bucket, keeper_clock_ns()), PROMISE_NS - 12 * MS, PROMISE_NS - 10 * MS);
	/* without a share they do */
	budget_share(k, k->shared->budget_ppm);
	level = token_bucket_level(bucket, keeper_clock_ns());
	t.stopped_ns = keeper_clock_ns() - 10 * MS;
	budget_paused(k, &t);
	assert_true(token_bucket_level(bucket, keeper_clock_ns()) < level - 9 * (int64_t)MS);
}

/* Of a hundred threads that sleep, each would be awake for a fiftieth of the pause. */
static void a_pause_of_sleepers(void **state)
{
	const uint64_t before_ns = atomic_load(&k->shared->budget.spent_ns);
	struct tracee t = { .slept = true };

	(void)state;
	k->threads.used = 100;
	atomic_store(&k->shared->budget.asleep_ppm, 20000);
	assert_in_range(budget_pause_ns(k, 0), 44 * MS, 45 * MS);
	assert_in_range(budget_pause_ns(k, 1), 29 * MS, 31 * MS);
	assert_in_range(budget_pause_ns(k, 100), MS * 8 / 10, MS * 9 / 10 + 1);
	/* never less than one thread's */
	atomic_store(&k->shared->budget.asleep_ppm, 1);
	assert_in_range(budget_pause_ns(k, 0), 89 * MS, 90 * MS);
	cost_charge(k, keeper_clock_ns() - 50 * MS, 20000, COST_ATTACHED);
	assert_in_range(atomic_load(&k->shared->budget.spent_ns) - before_ns, MS, 2 * MS);
	/* as a pause ends: what slept when it began is charged for a part, and what did not, in full */
	atomic_store(&k->shared->budget.asleep_ppm, 20000);
	t.stopped_ns = keeper_clock_ns() - 50 * MS;
	budget_paused(k, &t);
	assert_in_range(atomic_load(&k->shared->budget.spent_ns) - before_ns, 2 * MS, 4 * MS);
	t.slept = false;
	t.stopped_ns = keeper_clock_ns() - 50 * MS;
	budget_paused(k, &t);
	assert_in_range(atomic_load(&k->shared->budget.spent_ns) - before_ns, 52 * MS, 55 * MS);
}

/* What has stopped in a pause has done so since that began, and not since threads were asked last. */
static void a_pause_counts_from_its_beginning(void **state)
{
	(void)state;
	k->began = (struct began){ 1, 2, 3 };
	k->now_ns = 5 * MS;
	budget_pause(k);
	assert_true(k->began.asked_ns == 5 * MS && k->began.found_ns == 5 * MS && k->began.likely_ns == 5 * MS);
}

/* Two hits are held in a row, if the budget allows each; what it does not allow is still asked for. */
static void as_many_hits_are_held_as_asked_for(void **state)
{
	_Atomic uint32_t *hold = &k->shared->meters[3].hold;

	(void)state;
	assert_false(budget_wants_hold(k, 3));
	atomic_store(hold, 2);
	assert_true(budget_wants_hold(k, 3));
	k->held = 100;
	assert_false(budget_wants_hold(k, 3));
	k->held = 0;
	assert_int_equal(atomic_load(hold), 1);
	assert_true(budget_wants_hold(k, 3));
	assert_false(budget_wants_hold(k, 3));
	assert_int_equal(atomic_load(hold), 0);
}

static void holds_are_as_short_as_the_promise_is_small(void **state)
{
	(void)state;
	begin(1000);
	assert_in_range(k->budget.cost.hold_ns, 200000, PROMISE_NS / 10 / COST_HOLDS / 3);
	assert_true(left_for_holds() >= 1);
	begin(100000);
	assert_int_equal(k->budget.cost.hold_ns, COST_HOLD_NS);
}

static void no_hold_when_little_is_left(void **state)
{
	(void)state;
	charge(28 * MS, COST_ROUND);	/* of the 33 in the token bucket */
	cost_quiet(k, 1);
	k->budget.cost.most_burst_ns = MS;
	assert_false(cost_round(k));
	assert_int_equal(left_for_holds(), 1);
	charge(2 * MS, COST_ROUND);
	assert_int_equal(left_for_holds(), 0);
}

/* Holds that are under way will be charged: so the budget closes sooner. */
static void holds_under_way_are_in_the_reserve(void **state)
{
	(void)state;
	charge(30 * MS, COST_ROUND);
	k->budget.cost.most_burst_ns = MS;
	assert_false(cost_round(k));
	k->held = 1;
	assert_true(cost_round(k));
	assert_false(k->budget.cost.open);
	k->held = 0;
	assert_int_equal(left_for_holds(), 0);
}

/* How long a hit is held to have its stack walked; a hit that must have an answer is held longer. */
static void how_long_one_waits(void **state)
{
	struct tracee wished = { .for_stack = true }, exec = { 0 };

	(void)state;
	assert_int_equal(cost_timeout_ns(k, &wished), k->budget.cost.hold_ns);
	assert_int_equal(cost_timeout_ns(k, &exec), k->shared->hold_ns);
	k->budget.cost.open = false;
	assert_int_equal(cost_timeout_ns(k, &wished), 0);
	assert_int_equal(cost_timeout_ns(k, &exec), k->shared->hold_ns);
}

/* Near the promise it closes with enough left for an extraordinarily long delay. */
static void a_margin_is_left(void **state)
{
	(void)state;
	/* so that the token bucket is not what closes it */
	k->budget.cost.bucket.level_ns = (int64_t)PROMISE_NS;
	k->budget.cost.bucket.capacity_ns = (int64_t)PROMISE_NS;
	k->budget.cost.most_burst_ns = MS;
	charge(88 * MS, COST_ROUND);
	k->budget.cost.most_burst_ns = MS;
	assert_false(cost_round(k));
	charge(3 * MS, COST_ROUND);
	assert_true(cost_round(k));
	assert_in_range(k->budget.cost.bucket.recent.sum_ns, 91 * MS, 93 * MS);
}

/* The next closing must leave room for the hits on traps that were not lifted yet. */
static void what_comes_after_closing_is_remembered(void **state)
{
	(void)state;
	charge(34 * MS, COST_ROUND);
	assert_true(cost_round(k));
	k->budget.cost.burst_ns = k->budget.cost.most_burst_ns = 0;
	for (int i = 0; i < 10; i++) {
		charge(MS, COST_ROUND);
		cost_quiet(k, 1);
	}
	charge(20 * MS, COST_ATTACHED);	/* closing would not have avoided it */
	k->budget.cost.burst_ns = 0;
	be_full();
	assert_true(cost_round(k));
	assert_true(k->budget.cost.open);
	assert_in_range(k->budget.cost.most_burst_ns, 10 * MS, 15 * MS);
}

static int64_t spare(bool late)
{
	struct round_queue_tokens tokens;

	cost_spare(k, late, &tokens);
	return tokens.spare_ns;
}

/* And up to 2 ms more, which were filled in since: that is 0.3 s. */
static void assert_near(int64_t ns, int64_t expected_ns)
{
	assert_true(ns >= expected_ns - 1 && ns < expected_ns + 2 * (int64_t)MS);
}

/*
 * Rounds that can wait get what the token bucket holds above the middle between the largest burst and its
 * capacity; those that are late get all but the largest burst.
 */
static void what_rounds_that_wait_may_have(void **state)
{
	const int64_t most = PROMISE_NS / 3, burst = 6 * MS;
	struct round_queue_tokens tokens;

	(void)state;
	k->budget.cost.most_burst_ns = burst;
	cost_spare(k, false, &tokens);
	assert_int_equal(tokens.most_ns, most - (most + burst) / 2);
	assert_int_equal(tokens.stop_ns, k->budget.cost.trap_stop_ns);
	assert_int_equal(tokens.ppm, 6666);	/* two thirds of the promise */
	assert_near(spare(false), most - (most + burst) / 2);
	assert_near(spare(true), most - burst);
	k->budget.cost.bucket.level_ns -= 20 * MS;
	assert_near(spare(false), most - (most + burst) / 2 - 20 * (int64_t)MS);
	assert_near(spare(true), most - burst - 20 * (int64_t)MS);
	/* a burst that fills any token bucket: late rounds get a quarter of it all the same */
	be_full();
	k->budget.cost.most_burst_ns = PROMISE_NS;
	cost_spare(k, true, &tokens);
	assert_int_equal(tokens.most_ns, most - most * 3 / 4);
}

/*
 * A full token bucket does not help if the last ten seconds have cost nearly what was promised: the same
 * margin must stay there, too.
 */
static void nor_more_than_is_missing_to_the_promise(void **state)
{
	const int64_t most = PROMISE_NS / 3, margin = PROMISE_NS / 10;
	int64_t room;

	(void)state;
	charge(80 * MS, COST_ROUND);
	k->budget.cost.most_burst_ns = MS;
	be_full();
	room = token_bucket_room(&k->budget.cost.bucket, keeper_clock_ns()) - margin - most / 8;
	assert_in_range(room, 1, 6 * MS);
	assert_int_equal(spare(false), room);
	assert_int_equal(spare(true), room);
	charge(10 * MS, COST_ROUND);
	k->budget.cost.most_burst_ns = MS;
	be_full();
	assert_true(spare(true) < 0);
}

static void half_seconds_of_silence(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		k->now_ns += 500 * MS;
		loop_watch_reader(k);
	}
}

/* A watch that has run for hours must not end because mmattach gets no processor for some seconds. */
static void closed_while_unread(void **state)
{
	(void)state;
	k->shared->silence_ns = 1500 * MS;
	k->now_ns = keeper_clock_ns();
	k->reader.unread = stall_timer_begin(k->now_ns);
	atomic_store(&k->shared->ring.head, 8);
	half_seconds_of_silence(3);
	assert_false(cost_round(k));
	half_seconds_of_silence(1);
	assert_true(cost_round(k));
	assert_false(k->budget.cost.open);
	half_seconds_of_silence(100);
	assert_false(cost_round(k));
	assert_false(k->budget.cost.open);
	assert_int_equal(k->leave_reason, 0);
	/* the reader reports that it is alive */
	atomic_store(&k->shared->alive, 1);
	half_seconds_of_silence(1);
	assert_true(cost_round(k));
	assert_true(k->budget.cost.open);
	half_seconds_of_silence(119);
	assert_int_equal(k->leave_reason, 0);
	half_seconds_of_silence(2);
	assert_int_equal(k->leave_reason, LEFT_SILENT);
}

/* Without a budget threads are stopped at each call: then the keeper cannot wait. */
static void unread_without_budget(void **state)
{
	(void)state;
	k->paid = false;
	k->shared->silence_ns = 1500 * MS;
	k->reader.unread = stall_timer_begin(k->now_ns);
	atomic_store(&k->shared->ring.head, 8);
	half_seconds_of_silence(3);
	assert_int_equal(k->leave_reason, 0);
	half_seconds_of_silence(1);
	assert_int_equal(k->leave_reason, LEFT_SILENT);
}

/* --- stop costs learned from threads of the target --- */

/* A child that runs for a moment whenever it is resumed, and stops. */
static struct tracee runner(void)
{
	struct tracee t = { .tid = fork() };

	if (t.tid)
		return t;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (;;) {
		uint64_t until = keeper_clock_ns() + MS / 5;

		while (keeper_clock_ns() < until)
			;
		raise(SIGSTOP);
	}
}

static void await_stop(const struct tracee *t)
{
	int status;

	assert_int_equal(waitpid(t->tid, &status, 0), t->tid);
	assert_true(WIFSTOPPED(status));
	/* and has left its processor */
	usleep(1000);
}

/* It has stopped, and wakes us @still_ns later than its run and wait times since it was resumed explain. */
static void wakes(struct tracee *t, const struct procfs_slices *before, uint64_t still_ns)
{
	struct cost *c = &k->budget.cost;
	struct procfs_slices now;

	assert_true(procfs_slices(t->tid, t->tid, &now));
	k->nqueue = 1;
	k->now_ns =
		c->learned.on_ns + now.ran_ns - before->ran_ns + now.waited_ns - before->waited_ns + still_ns;
	cost_woken(k, t->tid, k->now_ns - 100 * MS);
	t->seen_ns = k->now_ns;
}

enum otherwise {
	AS_IT_SHOULD_BE,
	ANOTHER_STANDS,
	ANOTHER_WOKE_US,
	SEEN_LATER,
	AWAKE_ALREADY,
	NOT_LET_GO,
};

/*
 * It is hit, resumed, and hit again after a single slice, with 4 ms in between that it neither ran nor
 * waited. Returns what is then charged for a stop.
 */
static uint64_t learned(struct tracee *t, enum otherwise what)
{
	struct procfs_slices before = { 0 }, after = { 0 };

	/* others may get its processor meanwhile: then there is nothing to compare */
	for (int i = 0; i < 200 && after.n != before.n + 1; i++) {
		struct cost *c = &k->budget.cost;

		c->latency = latency;
		c->latency.still_ns = 2 * MS;
		stop_cost_learn_begin(&c->learned, &c->latency);
		c->learned.skipped = 100;
		k->target = t->tid;
		k->nqueue = 1;
		cost_hit(k, t);
		assert_true(procfs_slices(t->tid, t->tid, &before));
		if (what != NOT_LET_GO)
			cost_resumed(k, t->tid);
		assert_int_equal(ptrace(PTRACE_CONT, t->tid, NULL, NULL), 0);
		await_stop(t);
		wakes(t, &before, 4 * MS);
		assert_true(procfs_slices(t->tid, t->tid, &after));
		if (what == ANOTHER_STANDS)
			k->nqueue = 2;
		if (what == ANOTHER_WOKE_US)
			c->woken_by = 1;
		if (what == SEEN_LATER)
			t->seen_ns++;
		if (what == AWAKE_ALREADY)
			cost_woken(k, t->tid, k->now_ns - latency.wake_ns + 1);
		cost_hit(k, t);
	}
	assert_int_equal(after.n, before.n + 1);
	return k->budget.cost.latency.wake_ns + k->budget.cost.latency.restart_ns;
}

static void a_stop_costs_what_threads_show(void **state)
{
	struct tracee t = runner();
	uint64_t all[6];

	(void)state;
	await_stop(&t);
	for (int i = 0; i < 6; i++)
		all[i] = learned(&t, (enum otherwise)i);
	kill(t.tid, SIGKILL);
	waitpid(t.tid, NULL, 0);
	assert_true(all[AS_IT_SHOULD_BE] > latency.wake_ns + latency.restart_ns);
	for (int i = 1; i < 6; i++)
		assert_int_equal(all[i], latency.wake_ns + latency.restart_ns);
}

/*
 * The moment at which a thread was stopped, as charged, follows from what was learned; whether the keeper
 * slept follows from what the child has shown, or the learning would choose its own samples.
 */
static void what_is_learned_does_not_choose_what_is_learned_from(void **state)
{
	struct cost *c = &k->budget.cost;

	(void)state;
	stop_cost_learn_begin(&c->learned, &latency);
	c->latency.wake_ns = 4 * latency.wake_ns;
	k->now_ns = keeper_clock_ns();
	k->began.asked_ns = k->now_ns - 10 * MS;
	cost_woken(k, 7, k->now_ns - 2 * latency.wake_ns);
	assert_int_equal(c->awake_ns, k->now_ns);
	assert_int_equal(k->began.likely_ns, k->now_ns - 4 * latency.wake_ns);
	assert_int_equal(k->began.found_ns, k->now_ns - 10 * MS);
}

/* It is measured on a child; afterwards our affinity is as before. */
static void measuring_leaves_nothing(void **state)
{
	cpu_set_t before, after;
	struct stop_cost l;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	stop_cost_calibrate(&l);
	assert_true(l.wake_ns > 0 && l.restart_ns > 0 && l.still_ns <= l.wake_ns + l.restart_ns);
	assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
	assert_true(CPU_EQUAL(&before, &after));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Observes the first thread while that measures. */
struct look {
	pid_t tid;
	_Atomic bool over, parted;
};

static int note_child(void *list, pid_t child)
{
	*(pid_t *)list = child;
	return 0;
}

static void *look_on(void *arg)
{
	struct look *l = arg;
	cpu_set_t ours, childs, both;

	while (!l->over) {
		pid_t child = 0;

		if (procfs_each_child(getpid(), l->tid, note_child, &child) < 0 || !child ||
		    sched_getaffinity(child, sizeof(childs), &childs) < 0 ||
		    sched_getaffinity(l->tid, sizeof(ours), &ours) < 0)
			continue;
		CPU_AND(&both, &ours, &childs);
		if (CPU_COUNT(&ours) == 1 && CPU_COUNT(&both) == 0)
			l->parted = true;
	}
	return NULL;
}

/* During a measurement, the child and we are on different processors. */
static void measuring_keeps_the_child_away(void **state)
{
	struct look look = { .tid = getpid() };
	cpu_set_t mine;
	pthread_t thread;
	struct stop_cost l;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(mine), &mine), 0);
	assert_int_equal(pthread_create(&thread, NULL, look_on, &look), 0);
	for (int i = 0; i < 20 && !look.parted; i++)
		stop_cost_calibrate(&l);
	look.over = true;
	pthread_join(thread, NULL);
	assert_true(look.parted || CPU_COUNT(&mine) == 1);
}

int main(void)
{
#define budget_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		budget_test(how_long_a_pause_may_be),
		budget_test(a_pause_beside_a_share),
		budget_test(a_pause_of_sleepers),
		budget_test(a_pause_counts_from_its_beginning),
		budget_test(holds_are_paid_for),
		budget_test(as_many_hits_are_held_as_asked_for),
		budget_test(holds_are_as_short_as_the_promise_is_small),
		budget_test(no_hold_when_little_is_left),
		budget_test(holds_under_way_are_in_the_reserve),
		budget_test(how_long_one_waits),
		budget_test(a_margin_is_left),
		budget_test(what_comes_after_closing_is_remembered),
		budget_test(what_rounds_that_wait_may_have),
		budget_test(nor_more_than_is_missing_to_the_promise),
		budget_test(closed_while_unread),
		budget_test(unread_without_budget),
		budget_test(a_stop_costs_what_threads_show),
		budget_test(what_is_learned_does_not_choose_what_is_learned_from),
		budget_test(measuring_leaves_nothing),
		budget_test(measuring_keeps_the_child_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
