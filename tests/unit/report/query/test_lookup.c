/* SPDX-License-Identifier: MIT */
/*
 * lookup: the blocks of a group, and what is at an address: blocks within others, objects, what the report
 * leaves out; compared with a plain search of all blocks. With the arguments "write PATH" it writes a trace,
 * for tests/test_lookup.py.
 */
#include "report/query/lookup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/account.h"
#include "report/text/groups/text_lookup.h"
#include "report/tracefiles/shrink.h"
#include "tests/unit/ledger_facts.h"

#define POOL 1		/* families; the ledger's own has no name */
#define DICT 2
#define SMALL 3		/* stacks, of one frame each */
#define LARGE 4
#define MANY 5

static struct groups_options options;
static struct lookup lookup;
static struct summary summary;

static void define_named(uint32_t stack, const char *function)
{
	const struct fact_name name = { .function = function };
	struct fact f = info(MMT_FRAME);

	f.frame.number = stack;
	f.frame.pc = 0x1000 + stack;
	take(&f);
	f = info(MMT_NAMES);
	f.names.frame = stack;
	f.names.all = &name;
	f.names.n = 1;
	take(&f);
	f = info(MMT_NODE);
	f.node.number = stack;
	f.node.frame = stack;
	take(&f);
	f = info(MMT_STACK);
	f.stack.number = 100 + stack;
	f.stack.node = stack;
	f.stack.tag = FACT_NONE;
	take(&f);
}

static void define_objects(void)
{
	struct fact f = info(MMT_FAMILY_NAME);

	f.family_name.number = DICT;
	f.family_name.name = "dict";
	f.family_name.refs = true;
	take(&f);
}

static int setup_names(void **state)
{
	setup(state);
	options = (struct groups_options){ 0 };
	define_family(0, "libc");
	define_family(POOL, "pool");
	define_objects();
	define_named(SMALL, "small");
	define_named(LARGE, "large");
	define_named(MANY, "many");
	return 0;
}

static void refs(taddr addr, unsigned n)
{
	while (n--) {
		const struct fact f = {
			.kind = MMT_REF, .time_us = now,
			.ref = { .addr = addr, .stack = 100 + SMALL, .by = 1, .count = FACT_NONE }
		};
		take(&f);
	}
}

/* A large block, two small ones; a block of the pool within the large one; objects with 1 to 5 references. */
static void example(void)
{
	now = SECOND;
	alloc(0x2000, 48, 100 + SMALL);
	now = 2 * SECOND;
	alloc(0x10000, 4096, 100 + LARGE);
	now = 3 * SECOND;
	alloc(0x1000, 32, 100 + SMALL);
	family(POOL);
	alloc(0x10100, 0, 100 + MANY);
	alloc(0x10200, 64, 100 + MANY);
	family(DICT);
	for (unsigned i = 1; i <= 5; i++) {
		now += SECOND;
		refs(0x10200 + 0x100 * (uint64_t)i, i);
	}
	now = 10 * SECOND;
	simple(MMT_TIME, 0);
}

static void ask(const struct lookup_question *q)
{
	lookup_init(&lookup, q);
	options.lookup = &lookup;
	assert_int_equal(ledger_settle(&ledger), 0);
	assert_int_equal(account_summary(&ledger, &options, &summary), 0);
}

static void forget(void)
{
	summary_fini(&summary);
	lookup_fini(&lookup);
}

static void refused(size_t entry, const char *family, const char *why)
{
	ask(&(struct lookup_question){ .entry = entry, .family = family });
	assert_string_equal(lookup.why, why);
	assert_int_equal(lookup.nlist, 0);
	forget();
}

/* --- lists --- */

static void the_oldest_is_first(void **state)
{
	(void)state;
	example();
	ask(&(struct lookup_question){ .entry = 2, .family = "libc" });
	assert_string_equal(lookup.why, "");
	assert_int_equal(lookup.nlist, 2);
	assert_int_equal(lookup.list[0].addr, 0x2000);
	assert_int_equal(lookup.list[0].bytes, 48);
	assert_true(lookup.list[0].age_s == 9);
	assert_int_equal(lookup.list[1].addr, 0x1000);
	assert_true(lookup.list[1].age_s == 7);
	assert_int_equal(lookup.ngroups, 1);
	assert_string_equal(summary.groups[lookup.groups[0]].stack.frames[0].function, "small");
	forget();
}

static void of_one_age_the_lowest_is_first(void **state)
{
	(void)state;
	for (unsigned i = 10; i; i--)
		alloc(0x1000 * (uint64_t)i, 8, 100 + SMALL);
	ask(&(struct lookup_question){ .entry = 1 });
	assert_int_equal(lookup.nlist, 10);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(lookup.list[i].addr, 0x1000 * (i + 1));
	forget();
}

/* More than three net counts of one signature are one numbered group, and its list has all of them. */
static void an_entry_of_several_groups(void **state)
{
	(void)state;
	example();
	ask(&(struct lookup_question){ .entry = 1, .family = "dict" });
	assert_int_equal(summary.nrefs, 5);
	assert_int_equal(lookup.ngroups, 5);
	assert_int_equal(lookup.nlist, 5);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(lookup.list[i].addr, 0x10300 + 0x100 * i);
		assert_int_equal(lookup.list[i].net, i + 1);
	}
	forget();
	refused(2, "dict", "the report has 1 group of family dict");
}

/* If there are few net counts, each is a group of its own. */
static void entries_of_one_group(void **state)
{
	(void)state;
	family(DICT);
	refs(0x100, 2);
	refs(0x200, 1);
	refs(0x300, 1);
	ask(&(struct lookup_question){ .entry = 2 });
	assert_int_equal(lookup.ngroups, 1);
	assert_int_equal(lookup.nlist, 1);
	assert_int_equal(lookup.list[0].addr, 0x100);
	forget();
}

static void no_such_entry(void **state)
{
	(void)state;
	refused(1, NULL, "the report has no groups");
	example();
	refused(1, NULL, "several families have groups; write libc:1 or pool:1 or dict:1");
	refused(3, "libc", "the report has 2 groups of family libc");
	refused(1, "inode", "the report has nothing of a family inode");
	options.min_bytes = 100000;
	refused(1, "libc", "the report has no groups of family libc");
	options.older_than_us = 20 * SECOND;
	refused(1, NULL, "the report has no groups");
}

/* Without a family in the question, the only one that has groups is meant. */
static void the_only_family(void **state)
{
	const char *const wanted[] = { "libc" };

	(void)state;
	example();
	options.families = wanted;
	options.nfamilies = 1;
	ask(&(struct lookup_question){ .entry = 1 });
	assert_int_equal(lookup.nlist, 1);
	assert_int_equal(lookup.list[0].addr, 0x10000);
	forget();
	refused(3, NULL, "the report has 2 groups");
}

static void too_young_for_the_list(void **state)
{
	(void)state;
	example();
	options.older_than_us = 8 * SECOND;
	ask(&(struct lookup_question){ .entry = 2, .family = "libc" });
	assert_int_equal(lookup.nlist, 1);
	assert_int_equal(lookup.list[0].addr, 0x2000);
	forget();
}

/* Stacks that differ in their wrappers are one group: its list has the blocks of both. */
static void through_wrappers(void **state)
{
	const taddr addr = B;
	struct fact f;

	(void)state;
	define_named(6, "strdup");
	f = info(MMT_NODE);
	f.node.number = 7;
	f.node.caller = SMALL;
	f.node.frame = 6;
	take(&f);
	f = info(MMT_STACK);
	f.stack.number = 107;
	f.stack.node = 7;
	f.stack.tag = FACT_NONE;
	take(&f);
	alloc(A, 8, 100 + SMALL);
	alloc(B, 8, 107);
	ask(&(struct lookup_question){ .entry = 1, .addrs = &addr, .naddrs = 1 });
	assert_int_equal(summary.ngroups, 1);
	assert_int_equal(lookup.nlist, 2);
	assert_int_equal(lookup.at[0].found[0].entry, 1);
	assert_int_equal(lookup.at[0].found[0].uses[0].stack.wrappers, 1);
	forget();
	options.keep_wrappers = true;
	ask(&(struct lookup_question){ .entry = 1, .addrs = &addr, .naddrs = 1 });
	assert_int_equal(summary.ngroups, 2);
	assert_int_equal(lookup.nlist, 1);
	assert_int_equal(lookup.at[0].found[0].uses[0].stack.wrappers, 0);
	forget();
}

/* --- addresses --- */

static const struct lookup_found *found(size_t i, size_t n)
{
	assert_int_equal(lookup.at[i].nfound, n);
	return lookup.at[i].found;
}

static void inside_and_outside(void **state)
{
	const taddr addrs[] = { 0x2000, 0x202f, 0x2030, 0x1fff, 0x2010, 0x2000, 0, UINT64_MAX };
	const struct lookup_found *f;

	(void)state;
	example();
	ask(&(struct lookup_question){ .addrs = addrs, .naddrs = 8 });
	assert_int_equal(lookup.nat, 8);
	f = found(1, 1);
	assert_int_equal(lookup.at[1].addr, 0x202f);
	assert_int_equal(f->block.addr, 0x2000);
	assert_int_equal(f->block.bytes, 48);
	assert_true(f->block.age_s == 9);
	assert_int_equal(f->entry, 2);
	assert_int_equal(f->group, 1);
	assert_int_equal(f->nuses, 1);
	assert_string_equal(f->uses[0].stack.frames[0].function, "small");
	assert_int_equal(found(0, 1)->block.addr, 0x2000);
	assert_int_equal(found(4, 1)->block.addr, 0x2000);
	assert_int_equal(found(5, 1)->block.addr, 0x2000);
	found(2, 0);
	found(3, 0);
	found(6, 0);
	found(7, 0);
	forget();
}

/* Each family has its own; an object is found at its beginning; a block without a size is found, too. */
static void several_at_one_address(void **state)
{
	const taddr addrs[] = { 0x10100, 0x10101, 0x10210, 0x10300, 0x10301 };

	(void)state;
	example();
	ask(&(struct lookup_question){ .addrs = addrs, .naddrs = 5 });
	assert_string_equal(found(0, 2)[0].family, "libc");
	assert_int_equal(found(0, 2)[0].block.addr, 0x10000);
	assert_string_equal(found(0, 2)[1].family, "pool");
	assert_int_equal(found(0, 2)[1].block.addr, 0x10100);
	assert_int_equal(found(1, 1)->block.addr, 0x10000);
	assert_int_equal(found(2, 2)[1].block.addr, 0x10200);
	assert_string_equal(found(3, 2)[1].family, "dict");
	assert_true(found(3, 2)[1].refs);
	assert_int_equal(found(3, 2)[1].block.net, 1);
	assert_int_equal(found(3, 2)[1].entry, 1);
	assert_int_equal(summary.refs[found(3, 2)[1].group].net, 1);
	assert_int_equal(found(3, 2)[1].nuses, 1);
	found(4, 1);
	forget();
}

static void where_the_report_leaves_it_out(void **state)
{
	const char *const wanted[] = { "pool" };
	const taddr addrs[] = { 0x1001, 0x10210, 0x10300 };

	(void)state;
	example();
	options.families = wanted;
	options.nfamilies = 1;
	ask(&(struct lookup_question){ .addrs = addrs, .naddrs = 3 });
	assert_int_equal(found(0, 1)->entry, 0);
	assert_string_equal(found(0, 1)->uses[0].stack.frames[0].function, "small");
	assert_int_equal(found(1, 2)[0].entry, 0);
	assert_int_equal(found(1, 2)[1].entry, 1);
	assert_int_equal(found(2, 2)[1].entry, 0);
	assert_int_equal(found(2, 2)[1].uses[0].taken, 1);
	forget();
	options.nfamilies = 0;
	options.older_than_us = 8 * SECOND;
	ask(&(struct lookup_question){ .addrs = addrs, .naddrs = 3 });
	assert_int_equal(found(0, 1)->entry, 0);
	forget();
}

/* If two blocks overlap, the free of one was not seen. */
static void overlapping(void **state)
{
	const taddr addrs[] = { 0x1010, 0x1110, 0x1210 };

	(void)state;
	alloc(0x1000, 0x1000, 100 + SMALL);
	alloc(0x1100, 0x100, 100 + SMALL);
	ask(&(struct lookup_question){ .addrs = addrs, .naddrs = 3 });
	assert_int_equal(found(0, 1)->block.addr, 0x1000);
	assert_int_equal(found(1, 1)->block.addr, 0x1100);
	assert_int_equal(found(2, 1)->block.addr, 0x1000);
	forget();
}

static void at_the_end_of_all_addresses(void **state)
{
	const taddr addrs[] = { 0, 15, UINT64_MAX - 16, UINT64_MAX - 15, UINT64_MAX };

	(void)state;
	alloc(UINT64_MAX - 15, UINT64_MAX, 100 + SMALL);
	ask(&(struct lookup_question){ .addrs = addrs, .naddrs = 5 });
	found(0, 0);
	found(1, 0);
	found(2, 0);
	found(3, 1);
	found(4, 1);
	forget();
}

static void released_twice(void **state)
{
	const taddr addrs[] = { A, B };

	(void)state;
	now = SECOND;
	twice(A, 0, 0, 0, 0);
	ask(&(struct lookup_question){ .addrs = addrs, .naddrs = 2 });
	assert_true(lookup.at[0].twice && lookup.at[0].twice_s == 1);
	assert_false(lookup.at[1].twice);
	forget();
}

/* As a search of all blocks for each address finds it. */
static void like_a_simple_search(void **state)
{
	enum { BLOCKS = 2000, ADDRS = 3000 };
	static taddr addrs[ADDRS], begins[BLOCKS];
	static uint64_t sizes[BLOCKS];
	taddr end = 0x1000;

	(void)state;
	srand(7);
	for (int i = 0; i < BLOCKS; i++) {
		begins[i] = end + (unsigned)rand() % 64;
		sizes[i] = 1 + (unsigned)rand() % 100;
		end = begins[i] + sizes[i];
		alloc(begins[i], sizes[i], 100 + (unsigned)rand() % 2 + SMALL);
	}
	for (int i = 0; i < ADDRS; i++)
		addrs[i] = 0x1000 + (unsigned)rand() % (end + 100);
	ask(&(struct lookup_question){ .addrs = addrs, .naddrs = ADDRS });
	for (int i = 0; i < ADDRS; i++) {
		const struct lookup_at *at = &lookup.at[i];
		taddr expected = 0;

		for (int b = 0; b < BLOCKS; b++)
			if (addrs[i] >= begins[b] && addrs[i] < begins[b] + sizes[b])
				expected = begins[b];
		assert_int_equal(at->addr, addrs[i]);
		assert_int_equal(at->nfound, !!expected);
		assert_int_equal(at->nfound ? at->found->block.addr : 0, expected);
	}
	forget();
}

/* --- as text --- */

static const char expected[] =
	"[libc 2] 80 B (1.9%) in 2 blocks, 7s to 9s old\n"
	"    levelled off 7s ago                     |    ******@@@@@@@@@@@@@@@@@@@@@@|\n"
	"    2 allocated here, none of these freed\n"
	"    #0 small (0x1003)\n"
	"\n"
	"                 address       bytes        age\n"
	"                  0x2000          48         9s\n"
	"    and 1 more, 32 B (--top 0 lists them all)\n"
	"\n"
	"0x10210 lies 528 bytes inside a block of 4096 bytes (libc) at 0x10000, allocated 8s ago by:\n"
	"    #0 large (0x1004)\n"
	"    group [libc 1]\n"
	"0x10210 lies 16 bytes inside a block of 64 bytes (pool) at 0x10200, allocated 7s ago by:\n"
	"    #0 many (0x1005)\n"
	"    group [pool 1]\n"
	"\n"
	"0x5001 is in no live block: freed, or older than the watch, or never allocated, or its event is "
	"among the 3 lost\n"
	"\n"
	"0x1000 is the beginning of a block of 32 bytes (libc), allocated 7s ago by:\n"
	"    #0 small (0x1003)\n"
	"    group [libc 2]\n";

static void as_text(void **state)
{
	const taddr addrs[] = { 0x10210, 0x5001, 0x1000 };
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	example();
	lost("ring full", 3);
	ask(&(struct lookup_question){ .entry = 2, .family = "libc", .addrs = addrs, .naddrs = 3 });
	assert_int_equal(text_lookup(&summary, 1, &sb), 0);
	assert_string_equal(strbuf_str(&sb), expected);
	forget();
}

/* Traces imported from other tools have no times. */
static void without_times(void **state)
{
	const taddr addr = A;
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;

	(void)state;
	alloc(A, 48, 100 + SMALL);
	ask(&(struct lookup_question){ .entry = 1, .addrs = &addr, .naddrs = 1 });
	assert_int_equal(text_lookup(&summary, 0, &sb), 0);
	assert_null(strstr(strbuf_str(&sb), "age"));
	assert_non_null(strstr(strbuf_str(&sb), "block of 48 bytes, allocated by:\n"));
	forget();
}

static int write_example(const char *path)
{
	int r;

	setup_names(NULL);
	example();
	for (unsigned i = 0; i < 1000; i++) {
		family(0);
		alloc(0x100000 + 0x100 * (uint64_t)i, 200 + i % 3, 100 + MANY);
	}
	r = shrink_write(&ledger, path);
	teardown(NULL);
	return r ? 1 : 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_oldest_is_first, setup_names, teardown),
		cmocka_unit_test_setup_teardown(of_one_age_the_lowest_is_first, setup_names, teardown),
		cmocka_unit_test_setup_teardown(an_entry_of_several_groups, setup_names, teardown),
		cmocka_unit_test_setup_teardown(entries_of_one_group, setup_names, teardown),
		cmocka_unit_test_setup_teardown(no_such_entry, setup_names, teardown),
		cmocka_unit_test_setup_teardown(the_only_family, setup_names, teardown),
		cmocka_unit_test_setup_teardown(too_young_for_the_list, setup_names, teardown),
		cmocka_unit_test_setup_teardown(through_wrappers, setup_names, teardown),
		cmocka_unit_test_setup_teardown(inside_and_outside, setup_names, teardown),
		cmocka_unit_test_setup_teardown(several_at_one_address, setup_names, teardown),
		cmocka_unit_test_setup_teardown(where_the_report_leaves_it_out, setup_names, teardown),
		cmocka_unit_test_setup_teardown(overlapping, setup_names, teardown),
		cmocka_unit_test_setup_teardown(at_the_end_of_all_addresses, setup_names, teardown),
		cmocka_unit_test_setup_teardown(released_twice, setup_names, teardown),
		cmocka_unit_test_setup_teardown(like_a_simple_search, setup_names, teardown),
		cmocka_unit_test_setup_teardown(as_text, setup_names, teardown),
		cmocka_unit_test_setup_teardown(without_times, setup_names, teardown),
	};

	if (argc == 3 && !strcmp(argv[1], "write"))
		return write_example(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
