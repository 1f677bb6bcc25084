/* SPDX-License-Identifier: MIT */
/* ledger_refs: what facts of objects add up to; each kind by hand, and random ones compared with a model. */
#include "report/ledger/ledger.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/ledger_facts.h"

#define REFS 1		/* the family */
#define UNKNOWN UINT64_MAX

static int setup_refs(void **state)
{
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_FAMILY_NAME,
		.family_name = { REFS, "dict", "dictionary", true, false },
	};

	setup(state);
	take(&f);
	family(REFS);
	return 0;
}

/* --- facts --- */

/* @count: the object's own count afterwards, or UNKNOWN. */
static void change(uint32_t kind, taddr addr, uint32_t stack, uint64_t by, uint64_t count)
{
	const struct fact f = {
		.kind = kind, .time_us = now,
		.ref = { .addr = addr, .stack = stack, .by = by,
			 .count = count == UNKNOWN ? FACT_NONE : count + 1 },
	};

	take(&f);
}

static void ref(taddr addr, uint32_t stack)
{
	change(MMT_REF, addr, stack, 1, UNKNOWN);
}

static void unref(taddr addr, uint32_t stack)
{
	change(MMT_UNREF, addr, stack, 1, UNKNOWN);
}

static void counted(taddr addr, uint64_t count)
{
	const struct fact f = { .kind = MMT_COUNTED, .time_us = now,
				.ref = { .addr = addr, .count = count } };

	take(&f);
}

static void object(taddr addr, int64_t net, bool older, bool its_own, const struct fact_use *uses, uint32_t n)
{
	const struct fact f = {
		.kind = MMT_OBJECT, .time_us = now, .object = { addr, 5, net, older, its_own, uses, n },
	};

	take(&f);
}

/* --- expectations --- */

static const struct object *assert_object(taddr addr, int64_t net, bool older, bool its_own)
{
	const struct object *o = ledger_object(&ledger, REFS, addr);

	assert_non_null(o);
	assert_true(o->net == net);
	assert_int_equal(o->older, older);
	assert_int_equal(o->counted, its_own);
	return o;
}

static void assert_none(taddr addr)
{
	assert_null(ledger_object(&ledger, REFS, addr));
}

static void assert_use(const struct object *o, uint32_t stack, uint64_t taken, uint64_t dropped)
{
	for (uint32_t i = 0; i < o->nuses; i++) {
		if (o->uses[i].stack != defs_stack(&ledger.defs, stack))
			continue;
		assert_int_equal(o->uses[i].acquired, taken);
		assert_int_equal(o->uses[i].released, dropped);
		return;
	}
	fail();
}

static void assert_ref_place(uint32_t stack, uint64_t taken, uint64_t dropped, uint64_t there)
{
	const struct place *p = ledger_place(&ledger, REFS, defs_stack(&ledger.defs, stack));

	assert_non_null(p);
	assert_int_equal(p->allocs, taken);
	assert_int_equal(p->frees, dropped);
	assert_int_equal(p->blocks, there);
	assert_int_equal(p->bytes, there);
}

/* Of the family; the ledger's own totals are of blocks only. */
static void assert_refs(uint64_t taken, uint64_t dropped, size_t objects)
{
	assert_int_equal(ledger.books[REFS].acquired, taken);
	assert_int_equal(ledger.books[REFS].released, dropped);
	assert_int_equal(objects_count(ledger.books[REFS].objects), objects);
	assert_totals(0, 0, 0, 0);
	assert_int_equal(ledger.held_blocks + ledger.held_bytes, 0);
}

/* --- by hand --- */

static void taken_and_dropped(void **state)
{
	(void)state;
	now = 777;
	ref(A, S1);
	now = 800;
	ref(A, S2);
	ref(A, S2);
	unref(A, S1);
	assert_use(assert_object(A, 2, false, false), S1, 1, 1);
	assert_use(assert_object(A, 2, false, false), S2, 2, 0);
	assert_int_equal(ledger_object(&ledger, REFS, A)->birth_us, 777);
	assert_ref_place(S1, 1, 1, 1);
	assert_ref_place(S2, 2, 0, 2);
	assert_refs(3, 1, 1);
	change(MMT_UNREF, A, 3, 2, UNKNOWN);
	assert_none(A);
	assert_ref_place(S1, 1, 1, 0);
	assert_ref_place(S2, 2, 0, 0);
	assert_ref_place(3, 0, 2, 0);
	assert_refs(3, 3, 0);
	assert_doubts(0, 0, 0);
	assert_null(ledger_object(&ledger, 9, A));
}

/*
 * Released before any reference was seen acquired: that reference is older than the watch. The object's own
 * count is higher than what was seen.
 */
static void older_than_the_watch(void **state)
{
	(void)state;
	unref(A, S1);
	assert_use(assert_object(A, -1, true, false), S1, 0, 1);
	ref(A, S1);
	assert_none(A);
	change(MMT_UNREF, A, S1, 1, 4);
	assert_object(A, 4, true, true);
	change(MMT_REF, B, S1, 1, 1);
	assert_object(B, 1, false, true);
	change(MMT_REF, 0x7000, S1, 2, 3);
	assert_object(0x7000, 3, true, true);
	/* the last one: the object is gone, and nothing is recorded of it */
	change(MMT_UNREF, 0x8000, S2, 1, 0);
	assert_none(0x8000);
	assert_ref_place(S2, 0, 1, 0);
	assert_refs(4, 3, 3);
}

static void the_count_goes_before_what_was_seen(void **state)
{
	(void)state;
	ref(A, S1);
	change(MMT_REF, A, S1, 1, 5);
	assert_object(A, 5, false, true);
	ref(A, S1);	/* the count could not be read this time */
	assert_object(A, 6, false, true);
	change(MMT_UNREF, A, S2, 1, 0);
	assert_none(A);
	change(MMT_REF, A, S1, 1, 0);
	assert_none(A);
	assert_ref_place(S1, 4, 0, 0);
	counted(B, 3);	/* this object is not known */
	assert_none(B);
	ref(B, S1);
	counted(B, 3);
	assert_object(B, 3, false, true);
	counted(B, 0);
	assert_none(B);
	assert_refs(5, 1, 0);
}

static void born(void **state)
{
	(void)state;
	change(MMT_BORN, A, S1, 1, 7);	/* a born object is never older */
	assert_object(A, 7, false, true);
	now = 50;
	change(MMT_BORN, A, S2, 1, UNKNOWN);
	assert_int_equal(ledger.reborn, 1);
	assert_int_equal(assert_object(A, 1, false, false)->nuses, 1);
	assert_int_equal(ledger_object(&ledger, REFS, A)->birth_us, 50);
	assert_ref_place(S1, 1, 0, 0);
	unref(A, S1);
	change(MMT_BORN, A, S2, 1, UNKNOWN);	/* after the last reference was released */
	assert_int_equal(ledger.reborn, 1);
	change(MMT_BORN, B, S1, 0, UNKNOWN);
	assert_none(B);
	assert_refs(3, 1, 1);
}

static void forgotten_objects(void **state)
{
	(void)state;
	ref(A, S1);
	simple(MMT_FORGET, A);
	simple(MMT_FORGET, A);
	assert_none(A);
	assert_ref_place(S1, 1, 0, 0);
	assert_refs(1, 0, 0);
	assert_doubts(0, 0, 0);
	assert_int_equal(ledger.reborn, 0);
}

static void objects_of_a_shrunken_trace(void **state)
{
	static const struct fact_use uses[] = { { S1, 3, 1 }, { S2, 0, 1 }, { S1, 1, 0 } };

	(void)state;
	now = 100;
	object(A, 2, false, false, uses, 3);
	assert_use(assert_object(A, 2, false, false), S1, 4, 1);
	assert_use(assert_object(A, 2, false, false), S2, 0, 1);
	assert_int_equal(ledger_object(&ledger, REFS, A)->birth_us, 5);
	assert_ref_place(S1, 0, 0, 4);
	assert_refs(0, 0, 1);
	object(A, -1, true, false, uses, 1);	/* more of the same object */
	assert_use(assert_object(A, 1, false, false), S1, 7, 2);
	object(A, 9, true, true, uses, 1);
	assert_object(A, 9, false, true);
	object(A, 2, false, false, uses, 1);	/* another object */
	assert_int_equal(ledger.reborn, 1);
	assert_use(assert_object(A, 2, false, false), S1, 3, 1);
	object(A, -2, true, false, uses, 1);
	assert_none(A);
	object(B, 0, false, false, uses, 1);
	assert_none(B);
	object(B, -3, true, false, uses, 2);
	assert_object(B, -3, true, false);
	assert_ref_place(S1, 0, 0, 3);
}

static void the_total_of_places(void **state)
{
	const uint64_t points[] = { 5 };
	struct fact f = info(MMT_PLACE);

	(void)state;
	f.place.stack = S1;
	f.place.allocs = 10;
	f.place.frees = 4;
	f.place.span_us = MMT_SERIES_FIRST_US;
	f.place.points = points;
	f.place.npoints = 1;
	take(&f);
	assert_ref_place(S1, 10, 4, 0);
	assert_refs(10, 4, 0);
}

static void the_series_of_references(void **state)
{
	const struct place *p;

	(void)state;
	now = 1;
	change(MMT_REF, A, S1, 2, UNKNOWN);
	now = 2 * MMT_SERIES_FIRST_US + 1;
	ref(B, S1);
	now = 4 * MMT_SERIES_FIRST_US + 1;
	change(MMT_UNREF, A, S2, 2, UNKNOWN);
	ledger_pass(&ledger, 6 * MMT_SERIES_FIRST_US);
	p = ledger_place(&ledger, REFS, defs_stack(&ledger.defs, S1));
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(series_point(&p->series, i), i < 2 ? 2 : i < 4 ? 3 : 1);
}

/* --- families --- */

/* Events for the other kind of family are ignored here. */
static void events_of_the_other_kind(void **state)
{
	const struct fact blocks = {
		.kind = MMT_INFO, .info = MMT_FAMILY_NAME,
		.family_name = { REFS, "dict", "dictionary", false, false },
	};

	(void)state;
	alloc(A, 5, S1);
	held(A, 5, S1, 0);
	simple(MMT_FREE, A);
	simple(MMT_OLD, A);
	aside(MMT_ASIDE, 1, A);
	assert_doubts(0, 0, 5);
	assert_refs(0, 0, 0);
	take(&blocks);
	assert_doubts(0, 0, 6);
	family(0);
	ref(A, S1);
	change(MMT_BORN, A, S1, 1, UNKNOWN);
	counted(A, 1);
	object(A, 1, false, false, NULL, 0);
	assert_doubts(0, 0, 10);
	assert_null(ledger_object(&ledger, 0, A));
	assert_null(ledger_place(&ledger, 0, defs_stack(&ledger.defs, S1)));
}

static void define_first(const char *name, bool refs)
{
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_FAMILY_NAME,
		.family_name = { .number = 0, .name = name, .refs = refs },
	};

	take(&f);
}

/* The first family, which exists from the start, has no kind until it has a name or an event. */
static void the_kind_of_the_first_family(void **state)
{
	(void)state;
	family(0);
	define_first(NULL, true);
	ref(A, S1);
	assert_non_null(ledger_object(&ledger, 0, A));
	define_first(NULL, false);
	assert_doubts(0, 0, 1);
	define_first("fd", true);
	assert_doubts(0, 0, 1);
	assert_string_equal(ledger.defs.families[0].name, "fd");
}

static void undefined_stacks(void **state)
{
	static const struct fact_use uses[] = { { 1000, 1, 0 }, { 1001, 1, 0 } };

	(void)state;
	ref(A, 1000);
	unref(A, 1001);
	object(B, 1, false, false, uses, 2);
	assert_doubts(0, 4, 0);
	assert_int_equal(assert_object(B, 1, false, false)->nuses, 1);
}

/* --- orphans --- */

static void later_piece(void)
{
	ledger.keep_orphans = true;
	ledger.run.piece = 2;
}

static void assert_orphans(size_t n, const uint32_t *kinds)
{
	assert_int_equal(ledger.norphans, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(ledger.orphans[i].kind, kinds[i]);
}

/* Earlier events of the object are not counted; from its birth on it belongs to this piece. */
static void orphans_until_it_is_born(void **state)
{
	(void)state;
	later_piece();
	now = 7;
	change(MMT_REF, A, S1, 2, 5);
	unref(A, S2);
	counted(A, 3);
	assert_none(A);
	assert_refs(0, 0, 0);
	change(MMT_BORN, A, S1, 1, UNKNOWN);
	change(MMT_BORN, A, S1, 1, UNKNOWN);
	ref(A, S2);
	assert_object(A, 2, false, false);
	assert_int_equal(ledger.reborn, 1);
	assert_refs(3, 0, 1);
	assert_orphans(4, (const uint32_t[]){ MMT_REF, MMT_UNREF, MMT_COUNTED, MMT_BORN });
	assert_int_equal(ledger.orphans[0].by, 2);
	assert_int_equal(ledger.orphans[0].count, 6);
	assert_int_equal(ledger.orphans[0].time_us, 7);
	assert_int_equal(ledger.orphans[1].stack, defs_stack(&ledger.defs, S2));
	assert_int_equal(ledger.orphans[2].count, 3);
	assert_int_equal(ledger.orphans[3].addr, A);
}

/* After this the object has no references: later events belong to this piece. */
static void orphans_until_it_is_gone(void **state)
{
	static const struct fact_use use = { S1, 1, 0 };

	(void)state;
	later_piece();
	change(MMT_UNREF, A, S1, 1, 0);
	ref(A, S1);
	counted(B, 0);
	ref(B, S1);
	simple(MMT_FORGET, 0x7000);
	ref(0x7000, S1);
	simple(MMT_FORGET, 0x7000);
	object(0x8000, 1, false, false, &use, 1);
	ref(0x8000, S1);
	object(0x9000, 1, true, false, &use, 1);
	ref(0x9000, S1);
	assert_orphans(4, (const uint32_t[]){ MMT_UNREF, MMT_COUNTED, MMT_FORGET, MMT_FORGET });
	assert_int_equal(ledger.orphans[3].addr, 0x8000);
	assert_refs(5, 0, 4);
	aside(MMT_ASIDE_BACK, 99, 0);	/* an earlier piece can only have put a block aside */
	ref(A, S1);
	assert_int_equal(ledger.norphans, 5);
	assert_object(A, 2, false, false);
}

/* --- compared with a model --- */

#define ADDRESSES 100

struct model {
	bool there, older, counted;
	int64_t net;
	uint64_t birth, taken[STACKS], dropped[STACKS];
};

static struct model model[ADDRESSES];
static uint64_t rng = 88172645463325252u;

static uint64_t rnd(uint64_t below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng % below;
}

static taddr address(uint64_t k)
{
	return 0x7f0000000000 + 16 * k;
}

static void model_begin(struct model *m, bool older)
{
	*m = (struct model){ .there = true, .older = older, .birth = now };
}

static void model_net(struct model *m, int64_t change_of_net, uint64_t count)
{
	m->net = count == UNKNOWN ? m->net + change_of_net : (int64_t)count;
	m->counted |= count != UNKNOWN;
	m->there = m->net;
}

static void step_ref(uint64_t k, uint32_t stack, uint64_t by, uint64_t count)
{
	struct model *m = &model[k];

	change(MMT_REF, address(k), stack, by, count);
	if (!m->there)
		model_begin(m, count != UNKNOWN && count > by);
	m->taken[stack] += by;
	model_net(m, (int64_t)by, count);
}

static void step_unref(uint64_t k, uint32_t stack, uint64_t by, uint64_t count)
{
	struct model *m = &model[k];

	change(MMT_UNREF, address(k), stack, by, count);
	if (!m->there)
		model_begin(m, true);
	m->dropped[stack] += by;
	model_net(m, -(int64_t)by, count);
}

static uint64_t step_born(uint64_t k, uint32_t stack, uint64_t by, uint64_t count)
{
	struct model *m = &model[k];
	bool again = m->there;

	change(MMT_BORN, address(k), stack, by, count);
	model_begin(m, false);
	m->taken[stack] = by;
	model_net(m, (int64_t)by, count);
	return again;
}

static void assert_as_model(uint64_t k)
{
	const struct model *m = &model[k];
	const struct object *o = ledger_object(&ledger, REFS, address(k));

	assert_int_equal(o != NULL, m->there);
	if (!o)
		return;
	assert_object(address(k), m->net, m->older, m->counted);
	assert_int_equal(o->birth_us, m->birth);
	for (uint32_t i = 0; i < o->nuses; i++) {
		uint32_t stack = ledger.defs.stacks[o->uses[i].stack].number;

		assert_int_equal(o->uses[i].acquired, m->taken[stack]);
		assert_int_equal(o->uses[i].released, m->dropped[stack]);
	}
	for (uint32_t s = 0; s < STACKS; s++)
		if (m->taken[s] || m->dropped[s])
			assert_use(o, s, m->taken[s], m->dropped[s]);
}

static void assert_all_as_model(const uint64_t *taken, const uint64_t *dropped)
{
	for (uint64_t k = 0; k < ADDRESSES; k++)
		assert_as_model(k);
	for (uint32_t s = 0; s < STACKS; s++) {
		uint64_t there = 0;

		for (uint64_t k = 0; k < ADDRESSES; k++)
			there += model[k].there ? model[k].taken[s] : 0;
		assert_ref_place(s, taken[s], dropped[s], there);
	}
}

static void agrees_with_a_model(void **state)
{
	uint64_t taken[STACKS] = { 0 }, dropped[STACKS] = { 0 }, reborn = 0;

	(void)state;
	for (int step = 1; step <= 200000; step++) {
		uint64_t k = rnd(ADDRESSES), by = rnd(10) ? 1 : rnd(4), count = rnd(3) ? UNKNOWN : rnd(4),
			 what = rnd(40);
		uint32_t stack = (uint32_t)rnd(STACKS);

		now += rnd(100);
		if (what == 0) {
			simple(MMT_FORGET, address(k));
			model[k].there = false;
		} else if (what == 1) {
			uint64_t says = rnd(5);

			counted(address(k), says);
			if (model[k].there)
				model_net(&model[k], 0, says);
		} else if (what == 2) {
			reborn += step_born(k, stack, by, count);
			taken[stack] += by;
		} else if (what < 22) {
			step_ref(k, stack, by, count);
			taken[stack] += by;
		} else {
			step_unref(k, stack, by, count);
			dropped[stack] += by;
		}
		assert_as_model(k);
		if (step % 20000 == 0)
			assert_all_as_model(taken, dropped);
	}
	assert_int_equal(ledger.reborn, reborn);
	assert_doubts(0, 0, 0);
}

/* Acquired and released a million times, by some stacks: memory does not grow with that. */
static void memory_does_not_grow_with_events(void **state)
{
	size_t before = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000000; i++) {
		taddr addr = A + 64 * (i / 2 % 100);

		i % 2 ? unref(addr, i / 200 % STACKS) : ref(addr, i / 200 % STACKS);
		if (i == 10000)
			before = ledger_memory(&ledger);
	}
	assert_int_equal(ledger_memory(&ledger), before);
	assert_refs(500000, 500000, 0);
}

int main(void)
{
#define refs_test(f) cmocka_unit_test_setup_teardown(f, setup_refs, teardown)
	const struct CMUnitTest tests[] = {
		refs_test(taken_and_dropped),
		refs_test(older_than_the_watch),
		refs_test(the_count_goes_before_what_was_seen),
		refs_test(born),
		refs_test(forgotten_objects),
		refs_test(objects_of_a_shrunken_trace),
		refs_test(the_total_of_places),
		refs_test(the_series_of_references),
		refs_test(events_of_the_other_kind),
		refs_test(the_kind_of_the_first_family),
		refs_test(undefined_stacks),
		refs_test(orphans_until_it_is_born),
		refs_test(orphans_until_it_is_gone),
		refs_test(agrees_with_a_model),
		refs_test(memory_does_not_grow_with_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
