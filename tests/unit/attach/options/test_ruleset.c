/* SPDX-License-Identifier: MIT */
/* ruleset: the rules that a run uses, from its options. */
#include "attach/options/ruleset.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attach/options/options.h"
#include "attach/rules/rulefile.h"
#include "report/ledger/ledger.h"

static struct options opt;
static struct ruleset rs;

#define CHOOSE(...) choose(sizeof((char *[]){ __VA_ARGS__ }) / sizeof(char *), (char *[]){ __VA_ARGS__ })

static int choose(int argc, char **argv)
{
	struct usage_error err;
	int r;

	assert_int_equal(options_parse(argc, argv, &opt, &err), 0);
	r = ruleset_choose(&opt, &rs);
	options_fini(&opt);
	return r;
}

static int teardown(void **state)
{
	(void)state;
	ruleset_fini(&rs);
	return 0;
}

static bool has(const char *family, const char *function)
{
	for (size_t i = 0; i < rs.nrules; i++)
		if (!strcmp(rs.rules[i].name, function) &&
		    (rule_is_scope(&rs.rules[i]) || !strcmp(rs.families[rs.rules[i].family].name, family)))
			return true;
	return false;
}

/*
 * libc, and the additional functions of other allocators; malloc first, since the first of several rules
 * counts.
 */
static void test_default(void **state)
{
	(void)state;
	assert_int_equal(CHOOSE("mmattach", "-p", "1"), 0);
	assert_int_equal(rs.nfamilies, 1);
	assert_string_equal(rs.families[0].name, "libc");
	assert_string_equal(rs.families[0].pack, "libc");
	assert_string_equal(rs.rules[0].name, "malloc");
	assert_string_equal(rs.rules[0].module, "");
	assert_true(has("libc", "free") && has("libc", "mallocx") && has("libc", "mi_free"));
	assert_false(ruleset_is_own(&rs));
	assert_true(rs.nskips > 0);
}

/* A scope restricts when to count, not what. */
static void test_scope(void **state)
{
	(void)state;
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--in", "work"), 0);
	assert_true(has("libc", "malloc") && has("", "work"));
	assert_false(ruleset_is_own(&rs));
}

static void test_own(void **state)
{
	(void)state;
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--probe", "alloc get", "--ref", "take:drop"), 0);
	assert_int_equal(rs.nrules, 3);
	assert_true(has("own", "get") && has("take", "take") && has("take", "drop"));
	assert_true(ruleset_is_own(&rs));
}

static void test_family(void **state)
{
	(void)state;
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--family", "dict,fd", "--family", "dict", "--probe",
				"free put"),
			 0);
	assert_int_equal(rs.nfamilies, 3);
	assert_true(has("dict", "dict_ref") && has("fd", "close") && has("own", "put"));
	assert_false(has("libc", "malloc"));
}

/* All families of a pack, and what the pack adds to another family. */
static void test_pack(void **state)
{
	(void)state;
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--family", "jemalloc,glusterfs"), 0);
	assert_true(has("libc", "mallocx") && has("libc", "malloc") && has("inode", "inode_ref") &&
		    has("gf", "__gf_free"));
	assert_false(has("libc", "mi_free"));
	ruleset_fini(&rs);
	/* a pack that only has functions to skip in stacks */
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--family", "ovs"), 0);
	assert_true(has("libc", "malloc") && rs.nfamilies == 1 && rs.nskips > 10);
}

static void test_unknown(void **state)
{
	(void)state;
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--family", "libc,nothing"), -EINVAL);
	assert_int_equal(rs.nrules, 0);
}

static void test_file(void **state)
{
	char path[64] = "/tmp/test_ruleset.XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");

	(void)state;
	assert_non_null(f);
	fputs("family mine\nalloc get # it\n", f);
	assert_int_equal(fflush(f), 0);
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--probes", path), 0);
	assert_int_equal(rs.nrules, 1);
	assert_true(has("mine", "get"));
	ruleset_fini(&rs);
	/* its families may have the same names as others */
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--probes", path, "--family", "mine,libc"), 0);
	assert_true(has("mine", "get") && has("libc", "malloc"));
	ruleset_fini(&rs);
	fputs("alloc\n", f);
	fclose(f);
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--probes", path), -EINVAL);
	remove(path);
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--probes", path), -EINVAL);
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--probes", "/"), -EINVAL);
}

/* As many families as a run has tables for. */
static void test_too_many_families(void **state)
{
	char path[64] = "/tmp/test_ruleset.XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");

	(void)state;
	assert_non_null(f);
	for (int i = 0; i < LEDGER_FAMILIES_MAX; i++)
		fprintf(f, "family many%d\nalloc get%d\n", i, i);
	assert_int_equal(fflush(f), 0);
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--probes", path), 0);
	ruleset_fini(&rs);
	fputs("family more\nalloc get\n", f);
	fclose(f);
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--probes", path), -EINVAL);
	remove(path);
}

/* A user's family must be of the same kind as a pack's family of that name. */
static void test_conflict(void **state)
{
	(void)state;
	assert_int_equal(CHOOSE("mmattach", "-p", "1", "--probe", "family libc refs"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_default, teardown),
		cmocka_unit_test_teardown(test_scope, teardown),
		cmocka_unit_test_teardown(test_own, teardown),
		cmocka_unit_test_teardown(test_family, teardown),
		cmocka_unit_test_teardown(test_pack, teardown),
		cmocka_unit_test_teardown(test_unknown, teardown),
		cmocka_unit_test_teardown(test_file, teardown),
		cmocka_unit_test_teardown(test_conflict, teardown),
		cmocka_unit_test_teardown(test_too_many_families, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
