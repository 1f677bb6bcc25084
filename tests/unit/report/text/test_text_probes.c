/* SPDX-License-Identifier: MIT */
/*
 * text_probes: what is folded and what is not, rules of packs and the user's own, several families, any
 * names.
 */
#include "report/text/text_probes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/probenote.h"

#define LIBC "/usr/lib/libc.so.6"

static struct summary summary;

static int setup(void **state)
{
	(void)state;
	summary_init(&summary);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	summary_fini(&summary);
	return 0;
}

static void add(const char *family, const char *rule, const char *module, uint64_t hits, const char *note)
{
	summary_add_probe(&summary, &(struct summary_probe){ family, rule, module, hits, note });
}

static void assert_text(const char *expected)
{
	struct strbuf sb = STRBUF_INIT;
	char *text;

	text_probes(&sb, &summary);
	assert_int_equal(strbuf_error(&sb), 0);
	text = strbuf_steal(&sb);
	assert_string_equal(text, expected);
	free(text);
}

/* What was never called is left out, or one line where nothing of its family was called. */
static void those_never_called(void **state)
{
	(void)state;
	add("fd", "alloc openat ptr=i32(ret)+1 if=i32(ret)>=0", LIBC, 0, NULL);
	add("fd", "free close", LIBC, 0, NULL);
	assert_text("                never called  openat, close (2 of family fd)\n");
	add("fd", "alloc open if=i32(ret)>=0", LIBC, 7, NULL);
	assert_text("                      7 hits  alloc open  in libc.so.6\n");
	add("fd", "alloc socket", NULL, 0, NULL);
	add("fd", "alloc pipe", LIBC, 0, "bytes differ");
	assert_text("                      7 hits  alloc open  in libc.so.6\n"
		    "                      0 hits  alloc socket  NOT WATCHED: no such function in the target\n"
		    "                      0 hits  alloc pipe  in libc.so.6  NOT WATCHED: bytes differ\n");
}

/*
 * Of two packs that know a function one is not used, which is as it should be; of two of the user's rules it
 * is not.
 */
static void a_function_that_another_rule_has(void **state)
{
	(void)state;
	add("growth", "alloc mmap size=arg2", LIBC, 3, NULL);
	add("mmap", "alloc mmap", LIBC, 0, MMT_NOTE_OTHER_RULE ": alloc mmap size=arg2");
	add("mmap", "free munmap", LIBC, 0, "bytes differ");
	add("own", "alloc mmap", LIBC, 0, MMT_NOTE_OTHER_RULE ": alloc mmap size=arg2");
	assert_text("                      3 hits  alloc mmap  in libc.so.6\n"
		    "                      0 hits  free munmap  in libc.so.6  NOT WATCHED: bytes differ\n"
		    "                      0 hits  alloc mmap  in libc.so.6  NOT WATCHED: another rule has this "
		    "function: alloc mmap size=arg2\n");
}

/*
 * A function in two modules, or with two rules, counts as one name; rules that differ only behind the name
 * are shown whole.
 */
static void a_function_several_times(void **state)
{
	(void)state;
	add("libc", "alloc valloc", LIBC, 0, NULL);
	add("libc", "alloc valloc", "/usr/lib/libjemalloc.so.2", 0, NULL);
	add("libc", "alloc pipe2 ptr=*arg1", LIBC, 0, NULL);
	add("libc", "alloc pipe2 ptr=*arg2", LIBC, 0, NULL);
	add("libc", "alloc a", LIBC, 0, NULL);
	assert_text("                never called  valloc, pipe2, a (3 of family libc)\n");
	add("libc", "alloc dup ptr=*arg1", LIBC, 3, NULL);
	add("libc", "alloc dup ptr=*arg2", LIBC, 3, NULL);
	assert_text("                      3 hits  alloc dup ptr=*arg1  in libc.so.6\n"
		    "                      3 hits  alloc dup ptr=*arg2  in libc.so.6\n");
}

static void the_users_rules_are_all_shown(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		char rule[32];

		snprintf(rule, sizeof(rule), "alloc f%d size=arg1", i);
		add(i < 3 ? "own" : "own-refs", rule, "/bin/x", 0, NULL);
	}
	add("libc", "in handle", "/bin/x", 0, NULL);
	add("libc", "alloc malloc", LIBC, 1, NULL);
	add("libc", "until insight", NULL, 0, NULL);
	add("libc", "alloc in", LIBC, 0, NULL);
	assert_text("                never called  alloc f0 size=arg1  in x\n"
		    "                never called  alloc f1 size=arg1  in x\n"
		    "                never called  alloc f2 size=arg1  in x\n"
		    "                never called  alloc f3 size=arg1  in x\n"
		    "                never called  alloc f4 size=arg1  in x\n"
		    "                 not counted  in handle  in x\n"
		    "                      0 hits  until insight  NOT WATCHED: no such function in the target\n"
		    "                      1 hit   alloc malloc  in libc.so.6\n");
}

static void each_family_by_itself(void **state)
{
	(void)state;
	summary_add_family(&summary, &(struct summary_family){ .name = "fd" });
	summary_add_family(&summary, &(struct summary_family){ .name = "dict", .refs = true });
	add("fd", "alloc a", LIBC, 0, NULL);
	add("dict", "ref take", LIBC, 1, NULL);
	add("fd", "alloc b", LIBC, 0, NULL);
	add("dict", "ref other", LIBC, 0, NULL);
	add("fd", "alloc c", LIBC, 0, NULL);
	add("fd", "alloc d", LIBC, 0, NULL);
	assert_text("                never called  a, b, c, d (4 of family fd)\n"
		    "                      1 hit   dict: ref take  in libc.so.6\n");
}

/* Lines are broken before they are too long; names are safe to print, and a rule may be invalid. */
static void long_lists_and_odd_names(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < 40; i++) {
		char rule[64];

		snprintf(rule, sizeof(rule), "alloc function_number_%d", i);
		add("fd", rule, LIBC, 0, NULL);
	}
	add("fd", "", LIBC, 0, NULL);
	add("fd", "alloc \x1b[2J", LIBC, 0, NULL);
	text_probes(&sb, &summary);
	assert_null(strchr(strbuf_str(&sb), '\x1b'));
	assert_non_null(strstr(strbuf_str(&sb), "\n                              function_number_3,"));
	assert_non_null(strstr(strbuf_str(&sb), "(42 of family fd)\n"));
	for (const char *line = strbuf_str(&sb); *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 100);
	free(strbuf_steal(&sb));
}

static void too_many_to_compare(void **state)
{
	struct strbuf sb = STRBUF_INIT;
	size_t lines = 0;

	(void)state;
	for (int i = 0; i < 1001; i++)
		add("fd", "alloc f size=arg1", LIBC, 0, NULL);
	text_probes(&sb, &summary);
	for (const char *p = strbuf_str(&sb);
	     (p = strstr(p, "never called  alloc f size=arg1  in libc.so.6\n")); p++)
		lines++;
	assert_int_equal(lines, 1001);
	free(strbuf_steal(&sb));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(those_never_called, setup, teardown),
		cmocka_unit_test_setup_teardown(a_function_that_another_rule_has, setup, teardown),
		cmocka_unit_test_setup_teardown(a_function_several_times, setup, teardown),
		cmocka_unit_test_setup_teardown(the_users_rules_are_all_shown, setup, teardown),
		cmocka_unit_test_setup_teardown(each_family_by_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(long_lists_and_odd_names, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_to_compare, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
