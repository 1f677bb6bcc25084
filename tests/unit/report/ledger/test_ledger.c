/* SPDX-License-Identifier: MIT */
/*
 * ledger: what facts add up to; each kind by hand, and hostile ones. For objects see test_ledger_refs; for a
 * model, test_ledger_model.
 */
#include "report/ledger/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/any_fact.h"
#include "tests/unit/ledger_facts.h"

/* --- allocated and freed --- */

static void held_and_released(void **state)
{
	struct live_block b;

	(void)state;
	now = 777;
	alloc(A, 100, S1);
	now = 800;
	alloc(B, 50, S2);
	assert_held(2, 150);
	assert_true(ledger_holds(&ledger, 0, A, &b));
	assert_int_equal(b.birth_us, 777);
	assert_int_equal(b.size, 100);
	assert_int_equal(b.stack, defs_stack(&ledger.defs, S1));
	simple(MMT_FREE, A);
	assert_false(ledger_holds(&ledger, 0, A, NULL));
	assert_held(1, 50);
	assert_place(S1, 1, 1, 0, 0);
	assert_place(S2, 1, 0, 1, 50);
	simple(MMT_FREE_AT, B);
	assert_held(0, 0);
	assert_totals(2, 2, 0, 0);
	assert_doubts(0, 0, 0);
	assert_null(ledger_place(&ledger, 0, defs_stack(&ledger.defs, 3)));
	assert_null(ledger_place(&ledger, 0, UINT32_MAX));
	assert_null(ledger_place(&ledger, 7, 0));
	assert_false(ledger_holds(&ledger, 7, A, NULL));
}

static void freed_at(taddr addr, uint32_t stack)
{
	struct fact f = event(MMT_FREE_AT, addr);

	f.block.stack = stack;
	take(&f);
}

static void assert_freed(uint32_t by, uint64_t blocks, uint64_t bytes)
{
	const uint64_t pair = (uint64_t)defs_stack(&ledger.defs, S1) << 32 | defs_stack(&ledger.defs, by);
	const struct ledger_freed *its = addrmap_get(&ledger.books[0].freed, pair);

	assert_int_equal(its ? its->blocks : 0, blocks);
	assert_int_equal(its ? its->bytes : 0, bytes);
}

static void which_stack_frees(void **state)
{
	struct fact f;

	(void)state;
	alloc(A, 100, S1);
	freed_at(A, S2);
	alloc(A, 20, S1);
	freed_at(A, S2);
	alloc(A, 3, S1);
	simple(MMT_FREE, A);
	assert_freed(S2, 2, 120);
	/* a realloc ends the old block */
	alloc(B, 7, S1);
	aside(MMT_ASIDE, 1, B);
	f = event(MMT_ASIDE_FREED, 0);
	f.block.key = 1;
	f.block.stack = S2 + 1;
	take(&f);
	assert_freed(S2, 3, 127);
	assert_int_equal(addrmap_count(&ledger.books[0].freed), 1);
	freed_at(A, S2);	/* no block is there */
	assert_freed(S2, 3, 127);
}

static void too_many_pairs(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < LEDGER_FREED_MAX + 10; i++) {
		struct fact stack = info(MMT_STACK);

		stack.stack.number = 100 + i;
		take(&stack);
		alloc(A, 1, S1);
		freed_at(A, 100 + i);
	}
	assert_int_equal(addrmap_count(&ledger.books[0].freed), LEDGER_FREED_MAX);
	assert_totals(LEDGER_FREED_MAX + 10, LEDGER_FREED_MAX + 10, 0, 0);
	alloc(A, 1, S1);
	freed_at(A, 100);	/* a known pair goes on being counted */
	assert_freed(100, 2, 2);
	assert_freed(100 + LEDGER_FREED_MAX, 0, 0);
}

static void releases_of_what_is_not_held(void **state)
{
	(void)state;
	simple(MMT_FREE, A);
	simple(MMT_FREE_AT, A);
	simple(MMT_OLD, A);
	assert_totals(0, 3, 3, 0);
	alloc(A, 8, S1);
	simple(MMT_OLD, A);	/* the fact itself marks the block as an older one */
	assert_held(1, 8);
	assert_totals(1, 4, 4, 0);
}

static void given_out_again_unseen(void **state)
{
	(void)state;
	alloc(A, 100, S1);
	alloc(A, 40, S2);
	assert_held(1, 40);
	assert_place(S1, 1, 0, 0, 0);
	assert_place(S2, 1, 0, 1, 40);
	alloc(A, 41, S2);
	assert_held(1, 41);
	assert_totals(3, 0, 0, 0);
	assert_doubts(2, 0, 0);
}

static void forgotten(void **state)
{
	(void)state;
	alloc(A, 100, S1);
	simple(MMT_FORGET, A);
	simple(MMT_FORGET, A);
	assert_held(0, 0);
	assert_place(S1, 1, 0, 0, 0);
	assert_totals(1, 0, 0, 0);
}

static void sizes_that_wrap(void **state)
{
	(void)state;
	alloc(A, UINT64_MAX, S1);
	alloc(B, UINT64_MAX, S1);
	alloc(0, 5, S1);
	assert_int_equal(ledger.held_bytes, 3);
	simple(MMT_FREE, A);
	simple(MMT_FREE, B);
	assert_held(1, 5);
}

static void families_are_apart(void **state)
{
	(void)state;
	define_family(0, "libc");
	define_family(9, "dict");
	alloc(A, 100, S1);
	family(9);
	alloc(A, 1, S2);
	assert_held(2, 101);
	assert_doubts(0, 0, 0);
	simple(MMT_FREE, A);
	assert_held(1, 100);
	family(0);
	simple(MMT_FREE, A);
	assert_held(0, 0);
	assert_totals(2, 2, 0, 0);
	assert_string_equal(ledger.defs.families[0].name, "libc");
}

static void an_undefined_family_is_the_first(void **state)
{
	(void)state;
	family(3);
	alloc(A, 100, S1);
	assert_place(S1, 1, 0, 1, 100);
	assert_doubts(0, 1, 0);
}

static void undefined_stacks_are_one_place(void **state)
{
	struct live_block a, b;
	const struct fact late = {
		.kind = MMT_INFO, .info = MMT_STACK, .stack = { UINT32_MAX - 1, 0, MMT_END_WHOLE, FACT_NONE },
	};

	(void)state;
	alloc(A, 100, 1000);
	alloc(B, 10, UINT32_MAX);
	assert_true(ledger_holds(&ledger, 0, A, &a));
	assert_true(ledger_holds(&ledger, 0, B, &b));
	assert_int_equal(a.stack, b.stack);
	assert_int_equal(defs_path(&ledger.defs, a.stack, NULL, 0), 0);
	assert_doubts(0, 2, 0);
	take(&late);	/* the number that the ledger used internally now belongs to a real stack, too */
	assert_doubts(0, 2, 1);
	assert_held(2, 110);
}

/* --- aside: inside realloc --- */

static void aside_and_released(void **state)
{
	(void)state;
	alloc(A, 100, S1);
	aside(MMT_ASIDE, 7, A);
	assert_held(0, 0);
	assert_totals(1, 0, 0, 0);
	aside(MMT_ASIDE_FREED, 7, 0);
	assert_totals(1, 1, 0, 0);
	assert_place(S1, 1, 1, 0, 0);
}

static void aside_and_back(void **state)
{
	struct live_block b;

	(void)state;
	now = 777;
	alloc(A, 100, S1);
	now = 1000;
	aside(MMT_ASIDE, 7, A);
	aside(MMT_ASIDE_BACK, 7, 0);
	assert_held(1, 100);
	assert_totals(1, 0, 0, 0);
	assert_true(ledger_holds(&ledger, 0, A, &b));
	assert_int_equal(b.birth_us, 777);
}

/*
 * A block that was inside realloc when the run ended is still live, unless its address was allocated again.
 */
static void aside_at_the_end(void **state)
{
	struct live_block b;

	(void)state;
	now = 777;
	alloc(A, 100, S1);
	alloc(B, 40, S2);
	now = 1000;
	aside(MMT_ASIDE, 7, A);
	aside(MMT_ASIDE, 8, B);
	alloc(B, 60, S1);
	assert_held(1, 60);
	assert_int_equal(ledger_settle(&ledger), 0);
	assert_held(2, 160);
	assert_int_equal(ledger.resizing, 1);
	assert_totals(3, 0, 0, 0);
	assert_true(ledger_holds(&ledger, 0, A, &b));
	assert_int_equal(b.birth_us, 777);
	assert_int_equal(ledger_settle(&ledger), 0);
	assert_held(2, 160);
	assert_int_equal(ledger.resizing, 1);
}

static void aside_and_the_address_given_away(void **state)
{
	(void)state;
	alloc(A, 100, S1);
	aside(MMT_ASIDE, 7, A);
	alloc(A, 30, S2);
	aside(MMT_ASIDE_FREED, 7, 0);
	assert_held(1, 30);
	assert_place(S1, 1, 1, 0, 0);
	assert_place(S2, 1, 0, 1, 30);
	assert_doubts(0, 0, 0);
}

static void aside_back_on_another(void **state)
{
	(void)state;
	alloc(A, 100, S1);
	aside(MMT_ASIDE, 7, A);
	alloc(A, 30, S2);
	aside(MMT_ASIDE_BACK, 7, 0);
	assert_held(1, 30);
	assert_doubts(0, 0, 1);
}

static void aside_of_the_unknown(void **state)
{
	(void)state;
	aside(MMT_ASIDE, 7, A);
	aside(MMT_ASIDE_BACK, 7, 0);
	assert_totals(0, 0, 0, 0);
	aside(MMT_ASIDE, 7, A);
	aside(MMT_ASIDE_FREED, 7, 0);
	assert_totals(0, 1, 1, 0);
	assert_doubts(0, 0, 0);
	aside(MMT_ASIDE_FREED, 7, 0);	/* never begun */
	assert_totals(0, 2, 2, 0);
	aside(MMT_ASIDE_BACK, 7, 0);
	assert_doubts(0, 0, 1);
}

static void aside_twice(void **state)
{
	(void)state;
	alloc(A, 100, S1);
	alloc(B, 10, S2);
	aside(MMT_ASIDE, 7, A);
	aside(MMT_ASIDE, 7, B);	/* the end of the first was lost */
	aside(MMT_ASIDE_FREED, 7, 0);
	assert_held(0, 0);
	assert_place(S1, 1, 0, 0, 0);
	assert_place(S2, 1, 1, 0, 0);
}

/* It comes back to its own family, whatever other families do meanwhile. */
static void aside_keeps_its_family(void **state)
{
	(void)state;
	define_family(1, "other");
	alloc(A, 100, S1);
	aside(MMT_ASIDE, 7, A);
	family(1);
	aside(MMT_ASIDE_BACK, 7, 0);
	assert_true(ledger_holds(&ledger, 0, A, NULL));
	assert_false(ledger_holds(&ledger, 1, A, NULL));
	alloc(B, 1, S2);
	assert_true(ledger_holds(&ledger, 1, B, NULL));
}

/* --- double frees --- */

static void double_frees_of_the_same_kind_are_one(void **state)
{
	(void)state;
	now = 5;
	twice(A, S1 + 1, S2 + 1, 0, 0);
	now = 9;
	twice(B, S1 + 1, S2 + 1, 0, 0);
	twice(B, S1 + 1, S2 + 1, S1 + 1, 4);
	assert_int_equal(ledger.ntwice, 2);
	assert_int_equal(ledger.twice[0].count, 2);
	assert_int_equal(ledger.twice[0].sample, A);
	assert_int_equal(ledger.twice[0].time_us, 5);
	assert_int_equal(ledger.twice[0].second, defs_stack(&ledger.defs, S1));
	assert_int_equal(ledger.twice[0].alloc, DEFS_NONE);
	assert_int_equal(ledger.twice[1].count, 5);
	assert_totals(0, 7, 0, 7);
}

static void too_many_kinds_of_double_frees(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3 * LEDGER_TWICE_MAX; i++) {
		const struct fact f = { .kind = MMT_INFO, .info = MMT_STACK,
					.stack = { 100 + i, 0, MMT_END_WHOLE, FACT_NONE } };

		take(&f);
		twice(A, 101 + i, 0, 0, 0);
		twice(A, 101 + i, 0, 0, 0);
	}
	assert_int_equal(ledger.ntwice, LEDGER_TWICE_MAX);
	assert_int_equal(ledger.double_frees, 6 * LEDGER_TWICE_MAX);
	assert_int_equal(ledger.nnotes, 1);
	for (size_t i = 0; i < ledger.ntwice; i++)
		assert_int_equal(ledger.twice[i].count, 2);
}

/* --- the run --- */

static void the_run(void **state)
{
	struct fact f = info(MMT_RUN);

	(void)state;
	f.run = (struct fact_run){
		.id = { 1, 2 }, .piece = 2, .start_ns = 5, .frontend = "ptrace", .mode = "exact"
	};
	take(&f);
	f.run.piece = 3;
	f.run.last = 7;
	f.run.frontend = "gdb";
	take(&f);
	assert_int_equal(ledger.run.piece, 2);
	assert_int_equal(ledger.run.last, 7);
	assert_string_equal(ledger.run.frontend, "ptrace");
	assert_null(ledger.run.writer);
	assert_false(ledger.ended);
	f = info(MMT_END);
	take(&f);
	assert_true(ledger.ended);
}

static void the_target(void **state)
{
	static const char *const argv[] = { "svc", "-x", "" };
	struct fact f = info(MMT_TARGET);

	(void)state;
	for (uint32_t n = 0; n <= 3; n++) {
		f.target.pid = 12;
		f.target.comm = "svc";
		f.target.argv = argv;
		f.target.argc = n;
		take(&f);
		assert_int_equal(ledger.target.argc, n);
	}
	assert_string_equal(ledger.target.argv[1], "-x");
	assert_string_equal(ledger.target.argv[2], "");
	assert_string_equal(ledger.target.comm, "svc");
	assert_null(ledger.target.exe);
	f.target.argv = NULL;
	f.target.argc = 0;
	take(&f);
	assert_int_equal(ledger.target.argc, 0);
}

static void probes_and_hits(void **state)
{
	struct fact f = info(MMT_PROBE), hits = info(MMT_HITS);

	(void)state;
	f.probe.number = 70000;
	f.probe.rule = "alloc malloc";
	take(&f);
	hits.hits.probe = 70000;
	hits.hits.hits = 5;
	take(&hits);
	f.probe.note = "not found";
	take(&f);	/* updates what is known; its hits stay */
	hits.hits.probe = 1;
	take(&hits);
	assert_int_equal(ledger.nprobes, 1);
	assert_int_equal(ledger.probes[0].number, 70000);
	assert_int_equal(ledger.probes[0].hits, 5);
	assert_string_equal(ledger.probes[0].note, "not found");
	assert_doubts(0, 1, 0);
}

static void losses_are_until_now(void **state)
{
	(void)state;
	lost("ring full", 3);
	lost("other", 1);
	lost("ring full", 7);
	lost(LEDGER_DAMAGED, 1);
	lost(LEDGER_DAMAGED, 2);
	lost("contradiction", 4);
	lost("contradiction", 5);
	assert_int_equal(ledger.nlost, 3);
	assert_string_equal(ledger.lost[0].reason, "ring full");
	assert_int_equal(ledger.lost[0].count, 7);
	assert_int_equal(ledger.lost[2].count, 3);
	assert_doubts(0, 0, 9);
}

static void gaps_notes_and_counts(void **state)
{
	struct fact f = info(MMT_GAP);

	(void)state;
	f.gap.start_us = 5;
	f.gap.length_us = 6;
	f.gap.why = "why";
	take(&f);
	f.gap.length_us = 8;
	take(&f);
	f.gap.why = "another";
	take(&f);
	assert_int_equal(ledger.ngaps, 2);
	assert_int_equal(ledger.gaps[0].length_us, 8);
	note("one");
	note("two");
	note("one");
	note(NULL);
	assert_int_equal(ledger.nnotes, 3);
	f = info(MMT_COUNT);
	f.count.which = MMT_COUNT_EVENTS;
	f.count.value = 12;
	take(&f);
	f.count.which = UINT32_MAX;
	take(&f);
	assert_int_equal(ledger.counts[MMT_COUNT_EVENTS], 12);
}

/* --- time --- */

static void time_is_that_of_the_last_fact(void **state)
{
	struct live_block b;

	(void)state;
	now = 10 * SECOND;
	alloc(A, 1, S1);
	now = 4 * SECOND;
	alloc(B, 1, S1);
	assert_int_equal(ledger.now_us, 10 * SECOND);
	assert_true(ledger_holds(&ledger, 0, B, &b));
	assert_int_equal(b.birth_us, 10 * SECOND);
	now = 20 * SECOND;
	simple(MMT_TIME, 0);
	assert_int_equal(ledger.now_us, 20 * SECOND);
	ledger_pass(&ledger, 5);
	assert_int_equal(ledger.now_us, 20 * SECOND);
	held(0x7000, 1, S1, UINT64_MAX);	/* born in the future */
	assert_true(ledger_holds(&ledger, 0, 0x7000, &b));
	assert_int_equal(b.birth_us, 20 * SECOND);
}

static void the_series_of_a_place(void **state)
{
	const struct place *p;

	(void)state;
	now = 1;
	alloc(A, 100, S1);
	now = 3 * SECOND;
	alloc(B, 10, S1);
	now = 6 * SECOND;
	simple(MMT_FREE, A);
	ledger_pass(&ledger, 10 * SECOND);
	p = ledger_place(&ledger, 0, defs_stack(&ledger.defs, S1));
	assert_int_equal(series_span_us(&p->series), series_span(10 * SECOND));
	for (uint32_t i = 0; i < p->series.n; i++) {
		uint64_t end = (i + 1) * series_span(10 * SECOND);
		uint64_t wanted = end <= 3 * SECOND ? 100 : end <= 6 * SECOND ? 110 : 10;

		assert_int_equal(series_point(&p->series, i), wanted);
	}
	assert_int_equal(p->series.n, 10 * SECOND / series_span(10 * SECOND));
}

/* --- the facts of a shrunken trace --- */

static void places_and_totals(void **state)
{
	uint64_t points[20];
	struct fact f = info(MMT_PLACE);
	const struct place *p;

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		points[i] = i;
	now = 20 * MMT_SERIES_FIRST_US + 5;
	alloc(A, 100, S1);
	f.time_us = 20 * MMT_SERIES_FIRST_US + 5;
	f.place.stack = S1;
	f.place.allocs = 10;
	f.place.frees = 4;
	f.place.span_us = MMT_SERIES_FIRST_US;
	f.place.points = points;
	f.place.npoints = 20;
	f.place.bytes = 1000;
	take(&f);
	held(B, 19, S1, 3);
	f = info(MMT_TOTALS);
	f.totals.old = 3;
	f.totals.twice = 2;
	take(&f);
	assert_totals(11, 9, 3, 2);
	assert_place(S1, 11, 4, 2, 119);
	assert_int_equal(ledger_place(&ledger, 0, defs_stack(&ledger.defs, S1))->allocated_bytes, 1100);
	p = ledger_place(&ledger, 0, defs_stack(&ledger.defs, S1));
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(series_point(&p->series, i), i);
	ledger_pass(&ledger, 21 * MMT_SERIES_FIRST_US);
	p = ledger_place(&ledger, 0, defs_stack(&ledger.defs, S1));
	assert_int_equal(series_point(&p->series, 20), 119);
	f = info(MMT_PLACE);
	f.place.stack = S2;
	f.place.span_us = 12345;
	f.place.points = points;
	f.place.npoints = 1;
	take(&f);
	assert_doubts(0, 0, 1);
}

/* --- orphans --- */

static void orphans_are_kept_where_they_are_wanted(void **state)
{
	(void)state;
	simple(MMT_FREE, A);
	ledger.keep_orphans = true;
	simple(MMT_FREE, A);
	assert_int_equal(ledger.norphans, 0);	/* nothing is before the first piece */
	ledger.run.piece = 2;
	now = 5;
	simple(MMT_FREE, A);
	simple(MMT_FREE, A);	/* there is nothing left at this address */
	simple(MMT_FORGET, B);
	simple(MMT_FREE, B);
	aside(MMT_ASIDE, 1, 0x7000);
	aside(MMT_ASIDE_FREED, 1, 0);
	aside(MMT_ASIDE, 2, A);	/* known to be freed */
	aside(MMT_ASIDE_FREED, 2, 0);
	assert_int_equal(ledger.norphans, 4);
	assert_int_equal(ledger.orphans[0].kind, MMT_FREE);
	assert_int_equal(ledger.orphans[0].addr, A);
	assert_int_equal(ledger.orphans[0].time_us, 5);
	assert_int_equal(ledger.orphans[1].kind, MMT_FORGET);
	assert_int_equal(ledger.orphans[2].kind, MMT_ASIDE);
	assert_int_equal(ledger.orphans[3].kind, MMT_ASIDE_FREED);
	assert_int_equal(ledger.orphans[3].key, 1);
	assert_totals(0, 7, 7, 0);
	/* a block that comes back may be freed again */
	aside(MMT_ASIDE_BACK, 99, 0);
	simple(MMT_FREE, A);
	assert_int_equal(ledger.norphans, 6);
	alloc(A, 1, S1);
	alloc(0x8000, 1, S1);	/* the earlier block at this address is gone */
	alloc(0x8000, 1, S1);
	assert_int_equal(ledger.norphans, 7);
	assert_int_equal(ledger.orphans[6].kind, MMT_ALLOC);
	assert_int_equal(ledger.orphans[6].addr, 0x8000);
}

/* However many events there are, there are no more orphans than addresses. */
static void orphans_do_not_grow_with_events(void **state)
{
	(void)state;
	ledger.keep_orphans = true;
	ledger.run.piece = 2;
	for (int i = 0; i < 100000; i++) {
		simple(i % 2 ? MMT_FREE : MMT_FORGET, A + 16 * (i % 50));
		alloc(A + 16 * (i % 50), 1, S1);
		simple(MMT_FREE, A + 16 * (i % 50));
	}
	assert_int_equal(ledger.norphans, 50);
}

/* --- hostile --- */

static void anything(void **state)
{
	uint64_t rng = 88172645463325252u;

	(void)state;
	ledger.keep_orphans = true;
	ledger.run.piece = 2;
	for (int i = 0; i < 300000; i++) {
		const struct fact f = any_fact(&rng);

		take(&f);
	}
	assert_true(ledger.nbooks <= LEDGER_FAMILIES_MAX);
	for (uint32_t b = 0; b < ledger.nbooks; b++)
		for (uint32_t s = 0; s < ledger.books[b].nplaces; s++)
			ledger_place(&ledger, b, s);
	assert_true(ledger_memory(&ledger) > 0);
}

int main(void)
{
#define ledger_test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		ledger_test(held_and_released),
		ledger_test(which_stack_frees),
		ledger_test(too_many_pairs),
		ledger_test(releases_of_what_is_not_held),
		ledger_test(given_out_again_unseen),
		ledger_test(forgotten),
		ledger_test(sizes_that_wrap),
		ledger_test(families_are_apart),
		ledger_test(an_undefined_family_is_the_first),
		ledger_test(undefined_stacks_are_one_place),
		ledger_test(aside_and_released),
		ledger_test(aside_and_back),
		ledger_test(aside_at_the_end),
		ledger_test(aside_and_the_address_given_away),
		ledger_test(aside_back_on_another),
		ledger_test(aside_of_the_unknown),
		ledger_test(aside_twice),
		ledger_test(aside_keeps_its_family),
		ledger_test(double_frees_of_the_same_kind_are_one),
		ledger_test(too_many_kinds_of_double_frees),
		ledger_test(the_run),
		ledger_test(the_target),
		ledger_test(probes_and_hits),
		ledger_test(losses_are_until_now),
		ledger_test(gaps_notes_and_counts),
		ledger_test(time_is_that_of_the_last_fact),
		ledger_test(the_series_of_a_place),
		ledger_test(places_and_totals),
		ledger_test(orphans_are_kept_where_they_are_wanted),
		ledger_test(orphans_do_not_grow_with_events),
		ledger_test(anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
