/* SPDX-License-Identifier: MIT */
/*
 * suppress: both forms of entries, what they match, errors in a file, and that a generated entry matches what
 * it was generated for. tests/test_suppress_valgrind.py calls it with arguments, and stacks of FUNCTION or
 * FUNCTION=LINKAGE:
 *
 *	generate leak|free FRAME...		print an entry
 *	matches leak|free FILE FRAME...		exit status 0 if the file suppresses the stack, else 1
 */
#include "report/suppress/suppress.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct summary_frame session[] = {
	{ .function = "session_open(int)", .linkage = "_Z12session_openi", .module = "/usr/bin/svc",
	  .file = "/src/session.cc", .line = 42 },
	{ .pc = 0x1234 },
	{ .function = "serve", .module = "/usr/lib/libserve.so.1" },
	{ .function = "main", .module = "/usr/bin/svc", .file = "main.cc", .line = 7 },
};

static char why[200];

static struct suppressions *parse(const char *text)
{
	struct suppressions *s;

	assert_int_equal(suppressions_new(&s), 0);
	why[0] = '\0';
	if (suppressions_parse(s, "f.supp", text, strlen(text), why, sizeof(why)))
		fail_msg("%s: %s", text, why);
	return s;
}

static bool suppresses(const char *text, enum suppress_kind kind, enum verdict verdict)
{
	struct suppressions *s = parse(text);
	bool yes = suppressions_match(s, kind, verdict, session, COUNT(session), 1, 1);

	suppressions_free(s);
	return yes;
}

static void assert_lines(const char *lines, bool want)
{
	char text[2000];

	snprintf(text, sizeof(text), "{\nname\nMemcheck:Leak\n%s\n}\n", lines);
	if (suppresses(text, SUPPRESS_LEAK, VERDICT_UNKNOWN) != want)
		fail_msg("%s should %smean it", lines, want ? "" : "not ");
}

static void frames_from_the_leaf_on(void **state)
{
	(void)state;
	assert_lines("fun:_Z12session_openi", true);
	assert_lines("fun:session_open(int)", true);
	assert_lines("fun:_Z*session*", true);
	assert_lines("fun:_Z12session_open?", true);
	assert_lines("fun:_Z12session_open", false);
	assert_lines("fun:serve", false);
	assert_lines("obj:/usr/bin/svc", true);
	assert_lines("obj:svc", false);
	assert_lines("obj:*/svc\nobj:*\nfun:serve\nfun:main", true);
	assert_lines("obj:*/svc\nfun:*\nobj:*/libserve.so.*", true);
	assert_lines("obj:*/svc\nfun:serve", false);
	assert_lines("obj:*/svc\nobj:*\nfun:serve\nfun:main\nfun:*", false);
	assert_lines("src:session.cc", true);
	assert_lines("src:session.cc:42", true);
	assert_lines("src:/src/*.cc:42", true);
	assert_lines("src:session.cc:43", false);
	assert_lines("src:session.c", false);
}

static void any_number_of_frames(void **state)
{
	(void)state;
	assert_lines("...\nfun:main", true);
	assert_lines("...\nfun:_Z12session_openi", true);
	assert_lines("fun:*open*\n...\nfun:main", true);
	assert_lines("fun:*open*\n...\n...\nfun:main\n...", true);
	assert_lines("...\nfun:serve\nfun:main", true);
	assert_lines("...\nobj:*\nfun:main", true);
	assert_lines("...\nfun:main\nfun:*", false);
	assert_lines("...\nfun:main\n...\nfun:serve", false);
	assert_lines("...\nfun:nobody", false);
}

/* Valgrind's stacks begin one frame before ours. */
static void the_allocators_own_frame(void **state)
{
	(void)state;
	assert_lines("fun:malloc\nfun:_Z12session_openi", true);
	assert_lines("fun:_Znwm\nfun:_Z12session_openi", true);
	assert_lines("fun:*alloc\nfun:_Z12session_openi", true);
	assert_lines("fun:pvalloc\nfun:_Z12session_openi", true);
	assert_lines("fun:strdup\nfun:_Z12session_openi", true);
	assert_lines("fun:__strndup\nfun:_Z12session_openi", true);
	assert_lines("obj:*/vgpreload_memcheck-*.so\nfun:_Z12session_openi", true);
	assert_lines("obj:*\nfun:_Z12session_openi\nobj:*\nfun:serve", true);
	assert_lines("fun:malloc\n...\nfun:main", true);
	assert_lines("...\nfun:malloc\nfun:*session*", true);
	assert_lines("fun:malloc", true);
	assert_lines("fun:malloc\nfun:serve", false);
	assert_lines("fun:free\nfun:_Z12session_openi", false);
	assert_true(
		suppresses("{\nn\nMemcheck:Free\nfun:free\nfun:_Z12*\n}", SUPPRESS_FREE, VERDICT_UNKNOWN));
	assert_true(
		suppresses("{\nn\nMemcheck:Free\nfun:_ZdlPv\nfun:_Z12*\n}", SUPPRESS_FREE, VERDICT_UNKNOWN));
	assert_false(
		suppresses("{\nn\nMemcheck:Free\nfun:malloc\nfun:_Z12*\n}", SUPPRESS_FREE, VERDICT_UNKNOWN));
}

static void tools_and_kinds(void **state)
{
	static const struct { const char *kind; bool leak, free;
	} all[] = {
		{ "Memcheck:Leak", true, false },
		{ "mmattach:Leak", true, false },
		{ "Helgrind,Memcheck:Leak", true, false },
		{ "Memcheck,mmattach:Leak", true, false },
		{ "Memcheck , mmattach:Free", false, true },
		{ "mmattach:Free", false, true },
		{ "Memcheck:Cond", false, false },
		{ "Helgrind:Race", false, false },
		{ "Memcheck,mmattach:Param", false, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		char text[200];

		snprintf(text, sizeof(text), "{\nname\n%s\n%sfun:*\n}", all[i].kind,
			 strstr(all[i].kind, "Param") ? "write(buf)\n" : "");
		assert_int_equal(suppresses(text, SUPPRESS_LEAK, VERDICT_UNKNOWN), all[i].leak);
		assert_int_equal(suppresses(text, SUPPRESS_FREE, VERDICT_UNKNOWN), all[i].free);
	}
}

static void kinds_of_leaks(void **state)
{
	const char *text = "{\nname\nMemcheck:Leak\nmatch-leak-kinds: definite, possible\nfun:*\n}";

	(void)state;
	assert_true(suppresses(text, SUPPRESS_LEAK, VERDICT_DEFINITE));
	assert_true(suppresses(text, SUPPRESS_LEAK, VERDICT_POSSIBLE));
	assert_true(suppresses(text, SUPPRESS_LEAK, VERDICT_UNKNOWN));
	assert_false(suppresses(text, SUPPRESS_LEAK, VERDICT_INDIRECT));
	assert_false(suppresses(text, SUPPRESS_LEAK, VERDICT_REACHABLE));
	assert_true(suppresses("{\nn\nMemcheck:Leak\nmatch-leak-kinds:all\nfun:*\n}", SUPPRESS_LEAK,
			       VERDICT_REACHABLE));
	assert_false(suppresses("{\nn\nMemcheck:Leak\nmatch-leak-kinds: none\nfun:*\n}", SUPPRESS_LEAK,
				VERDICT_UNKNOWN));
}

static void patterns_of_leaksanitizer(void **state)
{
	static const struct { const char *pattern; bool want;
	} all[] = {
		{ "leak:session_open", true },
		{ "leak:libserve", true },
		{ "leak:/src/session.cc", true },
		{ "  leak:\tserve \r", true },
		{ "leak:^serve$", true },
		{ "leak:^erve", false },
		{ "leak:serv$", false },
		{ "leak:^/usr/*/libserve*1$", true },
		{ "leak:s*n(", true },
		{ "leak:open*session", false },
		{ "leak:main.cc", true },
		{ "leak:_Z12", false },
		{ "leak:^main$", true },
		{ "leak:sessio?", false },
		{ "leak:e$", true },
		{ "leak:^s*e$", true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++)
		if (suppresses(all[i].pattern, SUPPRESS_LEAK, VERDICT_UNKNOWN) != all[i].want)
			fail_msg("%s", all[i].pattern);
	assert_false(suppresses("leak:main", SUPPRESS_FREE, VERDICT_UNKNOWN));
}

static void both_forms_in_one_file_and_their_use(void **state)
{
	struct suppressions *s =
		parse("# known\n\n{\n   cache\n   # why\n   Memcheck:Leak\n   fun:cache_put\n}\r\n"
		      "leak:nobody\n\tleak:serve\n{\n other\n Helgrind:Race\n fun:x\n}\nleak:main");
	static const struct summary_frame cache[] = { { .function = "cache_put" } };
	struct summary to;

	(void)state;
	assert_true(suppressions_match(s, SUPPRESS_LEAK, VERDICT_UNKNOWN, session, COUNT(session), 3, 100));
	assert_true(suppressions_match(s, SUPPRESS_LEAK, VERDICT_UNKNOWN, cache, 1, 1, 10));
	assert_true(suppressions_match(s, SUPPRESS_LEAK, VERDICT_UNKNOWN, cache, 1, 2, 20));
	assert_false(suppressions_match(s, SUPPRESS_LEAK, VERDICT_UNKNOWN, NULL, 0, 2, 20));
	summary_init(&to);
	suppressions_report(s, &to);
	suppressions_report(NULL, &to);
	assert_int_equal(to.nsuppressions, 2);
	assert_string_equal(to.suppressions[0].name, "cache");
	assert_string_equal(to.suppressions[0].where, "f.supp:3");
	assert_int_equal(to.suppressions[0].groups, 2);
	assert_int_equal(to.suppressions[0].bytes, 30);
	assert_string_equal(to.suppressions[1].name, "serve");
	assert_string_equal(to.suppressions[1].where, "f.supp:10");
	assert_int_equal(to.suppressions[1].blocks, 3);
	summary_fini(&to);
	suppressions_free(s);
	suppressions_free(NULL);
	assert_false(suppressions_match(NULL, SUPPRESS_LEAK, VERDICT_UNKNOWN, session, 1, 1, 1));
}

static void refused(const char *text, size_t n, const char *want)
{
	struct suppressions *s;

	assert_int_equal(suppressions_new(&s), 0);
	assert_int_equal(suppressions_parse(s, "f.supp", text, n, why, sizeof(why)), -EINVAL);
	if (!strstr(why, want))
		fail_msg("\"%s\", not \"%s\"", why, want);
	suppressions_free(s);
}

static void what_is_wrong_is_said(void **state)
{
	static const struct { const char *text, *want;
	} all[] = {
		{ "race:foo", "f.supp:1: neither" },
		{ "\n\nleak:\n", "f.supp:3: leak: without a pattern" },
		{ "leak:^*$", "f.supp:1: leak: without a pattern" },
		{ "}", "f.supp:1: neither" },
		{ "{\n}", "f.supp:2: an entry without a name" },
		{ "{\nname\n}", "f.supp:3: tools and a kind are missing" },
		{ "{\nname\nMemcheck:Leak\nfun:x", "f.supp:4: the entry that begins in line 1 has no end" },
		{ "\n{\nname", "f.supp:3: the entry that begins in line 2 has no end" },
		{ "{\nname\nHelgrind:Race\nfun:x\n", "has no end" },
		{ "{\nname\nMemcheck:Leak\nfoo:x\n}", "f.supp:4: a frame begins with fun:" },
		{ "{\nname\nMemcheck:Leak\n...\n}", "names no frame" },
		{ "{\nname\nMemcheck:Leak\n}", "names no frame" },
		{ "{\nname\nmmattach:Laek\nfun:x\n}",
		  "f.supp:3: mmattach knows the kinds Leak and Free, not Laek" },
		{ "{\nname\nMemcheck:Leak\nmatch-leak-kinds: definitely\nfun:x\n}",
		  "f.supp:4: definitely is no kind" },
	};
	char many[1000] = "{\nname\nMemcheck:Leak\n";

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++)
		refused(all[i].text, strlen(all[i].text), all[i].want);
	for (int i = 0; i < 25; i++)
		strcat(many, "fun:f\n");
	refused(many, strlen(many), "f.supp:28: more than 24 frames");
	refused("leak:a\0b", 8, "this is no text");
}

static void files_are_read(void **state)
{
	char path[] = "/tmp/test_suppress.XXXXXX";
	struct suppressions *s;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "leak:serve\n", 11), 11);
	close(fd);
	assert_int_equal(suppressions_new(&s), 0);
	assert_int_equal(suppressions_read(s, path, why, sizeof(why)), 0);
	assert_true(suppressions_match(s, SUPPRESS_LEAK, VERDICT_UNKNOWN, session, COUNT(session), 1, 1));
	unlink(path);
	assert_int_equal(suppressions_read(s, path, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, path));
	assert_non_null(strstr(why, "No such file"));
	suppressions_free(s);
}

static void assert_generated(const struct summary_frame *frames, size_t n, enum suppress_kind kind,
			     const char *want)
{
	struct strbuf sb = STRBUF_INIT;
	struct suppressions *s;

	suppressions_generate(frames, n, kind, VERDICT_UNKNOWN, 3, &sb);
	if (want)
		assert_string_equal(strbuf_str(&sb), want);
	s = parse(strbuf_str(&sb));
	assert_true(suppressions_match(s, kind, VERDICT_UNKNOWN, frames, n, 1, 1));
	suppressions_free(s);
	strbuf_fini(&sb);
}

static void what_is_generated_means_the_stack(void **state)
{
	static const struct summary_frame wrapped[] = {
		{ .function = "operator new(unsigned long)", .linkage = "_Znwm" },
		session[0],
		session[1],
		session[2],
		session[3],
		{ .function = "__libc_start_call_main" },
		{ .function = "_start" },
	};
	static const struct summary_frame thread[] = { { .function = "work" },
						       { .function = "start_thread" },
						       { .function = "clone" } };

	(void)state;
	assert_generated(wrapped, COUNT(wrapped), SUPPRESS_LEAK,
			 "{\n   leak 3\n   Memcheck,mmattach:Leak\n   match-leak-kinds: all\n   ...\n   "
			 "fun:_Z12session_openi\n"
			 "   obj:*\n   fun:serve\n   fun:main\n}\n");
	assert_generated(thread, COUNT(thread), SUPPRESS_FREE,
			 "{\n   double free 3\n   Memcheck,mmattach:Free\n   ...\n   fun:work\n}\n");
}

static void hostile_names_are_generated_too(void **state)
{
	static char longest[5000];
	struct summary_frame frames[40] = { { .function = "a\n}\n{\xff\xc3\xbc*? b" },
					    { .function = longest },
					    { .function = " x " },
					    { .function = "", .module = "/a\tb/\x01" } };

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 4; i < COUNT(frames); i++)
		frames[i].function = "deep";
	assert_generated(frames, 1, SUPPRESS_LEAK,
			 "{\n   leak 3\n   Memcheck,mmattach:Leak\n   match-leak-kinds: all\n   ...\n"
			 "   fun:a?}?{???*? b\n}\n");
	assert_generated(frames, 4, SUPPRESS_LEAK, NULL);
	assert_generated(frames, COUNT(frames), SUPPRESS_LEAK, NULL);
}

static void nothing_is_generated_for_nothing(void **state)
{
	struct strbuf sb = STRBUF_INIT;

	(void)state;
	suppressions_generate(session + 1, 1, SUPPRESS_LEAK, VERDICT_DEFINITE, 3, &sb);
	suppressions_generate(NULL, 0, SUPPRESS_LEAK, VERDICT_UNKNOWN, 4, &sb);
	assert_string_equal(strbuf_str(&sb),
			    "# leak 3 cannot be suppressed: nothing is known of its stack\n"
			    "# leak 4 cannot be suppressed: nothing is known of its stack\n");
	strbuf_fini(&sb);
}

/* FUNCTION[=LINKAGE], with "inlined " before it if it is. */
static size_t read_frames(char **args, struct summary_frame *frames)
{
	size_t n = 0;

	for (; args[n] && n < 64; n++) {
		bool inlined = !strncmp(args[n], "inlined ", 8);
		char *equals = strstr(args[n], "=_");

		if (equals)
			*equals = '\0';
		frames[n] = (struct summary_frame){ .function = args[n] + (inlined ? 8 : 0),
						    .linkage = equals ? equals + 1 : NULL,
						    .inlined = inlined };
	}
	return n;
}

static int generate(enum suppress_kind kind, char **args)
{
	struct summary_frame frames[64];
	struct strbuf sb = STRBUF_INIT;

	suppressions_generate(frames, read_frames(args, frames), kind, VERDICT_UNKNOWN, 1, &sb);
	fputs(strbuf_str(&sb), stdout);
	strbuf_fini(&sb);
	return 0;
}

static int matches(enum suppress_kind kind, const char *path, char **args)
{
	struct summary_frame frames[64];
	struct suppressions *s;
	int r = 2;

	if (suppressions_new(&s) == 0) {
		if (suppressions_read(s, path, why, sizeof(why)))
			fprintf(stderr, "%s\n", why);
		else
			r = !suppressions_match(s, kind, VERDICT_UNKNOWN, frames, read_frames(args, frames),
						1, 1);
	}
	suppressions_free(s);
	return r;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_from_the_leaf_on),
		cmocka_unit_test(any_number_of_frames),
		cmocka_unit_test(the_allocators_own_frame),
		cmocka_unit_test(tools_and_kinds),
		cmocka_unit_test(kinds_of_leaks),
		cmocka_unit_test(patterns_of_leaksanitizer),
		cmocka_unit_test(both_forms_in_one_file_and_their_use),
		cmocka_unit_test(what_is_wrong_is_said),
		cmocka_unit_test(files_are_read),
		cmocka_unit_test(what_is_generated_means_the_stack),
		cmocka_unit_test(hostile_names_are_generated_too),
		cmocka_unit_test(nothing_is_generated_for_nothing),
	};

	if (argc > 3 && !strcmp(argv[1], "generate"))
		return generate(strcmp(argv[2], "free") ? SUPPRESS_LEAK : SUPPRESS_FREE, argv + 3);
	if (argc > 4 && !strcmp(argv[1], "matches"))
		return matches(strcmp(argv[2], "free") ? SUPPRESS_LEAK : SUPPRESS_FREE, argv[3], argv + 4);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
