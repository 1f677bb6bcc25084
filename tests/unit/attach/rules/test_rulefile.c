/* SPDX-License-Identifier: MIT */
/* rulefile: packs and users' files, the positions of their errors, and what is selected. */
#include "attach/rules/rulefile.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "attach/rules/ruletext.h"
#include "packs/packs.h"

static struct ruleset rs;

static int teardown(void **state)
{
	(void)state;
	ruleset_fini(&rs);
	return 0;
}

static void add(const char *pack, const char *text)
{
	struct rulefile_error err;

	if (ruleset_add_text(&rs, "test", pack, text, strlen(text), &err))
		fail_msg("%s", err.text);
}

/* Rule @i as text is @text, of the family called @family. */
static void assert_rule(const struct ruleset *set, size_t i, const char *family, const char *text)
{
	char buf[256];

	assert_in_range(i, 0, set->nrules - 1);
	rule_format(&set->rules[i], buf, sizeof(buf));
	assert_string_equal(buf, text);
	assert_in_range(set->rules[i].family, 0, set->nfamilies - 1);
	assert_string_equal(set->families[set->rules[i].family].name, family);
}

static void test_families(void **state)
{
	(void)state;
	add("p", "# what\n\nfamily a of=thing\nnote  not all of it: f is left out \n  alloc f\t# one\n\tfree "
		 "g\r\nfamily b refs\nref r\nfamily c private refs of=dict refuses\n"
		 "family a\nalloc h#i");
	assert_int_equal(rs.nfamilies, 3);
	assert_int_equal(rs.nrules, 4);
	assert_rule(&rs, 0, "a", "alloc f");
	assert_rule(&rs, 1, "a", "free g");
	assert_rule(&rs, 2, "b", "ref r");
	assert_rule(&rs, 3, "a", "alloc h#i");
	assert_string_equal(rs.families[0].noun, "thing");
	assert_string_equal(rs.families[0].note, "not all of it: f is left out");
	assert_string_equal(rs.families[1].note, "");
	assert_string_equal(rs.families[0].pack, "p");
	assert_false(rs.families[0].refs);
	assert_string_equal(rs.families[1].noun, "object");
	assert_true(rs.families[1].refs);
	assert_string_equal(rs.families[2].noun, "dict");
	assert_true(rs.families[2].private);
	assert_false(rs.families[0].private);
	assert_true(rs.families[2].refuses);
	assert_false(rs.families[0].refuses);
	assert_true(rs.rules[0].builtin);
	assert_string_equal(rs.rules[0].pack, "p");
}

/* Another text continues a family of the same name. */
static void test_goes_on(void **state)
{
	(void)state;
	add("p", "family a\nalloc f\n");
	add("q", "family b\nalloc g\nfamily a\nalloc h\n");
	add(NULL, "family a\nalloc i\n");
	assert_int_equal(rs.nfamilies, 2);
	assert_rule(&rs, 2, "a", "alloc h");
	assert_rule(&rs, 3, "a", "alloc i");
	assert_string_equal(rs.families[0].pack, "p");
	assert_string_equal(rs.rules[2].pack, "q");
	assert_null(rs.rules[3].pack);
	assert_false(rs.rules[3].builtin);
}

static void test_own(void **state)
{
	(void)state;
	add(NULL, "from f\nalloc a\nref r\nunref u\nfree a");
	assert_int_equal(rs.nfamilies, 2);
	assert_rule(&rs, 1, "own", "alloc a");
	assert_rule(&rs, 2, "own-refs", "ref r");
	assert_rule(&rs, 3, "own-refs", "unref u");
	assert_rule(&rs, 4, "own", "free a");
	assert_true(rs.families[rs.rules[2].family].refs);
	assert_string_equal(rs.families[0].pack, "");
}

static void test_modules(void **state)
{
	(void)state;
	add("p", "family a\nalloc e\nmodule lib*.so\nalloc f\nalloc g module=x\nmodule *\nalloc h\nmodule "
		 "y\nfamily b\nalloc i\n");
	assert_rule(&rs, 0, "a", "alloc e");
	assert_rule(&rs, 1, "a", "alloc f module=lib*.so");
	assert_rule(&rs, 2, "a", "alloc g module=x");
	assert_rule(&rs, 3, "a", "alloc h");
	assert_rule(&rs, 4, "b", "alloc i");
}

static void test_skips(void **state)
{
	(void)state;
	add("p", "skip xmalloc\nskip ovs*@12345678+0x10 # a wrapper\n");
	assert_int_equal(rs.nskips, 2);
	assert_int_equal(rs.skips[0].where, WHERE_NAME);
	assert_string_equal(rs.skips[0].name, "xmalloc");
	assert_int_equal(rs.skips[1].where, WHERE_OFFSET);
	assert_string_equal(rs.skips[1].name, "ovs*");
	assert_string_equal(rs.skips[1].build_id, "12345678");
	assert_int_equal(rs.skips[1].addr, 0x10);
	assert_int_equal(rs.nrules, 0);
}

static void test_errors(void **state)
{
	static const struct {
		const char *text;
		size_t line, column;
		const char *word;
	} cases[] = {
		{ "grow f", 1, 1, "alloc" },
		{ "\n# x\n  alloc f size=arg9\n", 3, 19, "1 to 6" },
		{ "family", 1, 7, "family's name" },
		{ "family a,b", 1, 8, "family's name" },
		{ "family a0123456789012345678901234567890", 1, 8, "31" },
		{ "family a of=", 1, 10, "of=NOUN" },
		{ "family a of=b,c", 1, 13, "one is called" },
		{ "family a ref", 1, 10, "refs" },
		{ "family a refs refs", 1, 15, "once" },
		{ "family a refs ranges", 1, 15, "once" },
		{ "family a private private", 1, 18, "once" },
		{ "family a refuses refuses", 1, 18, "once" },
		{ "family a\nprotect f", 2, 1, "family a ranges" },
		{ "family a\nfree f size=arg2", 2, 1, "family a ranges" },
		{ "family a\nalloc f prot=arg2", 2, 1, "family a ranges" },
		{ "family a\nrealloc f was=arg2", 2, 1, "family a ranges" },
		{ "family a ranges\nalloc f", 2, 1, "size=" },
		{ "family a ranges\nfree f", 2, 1, "size=" },
		{ "family a ranges\nalloc f size=arg1 pool=arg2", 2, 1, "ranges" },
		{ "family a ranges\nreset f", 2, 1, "ranges" },
		{ "family a refs\nreset f", 2, 1, "refs" },
		{ "family a\nmove f", 2, 1, "pool=" },
		{ "family a\nfree f pool=arg2", 2, 8, "no pool=" },
		{ "family a ranges\nrealloc f size=arg3", 2, 1, "was=" },
		{ "family a ranges\nalloc f size=arg1 also=arg2", 2, 1, "also=" },
		{ "family a ranges\nref f", 2, 1, "blocks" },
		{ "family a ranges\nfamily a", 2, 8, "of ranges" },
		{ "family a\nref f", 2, 1, "blocks" },
		{ "family a refs\n alloc f", 2, 2, "refs" },
		{ "family a\nfamily a refs", 2, 8, "blocks" },
		{ "family a of=b\nfamily a of=c", 2, 8, "of=b" },
		{ "family a\nmodule", 2, 7, "base name" },
		{ "module a b", 1, 10, "end" },
		{ "note x", 1, 6, "family NAME before" },
		{ "family a\nnote ", 2, 6, "sentence" },
		{ "skip", 1, 5, "function" },
		{ "skip a b", 1, 8, "end" },
		{ "skip lib.so+12", 1, 12, "0xOFFSET" },
		{ "alloc f# x", 1, 10, "KEY=VALUE" },
		{ "alloc f # x\nalloc g #\nalloc h x # y", 3, 9, "KEY=VALUE" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rulefile_error err = { 0 };
		int r = ruleset_add_text(&rs, "my.probes", NULL, cases[i].text, strlen(cases[i].text), &err);
		char place[64];

		snprintf(place, sizeof(place), "my.probes:%zu:%zu: ", cases[i].line, cases[i].column);
		ruleset_fini(&rs);
		if (r != -EINVAL || err.line != cases[i].line || err.column != cases[i].column ||
		    !strstr(err.message, cases[i].word) || strncmp(err.text, place, strlen(place)) != 0)
			fail_msg("\"%s\": %d, %s", cases[i].text, r, err.text);
	}
}

static void test_nul(void **state)
{
	struct rulefile_error err;

	(void)state;
	assert_int_equal(ruleset_add_text(&rs, "f", NULL, "alloc a\nal\0loc b", 16, &err), -EINVAL);
	assert_int_equal(err.line, 2);
	assert_int_equal(err.column, 3);
}

/* A rule of a pack must be in a family that the pack names. */
static void test_pack_needs_family(void **state)
{
	struct rulefile_error err;

	(void)state;
	assert_int_equal(ruleset_add_text(&rs, "f", "p", "alloc a\n", 8, &err), -EINVAL);
	assert_non_null(strstr(err.message, "family NAME"));
}

static void test_select(void **state)
{
	static const char *const names[] = { "b", "q", "b" };
	const char *unknown;
	struct ruleset out;

	(void)state;
	add("p", "skip x\nfamily a\nalloc f\nfamily b refs\nref r\n");
	add("q", "family a\nalloc g\nfamily c\nalloc h\n");
	assert_int_equal(ruleset_select(&rs, names, 3, &out, &unknown), 0);
	assert_int_equal(out.nrules, 3);
	assert_int_equal(out.nfamilies, 3);
	assert_rule(&out, 0, "b", "ref r");
	assert_int_equal(out.rules[0].family, 0);
	assert_rule(&out, 1, "a", "alloc g");
	assert_rule(&out, 2, "c", "alloc h");
	assert_int_equal(out.nskips, 1);
	ruleset_fini(&out);
}

static void test_select_own(void **state)
{
	static const char *const names[] = { "a", "d", "e" };
	const char *unknown;
	struct ruleset out;

	(void)state;
	add("p", "family a\nalloc f\n");
	add(NULL, "in s\nfamily d\nalloc g\n");
	assert_int_equal(ruleset_select(&rs, names, 3, &out, &unknown), -ENOENT);
	assert_string_equal(unknown, "e");
	assert_int_equal(ruleset_select(&rs, names, 2, &out, &unknown), 0);
	assert_int_equal(out.nrules, 3);
	ruleset_fini(&out);
	/* the user's own families are selected without being named */
	assert_int_equal(ruleset_select(&rs, NULL, 0, &out, &unknown), 0);
	assert_int_equal(out.nrules, 2);
	assert_int_equal(out.nfamilies, 1);
	assert_int_equal(out.rules[0].op, RULE_IN);
	assert_rule(&out, 1, "d", "alloc g");
	ruleset_fini(&out);
}

/* All packs can be parsed, together; each begins with its purpose. */
static void test_packs(void **state)
{
	size_t n, before = 0;
	const struct pack *packs = packs_all(&n);

	(void)state;
	assert_true(n >= 15);
	assert_string_equal(packs[0].name, "libc");
	for (size_t i = 0; i < n; i++) {
		assert_memory_equal(packs[i].text, "# ", 2);
		assert_int_equal(strlen(packs[i].text), packs[i].len);
		if (i > 1)
			assert_true(strcmp(packs[i - 1].name, packs[i].name) < 0);
		add(packs[i].name, packs[i].text);
		assert_true(rs.nrules + rs.nskips > before);
		before = rs.nrules + rs.nskips;
	}
}

/* A family must not have the same rule twice. */
static void test_packs_say_it_once(void **state)
{
	size_t n;
	const struct pack *packs = packs_all(&n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		add(packs[i].name, packs[i].text);
	for (size_t i = 0; i < rs.nrules; i++) {
		for (size_t k = 0; k < i; k++) {
			const struct rule *a = &rs.rules[i], *b = &rs.rules[k];

			if (a->family == b->family && a->op == b->op && a->where == WHERE_NAME &&
			    !strcmp(a->name, b->name) && !strcmp(a->module, b->module))
				fail_msg("%s and %s both have %s of family %s", b->pack, a->pack, a->name,
					 rs.families[a->family].name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_families, teardown),
		cmocka_unit_test_teardown(test_goes_on, teardown),
		cmocka_unit_test_teardown(test_own, teardown),
		cmocka_unit_test_teardown(test_modules, teardown),
		cmocka_unit_test_teardown(test_skips, teardown),
		cmocka_unit_test_teardown(test_errors, teardown),
		cmocka_unit_test_teardown(test_nul, teardown),
		cmocka_unit_test_teardown(test_pack_needs_family, teardown),
		cmocka_unit_test_teardown(test_select, teardown),
		cmocka_unit_test_teardown(test_select_own, teardown),
		cmocka_unit_test_teardown(test_packs, teardown),
		cmocka_unit_test_teardown(test_packs_say_it_once, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
