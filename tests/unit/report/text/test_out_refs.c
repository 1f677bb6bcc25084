/* SPDX-License-Identifier: MIT */
/*
 * out_text of references: line by line; several families; which call sites are suspect; what is merged, shown
 * and left out; each object.
 */
#include "report/text/out_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/refs_example.h"

static const char dicts[] =
	"glusterfsd (4711): 529 of 11113 references acquired in 10m were not released, on 529 dict objects, "
	"growing; 4 more are older than the watch\n"
	"\n"
	"          objects      net   live  growth                  acquired by\n"
	"growing\n"
	"  [1]         529        1   100%  +53/min                 leaky_lookup leaky.c:88\n"
	"\n"
	"live, but not growing\n"
	"  [2]           4       -2         older than the watch    only released: free_state state.c:9\n"
	"\n"
	"[1] 529 dict objects with 1 reference too many (net 1): acquired 3 times, released twice; 1.1s to "
	"9m58s old\n"
	"    grows by 53/min                         |-+#@|\n"
	"  MOST SUSPECT: acquired once each; all 529 acquired here are on objects that are still live\n"
	"    (through data_ref_wrapper)\n"
	"    #0 leaky_lookup (leaky.so+0x1a0) leaky.c:88\n"
	"    #1 default_lookup (libglusterfs.so.0.0.1+0x5000)\n"
	"  acquired once each; 529 of 5292 acquired here (10%) are on objects that are still live\n"
	"    #0 dict_new (libglusterfs.so.0.0.1+0x1000)\n"
	"    #1 server_lookup (libglusterfs.so.0.0.1+0x2000) server.c:12\n"
	"  acquired once each; 529 of 5292 acquired here (10%) are on objects that are still live\n"
	"    #0 server_lookup (libglusterfs.so.0.0.1+0x3000) server.c:30\n"
	"  released once each\n"
	"    #0 server_lookup_cbk (libglusterfs.so.0.0.1+0x6000) server.c:70\n"
	"  released once each\n"
	"    #0 free_state (libglusterfs.so.0.0.1+0x7000) state.c:9\n"
	"\n"
	"[2] 4 dict objects older than the watch, with 2 references fewer than before, which is no leak (net "
	"-2): never acquired, released twice; 6m40s to 8m20s old\n"
	"  released twice each\n"
	"    #0 free_state (libglusterfs.so.0.0.1+0x7000) state.c:9\n"
	"\n"
	"  command   /usr/sbin/glusterfsd\n"
	"  watched   10m from 2026-01-01 00:00:00 +0000, exact, by ptrace\n"
	"  events    31758 (53/s), none lost\n"
	"  stopped   1.5s, all threads together\n"
	"  calls     11113 references acquired, 10592 released\n"
	"                  11113 hits  ref dict_ref  in libglusterfs.so.0.0.1\n"
	"                  10592 hits  unref dict_unref  in libglusterfs.so.0.0.1\n";

static const char tables_of_families[] =
	"glusterfsd (4711), still live after 10m:\n"
	"  libc      70 blocks, 4087 B, of 700 allocations, not growing now\n"
	"  fd        12 descriptors of 40, growing by 1.2/min\n"
	"  dict      529 of 11113 references acquired were not released, on 529 dict objects, growing; 4 "
	"more are older than the watch\n"
	"  inode     112 of 2900 references acquired were not released, on 42 inodes, not growing now; 1 "
	"more is older than the watch\n"
	"\n"
	"                  live  share   blocks  growth                  allocated by\n"
	"live, but not growing\n"
	"  [libc 1]      4087 B   100%       70  levelled off 5m ago     accept_client net.c:5 "
	"<gf_common_mt_strdup>\n"
	"\n"
	"                live  share  growth                  allocated by\n"
	"growing\n"
	"  [fd 1]          12   100%  +1.2/min                accept_client net.c:5\n"
	"\n"
	"               objects      net   live  growth                  acquired by\n"
	"growing\n"
	"  [dict 1]         529        1   100%  +53/min                 leaky_lookup leaky.c:88\n"
	"\n"
	"live, but not growing\n"
	"  [dict 2]           4       -2         older than the watch    only released: free_state "
	"state.c:9\n"
	"\n"
	"                objects      net   live  growth                  acquired by\n"
	"live, but not growing\n"
	"  [inode 1]          42     1..6   4.7%  levelled off 8m ago     dict_new "
	"libglusterfs.so.0.0.1+0x1000\n"
	"  [inode 2]           1        3         older than the watch    (no stack)\n";

static const char inodes[] =
	"[inode 1] 42 inodes with 1 to 6 references too many (net 1 to 6): acquired 4.7 times, released "
	"twice; 1s to 9m50s old\n"
	"    net counts: 12 with 1, 10 with 2, 8 with 3, 6 with 4, 4 with 5, 2 with others\n"
	"    levelled off 8m ago\n"
	"  acquired once each; 42 of 900 acquired here (4.7%) are on objects that are still live\n"
	"    #0 dict_new (libglusterfs.so.0.0.1+0x1000)\n"
	"    #1 server_lookup (libglusterfs.so.0.0.1+0x2000) server.c:12\n"
	"  acquired 3.7 times each; 90 of 2000 acquired here (4.5%) are on objects that are still live\n"
	"    #0 server_lookup_cbk (libglusterfs.so.0.0.1+0x6000) server.c:70\n"
	"  released twice each\n"
	"    #0 free_state (libglusterfs.so.0.0.1+0x7000) state.c:9\n"
	"\n"
	"[inode 2] 1 inode older than the watch, with 3 references now (net 3): never acquired, never "
	"released; 9m40s old\n";

static char *print(const struct summary *s, size_t top)
{
	struct strbuf sb = STRBUF_INIT;

	assert_int_equal(out_text(s, top, &sb), 0);
	return strbuf_steal(&sb);
}

static void assert_says(const struct summary *s, size_t top, const char *what)
{
	char *text = print(s, top);

	if (!strstr(text, what))
		fail_msg("\"%s\" is not in:\n%s", what, text);
	free(text);
}

static void assert_says_not(const struct summary *s, size_t top, const char *what)
{
	char *text = print(s, top);

	if (strstr(text, what))
		fail_msg("\"%s\" is in:\n%s", what, text);
	free(text);
}

static void line_by_line(void **state)
{
	struct summary s;
	char *text;

	(void)state;
	dict_example(&s);
	text = print(&s, 20);
	assert_string_equal(text, dicts);
	free(text);
	summary_fini(&s);
}

/* Each family has a table of its own, and its name is in the numbers of its groups. */
static void several_families(void **state)
{
	struct summary s;

	(void)state;
	families_example(&s);
	assert_says(&s, 20, tables_of_families);
	assert_says(&s, 20,
		    "\n[fd 1] 12 descriptors, 1s to 9s old\n    grows by 1.2/min\n    40 allocated here, 28 freed (a watch with --free-stacks shows by which code)\n");
	assert_says(&s, 20,
		    "\n[libc 1] 4087 B (100%) in 70 blocks, 1s to 9s old, tag "
		    "gf_common_mt_strdup\n");
	assert_says(&s, 20, inodes);
	assert_says(&s, 20, "\n  calls     740 allocations, 660 frees, 3 of blocks older than the watch\n"
			    "  calls     dict: 11113 references acquired, 10592 released\n");
	summary_fini(&s);
}

/* A name of any length leaves the other columns their width. */
static void a_hostile_family(void **state)
{
	static char name[3001];
	struct summary s;
	char *text, *row;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	families_example(&s);
	summary_add_family(&s, &(struct summary_family){
				       .name = name, .noun = name, .refs = true, .live = 1, .net = 1 });
	summary_add_refs(&s, &(struct summary_refs){ .family = name, .objects = 1, .net = 1 });
	summary_sort(&s);
	text = print(&s, 20);
	row = strstr(text, "\n  [nnnnn...nnnn 1]");
	assert_non_null(row);
	assert_true(strcspn(row + 1, "\n") <= 100);
	free(text);
	summary_fini(&s);
}

/* --- which call sites are suspect --- */

static struct summary_frame frames[] = {
	{ .pc = 1, .function = "f0" },
	{ .pc = 2, .function = "f1" },
	{ .pc = 3, .function = "f2" },
	{ .pc = 4, .function = "f3" },
};

/*
 * One group of ten objects with references acquired at @n call sites: @held has for each how many of its
 * references are outstanding, of how many.
 */
static void one_group(struct summary *s, const uint64_t (*held)[2], size_t n, enum growth_shape shape)
{
	struct summary_use taken[4];

	refs_example_run(s);
	summary_add_family(s, &(struct summary_family){
				      .name = "dict", .refs = true, .acquired = 40, .live = 10, .net = 10 });
	for (size_t i = 0; i < n; i++)
		taken[i] = example_use((uint32_t)i, 10, 10, held[i][0], held[i][1], &frames[i], 1);
	summary_sort_uses(taken, n);
	summary_add_refs(s, &(struct summary_refs){ .family = "dict", .objects = 10, .net = 1,
						    .acquired = taken,
						    .nacquired = n,
						    .growth = { shape, 7, 3 } });
	summary_sort(s);
}

static void the_largest_share_is_suspect(void **state)
{
	static const uint64_t held[][2] = { { 10, 100 }, { 1000, 1100 }, { 10, 10 }, { 400, 1000 } };
	struct summary s;

	(void)state;
	one_group(&s, held, 4, GROWTH_GROWS);
	/* the one with nearly all of many is as suspect as the one with all of few */
	assert_says(&s, 0,
		    "  SUSPECT: acquired once each; all 10 acquired here are on objects that are still "
		    "live\n    #0 f2 (0x3)\n"
		    "  SUSPECT: acquired once each; 1000 of 1100 acquired here (91%) are on objects that are "
		    "still live\n    #0 f1 (0x2)\n"
		    "  acquired once each; 400 of 1000 acquired here (40%) are on objects that are still "
		    "live\n    #0 f3 (0x4)\n"
		    "  acquired once each; 10 of 100 acquired here (10%) are on objects that are still "
		    "live\n    #0 f0 (0x1)\n");
	assert_says(&s, 0, "  100%  +7.0/min                f2 0x3\n");
	assert_says_not(&s, 0, "stands out");
	summary_fini(&s);
}

/*
 * If the references of all call sites are mostly released, none is suspect; a group that is a cache has no
 * such line.
 */
static void no_call_site_stands_out(void **state)
{
	static const uint64_t held[][2] = { { 11, 100 }, { 10, 100 } }, few[][2] = { { 9, 10 }, { 10, 10 } };
	struct summary s;

	(void)state;
	one_group(&s, held, 2, GROWTH_GROWS);
	assert_says_not(&s, 0, "SUSPECT");
	assert_says(&s, 0,
		    "    #0 f1 (0x2)\n  no call site stands out: what is acquired there is released as a "
		    "rule.");
	summary_fini(&s);
	one_group(&s, held, 2, GROWTH_LEVEL);
	assert_says_not(&s, 0, "stands out");
	summary_fini(&s);
	one_group(&s, few, 2, GROWTH_GROWS);
	assert_says_not(&s, 0, "SUSPECT");
	assert_says_not(&s, 0, "stands out");
	summary_fini(&s);
}

/*
 * All call sites have the same share: the one whose module releases nothing is preferred to those of modules
 * that acquire and release in turn.
 */
static void a_module_that_does_not_release(void **state)
{
	struct summary_use taken[3];
	struct summary s;

	(void)state;
	refs_example_run(&s);
	summary_add_family(&s, &(struct summary_family){
				       .name = "dict", .refs = true, .acquired = 40, .live = 10, .net = 10 });
	for (uint32_t i = 0; i < 3; i++)
		taken[i] = example_use(i, 10, 10, 30, 30, &frames[i], 1);
	taken[0].module = "/x/fuse.so";
	taken[0].module_acquired = 300;
	taken[0].module_released = 290;
	taken[1].module = "/x/locks.so";
	taken[1].module_acquired = taken[1].module_released = 10;
	taken[2].module = "/x/leaky.so";
	taken[2].module_acquired = 20;
	taken[2].module_released = 10;
	summary_sort_uses(taken, 3);
	summary_add_refs(
		&s, &(struct summary_refs){
			    .family = "dict", .objects = 10, .net = 1, .acquired = taken, .nacquired = 3 });
	summary_sort(&s);
	assert_says(&s, 0,
		    "  MOST SUSPECT: acquired once each; all 30 acquired here are on objects that are still "
		    "live\n"
		    "    3 call sites have about that share; the module of this one releases least of what it "
		    "acquires: leaky.so acquired 20 on these objects and released 10\n"
		    "    #0 f2 (0x3)\n"
		    "  acquired once each; all 30 acquired here are on objects that are still live\n    #0 "
		    "f0 (0x1)\n"
		    "  acquired once each; all 30 acquired here are on objects that are still live\n    #0 "
		    "f1 (0x2)\n");
	s.refs[0].acquired[0].several = 5;
	s.refs[0].acquired[0].as_many = 3;
	assert_says(&s, 0,
		    "    3 call sites have about that share; this one acquired exactly as many references as "
		    "were not released on 3 of the 5 objects of which two or more were not\n");
	summary_fini(&s);
}

/*
 * A call site of whose references all are outstanding comes before one with nearly all, whatever else their
 * modules do.
 */
static void all_of_it_is_more_than_nearly_all(void **state)
{
	struct summary_use taken[2] = {
		example_use(0, 10, 10, 30, 31, &frames[0], 1), example_use(1, 10, 10, 10, 10, &frames[1], 1),
	};

	(void)state;
	taken[0].module_acquired = 10;
	taken[1].module_acquired = 100;
	taken[1].module_released = 90;
	summary_sort_uses(taken, 2);
	assert_int_equal(taken[0].site, 1);
	assert_int_equal(summary_near_uses(taken, 2), 2);
	taken[1].acquired_in_all = 30;
	summary_sort_uses(taken, 2);
	assert_int_equal(taken[0].site, 0);
	assert_int_equal(summary_like_uses(taken, 2), 1);
}

/* --- what is merged --- */

static void add_net(struct summary *s, int64_t net, uint64_t objects, uint32_t signature)
{
	struct summary_use taken = example_use(0, objects * (uint64_t)net, objects, 10, 10, frames, 1);

	summary_add_refs(s, &(struct summary_refs){ .family = "dict",
						    .objects = objects,
						    .net = net,
						    .signature = signature,
						    .growth = { GROWTH_GROWS, 10, 0 },
						    .acquired = &taken,
						    .nacquired = 1 });
}

static void a_few_stay_apart(void **state)
{
	struct summary s;

	(void)state;
	refs_example_run(&s);
	summary_add_family(&s, &(struct summary_family){ .name = "dict", .refs = true, .live = 529 });
	add_net(&s, 1, 529, 1);
	add_net(&s, 2, 100, 1);
	add_net(&s, 3, 50, 1);
	summary_sort(&s);
	assert_says(&s, 0,
		    "[1] 529 dict objects with 1 reference too many (net 1): acquired once, never released");
	assert_says(
		&s, 0,
		"[3] 50 dict objects with 3 references too many (net 3): acquired 3 times, never released");
	add_net(&s, 4, 600, 1);
	add_net(&s, 5, 300, 2);
	add_net(&s, 6, 1000, 0);
	add_net(&s, 7, 1000, 0);
	summary_sort(&s);
	assert_says(&s, 0,
		    "[1] 1279 dict objects with 1 to 4 references too many (net 1 to 4): acquired 2.6 times, "
		    "never released");
	assert_says(&s, 0, "\n    grows by 40/min\n");
	assert_says(&s, 0, "    net counts: 600 with 4, 529 with 1, 100 with 2, 50 with 3\n");
	assert_says(&s, 0, "[4] 300 dict objects with 5 references too many (net 5)");
	assert_says_not(&s, 0, "[5]");
	summary_fini(&s);
}

/* --- how much is shown --- */

static void many_groups(void **state)
{
	struct summary s;

	(void)state;
	refs_example_run(&s);
	summary_add_family(&s, &(struct summary_family){ .name = "dict", .refs = true, .live = 1 });
	for (uint32_t i = 1; i <= 30; i++)
		add_net(&s, 1, 100 - i, i);
	summary_sort(&s);
	assert_says(&s, 20, "\n10 more groups with 745 dict objects not shown (--top 0 shows all)\n");
	assert_says(&s, 20, "  and 20 more: 1590 dict objects\n");
	assert_says_not(&s, 0, "not shown");
	summary_fini(&s);
}

static void many_places(void **state)
{
	struct summary_use taken[12];
	struct summary s;

	(void)state;
	refs_example_run(&s);
	summary_add_family(&s, &(struct summary_family){ .name = "dict", .refs = true, .live = 1 });
	for (uint32_t i = 0; i < 12; i++)
		taken[i] = example_use(i, 10, 10, 10, 10, frames, 1);
	summary_add_refs(
		&s, &(struct summary_refs){
			    .family = "dict", .objects = 10, .net = 12, .acquired = taken, .nacquired = 12 });
	summary_sort(&s);
	assert_says(&s, 20, "  acquired 40 times at 4 more call sites (--top 0 shows all)\n");
	assert_says_not(&s, 0, "more call sites");
	summary_fini(&s);
}

/* If a call site is suspect, fewer of the others are shown. */
static void fewer_call_sites_beside_a_suspect(void **state)
{
	struct summary_use taken[12], dropped[12];
	struct summary s;

	(void)state;
	refs_example_run(&s);
	summary_add_family(&s, &(struct summary_family){ .name = "dict", .refs = true, .live = 1 });
	for (uint32_t i = 0; i < 12; i++) {
		taken[i] = example_use(i, 10, 10, i ? 10 : 100, 100, frames, 1);
		dropped[i] = example_use(i, 10, 10, 0, 0, frames, 1);
	}
	summary_add_refs(&s, &(struct summary_refs){ .family = "dict", .objects = 10, .net = 1,
						     .acquired = taken, .nacquired = 12, .released = dropped,
						     .nreleased = 12 });
	summary_sort(&s);
	assert_says(&s, 20, "MOST SUSPECT");
	assert_says(&s, 20, "  acquired 80 times at 8 more call sites (--top 0 shows all)\n");
	assert_says(&s, 20, "  released 80 times at 8 more call sites (--top 0 shows all)\n");
	assert_says_not(&s, 0, "more call sites");
	summary_fini(&s);
}

/* If the object's own count is higher, or lower, than what was seen. */
static void references_that_were_not_seen(void **state)
{
	struct summary_use taken = example_use(1, 30, 10, 30, 30, frames, 1),
			   dropped = example_use(2, 20, 10, 0, 0, frames, 1);
	struct summary_refs refs = { .family = "dict",
				     .objects = 10,
				     .net = 2,
				     .counted = true,
				     .acquired = &taken,
				     .nacquired = 1,
				     .released = &dropped,
				     .nreleased = 1 };
	struct summary s;

	(void)state;
	refs_example_run(&s);
	summary_add_family(&s, &(struct summary_family){ .name = "dict", .refs = true, .live = 1 });
	summary_add_refs(&s, &refs);
	summary_sort(&s);
	assert_says(&s, 0,
		    "(net 2): acquired 3 times, released twice, and by its count acquired once unseen; ");
	s.refs[0].acquired[0].per_object = 5;
	assert_says(&s, 0,
		    "(net 2): acquired 5 times, released twice, and by its count released once unseen; ");
	s.refs[0].acquired[0].per_object = 4;
	assert_says_not(&s, 0, "unseen");
	s.refs[0].acquired[0].per_object = 5;
	s.refs[0].older = true;
	assert_says_not(&s, 0, "unseen");
	summary_fini(&s);
}

/* --- nothing --- */

static void nothing_is_left(void **state)
{
	struct summary s;

	(void)state;
	refs_example_run(&s);
	summary_add_family(&s, &(struct summary_family){ .name = "dict", .refs = true });
	assert_says(&s, 20,
		    "(4711): 0 references acquired in 10m\n\n"
		    "None of the watched functions was called. Either the process did nothing, or it "
		    "acquires references");
	s.families[0].released = 3;
	assert_says(&s, 20, "References were released, but none was acquired in the watch");
	s.families[0].acquired = 3;
	assert_says(&s, 20, "All references that were acquired in the watch were released.\n");
	summary_add_family(&s, &(struct summary_family){ .name = "libc" });
	assert_says(
		&s, 20,
		"Everything that was allocated in the watch was freed, and all references were released.\n");
	s.filtered.ref_groups = 1;
	s.filters = "--focus x";
	s.filtered.objects = 3;
	assert_says(&s, 20,
		    "All that is still live is hidden by --focus x: see the end of this report.\n");
	assert_says(&s, 20, "  hidden    3 objects of 1 group, by --focus x\n");
	summary_fini(&s);
}

/* --- each object --- */

static const char each[] =
	"\nROUND : 2\n"
	"Net ref counts for each ptr : \n"
	"7f0a00001010 : 1\n"
	"7f0a00001080 : 1\n"
	"\n"
	"Ref Traces :\n"
	"\n"
	"ptr : 7f0a00001010\n"
	"leaky_lookup [leaky.so+0x1a0]\n"
	"default_lookup [libglusterfs.so.0.0.1+0x5000]\n"
	"\n"
	"ptr : 7f0a00001080\n"
	"leaky_lookup [leaky.so+0x1a0]\n"
	"default_lookup [libglusterfs.so.0.0.1+0x5000]\n"
	"(3 times)\n"
	"\n"
	"------\n"
	"\n"
	"Unref traces\n"
	"\n"
	"ptr : 7f0a00001080\n"
	"0x2 [y+0x1]\n"
	"... the stack goes on: the caller is not known\n"
	"(2 times)\n"
	"\n"
	"-----------\n";

static void each_object(void **state)
{
	struct summary_frame nameless = { .pc = 2, .module = "/x/y", .offset = 1 };
	struct summary_use taken = example_use(1, 4, 2, 4, 4, in_leaky, 3),
			   dropped = example_use(2, 2, 2, 0, 0, &nameless, 1);
	uint64_t counts[][2] = { { 1, 0 }, { 3, 2 } };
	struct summary_object all[] = { { 0x7f0a00001010, 1, counts[0] }, { 0x7f0a00001080, 2, counts[1] } };
	struct summary s;

	(void)state;
	taken.stack.wrappers = 1;
	dropped.stack.end = STACK_LOST;
	refs_example_run(&s);
	s.per_object = true;
	s.round = 2;
	summary_add_family(&s, &(struct summary_family){ .name = "dict", .refs = true, .live = 2 });
	assert_says(&s, 20,
		    "\nROUND : 2\nNet ref counts for each ptr : \n0\nTherefore, No Leaks \n\n-----------\n");
	summary_add_refs(&s, &(struct summary_refs){ .family = "dict",
						     .objects = 2,
						     .net = 1,
						     .acquired = &taken,
						     .nacquired = 1,
						     .released = &dropped,
						     .nreleased = 1,
						     .all = all,
						     .nall = 2 });
	counts[0][0] = 77;	/* it is copied */
	summary_sort(&s);
	assert_says(&s, 20, each);
	s.per_object = false;
	assert_says_not(&s, 20, "ROUND");
	summary_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_by_line),
		cmocka_unit_test(several_families),
		cmocka_unit_test(a_hostile_family),
		cmocka_unit_test(the_largest_share_is_suspect),
		cmocka_unit_test(no_call_site_stands_out),
		cmocka_unit_test(a_module_that_does_not_release),
		cmocka_unit_test(all_of_it_is_more_than_nearly_all),
		cmocka_unit_test(a_few_stay_apart),
		cmocka_unit_test(many_groups),
		cmocka_unit_test(many_places),
		cmocka_unit_test(fewer_call_sites_beside_a_suspect),
		cmocka_unit_test(references_that_were_not_seen),
		cmocka_unit_test(nothing_is_left),
		cmocka_unit_test(each_object),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
