/* SPDX-License-Identifier: MIT */
/*
 * sampling_sites: which calls get a trap, in which role, and what is counted there when the role or the trap
 * changes. The process whose code is searched is this one; nothing is planted.
 */
#include "attach/sampling/sampling_sites.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct sampling_targets targets;
static struct sampling_sites sites;
static struct planting planting;
static struct rule rule;
static struct link keeper;
static struct module *home;

/* What is an allocator here, and returns the address behind the call. */
__attribute__((noipa)) static taddr allocates(void)
{
	return (taddr)(uintptr_t)__builtin_return_address(0);
}

/* A wrapper: it is a target itself. */
__attribute__((noipa)) static taddr wraps(void)
{
	taddr at = allocates();

	__asm__ volatile("");
	return at;
}

__attribute__((noipa)) static taddr calls(void)
{
	taddr at = allocates();

	__asm__ volatile("");
	return at;
}

static taddr file_address(taddr addr)
{
	return addr - home->bias;
}

static int setup(void **state)
{
	(void)state;
	keeper = (struct link){ .shared = calloc(1, sizeof(*keeper.shared)) };
	assert_non_null(keeper.shared);
	planting = (struct planting){ .link = &keeper, .rules = &rule, .nrules = 1 };
	assert_int_equal(decoder_new(&planting.decoder), 0);
	assert_int_equal(modules_new(getpid(), &planting.modules), 0);
	home = modules_find(planting.modules, (taddr)(uintptr_t)allocates);
	assert_true(home && home->img);
	memset(&targets, 0, sizeof(targets));
	targets.planting = &planting;
	targets.n = 2;
	targets.all[0] = (struct sampling_target){ .home = home,
						   .addr = file_address((taddr)(uintptr_t)allocates) };
	targets.all[1] = (struct sampling_target){ .home = home, .addr = file_address((taddr)(uintptr_t)wraps),
						   .level = 1 };
	sampling_sites_init(&sites, &planting, &targets);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sampling_sites_fini(&sites);
	planting_fini(&planting);
	modules_free(planting.modules);
	free(keeper.shared);
	return 0;
}

static struct sampling_site *at(taddr addr)
{
	const uint32_t i = sampling_sites_find_at(&sites, addr);

	assert_true(i != SAMPLING_NONE);
	return &sites.all[i];
}

static void find(void)
{
	assert_int_equal(sampling_sites_find(&sites, home, 0), 0);
}

static struct site_stats *meter(const struct sampling_site *site)
{
	return &keeper.shared->meters[site->number];
}

/* A call inside a target is a wrapper's. */
static void each_call_has_its_role(void **state)
{
	(void)state;
	find();
	assert_int_equal(at(calls())->role, SAMPLING_TAKES);
	assert_int_equal(at(calls())->function, (taddr)(uintptr_t)calls);
	assert_int_equal(at(wraps())->role, SAMPLING_INNER);
	assert_false(sampling_sites_is_exit(at(wraps())));
	assert_true(sampling_sites_tracks(at(calls())));
	assert_false(sampling_sites_tracks(at(wraps())));
	at(wraps())->unknown = 1;
	assert_true(sampling_sites_tracks(at(wraps())));
	assert_int_equal(meter(at(calls()))->quota, SAMPLING_QUOTA);
	assert_int_equal(meter(at(calls()))->period_ms, SAMPLING_PERIOD_MS);
	assert_int_equal(meter(at(wraps()))->quota, 1);
	assert_int_equal(meter(at(wraps()))->period_ms, SAMPLING_INNER_MS);
	assert_ptr_equal(sampling_sites_at(&sites, at(calls())->number), at(calls()));
}

/* Some numbers are kept for callers that are found later. */
static void when_there_are_few_numbers_left(void **state)
{
	uint32_t i;

	(void)state;
	keeper.nsites = SHARED_SITES - SAMPLING_SPARE;
	find();
	assert_true(sites.n > 1 && sites.unfitting == sites.n);
	assert_int_equal(at(calls())->number, SAMPLING_NONE);
	/* with one more there is room */
	keeper.nsites--;
	find();
	assert_true(at(calls())->number != SAMPLING_NONE);
	assert_int_equal(sites.unfitting, sites.n);
	keeper.nsites++;
	/* a trial may take one of those that are kept */
	sampling_sites_gone(&sites, at(calls())->number);
	assert_int_equal(sampling_sites_try(&sites, calls(), 0, &i), 0);
	assert_ptr_equal(&sites.all[i], at(calls()));
	assert_int_equal(at(calls())->role, SAMPLING_TRIAL);
	assert_true(at(calls())->number != SAMPLING_NONE);
}

static void where_no_trap_can_be(void **state)
{
	uint32_t i;

	(void)state;
	assert_int_equal(sampling_sites_try(&sites, 16, 0, &i), -ENOENT);
	home->gone = true;
	assert_int_equal(sampling_sites_try(&sites, calls(), 0, &i), -ENOENT);
	home->gone = false;
	assert_int_equal(sites.n, 0);
	assert_int_equal(sampling_sites_find_at(&sites, calls()), SAMPLING_NONE);
}

/* A site that is found again stays as it is; one whose trap is gone with its module gets another. */
static void a_site_that_is_found_again(void **state)
{
	struct site_stats_sums sums;
	struct sampling_site *site;
	uint32_t number;
	size_t n;

	(void)state;
	find();
	n = sites.n;
	site = at(calls());
	number = site->number;
	site->records = 5;
	find();
	assert_true(sites.n == n && site->number == number && site->records == 5);
	meter(site)->hits = 7;
	sampling_sites_gone(&sites, number);
	assert_int_equal(site->number, SAMPLING_NONE);
	assert_null(sampling_sites_at(&sites, number));
	sampling_sites_sums(&sites, site, &sums);
	assert_int_equal(sums.hits, 7);
	site_stats_clear(&keeper.shared->meters[number]);
	find();
	assert_true(sites.n == n && site->number != SAMPLING_NONE && site->role == SAMPLING_TAKES);
	assert_ptr_equal(sampling_sites_at(&sites, site->number), site);
	meter(site)->hits = 2;
	sampling_sites_sums(&sites, site, &sums);
	assert_int_equal(sums.hits, 9);
}

/* What was seen on trial does not count: a trial's trap sees only threads that were held. */
static void a_site_that_was_on_trial_begins_anew(void **state)
{
	struct site_stats_sums sums;
	struct sampling_site *site;
	uint32_t i;

	(void)state;
	assert_int_equal(sampling_sites_try(&sites, calls(), 0, &i), 0);
	site = &sites.all[i];
	assert_true(site->role == SAMPLING_TRIAL && site->ahead);
	assert_int_equal(meter(site)->period_ms, SAMPLING_RESTING_MS);
	/* again on trial: no change */
	assert_int_equal(sampling_sites_try(&sites, calls(), 0, &i), 0);
	assert_int_equal(sites.n, 1);
	meter(site)->hits = 7;
	site->records = 7;
	find();
	site = at(calls());
	assert_int_equal(site->role, SAMPLING_TAKES);
	assert_int_equal(site->records, 0);
	assert_int_equal(meter(site)->quota, SAMPLING_QUOTA);
	assert_int_equal(meter(site)->period_ms, SAMPLING_PERIOD_MS);
	assert_false(meter(site)->ahead);
	sampling_sites_sums(&sites, site, &sums);
	assert_int_equal(sums.hits, 0);
}

/* All calls in a function that turns out to be a wrapper are its inner ones. */
static void a_function_that_becomes_a_wrapper(void **state)
{
	struct site_stats_sums sums;

	(void)state;
	find();
	meter(at(calls()))->hits = 3;
	sampling_sites_inner(&sites, (taddr)(uintptr_t)calls);
	assert_int_equal(at(calls())->role, SAMPLING_INNER);
	assert_int_equal(meter(at(calls()))->quota, 1);
	sampling_sites_sums(&sites, at(calls()), &sums);
	assert_int_equal(sums.hits, 0);
	/* again: nothing more */
	meter(at(calls()))->hits = 4;
	sampling_sites_inner(&sites, (taddr)(uintptr_t)calls);
	sampling_sites_sums(&sites, at(calls()), &sums);
	assert_int_equal(sums.hits, 1);
}

/* Where malloc itself returns many hits follow one another. */
static void an_exit_has_windows(void **state)
{
	struct sampling_site exit = { .role = SAMPLING_INNER, .number = 3 };

	(void)state;
	assert_true(sampling_sites_is_exit(&exit));
	sampling_sites_begin(&sites, &exit);
	assert_int_equal(meter(&exit)->quota, SAMPLING_WINDOW);
	assert_int_equal(meter(&exit)->period_ms, SAMPLING_WINDOW_MS);
	exit.role = SAMPLING_TAKES;
	assert_false(sampling_sites_is_exit(&exit));
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH(each_call_has_its_role),
		WITH(when_there_are_few_numbers_left),
		WITH(where_no_trap_can_be),
		WITH(a_site_that_is_found_again),
		WITH(a_site_that_was_on_trial_begins_anew),
		WITH(a_function_that_becomes_a_wrapper),
		WITH(an_exit_has_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
