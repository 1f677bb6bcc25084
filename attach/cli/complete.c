/* SPDX-License-Identifier: MIT */
#include "attach/cli/complete.h"

#include <stdbool.h>
#include <string.h>

#include "attach/cli/complete_values.h"
#include "attach/options/help_topics.h"
#include "attach/options/option_table.h"
#include "attach/options/options_check.h"
#include "attach/options/options_help.h"

/* What the words before the last one say. */
struct context {
	enum command command;
	bool command_given;
	bool rest;			/* behind -- */
	size_t words;			/* that are neither options nor the command */
	const struct option_line *open;	/* its argument is the next word; NULL: none */
};

static const struct option_line *find_long(const char *name, size_t n)
{
	for (size_t i = 0; i < option_count; i++)
		if (!strncmp(option_table[i].name, name, n) && !option_table[i].name[n])
			return &option_table[i];
	return NULL;
}

static const struct option_line *find_short(char letter)
{
	for (size_t i = 0; i < option_count; i++)
		if (option_table[i].letter == letter)
			return &option_table[i];
	return NULL;
}

/* The option of -qvp that takes an argument, and what stands behind its letter. */
static const struct option_line *find_in_cluster(const char *word, const char **behind)
{
	for (const char *c = word + 1; *c; c++) {
		const struct option_line *line = find_short(*c);

		*behind = c + 1;
		if (!line || line->arg)
			return line;
	}
	return NULL;
}

static const struct option_line *wants_argument(const char *word)
{
	const struct option_line *line;
	const char *behind = "";

	if (word[1] == '-')
		line = find_long(word + 2, strlen(word + 2));
	else
		line = find_in_cluster(word, &behind);
	return line && line->arg && !*behind ? line : NULL;
}

/* The command that @word names; COMMAND_VERSION: none. */
static enum command command_called(const char *word)
{
	if (!strcmp(word, "help"))
		return COMMAND_HELP;
	for (const struct help_topic *t = help_topics; t->name; t++)
		if (help_topic_is_command(t) && !strcmp(word, t->name))
			return t->command;
	return COMMAND_VERSION;
}

static void read_plain_word(struct context *c, const char *word)
{
	const enum command called = command_called(word);

	if (!c->command_given && called != COMMAND_VERSION) {
		c->command = called;
		c->command_given = true;
	} else {
		c->words++;
	}
}

static void read_word(struct context *c, const char *word)
{
	if (c->open)
		c->open = NULL;
	else if (c->rest)
		c->words++;
	else if (!strcmp(word, "--"))
		*c = (struct context){ .command = c->command, .command_given = true, .rest = true };
	else if (word[0] == '-' && word[1])
		c->open = wants_argument(word);
	else
		read_plain_word(c, word);
}

/* --- what can follow --- */

static void put_options(const struct complete_out *to, enum command command, bool letters)
{
	for (size_t i = 0; i < option_count; i++) {
		const struct option_line *line = &option_table[i];
		char word[64];

		if (!(line->commands >> command & 1))
			continue;
		snprintf(word, sizeof(word), "-%c", line->letter);
		if (letters && line->letter)
			complete_put(to, word, line->help);
		snprintf(word, sizeof(word), "--%s", line->name);
		complete_put(to, word, line->help);
	}
}

static void put_commands(const struct complete_out *to)
{
	for (const struct help_topic *t = help_topics; t->name; t++)
		if (help_topic_is_command(t) && t->command != COMMAND_GDB)
			complete_put(to, t->name, t->what);
	complete_put(to, "help", "examples, and the options of a command or subject");
}

static void put_topics(const struct complete_out *to)
{
	for (const struct help_topic *t = help_topics; t->name; t++)
		complete_put(to, t->name, t->what);
	complete_put(to, OPTIONS_HELP_ALL, "all options");
}

/* A word that is no option. */
static void put_words(const struct complete_out *to, const struct context *c)
{
	if (c->command == COMMAND_WATCH && !c->command_given && !c->words)
		put_commands(to);
	else if (c->command == COMMAND_HELP && !c->words)
		put_topics(to);
	else if (c->command == COMMAND_REPAIR && !c->words)
		complete_processes(to);
	else if (c->command == COMMAND_IMPORT && !c->words)
		complete_values(to, "mmleak|mtrace");
	else if (command_takes_files(c->command))
		complete_values(to, "FILE");
	else if (!*to->begun && c->command != COMMAND_HELP && c->command_given)
		put_options(to, c->command, false);
}

static void put_argument(const struct complete_out *to, const struct option_line *line, enum command command)
{
	char text[OPTION_ARGUMENT_MAX];

	complete_values(to, option_argument(line, command, text));
}

/* --name=VALUE, -pVALUE: false if @word is neither. */
static bool put_glued(const struct complete_out *to, enum command command, const char *word)
{
	struct complete_out glued = *to;
	const char *value = strchr(word, '=');
	const struct option_line *line;

	if (!strncmp(word, "--", 2)) {
		line = value ? find_long(word + 2, (size_t)(value - word - 2)) : NULL;
		value = value ? value + 1 : NULL;
	} else {
		line = find_in_cluster(word, &value);
	}
	if (!line || !line->arg || !value || (word[1] != '-' && !*value))
		return false;
	glued.prefix = word;
	glued.nprefix = (size_t)(value - word);
	glued.begun = value;
	put_argument(&glued, line, command);
	return true;
}

static void put_option_word(const struct complete_out *to, const struct context *c, const char *word)
{
	if (c->command != COMMAND_HELP && !put_glued(to, c->command, word))
		put_options(to, c->command, true);
}

int complete(int n, char **words, FILE *out)
{
	struct context c = { .command = COMMAND_WATCH };
	const char *last = n ? words[n - 1] : "";
	const struct complete_out to = { .out = out, .prefix = "", .begun = last };

	for (int i = 0; i < n - 1; i++)
		read_word(&c, words[i]);
	if (c.open)
		put_argument(&to, c.open, c.command);
	else if (c.rest)
		fputs(c.words || command_takes_files(c.command) ? ":files\n" : ":program\n", out);
	else if (last[0] == '-')
		put_option_word(&to, &c, last);
	else
		put_words(&to, &c);
	return 0;
}
