/* SPDX-License-Identifier: MIT */
/*
 * merge: ledgers of whatever facts are merged without harm, their totals are the sums, and the result is the
 * same in every order; lines of processes without a trace. (Traces, and the command: tests/test_merge.py.)
 */
#include "report/merge/merge.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fdio.h"
#include "report/account.h"
#include "report/json/out_json.h"
#include "report/merge/merge_ledger.h"
#include "report/merge/merge_one.h"
#include "report/tracefiles/replay.h"
#include "report/tracefiles/shrink.h"
#include "tests/unit/any_fact.h"

#define LEDGERS 3
#define FACTS 400
#define SEEDS 60

static void make_any(uint64_t seed, struct ledger *l)
{
	uint64_t rng = seed * 0x9e3779b97f4a7c15u + 1;

	assert_int_equal(ledger_init(l), 0);
	for (size_t i = 0; i < FACTS; i++) {
		const struct fact f = any_fact(&rng);

		assert_int_equal(ledger_take(l, &f), 0);
	}
	l->ended = true;
}

/* Those with these seeds, in this order, as a ledger in canonical order. */
static void merge_all(const uint64_t *seeds, size_t n, struct ledger *out)
{
	struct ledger all, one;
	struct merge_defs defs;

	assert_int_equal(ledger_init(&all), 0);
	merge_defs_init(&defs, &all);
	for (size_t i = 0; i < n; i++) {
		make_any(seeds[i], &one);
		if (!ledger_is_merged(&one))
			assert_int_equal(merge_one(&one, NULL), 0);
		assert_int_equal(merge_ledger(&defs, &one), 0);
		ledger_fini(&one);
	}
	assert_int_equal(merge_sorted(&all, out), 0);
	out->ended = true;
	merge_defs_fini(&defs);
	ledger_fini(&all);
}

static char *json_of(struct ledger *l)
{
	const struct groups_options opt = { 0 };
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	struct summary s;

	assert_int_equal(account_summary(l, &opt, &s), 0);
	assert_int_equal(out_json(&s, 0, &sb), 0);
	summary_fini(&s);
	return strbuf_steal(&sb);
}

static uint64_t blocks_of_groups(const struct ledger *l)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < l->merged.ngroups; i++)
		sum += l->merged.groups[i].blocks;
	return sum;
}

/*
 * A trace may contradict itself, so that series depend on the order; but what is added up does not. In a file groups
 * are in the order of their families.
 */
static void assert_same_totals(const struct ledger *a, const struct ledger *b)
{
	assert_int_equal(a->allocs, b->allocs);
	assert_int_equal(a->frees, b->frees);
	assert_int_equal(a->unmatched_frees, b->unmatched_frees);
	assert_int_equal(a->double_frees, b->double_frees);
	assert_int_equal(a->merged.nprocesses, b->merged.nprocesses);
	assert_int_equal(a->merged.ngroups, b->merged.ngroups);
	assert_int_equal(a->defs.nstacks, b->defs.nstacks);
	assert_int_equal(blocks_of_groups(a), blocks_of_groups(b));
}

static void any_facts_in_any_order(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const uint64_t there[LEDGERS] = { seed, seed + 1000, seed + 2000 },
			       back[LEDGERS] = { seed + 2000, seed, seed + 1000 };
		struct ledger a, b;

		merge_all(there, LEDGERS, &a);
		merge_all(back, LEDGERS, &b);
		assert_same_totals(&a, &b);
		free(json_of(&a));
		ledger_fini(&a);
		ledger_fini(&b);
	}
}

static void any_facts_in_a_file(void **state)
{
	const char *path = *state;
	const struct replay_options replay = { 0 };

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const uint64_t seeds[LEDGERS] = { seed, seed + 1000, seed + 2000 };
		struct ledger l, read;

		merge_all(seeds, LEDGERS, &l);
		assert_int_equal(shrink_write(&l, path), 0);
		assert_int_equal(replay_files(&path, 1, &replay, &read), 0);
		assert_same_totals(&l, &read);
		free(json_of(&read));
		ledger_fini(&l);
		ledger_fini(&read);
	}
}

static void parts_are_what_was_added(void **state)
{
	struct parts_place place = { 0 };
	struct parts parts = { 0 };
	struct fact_part p;
	uint64_t rng = 7;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < 10000; i++) {
		const uint32_t process = (uint32_t)any_number(&rng);

		assert_int_equal(parts_add(&parts, process, any_number(&rng)), 0);
	}
	for (rng = 7; parts_next(&parts, &place, &p); n++) {
		assert_int_equal(p.process, (uint32_t)any_number(&rng));
		assert_int_equal(p.bytes, any_number(&rng));
	}
	assert_int_equal(n, parts.count);
	assert_int_equal(n, 10000);
	parts_fini(&parts);
}

static void processes_without_a_trace(void **state)
{
	const struct merge_absent absent[] = {
		{ 22, "b", "/bin/b", "host", "pod=x", "refused: it has a debugger" },
		{ 11, "a", NULL, NULL, NULL, "ended while attaching" },
	};
	const struct merge_options opt = { .absent = absent, .nabsent = 2 };
	struct ledger l;

	(void)state;
	assert_int_equal(merge_files(NULL, 0, &opt, &l), 0);
	assert_int_equal(l.merged.nprocesses, 2);
	assert_string_equal(l.merged.processes[0].its.how, "ended while attaching");
	assert_true(l.merged.processes[1].its.absent);
	assert_int_equal(l.merged.processes[1].its.pid, 22);
	assert_string_equal(l.merged.processes[1].its.labels, "pod=x");
	ledger_fini(&l);
}

static void labels_of_a_process_remain(void **state)
{
	const struct fact_process p = { .labels = "pod=x" }, q = { 0 };
	struct ledger l;

	(void)state;
	assert_int_equal(ledger_init(&l), 0);
	assert_int_equal(ledger_add_process(&l, &p), 0);
	assert_int_equal(ledger_add_process(&l, &q), 0);
	assert_int_equal(merge_label(&l, "pod=y,zone=eu"), 0);
	assert_string_equal(l.merged.processes[0].its.labels, "zone=eu,pod=x");
	assert_string_equal(l.merged.processes[1].its.labels, "pod=y,zone=eu");
	ledger_fini(&l);
}

static int make_path(void **state)
{
	char *path;

	if (asprintf(&path, "/tmp/mm-merge-%d.mmt", (int)getpid()) < 0)
		return -1;
	*state = path;
	return 0;
}

static int remove_path(void **state)
{
	unlink(*state);
	free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_what_was_added),
		cmocka_unit_test(any_facts_in_any_order),
		cmocka_unit_test(any_facts_in_a_file),
		cmocka_unit_test(processes_without_a_trace),
		cmocka_unit_test(labels_of_a_process_remain),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
