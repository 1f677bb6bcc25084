/* SPDX-License-Identifier: MIT */
/*
 * refgroups: from the facts of objects to groups of the report: which call sites are suspect, what is one
 * group, what is hidden; the same report in whatever order the facts came. For blocks: tags, families,
 * wrappers that a run names itself. With the arguments "write PATH" it writes a trace, for the reports of
 * tests/test_refs.py.
 */
#include "report/refs/refgroups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "report/account.h"
#include "report/json/out_json.h"
#include "report/text/out_text.h"
#include "report/tracefiles/replay.h"
#include "report/tracefiles/shrink.h"

#define SECOND 1000000u
#define DICT 1			/* family */
#define OBJECTS 5292

/* Stacks of two frames each, named after the leaf. */
enum { NEW, BOTH, LEAKY, DONE, CBK, WRAPPED, WRAPPED_TOO, SKIPPED, STACKS };

static const char *const leaves[STACKS] = { "new", "both",   "leaky",	"done",
					    "cbk", "strdup", "xmalloc", "my_wrapper" };

static struct ledger ledger;
static struct groups_options options;
static uint64_t now;

static void take(struct fact f)
{
	f.time_us = now;
	assert_int_equal(ledger_take(&ledger, &f), 0);
}

static struct fact info(uint32_t what)
{
	return (struct fact){ .kind = MMT_INFO, .info = what };
}

static void define_frame(uint32_t number, const char *name, bool skip)
{
	const struct fact_name all = { .function = name };
	struct fact f = info(MMT_FRAME);

	f.frame.number = number;
	f.frame.pc = 0x1000 + number;
	f.frame.skip = skip;
	take(f);
	f = info(MMT_NAMES);
	f.names.frame = number;
	f.names.all = &all;
	f.names.n = 1;
	take(f);
}

static void define_node(uint32_t number, uint32_t caller, uint32_t frame)
{
	struct fact f = info(MMT_NODE);

	f.node.number = number;
	f.node.caller = caller;
	f.node.frame = frame;
	take(f);
}

static void define_stack(uint32_t number, uint32_t node, uint32_t tag)
{
	struct fact f = info(MMT_STACK);

	f.stack.number = number;
	f.stack.node = node;
	f.stack.tag = tag;
	take(f);
}

static void define_family(uint32_t number, const char *name, bool refs, const char *noun)
{
	struct fact f = info(MMT_FAMILY_NAME);

	f.family_name.number = number;
	f.family_name.name = name;
	f.family_name.refs = refs;
	f.family_name.noun = noun;
	take(f);
}

/* All end in main; the last three go through another function in common, so that only their leaves differ. */
static int setup(void **state)
{
	(void)state;
	now = 0;
	options = (struct groups_options){ 0 };
	assert_int_equal(ledger_init(&ledger), 0);
	define_family(0, "libc", false, NULL);
	define_family(DICT, "dict", true, NULL);
	define_frame(100, "main", false);
	define_frame(101, "user", false);
	define_node(100, 0, 100);
	define_node(101, 100, 101);
	for (uint32_t i = 0; i < STACKS; i++) {
		define_frame(i, leaves[i], false);
		define_node(i + 1, i >= WRAPPED ? 101 : 100, i);
		define_stack(i, i + 1, FACT_NONE);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ledger_fini(&ledger);
	return 0;
}

static void family(uint32_t number)
{
	take((struct fact){ .kind = MMT_FAMILY, .family = number });
}

static void event(uint32_t kind, taddr addr, uint32_t stack, uint64_t by, uint64_t count)
{
	take((struct fact){ .kind = kind,
			    .ref = { .addr = addr, .stack = stack, .by = by, .count = count } });
}

static void ref(taddr addr, uint32_t stack)
{
	event(MMT_REF, addr, stack, 1, FACT_NONE);
}

static void unref(taddr addr, uint32_t stack)
{
	event(MMT_UNREF, addr, stack, 1, FACT_NONE);
}

static void summarize(struct summary *s)
{
	assert_int_equal(account_summary(&ledger, &options, s), 0);
}

static const char *leaf(const struct summary_use *u)
{
	return u->stack.frames[u->stack.wrappers].function;
}

/* One more reference to every tenth object is leaked. @turn: in another order. */
static void leak(bool turn)
{
	family(DICT);
	for (uint32_t n = 0; n < OBJECTS; n++) {
		uint32_t i = turn ? OBJECTS - 1 - n : n;
		taddr addr = 0x10000 + 64 * (uint64_t)i;

		now = SECOND + 1000 * i;
		ref(addr, NEW);
		ref(addr, BOTH);
		if (i % 10 == 5)
			ref(addr, LEAKY);
		unref(addr, CBK);
		unref(addr, DONE);
	}
	now = 10 * SECOND;
	take((struct fact){ .kind = MMT_TIME });
}

/* --- which call sites are suspect --- */

static void the_one_that_leaks_comes_first(void **state)
{
	struct summary s;
	const struct summary_refs *r;

	(void)state;
	leak(false);
	summarize(&s);
	assert_int_equal(s.nrefs, 1);
	r = &s.refs[0];
	assert_string_equal(r->family, "dict");
	assert_string_equal(r->noun, "object");
	assert_int_equal(r->objects, 529);
	assert_int_equal(r->net, 1);
	assert_false(r->older || r->counted);
	assert_int_equal(r->nacquired, 3);
	assert_string_equal(leaf(&r->acquired[0]), "leaky");
	assert_string_equal(leaf(&r->acquired[1]), "new");
	assert_string_equal(leaf(&r->acquired[2]), "both");
	assert_int_equal(r->acquired[0].acquired_in_all, 529);
	assert_int_equal(r->acquired[0].outstanding, 529);
	assert_int_equal(r->acquired[1].acquired_in_all, OBJECTS);
	assert_int_equal(r->acquired[1].outstanding, 529);
	assert_int_equal(r->nreleased, 2);
	assert_true(r->released[0].per_object == 1 && r->released[0].count == 529);
	assert_true(r->oldest_s > r->youngest_s && r->youngest_s > 0);
	assert_int_equal(r->nsamples, 5);
	assert_int_equal(r->samples[0], 0x10000 + 64 * 5);
	assert_int_equal(r->samples[4], 0x10000 + 64 * 45);
	assert_int_equal(r->series[r->npoints - 1].bytes, 529);
	assert_int_equal(r->nall, 0);
	assert_int_equal(s.nfamilies, 1);
	assert_int_equal(s.families[0].acquired, 2 * OBJECTS + 529);
	assert_int_equal(s.families[0].released, 2 * OBJECTS);
	assert_int_equal(s.families[0].live, 529);
	assert_int_equal(s.families[0].net, 529);
	summary_fini(&s);
}

/*
 * A call site that acquired few references and leaked them is more suspect than one that acquired many and
 * leaked them as rarely as others.
 */
static void the_share_counts_and_not_the_number(void **state)
{
	struct summary s;

	(void)state;
	family(DICT);
	for (taddr a = 1; a <= 1000; a++) {
		ref(a, NEW);
		if (a > 900)
			ref(a, BOTH);
		if (a > 10)
			unref(a, DONE);
	}
	for (taddr a = 901; a <= 1000; a++)
		unref(a, DONE);
	ref(1, LEAKY);
	ref(2, LEAKY);
	ref(20, LEAKY);
	unref(20, DONE);
	summarize(&s);
	assert_int_equal(s.nrefs, 2);
	assert_int_equal(s.refs[0].objects, 8);
	assert_int_equal(s.refs[1].objects, 2);
	assert_int_equal(s.refs[1].net, 2);
	assert_string_equal(leaf(&s.refs[1].acquired[0]), "leaky");
	assert_int_equal(s.refs[1].acquired[0].outstanding, 2);
	assert_int_equal(s.refs[1].acquired[0].acquired_in_all, 3);
	assert_int_equal(s.refs[1].acquired[1].outstanding, 10);
	assert_int_equal(s.refs[1].acquired[1].acquired_in_all, 1000);
	summary_fini(&s);
}

/*
 * Every object passes through the same call sites, also those that still have references: all call sites have
 * the same share. The one that leaks acquired exactly the surplus, also where that is two; the others
 * acquired one each, or more than the surplus.
 */
static void of_equal_shares_that_which_matches_the_objects(void **state)
{
	struct summary s;

	(void)state;
	family(DICT);
	for (taddr a = 1; a <= 30; a++) {
		unsigned int lost = a % 3 ? 1 : 2;

		ref(a, NEW);
		for (int i = 0; i < 3; i++)
			ref(a, BOTH);
		for (unsigned int i = 0; i < lost; i++)
			ref(a, LEAKY);
		for (int i = 0; i < 4; i++)
			unref(a, DONE);
	}
	summarize(&s);
	assert_int_equal(s.nrefs, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct summary_use *first = s.refs[i].acquired;

		assert_string_equal(leaf(first), "leaky");
		assert_true(summary_use_follows(first) && !summary_use_follows(&first[1]) &&
			    !summary_use_follows(&first[2]));
		assert_int_equal(first->several, 10);
		assert_int_equal(first->as_many, 10);
		assert_int_equal(first[1].as_many, 0);
		assert_int_equal(first[1].several, 10);
		assert_int_equal(first->outstanding, first->acquired_in_all);
		assert_int_equal(first[1].outstanding, first[1].acquired_in_all);
		assert_int_equal(summary_near_uses(first, 3), 3);
		assert_int_equal(summary_like_uses(first, 3), 1);
	}
	summary_fini(&s);
}

/*
 * The own count of an object from before the watch does not show how many references were acquired during the
 * watch.
 */
static void older_objects_match_no_call_site(void **state)
{
	struct summary s;

	(void)state;
	family(DICT);
	event(MMT_REF, 0x10, LEAKY, 2, 5 + 1);
	event(MMT_UNREF, 0x10, DONE, 3, 2 + 1);
	summarize(&s);
	assert_int_equal(s.nrefs, 1);
	assert_true(s.refs[0].older && s.refs[0].counted && s.refs[0].net == 2);
	assert_int_equal(s.refs[0].acquired[0].several, 0);
	summary_fini(&s);
}

/*
 * A few objects that were in use when the watch ended do not grow as fast as many that leak, although their
 * references were acquired at the same call site.
 */
static void each_group_has_its_part_of_the_rate(void **state)
{
	struct summary s;

	(void)state;
	family(DICT);
	for (taddr a = 1; a <= 1000; a++) {
		now = a * 60000;
		ref(a, NEW);
		if (a % 100 == 0)
			ref(a, NEW);
	}
	summarize(&s);
	assert_int_equal(s.nrefs, 2);
	assert_int_equal(s.refs[0].growth.shape, GROWTH_GROWS);
	assert_int_equal(s.refs[1].growth.shape, GROWTH_GROWS);
	assert_true(s.refs[0].growth.bytes_per_minute > 900 && s.refs[0].growth.bytes_per_minute < 1100);
	assert_true(s.refs[1].growth.bytes_per_minute > 18 && s.refs[1].growth.bytes_per_minute < 22);
	assert_int_equal(s.refs[1].series[s.refs[1].npoints - 1].bytes, 1010);
	summary_fini(&s);
}

/* --- what is one group --- */

static void how_often_is_not_in_the_signature(void **state)
{
	struct summary s;

	(void)state;
	family(DICT);
	ref(1, NEW);
	for (int i = 0; i < 6; i++) {
		ref(2, NEW);
		if (i)
			unref(2, DONE);
	}
	ref(1, NEW);
	unref(1, DONE);
	ref(3, NEW);
	ref(3, NEW);
	ref(3, NEW);
	unref(3, DONE);
	ref(4, NEW);
	ref(4, BOTH);
	unref(4, DONE);
	summarize(&s);
	assert_int_equal(s.nrefs, 3);
	assert_int_equal(s.refs[0].objects, 2);
	assert_true(s.refs[0].acquired[0].per_object == 4 && s.refs[0].released[0].per_object == 3);
	assert_int_equal(s.refs[1].net, 2);
	assert_int_equal(s.refs[1].signature, s.refs[0].signature);
	assert_int_equal(s.refs[2].net, 1);
	assert_int_not_equal(s.refs[2].signature, s.refs[0].signature);
	summary_fini(&s);
}

static void older_and_counted_ones(void **state)
{
	struct summary s;

	(void)state;
	family(DICT);
	unref(1, DONE);				/* older, not counted: one fewer than before */
	event(MMT_REF, 2, NEW, 1, 4 + 1);	/* older: it has four */
	event(MMT_REF, 3, NEW, 1, 1 + 1);	/* its first */
	ref(4, NEW);
	unref(5, DONE);
	ref(5, NEW);				/* balanced */
	summarize(&s);
	assert_int_equal(s.nrefs, 4);
	assert_true(!s.refs[0].older && !s.refs[1].older && s.refs[0].counted != s.refs[1].counted);
	assert_true(s.refs[2].older && s.refs[2].counted && s.refs[2].net == 4);
	assert_true(s.refs[3].older && !s.refs[3].counted && s.refs[3].net == -1);
	assert_true(summary_refs_relative(&s.refs[3]) && !summary_refs_relative(&s.refs[2]));
	assert_false(summary_refs_suspect(&s.refs[3]));
	assert_int_equal(s.refs[3].nacquired, 0);
	assert_int_equal(s.families[0].older, 2);
	assert_int_equal(s.families[0].net, 2);
	summary_fini(&s);
}

/* Wrappers at the front do not make different call sites, nor do those of the run's own rules. */
static void wrappers(void **state)
{
	struct summary s;
	struct fact f = info(MMT_SKIP);

	(void)state;
	f.skip = "my_wrapper";
	take(f);
	family(DICT);
	ref(1, WRAPPED);
	ref(2, WRAPPED_TOO);
	ref(3, SKIPPED);
	summarize(&s);
	assert_int_equal(s.nrefs, 1);
	assert_int_equal(s.refs[0].objects, 3);
	assert_string_equal(leaf(&s.refs[0].acquired[0]), "user");
	assert_int_equal(s.refs[0].acquired[0].acquired_in_all, 3);
	summary_fini(&s);
	options.keep_wrappers = true;
	summarize(&s);
	assert_int_equal(s.nrefs, 3);
	summary_fini(&s);
}

static void frames_that_the_run_marks(void **state)
{
	struct summary s;

	(void)state;
	define_frame(200, NULL, true);
	define_node(200, 101, 200);
	define_stack(200, 200, FACT_NONE);
	take((struct fact){ .kind = MMT_ALLOC, .block = { .addr = 1, .size = 10, .stack = 200 } });
	summarize(&s);
	assert_int_equal(s.groups[0].stack.wrappers, 1);
	assert_string_equal(s.groups[0].stack.frames[1].function, "user");
	summary_fini(&s);
}

/* --- what is hidden --- */

static void assert_hidden(const struct summary_hidden *h, uint64_t groups, uint64_t objects)
{
	assert_int_equal(h->ref_groups, groups);
	assert_int_equal(h->objects, objects);
	assert_int_equal(h->groups, 0);
}

static void selected(const char *focus, const char *ignore, uint64_t shown)
{
	struct select *select;
	struct summary s;
	char why[200];

	assert_int_equal(select_new(&select), 0);
	if (focus)
		assert_int_equal(select_focus(select, focus, why, sizeof(why)), 0);
	if (ignore)
		assert_int_equal(select_ignore(select, ignore, why, sizeof(why)), 0);
	options.select = select;
	summarize(&s);
	assert_int_equal(s.nrefs, shown);
	assert_hidden(&s.filtered, 1 - shown, 529 * (1 - shown));
	assert_int_equal(s.families[0].live, 529);
	summary_fini(&s);
	select_free(select);
}

static void focus_and_ignore(void **state)
{
	(void)state;
	leak(false);
	selected("^leaky$", NULL, 1);
	selected("^cbk$", NULL, 1);
	selected("nobody", NULL, 0);
	selected(NULL, "^both$", 0);
	/* a call site that released properly does not hide the group */
	selected(NULL, "^cbk$", 1);
}

static void suppressed(void **state)
{
	static const char text[] = "leak:leaky\n", other[] = "leak:cbk\n";
	struct summary s;
	char why[200];

	(void)state;
	leak(false);
	assert_int_equal(suppressions_new(&options.suppressions), 0);
	assert_int_equal(
		suppressions_parse(options.suppressions, "a", other, sizeof(other) - 1, why, sizeof(why)), 0);
	summarize(&s);
	assert_int_equal(s.nrefs, 1);
	summary_fini(&s);
	assert_int_equal(
		suppressions_parse(options.suppressions, "b", text, sizeof(text) - 1, why, sizeof(why)), 0);
	summarize(&s);
	assert_int_equal(s.nrefs, 0);
	assert_hidden(&s.suppressed, 1, 529);
	assert_int_equal(s.suppressions[0].blocks, 529);
	summary_fini(&s);
	suppressions_free(options.suppressions);
}

static void older_than(void **state)
{
	struct summary s;

	(void)state;
	leak(false);
	options.older_than_us = 8 * SECOND;
	options.min_bytes = 1 << 20;	/* this applies to blocks, not to objects */
	summarize(&s);
	assert_int_equal(s.nrefs, 1);
	assert_int_equal(s.refs[0].objects, 100);
	/* the totals of the call sites do not depend on that */
	assert_int_equal(s.refs[0].acquired[0].outstanding, 529);
	summary_fini(&s);
}

/* --- each object --- */

static void each_object(void **state)
{
	const struct summary_refs *r;
	struct summary s;

	(void)state;
	options.per_object = true;
	family(DICT);
	ref(0x30, NEW);
	ref(0x20, NEW);
	ref(0x20, NEW);
	ref(0x20, LEAKY);
	unref(0x20, DONE);
	unref(0x20, DONE);
	ref(0x10, NEW);
	now = 3 * SECOND;
	take((struct fact){ .kind = MMT_TIME });
	summarize(&s);
	assert_true(s.per_object);
	assert_int_equal(s.nrefs, 2);
	assert_int_equal(s.refs[0].nall, 2);
	assert_int_equal(s.refs[0].all[0].addr, 0x10);
	assert_int_equal(s.refs[0].all[1].addr, 0x30);
	r = &s.refs[1];
	assert_int_equal(r->nall, 1);
	assert_true(r->all[0].age_s == 3);
	assert_string_equal(leaf(&r->acquired[1]), "leaky");
	assert_int_equal(r->all[0].counts[0], 2);
	assert_int_equal(r->all[0].counts[1], 1);
	assert_int_equal(r->all[0].counts[2], 2);
	summary_fini(&s);
}

/* --- the same report --- */

static char *print(struct ledger *l)
{
	struct strbuf sb = STRBUF_INIT;
	struct summary s;

	options.per_object = true;
	assert_int_equal(account_summary(l, &options, &s), 0);
	assert_int_equal(out_json(&s, 0, &sb), 0);
	assert_int_equal(out_text(&s, 0, &sb), 0);
	summary_fini(&s);
	return strbuf_steal(&sb);
}

/* Many signatures, nets and equal ones. */
static void many(void)
{
	uint64_t random = 12345;

	family(DICT);
	for (int i = 0; i < 5000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		now += 1000;
		event(random >> 40 & 1 ? MMT_REF : MMT_UNREF, 16 * (random >> 50 & 255),
		      (uint32_t)(random >> 58) % STACKS, 1, FACT_NONE);
	}
}

static void the_same_from_a_shrunken_trace(void **state)
{
	char path[] = "/tmp/mm-refgroups-XXXXXX";
	const char *const paths[] = { path };
	struct ledger again;
	char *before, *after;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	many();
	before = print(&ledger);
	assert_int_equal(shrink_write(&ledger, path), 0);
	assert_int_equal(replay_files(paths, 1, &(struct replay_options){ 0 }, &again), 0);
	again.nnotes = again.own_notes;
	after = print(&again);
	assert_string_equal(before, after);
	ledger_fini(&again);
	unlink(path);
	free(before);
	free(after);
}

/* Only the times differ, so none are printed. */
static void the_same_in_another_order(void **state)
{
	struct summary s[2];

	(void)state;
	leak(false);
	summarize(&s[0]);
	teardown(NULL);
	setup(NULL);
	leak(true);
	summarize(&s[1]);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(leaf(&s[0].refs[0].acquired[i]), leaf(&s[1].refs[0].acquired[i]));
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(s[0].refs[0].samples[i], s[1].refs[0].samples[i]);
	summary_fini(&s[0]);
	summary_fini(&s[1]);
}

/* --- names --- */

static void who_dropped_is_named_too(void **state)
{
	bool wanted[STACKS + 2] = { false };

	(void)state;
	family(DICT);
	ref(1, NEW);
	ref(1, NEW);
	unref(1, DONE);
	ref(2, BOTH);
	unref(2, CBK);
	assert_int_equal(ledger.defs.nframes, STACKS + 2);
	assert_int_equal(groups_wanted(&ledger, false, wanted), 0);
	assert_true(wanted[defs_frame(&ledger.defs, NEW)] && wanted[defs_frame(&ledger.defs, DONE)]);
	assert_false(wanted[defs_frame(&ledger.defs, BOTH)] || wanted[defs_frame(&ledger.defs, CBK)]);
}

/* --- blocks --- */

static void alloc(taddr addr, uint32_t stack)
{
	take((struct fact){ .kind = MMT_ALLOC, .block = { .addr = addr, .size = 100, .stack = stack } });
}

static void tags_tell_groups_apart(void **state)
{
	struct fact f = info(MMT_TAG);
	struct summary s;

	(void)state;
	f.tag.number = 5;
	f.tag.text = "gf_mt_char";
	take(f);
	define_stack(200, NEW + 1, 5 + 1);
	alloc(1, NEW);
	alloc(2, 200);
	alloc(3, 200);
	summarize(&s);
	assert_int_equal(s.ngroups, 2);
	assert_string_equal(s.groups[0].tag, "gf_mt_char");
	assert_int_equal(s.groups[0].blocks, 2);
	assert_null(s.groups[1].tag);
	summary_fini(&s);
}

static void families(void **state)
{
	static const char *const wanted[] = { "fd" };
	struct summary s;

	(void)state;
	define_family(7, "fd", false, "descriptor");
	define_family(8, "never", false, NULL);
	alloc(1, NEW);
	family(7);
	alloc(1, NEW);
	take((struct fact){ .kind = MMT_FREE, .block.addr = 1 });
	alloc(2, NEW);
	leak(false);
	summarize(&s);
	assert_int_equal(s.nfamilies, 3);
	assert_string_equal(s.families[0].name, "libc");
	assert_string_equal(s.families[0].noun, "block");
	assert_true(s.families[1].refs);
	assert_string_equal(s.families[2].noun, "descriptor");
	assert_int_equal(s.families[2].acquired, 2);
	assert_int_equal(s.families[2].released, 1);
	assert_int_equal(s.families[2].live, 1);
	assert_int_equal(s.totals.allocs, 3);
	summary_fini(&s);
	options.families = wanted;
	options.nfamilies = 1;
	summarize(&s);
	assert_int_equal(s.nfamilies, 1);
	assert_int_equal(s.ngroups, 1);
	assert_int_equal(s.nrefs, 0);
	assert_int_equal(s.totals.allocs, 2);
	assert_int_equal(s.totals.live_blocks, 1);
	summary_fini(&s);
}

/* A run of three families, as a trace. */
static int write_example(const char *path)
{
	int r;

	setup(NULL);
	define_family(7, "fd", false, "descriptor");
	family(7);
	take((struct fact){ .kind = MMT_ALLOC, .block = { .addr = 3, .size = 1, .stack = NEW } });
	family(0);
	alloc(0x1000, BOTH);
	leak(false);
	unref(0x10, DONE);
	r = shrink_write(&ledger, path);
	teardown(NULL);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_one_that_leaks_comes_first, setup, teardown),
		cmocka_unit_test_setup_teardown(the_share_counts_and_not_the_number, setup, teardown),
		cmocka_unit_test_setup_teardown(of_equal_shares_that_which_matches_the_objects, setup,
						teardown),
		cmocka_unit_test_setup_teardown(older_objects_match_no_call_site, setup, teardown),
		cmocka_unit_test_setup_teardown(each_group_has_its_part_of_the_rate, setup, teardown),
		cmocka_unit_test_setup_teardown(how_often_is_not_in_the_signature, setup, teardown),
		cmocka_unit_test_setup_teardown(older_and_counted_ones, setup, teardown),
		cmocka_unit_test_setup_teardown(wrappers, setup, teardown),
		cmocka_unit_test_setup_teardown(frames_that_the_run_marks, setup, teardown),
		cmocka_unit_test_setup_teardown(focus_and_ignore, setup, teardown),
		cmocka_unit_test_setup_teardown(suppressed, setup, teardown),
		cmocka_unit_test_setup_teardown(older_than, setup, teardown),
		cmocka_unit_test_setup_teardown(each_object, setup, teardown),
		cmocka_unit_test_setup_teardown(the_same_from_a_shrunken_trace, setup, teardown),
		cmocka_unit_test_setup_teardown(the_same_in_another_order, setup, teardown),
		cmocka_unit_test_setup_teardown(who_dropped_is_named_too, setup, teardown),
		cmocka_unit_test_setup_teardown(tags_tell_groups_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(families, setup, teardown),
	};

	if (argc == 3 && !strcmp(argv[1], "write"))
		return write_example(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
