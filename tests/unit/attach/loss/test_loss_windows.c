/* SPDX-License-Identifier: MIT */
/* When the kernel's probes are made, and for how long (attach/loss/loss_windows.h). */
#include "attach/loss/loss_windows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define MS 1000000ull
#define S 1000000000ull
#define PPM 10000u		/* 1 %: 100 ms in ten seconds */
#define START (5 * S + 1)
#define MOST 200000

/* A process that makes calls of @cost ns each, @calls a second, in the first @part of each @period. */
struct process {
	double calls, cost, part;
	uint64_t period_ns;
};

static struct {
	uint64_t at[MOST], ns[MOST];
	size_t n;
	uint64_t first_call[MOST];	/* of each window: when it began, in the period */
	size_t windows;
} spent;

static bool is_busy(const struct process *p, uint64_t now_ns)
{
	return now_ns % p->period_ns < (uint64_t)((double)p->period_ns * p->part);
}

static void spend(uint64_t ns, uint64_t now_ns)
{
	if (!ns)
		return;
	assert_true(spent.n < MOST);
	spent.at[spent.n] = now_ns;
	spent.ns[spent.n++] = ns;
}

static uint64_t worst_ten(void)
{
	uint64_t sum = 0, worst = 0;
	size_t first = 0;

	for (size_t i = 0; i < spent.n; i++) {
		sum += spent.ns[i];
		while (spent.at[first] + 10 * S <= spent.at[i])
			sum -= spent.ns[first++];
		worst = sum > worst ? sum : worst;
	}
	return worst;
}

/* Step by half a millisecond. Its CPU time is that in which it is busy. */
static void run(const struct process *p, uint64_t seconds, struct loss_windows *w)
{
	struct loss_clocks now = { START, 7 * S };
	uint64_t cost = 0;

	spent.n = spent.windows = 0;
	loss_windows_init(w, PPM, &now);
	for (; now.now_ns < START + seconds * S; now.now_ns += MS / 2) {
		now.work_ns += is_busy(p, now.now_ns) ? MS / 2 : 0;
		if (w->open && is_busy(p, now.now_ns))
			cost += (uint64_t)(p->calls * p->cost * 0.0005);
		if (!w->open && loss_windows_begins(w, &now, 100 * MS)) {
			spent.first_call[spent.windows++] = now.now_ns % p->period_ns;
			loss_windows_open(w, now.now_ns);
			cost = 0;
		} else if (w->open && now.now_ns >= w->next_ns) {
			spend(cost, now.now_ns);
			if (loss_windows_spend(w, now.now_ns, cost))
				loss_windows_close(w, now.now_ns, 0);
			cost = 0;
		}
	}
}

/* 200,000 calls a second of 1 us each: nothing but windows of some milliseconds can be paid for. */
static void a_busy_process(void **state)
{
	const struct process p = { 200000, 1000, 1, S };
	struct loss_windows w;

	(void)state;
	run(&p, 120, &w);
	assert_true(worst_ten() <= 100 * MS);
	assert_in_range(w.n, 8, 40);
	assert_in_range(w.lasted_ns, 1500 * MS, 4500 * MS);
}

/* 100 calls a second: a window lasts ten seconds, and the next one begins soon after that. */
static void a_quiet_process(void **state)
{
	const struct process p = { 100, 1000, 1, S };
	struct loss_windows w;

	(void)state;
	run(&p, 60, &w);
	assert_in_range(w.n, 4, 6);
	assert_true(w.lasted_ns >= 30 * S);
}

/*
 * Bursts of a tenth of a second every three seconds. A window that began at any moment would be there before nine of ten
 * bursts, and end at their beginning.
 */
static void bursts_are_seen_in_their_middle(void **state)
{
	const struct process p = { 600000, 1000, 0.033, 3 * S };
	struct loss_windows w;
	size_t in_bursts = 0;

	(void)state;
	run(&p, 600, &w);
	assert_true(worst_ten() <= 100 * MS);
	for (size_t i = 0; i < spent.windows; i++)
		in_bursts += spent.first_call[i] > 5 * MS && spent.first_call[i] < 110 * MS;
	assert_true(spent.windows > 30 && in_bursts > spent.windows / 2);
}

/* What is left of the budget is needed by others, or used up. */
static void only_where_there_is_room(void **state)
{
	const struct loss_clocks now = { START + 10 * S, 7 * S };
	struct loss_windows w;

	(void)state;
	loss_windows_init(&w, PPM, &(struct loss_clocks){ START, 7 * S });
	assert_false(loss_windows_begins(&w, &now, 15 * MS));
	assert_true(w.next_ns > now.now_ns && !w.ready_ns);
	/* of 100 ms others leave 60: a quarter of that is kept, and so 45 are for the window */
	w.next_ns = 0;
	(void)loss_windows_begins(&w, &now, 60 * MS);
	assert_true(w.ready_ns);
	loss_windows_open(&w, now.now_ns);
	assert_false(loss_windows_spend(&w, now.now_ns + S, 30 * MS));
	assert_false(loss_windows_spend(&w, now.now_ns + 2 * S, 14 * MS));
	assert_true(loss_windows_spend(&w, now.now_ns + 3 * S, 2 * MS));
}

/* Until the probes are out, a part more may be spent than a window uses up. */
static void an_overdraft(void **state)
{
	const struct loss_clocks now = { START, 0 };
	struct loss_windows w;

	(void)state;
	loss_windows_init(&w, PPM, &now);
	loss_windows_open(&w, START);
	assert_true(loss_windows_spend(&w, START + S, 76 * MS));
	assert_false(loss_windows_overdraws(&w, START + S + MS, 10 * MS));
	assert_true(loss_windows_overdraws(&w, START + S + 2 * MS, 10 * MS));
}

/* What it costs until the process is copied is kept back: at the present rate, for as long as the last copy took. */
static void what_comes_after_it(void **state)
{
	const struct loss_clocks now = { START, 0 };
	struct loss_windows w;

	(void)state;
	loss_windows_init(&w, PPM, &now);
	loss_windows_open(&w, START);
	/* 60 ms of 75 in as long a time: 20 ms more would be too much; at a tenth of that rate they are not */
	assert_true(loss_windows_spend(&w, START + 60 * MS, 60 * MS));
	loss_windows_close(&w, START + 65 * MS, 5 * MS);
	assert_int_equal(w.copying_ns, 5 * MS);
	loss_windows_open(&w, START + 11 * S);
	assert_false(loss_windows_spend(&w, START + 11 * S + 60 * MS, 60 * MS));
	assert_true(loss_windows_spend(&w, START + 11 * S + 71 * MS, 11 * MS));
	loss_windows_close(&w, START + 11 * S + 91 * MS, 0);
	loss_windows_open(&w, START + 22 * S);
	assert_false(loss_windows_spend(&w, START + 22 * S + 600 * MS, 60 * MS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_process),
		cmocka_unit_test(a_quiet_process),
		cmocka_unit_test(bursts_are_seen_in_their_middle),
		cmocka_unit_test(only_where_there_is_room),
		cmocka_unit_test(an_overdraft),
		cmocka_unit_test(what_comes_after_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
