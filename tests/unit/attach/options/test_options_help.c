/* SPDX-License-Identifier: MIT */
/*
 * options_help: every option is explained, every topic fits a screen, and the examples are command lines that
 * can be used.
 */
#include "attach/options/options_help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wordexp.h>

#include <cmocka.h>

#include "attach/options/help_topics.h"
#include "attach/options/options_check.h"

#define OVERVIEW_LINES 24
#define TOPIC_LINES 48
#define COLUMNS 80
#define SUMMARY_COLUMNS 53
#define SCREEN 65536

/* The caller frees it. */
static char *screen(const char *topic)
{
	char *text = calloc(1, SCREEN);
	FILE *out = fmemopen(text, SCREEN - 1, "w");

	assert_non_null(out);
	options_help(topic, out);
	fclose(out);
	return text;
}

static size_t count_lines(const char *name, const char *text)
{
	size_t lines = 0;

	for (size_t n; *text; text += n + 1, lines++) {
		n = strcspn(text, "\n");
		assert_int_equal(text[n], '\n');
		if (n > COLUMNS || (n && text[n - 1] == ' '))
			fail_msg("%s: %zu columns, or a blank at the end: '%.*s'", name, n, (int)n, text);
	}
	return lines;
}

static void every_topic_fits_a_screen(void **state)
{
	(void)state;
	for (const struct help_topic *t = help_topics; t->name; t++) {
		char *text = screen(t->name);
		size_t lines = count_lines(t->name, text);

		if (lines > TOPIC_LINES)
			fail_msg("%s has %zu lines", t->name, lines);
		assert_true(lines > 5);
		free(text);
	}
}

static void the_overview_fits_a_small_screen(void **state)
{
	char *text = screen(NULL);

	(void)state;
	assert_in_range(count_lines("overview", text), 10, OVERVIEW_LINES);
	for (const struct help_topic *t = help_topics; t->name; t++)
		if (!strstr(text, t->name))
			fail_msg("the overview does not name %s", t->name);
	free(text);
}

/* "--name", and nothing of a longer name. */
static bool names_option(const char *text, const char *name)
{
	char line[64];
	size_t n = (size_t)snprintf(line, sizeof(line), "--%s", name);

	for (const char *at = text; (at = strstr(at, line)); at += n)
		if (strchr(" ,\n", at[n]) && at > text && at[-1] == ' ')
			return true;
	return false;
}

static void every_option_is_in_its_subject_and_in_all(void **state)
{
	char *all = screen(OPTIONS_HELP_ALL);

	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const struct help_topic *subject = help_topic_of_subject(option_table[i].subject);
		char *text;

		assert_non_null(subject->name);
		text = screen(subject->name);
		if (!names_option(text, option_table[i].name) || !names_option(all, option_table[i].name))
			fail_msg("--%s is not explained in %s, or not in all", option_table[i].name,
				 subject->name);
		free(text);
	}
	count_lines("all", all);
	free(all);
}

static void a_command_has_its_options_and_no_others(void **state)
{
	(void)state;
	for (const struct help_topic *t = help_topics; help_topic_is_command(t); t++) {
		char *text = screen(t->name);
		const char *options = strstr(text, "\nusage: ");

		assert_non_null(options);
		assert_string_equal(t->name, options_command_name(t->command));
		for (size_t i = 0; i < option_count; i++)
			if (names_option(options, option_table[i].name) !=
			    (option_table[i].commands >> t->command & 1))
				fail_msg("help %s and --%s", t->name, option_table[i].name);
		free(text);
	}
}

static void every_command_and_subject_has_a_topic(void **state)
{
	(void)state;
	for (enum option_subject s = 0; s < SUBJECT_COUNT; s++)
		assert_non_null(help_topic_of_subject(s)->name);
	for (enum command c = 0; c < COMMAND_HELP; c++)
		assert_int_equal(help_topic_find(options_command_name(c))->command, c);
	assert_string_equal(help_topic_find("--budget")->name, "budget");
	assert_string_equal(help_topic_find("older-than")->name, "filters");
	assert_null(help_topic_find("nothing"));
	assert_null(help_topic_find(""));
}

/* The first line of an option's text stands alone in the topics of commands; a text is not repeated. */
static void texts_of_options_are_short_and_different(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		for (const char *line = option_table[i].help; *line;
		     line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
			if (strcspn(line, "\n") > SUMMARY_COLUMNS || *line == '\n')
				fail_msg("--%s: '%s'", option_table[i].name, line);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(option_table[i].help, option_table[k].help);
	}
}

/* As a shell would take it apart. */
static void assert_is_a_command_line(const char *line)
{
	struct usage_error err;
	struct options o;
	wordexp_t words;
	int ret;

	assert_int_equal(wordexp(line, &words, WRDE_NOCMD | WRDE_UNDEF), 0);
	assert_string_equal(words.we_wordv[0], "mmattach");
	ret = options_parse((int)words.we_wordc, words.we_wordv, &o, &err);
	if (ret)
		fail_msg("%s: %s", line, err.text);
	options_fini(&o);
	wordfree(&words);
}

static void examples_can_be_used(void **state)
{
	size_t n = 0;

	(void)state;
	for (const struct help_topic *t = help_topics; t->name; t++) {
		const size_t most = sizeof(t->examples) / sizeof(t->examples[0]);

		assert_null(t->examples[most - 1].line);	/* the list ends */
		for (const struct help_example *e = t->examples; e->line; e++, n++) {
			assert_is_a_command_line(e->line);
			assert_non_null(e->what);
		}
	}
	assert_true(n > 40);
}

/* Those of the overview, which are in no topic, are read off the screen: up to three blanks. */
static void examples_of_the_overview_can_be_used(void **state)
{
	char *text = screen(NULL);
	size_t n = 0;

	(void)state;
	for (char *at = text; (at = strstr(at, "\n  mmattach ")); n++) {
		char *end = strstr(at + 3, "   ");

		assert_non_null(end);
		*end = '\0';
		assert_is_a_command_line(at + 3);
		at = end + 1;
	}
	assert_in_range(n, 5, 6);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_topic_fits_a_screen),
		cmocka_unit_test(the_overview_fits_a_small_screen),
		cmocka_unit_test(every_option_is_in_its_subject_and_in_all),
		cmocka_unit_test(a_command_has_its_options_and_no_others),
		cmocka_unit_test(every_command_and_subject_has_a_topic),
		cmocka_unit_test(texts_of_options_are_short_and_different),
		cmocka_unit_test(examples_can_be_used),
		cmocka_unit_test(examples_of_the_overview_can_be_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
