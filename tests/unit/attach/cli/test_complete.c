/* SPDX-License-Identifier: MIT */
/*
 * complete: what can follow on a command line is what the table of options says, and what it offers is
 * accepted.
 */
#include "attach/cli/complete.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "attach/cli/complete_values.h"
#include "attach/options/option_table.h"

#define WORDS 16

/* What is printed for a line, of which the words end with NULL; free it. */
static char *offered(const char *first, ...)
{
	char *words[WORDS], *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	va_list ap;
	int n = 0;

	va_start(ap, first);
	for (const char *w = first; w && n < WORDS; w = va_arg(ap, const char *))
		words[n++] = (char *)w;
	va_end(ap);
	assert_int_equal(complete(n, words, out), 0);
	fclose(out);
	return text;
}

/* Is @word one of the lines, with a description or without? */
static bool has(const char *lines, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = lines; *at; at += strcspn(at, "\n") + 1)
		if (!strncmp(at, word, n) && (at[n] == '\n' || at[n] == '\t'))
			return true;
	return false;
}

#define assert_offers(word_, ...)						\
	do {									\
		char *text_ = offered(__VA_ARGS__, NULL);			\
		if (!has(text_, word_))						\
			fail_msg("'%s' not in:\n%s", word_, text_);		\
		free(text_);							\
	} while (0)

#define assert_not_offered(word_, ...)						\
	do {									\
		char *text_ = offered(__VA_ARGS__, NULL);			\
		if (has(text_, word_))						\
			fail_msg("'%s' in:\n%s", word_, text_);			\
		free(text_);							\
	} while (0)

#define assert_offered_text(expected_, ...)					\
	do {									\
		char *text_ = offered(__VA_ARGS__, NULL);			\
		assert_string_equal(text_, expected_);				\
		free(text_);							\
	} while (0)

static void test_commands(void **state)
{
	(void)state;
	assert_offers("report", "");
	assert_offers("help", "");
	assert_offers("scan", "sc");
	assert_offers("report", "-q", "re");
	assert_not_offered("gdb", "");
	assert_not_offered("report", "scan", "");
	assert_not_offered("report", "-o", "report", "report", "");
	assert_offers("budget", "help", "");
	assert_offers("all", "help", "");
	assert_offers("watch", "");
	assert_offers("--pid", "watch", "");
	assert_offers("report", "help", "");
	assert_not_offered("report", "help", "report", "");
	assert_offers("--pid", "--");
}

/* Each option for the commands that have it, and for no other. */
static void test_options(void **state)
{
	static const struct { enum command command; const char *word; } commands[] = {
		{ COMMAND_WATCH, NULL }, { COMMAND_PROBES, "probes" }, { COMMAND_REPAIR, "repair" },
		{ COMMAND_REPORT, "report" }, { COMMAND_DIFF, "diff" }, { COMMAND_SHRINK, "shrink" },
		{ COMMAND_MERGE, "merge" },
		{ COMMAND_IMPORT, "import" }, { COMMAND_SCAN, "scan" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char *text = commands[i].word ? offered(commands[i].word, "-", NULL) : offered("-", NULL);

		for (size_t k = 0; k < option_count; k++) {
			const struct option_line *line = &option_table[k];
			const bool valid = line->commands >> commands[i].command & 1;
			char word[64];

			snprintf(word, sizeof(word), "--%s", line->name);
			assert_int_equal(has(text, word), valid);
			snprintf(word, sizeof(word), "-%c", line->letter);
			assert_true(!line->letter || has(text, word) == valid);
		}
		free(text);
	}
}

/* An argument with a new name in the table must be given a meaning, or none, in complete_values.c. */
static void test_each_argument_is_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++)
		if (option_table[i].arg && !complete_knows(option_table[i].arg))
			fail_msg("--%s %s", option_table[i].name, option_table[i].arg);
	assert_false(complete_knows("THING"));
}

static bool is_list(const char *arg)
{
	return arg && strchr(arg, '|') && !strpbrk(arg, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

static int accepted(const struct option_line *line, const char *arg)
{
	char option[64], *argv[] = { "mmattach", option, (char *)arg, "-h" };
	struct usage_error err;
	struct options o;
	int r;

	snprintf(option, sizeof(option), "--%s", line->name);
	r = options_parse(4, argv, &o, &err);
	options_fini(&o);
	return r == 0;
}

/* What the table lists is what the option accepts. */
static void test_lists_are_true(void **state)
{
	size_t lists = 0;

	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		char option[64], *text, *word, *rest;

		if (!is_list(option_table[i].arg))
			continue;
		lists++;
		snprintf(option, sizeof(option), "--%s", option_table[i].name);
		text = offered("report", option, "", NULL);
		for (word = strtok_r(text, "\n", &rest); word; word = strtok_r(NULL, "\n", &rest))
			assert_true(accepted(&option_table[i], word));
		assert_false(accepted(&option_table[i], "nothing"));
		free(text);
	}
	assert_true(lists >= 7);
}

static void test_values(void **state)
{
	(void)state;
	assert_offered_text("json\n", "--format", "j");
	assert_offered_text("--format=json\n", "report", "--format=j");
	assert_offered_text("--color=auto\n--color=always\n", "--color=a");
	assert_offered_text("possible\tpossibly lost\n", "scan", "--show", "p");
	assert_offered_text("definite,possible\tpossibly lost\n", "--show", "definite,p");
	assert_offered_text("--show=definite,possible\tpossibly lost\n", "--show=definite,p");
	assert_offers("reachable", "--who-points-at", "");
	assert_not_offered("definite", "--who-points-at", "");
	assert_offers("event", "--debug", "");
	assert_offers("event,all", "--debug", "event,a");
	assert_offers("libc", "--family", "");
	assert_offers("glusterfs", "--family", "");
	assert_offers("libc,dict", "report", "--family", "libc,d");
	assert_offered_text("", "--depth", "");
	assert_offered_text("", "--no-such-option=");
	assert_offers("mtrace", "import", "");
}

static void test_files_and_programs(void **state)
{
	(void)state;
	assert_offered_text(":files\n", "report", "");
	assert_offered_text(":files\n", "report", "--", "");
	assert_offered_text(":files\n", "import", "mtrace", "x");
	assert_offered_text(":files\n", "-o", "");
	assert_offered_text(":files\n", "-qo", "");
	assert_offered_text(":files\n", "--report=/tm");
	assert_offered_text(":files\n", "scan", "--core", "");
	assert_offered_text(":program\n", "-d", "5s", "--", "");
	assert_offered_text(":files\n", "--", "ls", "");
	/* a word behind -o is its argument, whatever it is called */
	assert_offers("--growth", "-o", "scan", "--gr");
}

static void test_processes(void **state)
{
	const pid_t parent = getppid();
	char number[16], glued[16];

	(void)state;
	snprintf(number, sizeof(number), "%d", parent);
	snprintf(glued, sizeof(glued), "-p%d", parent);
	assert_offers(number, "-p", "");
	assert_offers(number, "scan", "--pid", "");
	assert_offers(number, "repair", "");
	assert_not_offered(number, "repair", "1", "");
	assert_offers(glued, glued);
	snprintf(number, sizeof(number), "%d", getpid());
	assert_not_offered(number, "-p", "");
}

static void test_names(void **state)
{
	int ready[2];
	char byte;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_NAME, "comp:lete");
		(void)!write(ready[1], "", 1);
		pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_offers("comp:lete", "-n", "comp");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* A command that has the option; NULL: a watch, which is no word. */
static const char *command_of(const struct option_line *line)
{
	return line->commands & FOR_WATCH ? NULL : line->commands & FOR_SCAN ? "scan" :
	       line->commands & FOR_REPORT ? "report" : line->commands & FOR_PROBES ? "probes"
	       : line->commands & FOR_IMPORT ? "import" : line->commands & FOR_MERGE ? "merge" : "gdb";
}

/* A description is one line, without the further clauses of --help. */
static void test_descriptions(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		char word[64], *text, *tab;

		snprintf(word, sizeof(word), "--%s", option_table[i].name);
		text = offered(command_of(&option_table[i]) ?: "-q", word, NULL);
		tab = strchr(text, '\t');
		assert_non_null(tab);
		assert_true(strlen(tab) > 4);
		assert_null(strpbrk(tab, ";("));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands), cmocka_unit_test(test_options),
		cmocka_unit_test(test_each_argument_is_known), cmocka_unit_test(test_lists_are_true),
		cmocka_unit_test(test_values), cmocka_unit_test(test_files_and_programs),
		cmocka_unit_test(test_processes), cmocka_unit_test(test_names),
		cmocka_unit_test(test_descriptions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
