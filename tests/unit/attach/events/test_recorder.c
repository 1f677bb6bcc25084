/* SPDX-License-Identifier: MIT */
/* recorder: ledger and trace get the same facts; and what happens to a trace that cannot be written. */
#include "attach/events/recorder.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "report/tracefiles/replay.h"

static char path[64];
static struct recorder rec;

static int setup(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/mm-recorder-%d.mmt", (int)getpid());
	assert_int_equal(recorder_init(&rec), 0);
	assert_int_equal(recorder_want_trace(&rec, &(struct recorder_trace){ .path = path }), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	recorder_fini(&rec);
	unlink(path);
	return 0;
}

static void begin(void)
{
	const struct fact run = {
		.kind = MMT_INFO, .info = MMT_RUN,
		.run = { .start_ns = 1767225600000000000, .frontend = "ptrace", .mode = "exact" },
	};
	const struct fact target = {
		.kind = MMT_INFO, .info = MMT_TARGET,
		.target = { .pid = 77, .comm = "svc", .exe = "/bin/svc" },
	};
	const struct fact stack[] = {
		{ .kind = MMT_INFO, .info = MMT_FRAME, .frame = { .number = 0, .pc = 0x1000 } },
		{ .kind = MMT_INFO, .info = MMT_NODE, .node = { .number = 1 } },
		{ .kind = MMT_INFO, .info = MMT_STACK, .stack = { .number = 0, .node = 1 } },
	};

	for (size_t i = 0; i < 3; i++)
		assert_int_equal(defs_take(&rec.ledger.defs, &stack[i]), 0);
	recorder_begin(&rec, 1000000000, &run, &target);
}

static void alloc(uint64_t n, uint64_t time_us)
{
	recorder_put(&rec, &(struct fact){
		.kind = MMT_ALLOC, .time_us = time_us, .block = { .addr = 0x10000 + 64 * n, .size = 24 },
	});
}

static void read_back(struct ledger *l)
{
	const char *paths[] = { path };

	assert_int_equal(replay_files(paths, 1, &(struct replay_options){ 0 }, l), 0);
}

static void both_get_the_same(void **state)
{
	struct ledger l;

	(void)state;
	begin();
	alloc(1, 10);
	alloc(2, 20);
	/* a suspect free is recorded late */
	recorder_put(&rec, &(struct fact){ .kind = MMT_TWICE, .time_us = 5, .block = { .addr = 0x99 } });
	recorder_count(&rec, 30, MMT_COUNT_EVENTS, 3);
	recorder_lost(&rec, 30, "ring full", 4);
	recorder_note(&rec, 30, "%d notes", 1);
	assert_int_equal(recorder_end(&rec), 0);
	read_back(&l);
	assert_int_equal(l.held_blocks, 2);
	assert_int_equal(l.held_bytes, 48);
	assert_int_equal(l.double_frees, 1);
	assert_int_equal(rec.ledger.ntwice, 1);
	assert_int_equal(l.ntwice, 1);
	assert_int_equal(rec.ledger.twice[0].time_us, 20);
	assert_int_equal(l.twice[0].time_us, 20);
	assert_int_equal(l.counts[MMT_COUNT_EVENTS], 3);
	assert_int_equal(l.lost[0].count, 4);
	assert_string_equal(l.notes[0], "1 notes");
	assert_int_equal(l.run.start_ns, rec.ledger.run.start_ns);
	assert_memory_equal(l.run.id, rec.ledger.run.id, 16);
	assert_int_equal(l.target.pid, 77);
	ledger_fini(&l);
}

/*
 * Each piece begins with all that is known of the stacks so far, and later samples belong to the right
 * family.
 */
static void each_piece_tells_samples(void **state)
{
	const struct fact_sample its = { .seen = 5, .site_seen = 5, .nsteps = 1, .steps = { { 5, 0, 0 } } };
	const struct fact_budget spent = { .promise_ppm = 10000, .spent_us = 7 };
	const struct fact other = {
		.kind = MMT_INFO, .info = MMT_FAMILY_NAME, .family_name = { .number = 3, .name = "other" },
	};
	const struct recorder_trace wanted = { .path = path, .rotate_bytes = 4096 };
	char second[80];
	struct ledger l;

	(void)state;
	assert_int_equal(recorder_want_trace(&rec, &wanted), 0);
	begin();
	recorder_put(&rec, &other);
	recorder_put(&rec, &(struct fact){
		.kind = MMT_INFO, .info = MMT_SAMPLE, .time_us = 5, .sample = { 0, &its },
	});
	recorder_put(&rec, &(struct fact){
		.kind = MMT_INFO, .info = MMT_BUDGET, .time_us = 5, .budget = &spent,
	});
	recorder_put(&rec, &(struct fact){ .kind = MMT_FAMILY, .time_us = 6, .family = 3 });
	for (uint64_t n = 0; rec.piece < 3 && n < 1000000; n++)
		alloc(n * n, n * 7 + 10);
	assert_int_equal(rec.piece, 3);
	assert_int_equal(recorder_end(&rec), 0);
	for (int i = 1; i <= 3; i++) {
		const char *const file = second;

		snprintf(second, sizeof(second), "%.*s.%04d.mmt", (int)strlen(path) - 4, path, i);
		assert_int_equal(replay_files(&file, 1, &(struct replay_options){ 0 }, &l), 0);
		assert_int_equal(unlink(second), 0);
		assert_int_equal(l.samples.n, 1);
		assert_int_equal(ledger_sample(&l, defs_family(&l.defs, 0), defs_stack(&l.defs, 0))->its.seen, 5);
		assert_int_equal(l.samples.budget.spent_us, 7);
		assert_int_equal(live_count(l.books[defs_family(&l.defs, 3)].live), l.held_blocks);
		assert_true(l.held_blocks > 0);
		ledger_fini(&l);
	}
}

static void what_has_not_changed_is_not_said_again(void **state)
{
	uint64_t before;

	(void)state;
	begin();
	recorder_count(&rec, 1, MMT_COUNT_EVENTS, 3);
	recorder_lost(&rec, 1, "ring full", 4);
	recorder_tick(&rec, 2000000);
	before = writer_raw_bytes(rec.trace);
	for (int i = 0; i < 1000; i++) {
		recorder_count(&rec, 2000001, MMT_COUNT_EVENTS, 3);
		recorder_lost(&rec, 2000001, "ring full", 4);
	}
	recorder_tick(&rec, 4000000);
	assert_int_equal(writer_raw_bytes(rec.trace), before);
}

/* What happens every second is in the file a second later, without the file's end. */
static void a_second_later_it_is_in_the_file(void **state)
{
	struct ledger l;

	(void)state;
	begin();
	alloc(1, 10);
	recorder_tick(&rec, 1100000);
	read_back(&l);
	assert_int_equal(l.held_blocks, 1);
	ledger_fini(&l);
	/* nothing happens for long: the file still shows until when it was recorded */
	recorder_tick(&rec, 15000000);
	recorder_tick(&rec, 16500000);
	read_back(&l);
	assert_int_equal(l.now_us, 15000000);
	ledger_fini(&l);
}

static uint64_t file_size(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

/* As on a full disk: the ledger is continued, the file stays readable, and the error is reported. */
static void cannot_be_written(void **state)
{
	const struct rlimit tight = { 20000, RLIM_INFINITY };
	struct rlimit before;
	struct ledger l;
	uint64_t n = 0, at_limit;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	begin();
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
	for (; n < 1000000 && rec.trace; n++)
		alloc(n * n, n * 7);
	for (; rec.trace && n < 1100000; n++)
		recorder_tick(&rec, n * 1000000);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_null(rec.trace);
	assert_int_equal(rec.trace_error, -EFBIG);
	at_limit = rec.ledger.held_blocks;
	alloc(n * n, n * 7);
	assert_int_equal(rec.ledger.held_blocks, at_limit + 1);
	assert_int_equal(recorder_end(&rec), -EFBIG);
	assert_non_null(strstr(rec.ledger.notes[0], "could not be written"));
	assert_in_range(file_size(), 16, 20000);
	read_back(&l);
	/* a half-written block would be damage, which has another note than a missing end */
	assert_int_equal(l.nnotes, 1);
	ledger_fini(&l);
}

static void removed_meanwhile(void **state)
{
	(void)state;
	begin();
	alloc(1, 10);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(recorder_end(&rec), -ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_get_the_same, setup, teardown),
		cmocka_unit_test_setup_teardown(each_piece_tells_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(what_has_not_changed_is_not_said_again, setup, teardown),
		cmocka_unit_test_setup_teardown(a_second_later_it_is_in_the_file, setup, teardown),
		cmocka_unit_test_setup_teardown(cannot_be_written, setup, teardown),
		cmocka_unit_test_setup_teardown(removed_meanwhile, setup, teardown),
	};

	log_set_quiet();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
