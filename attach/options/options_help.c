/* SPDX-License-Identifier: MIT */
/*
 * options_help: see options_help.h.
 *
 * The overview is one screen of 24 lines, with the most used options. A command's topic has a line for each
 * of its options, a subject's has their whole texts. The topic of a watch, which has more options than a
 * screen has lines, names those that have a subject of their own.
 */
#include "attach/options/options_help.h"

#include <string.h>

#include "attach/options/help_topics.h"
#include "attach/options/option_table.h"
#include "base/log.h"

#define WIDTH 80
#define HELP_COLUMN 24		/* for names of options, after a margin of 2 */
#define WHAT_COLUMN 10

/* --- lists of words, wrapped --- */

struct wrapped {
	FILE *out;
	int indent, at;		/* columns */
	bool any;
};

/* The line has been written up to column @at, or, if that is 0, @indent. */
static struct wrapped wrapped_begin(FILE *out, int indent, int at)
{
	return (struct wrapped){ .out = out, .indent = indent, .at = at ? at : indent };
}

static void wrapped_add(struct wrapped *w, const char *dashes, const char *word)
{
	const int n = (int)(strlen(dashes) + strlen(word));	/* and a blank before it, a comma behind it */

	if (w->any) {
		fputc(',', w->out);
		w->at++;
	}
	if (w->any && w->at + n + 2 > WIDTH) {
		fprintf(w->out, "\n%*s", w->indent, "");
		w->at = w->indent;
	} else if (w->any) {
		w->at += fprintf(w->out, " ");
	}
	w->at += fprintf(w->out, "%s%s", dashes, word);
	w->any = true;
}

/* --- one option --- */

static void option_text(FILE *out, const char *left, const char *text, size_t n)
{
	fprintf(out, "  %-*s %.*s\n", HELP_COLUMN, left, (int)n, text);
}

/*
 * Print what of an option is too long for the column, in lines of its own that are broken behind a '|'. What is
 * left in @left goes beside the text.
 */
static void option_too_long(FILE *out, char *left)
{
	const size_t indent = strcspn(left, "-");

	while (strlen(left) > HELP_COLUMN) {
		size_t n = strlen(left) > WIDTH - 2 ? WIDTH - 2 : strlen(left);

		while (left[n] && n > indent && left[n - 1] != '|')
			n--;
		if (n == indent)	/* there is no place to break it */
			n = strlen(left);
		fprintf(out, "  %.*s\n", (int)n, left);
		if (left[n]) {
			memmove(left + indent, left + n, strlen(left + n) + 1);
			memset(left, ' ', indent);
		} else {
			left[0] = '\0';
		}
	}
}

/* Its name, with @arg, and the first line of its text. Returns the other lines. */
static const char *option_summary(FILE *out, const struct option_line *line, const char *arg)
{
	const size_t n = strcspn(line->help, "\n");
	char left[192], letter[] = { '-', line->letter, ',', ' ', '\0' };

	snprintf(left, sizeof(left), "%s--%s%s%s", line->letter ? letter : "    ", line->name,
		 arg ? " " : "", arg ? arg : "");
	option_too_long(out, left);
	option_text(out, left, line->help, n);
	return line->help + n;
}

/* The commands that have it, unless all have. `mmattach gdb` has what a watch has. */
static void option_commands(FILE *out, const struct option_line *line)
{
	struct wrapped w;

	if (line->commands == FOR_ALL || line->commands == FOR_GDB)
		return;
	fprintf(out, "%*s", HELP_COLUMN + 3, "");
	w = wrapped_begin(out, HELP_COLUMN + 3, 0);
	for (const struct help_topic *t = help_topics; help_topic_is_command(t); t++)
		if (t->command != COMMAND_GDB && line->commands >> t->command & 1)
			wrapped_add(&w, w.any ? "" : "(", t->name);
	fputs(")\n", out);
}

static void option_in_full(FILE *out, const struct option_line *line)
{
	const char *text = option_summary(out, line, line->arg);

	while (*text) {
		size_t n = strcspn(++text, "\n");

		option_text(out, "", text, n);
		text += n;
	}
	option_commands(out, line);
}

/* --- parts of a screen --- */

/* Up to the first one without a line. */
static void examples(FILE *out, const struct help_example *all)
{
	int column = 0;

	for (const struct help_example *e = all; e->line; e++)
		if (*e->what && (int)strlen(e->line) > column)
			column = (int)strlen(e->line);
	for (const struct help_example *e = all; e->line; e++) {
		if (*e->what)
			fprintf(out, "  %-*s   %s\n", column, e->line, e->what);
		else
			fprintf(out, "  %s\n", e->line);
	}
}

static bool has_options(enum command command, enum option_subject subject)
{
	for (size_t i = 0; i < option_count; i++)
		if (option_table[i].subject == subject && option_table[i].commands >> command & 1)
			return true;
	return false;
}

/* The names of the options of this command and subject. */
static void named_options(FILE *out, enum command command, enum option_subject subject)
{
	struct wrapped w;

	fprintf(out, "  %-*s ", WHAT_COLUMN, help_topic_of_subject(subject)->name);
	w = wrapped_begin(out, WHAT_COLUMN + 3, 0);
	for (size_t i = 0; i < option_count; i++)
		if (option_table[i].subject == subject && option_table[i].commands >> command & 1)
			wrapped_add(&w, "--", option_table[i].name);
	fputc('\n', out);
}

static void options_elsewhere(FILE *out, const struct help_topic *t)
{
	if (!t->elsewhere)
		return;
	fputs("\nMore options, explained by `mmattach help SUBJECT`:\n", out);
	for (enum option_subject s = 0; s < SUBJECT_COUNT; s++)
		if (t->elsewhere >> s & 1 && has_options(t->command, s))
			named_options(out, t->command, s);
}

/* Where the whole texts of the command's options are. */
static void subjects_of(FILE *out, enum command command)
{
	struct wrapped w;

	fputs("\nMore: man mmattach, and mmattach help with one of\n  ", out);
	w = wrapped_begin(out, 2, 0);
	for (enum option_subject s = 0; s < SUBJECT_COUNT; s++)
		if (has_options(command, s))
			wrapped_add(&w, "", help_topic_of_subject(s)->name);
	fputc('\n', out);
}

static void debug_domains(FILE *out)
{
	const char *name, *what;

	fputs("\nDomains of --debug (all: every one):\n", out);
	for (size_t i = 0; log_domain_describe(i, &name, &what); i++)
		fprintf(out, "  %-*s %s\n", WHAT_COLUMN, name, what);
}

/* --- screens --- */

/* As the command takes it. */
static void command_option(FILE *out, const struct option_line *line, enum command command)
{
	char text[OPTION_ARGUMENT_MAX];

	option_summary(out, line, line->arg ? option_argument(line, command, text) : NULL);
}

static void help_command(const struct help_topic *t, FILE *out)
{
	fprintf(out, "mmattach %s: %s\n\n", t->name, t->what);
	examples(out, t->examples);
	fprintf(out, "%susage: %s\n\n%s\n", t->examples[0].line ? "\n" : "", t->usage, t->text);
	for (size_t i = 0; i < option_count; i++)
		if (option_table[i].commands >> t->command & 1 &&
		    !(t->elsewhere >> option_table[i].subject & 1))
			command_option(out, &option_table[i], t->command);
	options_elsewhere(out, t);
	if (!t->elsewhere)
		subjects_of(out, t->command);
}

static void subject_options(enum option_subject subject, FILE *out)
{
	for (size_t i = 0; i < option_count; i++)
		if (option_table[i].subject == subject)
			option_in_full(out, &option_table[i]);
	if (subject == ABOUT_GENERAL)
		debug_domains(out);
}

static void help_subject(const struct help_topic *t, FILE *out)
{
	fprintf(out, "%s: %s\n\n", t->name, t->what);
	examples(out, t->examples);
	fprintf(out, "\n%s%s", t->text, *t->text ? "\n" : "");
	subject_options(t->subject, out);
}

static void help_all(FILE *out)
{
	options_usage(out);
	for (enum option_subject s = 0; s < SUBJECT_COUNT; s++) {
		fprintf(out, "\n%s: %s\n", help_topic_of_subject(s)->name, help_topic_of_subject(s)->what);
		subject_options(s, out);
	}
}

static void overview_options(FILE *out)
{
	static const char *const most_used[] = { "pid", "budget" };

	for (size_t i = 0; i < sizeof(most_used) / sizeof(most_used[0]); i++)
		for (size_t k = 0; k < option_count; k++)
			if (!strcmp(option_table[k].name, most_used[i]))
				option_summary(out, &option_table[k], option_table[k].arg);
}

static void overview_topics(FILE *out)
{
	struct wrapped w;

	fputs("Topics: a command, " OPTIONS_HELP_ALL " (all options), ", out);
	w = wrapped_begin(out, 2, (int)strlen("Topics: a command, " OPTIONS_HELP_ALL " (all options), "));
	for (const struct help_topic *t = help_topics; t->name; t++)
		if (!help_topic_is_command(t) || t->command == COMMAND_GDB)
			wrapped_add(&w, "", t->name);
	fputc('\n', out);
}

static void help_overview(FILE *out)
{
	static const struct help_example all[] = {
		{ "mmattach -p 1234 -d 10m", "watch process 1234 for ten minutes" },
		{ "mmattach -n my_service -d 8h --budget 1%", "a service in production" },
		{ "mmattach -p 1234 -d 1h -o a.mmt", "save a trace of the watch" },
		{ "mmattach report --focus my_lib a.mmt", "report from it, later" },
		{ "mmattach scan -p 1234", "what is lost now, without a watch" },
		{ NULL, NULL },
	};

	fputs("mmattach finds the code of a running process that allocates and does not free.\n", out);
	examples(out, all);
	fputs("Commands (watch, if none is given):\n", out);
	for (const struct help_topic *t = help_topics; help_topic_is_command(t); t++)
		if (t->command != COMMAND_GDB)
			fprintf(out, "  %-*s %s\n", WHAT_COLUMN, t->name, t->what);
	fprintf(out, "  %-*s examples, and the options of a command or subject\n", WHAT_COLUMN, "help TOPIC");
	fputs("Options:\n", out);
	overview_options(out);
	overview_topics(out);
}

void options_usage(FILE *out)
{
	const char *before = "usage:";

	for (const struct help_topic *t = help_topics; help_topic_is_command(t); t++) {
		if (t->command == COMMAND_GDB)
			continue;
		fprintf(out, "%-6s %s\n", before, t->usage);
		before = "";
	}
	fprintf(out, "%-6s mmattach help [TOPIC]\n", before);
}

void options_help(const char *topic, FILE *out)
{
	/* --all is an option, too */
	const bool all = topic && !strcmp(topic, OPTIONS_HELP_ALL);
	const struct help_topic *t = topic && !all ? help_topic_find(topic) : NULL;

	if (t && help_topic_is_command(t))
		help_command(t, out);
	else if (t)
		help_subject(t, out);
	else if (topic)
		help_all(out);
	else
		help_overview(out);
}
