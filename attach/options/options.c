/* SPDX-License-Identifier: MIT */
/*
 * options: see options.h.
 *
 * option_table has a line for each option; its handler gets the argument and
 * fills the options. parse_all goes through the words: a word is an option (the
 * next word may be its argument), a command, or, behind "--", a program.
 */
#include "attach/options/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/help_topics.h"
#include "attach/options/option_arg.h"
#include "attach/options/option_table.h"
#include "attach/options/options_check.h"
#include "attach/options/options_help.h"
#include "base/duration.h"
#include "base/inpath.h"
#include "base/log.h"
#include "base/pager.h"
#include "base/statusline.h"
#include "base/version.h"

#define COMMANDS "watch, top, report, diff, shrink, merge, import, scan, probes, repair and formats"

struct parser {
	int argc;
	char **argv;
	int at;
	bool used[OPTION_LINES_MAX];	/* by line of the table: it was given */
	bool command_given;
	struct options *o;
	struct usage_error *err;
};

static int refuse_unknown(struct parser *p, const char *shown, const char *word)
{
	struct nearest near = nearest_to(word, strlen(word));

	for (size_t i = 0; i < option_count; i++)
		nearest_try(&near, option_table[i].name, strlen(option_table[i].name));
	usage_refuse(p->err, "unknown option %s", shown);
	usage_advise(p->err, "`mmattach help " OPTIONS_HELP_ALL "` lists the options");
	return usage_suggest(p->err, "--", &near);
}

/* The next word as the argument of @line; NULL if there is none. */
static const char *next_argument(struct parser *p)
{
	const char *word = p->at < p->argc ? p->argv[p->at] : NULL;

	/*
	 * A word that looks like an option is one: -p -d 10s lacks a number. (A file -x is given as
	 * --report=-x.) No option is a digit, so -5 is a wrong number rather than a missing one.
	 */
	if (!word || (word[0] == '-' && word[1] && !isdigit((unsigned char)word[1])))
		return NULL;
	p->at++;
	return word;
}

static int refuse_missing(struct parser *p, const struct option_line *line, const char *shown)
{
	usage_refuse(p->err, "%s needs an argument", shown);
	if (line->letter)
		return usage_advise(p->err, "-%c %s: %.*s", line->letter, line->arg,
				    (int)strcspn(line->help, "\n"), line->help);
	return usage_advise(p->err, "--%s %s: %.*s", line->name, line->arg, (int)strcspn(line->help, "\n"), line->help);
}

static int apply(struct parser *p, const struct option_line *line, const char *shown, const char *arg)
{
	if (line->arg && !arg)
		arg = next_argument(p);
	if (line->arg && !arg)
		return refuse_missing(p, line, shown);
	p->used[line - option_table] = true;
	if (line->handler)
		return line->handler(p->o, arg, p->err);
	*(bool *)((char *)p->o + line->flag) = true;
	return 0;
}

/* --name, --name=ARG, --name ARG */
static int parse_long(struct parser *p, const char *word)
{
	const char *name = word + 2, *value = strchr(name, '=');
	size_t n = value ? (size_t)(value - name) : strlen(name);
	char shown[64];

	snprintf(shown, sizeof(shown), "--%.*s", (int)n, name);
	for (size_t i = 0; i < option_count; i++) {
		if (strlen(option_table[i].name) != n || strncmp(option_table[i].name, name, n))
			continue;
		if (value && !option_table[i].arg)
			return usage_refuse(p->err, "%s takes no argument", shown);
		return apply(p, &option_table[i], shown, value ? value + 1 : NULL);
	}
	return refuse_unknown(p, shown, shown + 2);
}

/* -p PID, -pPID, -qv */
static int parse_short(struct parser *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const char shown[] = { '-', *c, '\0' };
		size_t i = 0;
		int err;

		while (i < option_count && option_table[i].letter != *c)
			i++;
		if (i == option_count)
			return refuse_unknown(p, word, word + 1);
		if (option_table[i].arg)
			return apply(p, &option_table[i], shown, c[1] ? c + 1 : NULL);
		err = apply(p, &option_table[i], shown, NULL);
		if (err)
			return err;
	}
	return 0;
}

static int take_program(struct parser *p)
{
	if (p->at >= p->argc) {
		usage_refuse(p->err, "nothing behind --");
		return usage_advise(p->err, "name the program to start: mmattach -- PROGRAM ARG...");
	}
	p->o->program = p->argv + p->at;
	p->at = p->argc;
	return 0;
}

static int take_repair_pid(struct parser *p, const char *word)
{
	unsigned long pid;

	if (p->o->pid)
		return usage_refuse(p->err, "unexpected argument '%s': one process at a time is repaired",
				    word);
	if (!option_number(word, INT_MAX, &pid) || !pid) {
		usage_refuse(p->err, "repair %s: not a process id", word);
		return usage_advise(p->err, "a process id is a number, as `ps -e` shows it");
	}
	p->o->pid = (pid_t)pid;
	return 0;
}

static bool take_command(struct parser *p, const char *word)
{
	for (enum command c = 0; c < COMMAND_HELP && !p->command_given; c++) {
		if (strcmp(word, options_command_name(c)) != 0)
			continue;
		p->o->command = c;
		p->o->help_topic = word;
		p->command_given = true;
		return true;
	}
	return false;
}

static int refuse_topic(struct parser *p, const char *word)
{
	struct nearest near = nearest_to(word, strlen(word));
	cleanup_strbuf struct strbuf names = STRBUF_INIT;

	for (const struct help_topic *t = help_topics; t->name; t++) {
		nearest_try(&near, t->name, strlen(t->name));
		strbuf_printf(&names, "%s, ", t->name);
	}
	usage_refuse(p->err, "help %s: there is no such topic", word);
	if (near.name)
		return usage_advise(p->err, "did you mean %s? topics are %s" OPTIONS_HELP_ALL, near.name,
				    strbuf_str(&names));
	return usage_advise(p->err, "topics are %s" OPTIONS_HELP_ALL, strbuf_str(&names));
}

/* mmattach help [TOPIC] */
static int take_help(struct parser *p)
{
	const char *word = p->at < p->argc ? p->argv[p->at] : NULL;

	if (word && strcmp(word, OPTIONS_HELP_ALL) != 0 && !help_topic_find(word))
		return refuse_topic(p, word);
	p->o->help_topic = word;
	p->o->command = COMMAND_HELP;
	return 0;
}

/* The first word after import. */
static int take_import_kind(struct parser *p, const char *word)
{
	unsigned which;
	int ret = option_choose("import", IMPORT_VALUES, word, &which, p->err);

	if (ret == 0)
		p->o->import = IMPORT_NONE + 1 + which;
	return ret;
}

/* The word after formats. */
static int take_formats_kind(struct parser *p, const char *word)
{
	unsigned which;
	int ret = option_choose("formats", FORMATS_VALUES, word, &which, p->err);

	if (ret == 0)
		p->o->formats = FORMATS_LIST + 1 + which;
	return ret;
}

static int refuse_as_command(struct parser *p, const char *word)
{
	struct nearest near = nearest_to(word, strlen(word));

	for (enum command c = 0; c < COMMAND_GDB; c++)
		nearest_try(&near, options_command_name(c), strlen(options_command_name(c)));
	nearest_try(&near, "help", strlen("help"));
	usage_advise(p->err,
		     "commands are " COMMANDS "; to watch a running process: mmattach -n %s; to start a "
		     "program: mmattach -- %s",
		     word, word);
	return usage_suggest(p->err, "mmattach ", &near);
}

static int refuse_word(struct parser *p, const char *word)
{
	unsigned long pid;
	uint64_t ns;
	size_t n = strlen(word);

	usage_refuse(p->err, "unexpected argument '%s'", word);
	if (p->o->command == COMMAND_WATCH && (p->o->pid || p->o->name) && !duration_parse(word, &ns) && ns)
		return usage_advise(p->err,
				    "to watch for that long: -d %s; for another process, run mmattach again",
				    word);
	if (p->o->command == COMMAND_SCAN && option_number(word, INT_MAX, &pid))
		return usage_advise(p->err, "to scan process %s: mmattach scan -p %s", word, word);
	if (p->o->command == COMMAND_SCAN)
		return usage_advise(p->err,
				    "to scan a core file: mmattach scan --core %s; a process by name: -n %s",
				    word, word);
	if (option_number(word, INT_MAX, &pid))
		return usage_advise(p->err, "to watch process %s: mmattach -p %s", word, word);
	if (n > 4 && !strcmp(word + n - 4, ".mmt"))
		return usage_advise(p->err, "to report from a trace: mmattach report %s", word);
	if (p->o->command == COMMAND_PROBES)
		return usage_advise(p->err, "of a process: mmattach probes -p PID");
	return refuse_as_command(p, word);
}

/* A word that is not an option: a command, a file, or the process to repair. */
static int take_word(struct parser *p, const char *word)
{
	if (!p->command_given && !strcmp(word, "help"))
		return take_help(p);
	if (take_command(p, word))
		return 0;
	if (p->o->command == COMMAND_REPAIR)
		return take_repair_pid(p, word);
	if (p->o->command == COMMAND_IMPORT && !p->o->import)
		return take_import_kind(p, word);
	if (p->o->command == COMMAND_FORMATS && !p->o->formats)
		return take_formats_kind(p, word);
	if (command_takes_files(p->o->command))
		return option_add(&p->o->files, word);
	return refuse_word(p, word);
}

/* Behind "--": a program; for commands that take files, files whose names may begin with a dash. */
static int take_rest(struct parser *p)
{
	int err = 0;

	if (!command_takes_files(p->o->command))
		return take_program(p);
	while (!err && p->at < p->argc)
		err = option_add(&p->o->files, p->argv[p->at++]);
	return err;
}

static int parse_all(struct parser *p)
{
	int err = 0;

	while (!err && p->at < p->argc && p->o->command < COMMAND_HELP) {
		const char *word = p->argv[p->at++];

		if (!strcmp(word, "--"))
			err = take_rest(p);
		else if (!strncmp(word, "--", 2))
			err = parse_long(p, word);
		else if (word[0] == '-' && word[1])
			err = parse_short(p, word);
		else
			err = take_word(p, word);
	}
	return err;
}

int options_parse(int argc, char **argv, struct options *out, struct usage_error *err)
{
	struct parser p = { .argc = argc, .argv = argv, .at = 1, .o = out, .err = err };
	int ret;

	*out = (struct options){
		.what = { .probes = STRBUF_INIT, .rules = STRBUF_INIT },
		.stacks = { .bytes = OPTIONS_STACK_BYTES, .depth = OPTIONS_DEPTH, .python = true, .ruby = true },
		.max_stall_ns = OPTIONS_MAX_STALL_NS, .format = REPORT_FORMAT_DEFAULT,
		.shown.top = OPTIONS_TOP,
	};
	*err = (struct usage_error){ "", "" };
	ret = parse_all(&p);
	/* --help and --version are answered whatever else is given. */
	if (ret || out->command >= COMMAND_HELP)
		return ret;
	return options_check(out, p.used, err);
}

static void fini_list(struct option_list *list)
{
	free(list->all);
	*list = (struct option_list){ NULL, 0 };
}

void options_fini(struct options *o)
{
	strbuf_fini(&o->what.probes);
	strbuf_fini(&o->what.rules);
	fini_list(&o->what.families);
	fini_list(&o->what.probe_files);
	fini_list(&o->what.threads);
	fini_list(&o->what.modules);
	fini_list(&o->shown.focus);
	fini_list(&o->shown.ignore);
	fini_list(&o->shown.suppressions);
	fini_list(&o->files);
	free(o->many.pids);
	o->many.pids = NULL;
	o->many.npids = 0;
	free(o->single.block_family);
	fini_list(&o->with_traces);
	fini_list(&o->labels);
	free(o->single.block_at);
	free(o->single.who_points_at);
	o->single.block_family = NULL;
	o->single.block_at = NULL;
	o->single.nblock_at = 0;
	o->single.who_points_at = NULL;
	o->single.nwho_points_at = 0;
}

static void take_effect(const struct options *o)
{
	if (o->quiet)
		log_set_quiet();
	if (o->verbose)
		log_set_verbose();
	/* what a program writes to the same terminal, or gdb, must not be overwritten */
	if (!o->quiet && !o->program && o->command != COMMAND_GDB)
		statusline_open();
	if (o->stacks.debuginfod && !is_in_path("debuginfod-find"))
		log_warn("--debuginfod: there is no program debuginfod-find here, so no debug files are fetched");
}

static void refuse_domain(const char *word)
{
	struct nearest near = nearest_to(word, strlen(word));
	const char *name, *what;

	for (size_t i = 0; log_domain_describe(i, &name, &what); i++)
		nearest_try(&near, name, strlen(name));
	log_error("--debug %s: there is no such domain", word);
	if (near.name)
		log_hint("did you mean %s?", near.name);
	else
		log_hint("`mmattach help general` lists the domains; all means every one");
}

static bool enable_debug(const struct options *o)
{
	char bad[32];

	if (!o->debug || !log_debug_enable(o->debug, bad, sizeof(bad)))
		return true;
	refuse_domain(bad);
	return false;
}

static void report_error(int ret, const struct usage_error *err)
{
	if (ret != -EINVAL) {
		log_error_errno(ret, "cannot read the command line");
		return;
	}
	log_error("%s", err->text);
	if (*err->hint)
		log_hint("%s", err->hint);
}

static void print_help(const struct options *o)
{
	cleanup_free char *text = NULL;
	size_t n = 0;
	FILE *f = o->no_pager ? NULL : open_memstream(&text, &n);

	if (f)
		options_help(o->help_topic, f);
	if (!f || fclose(f) != 0 || !pager_show(text, n))
		options_help(o->help_topic, stdout);
}

bool options_start(int argc, char **argv, struct options *out, int *status)
{
	struct usage_error err;
	int ret = options_parse(argc, argv, out, &err);

	if (argc <= 1) {
		options_usage(stderr);
		fputs("mmattach --help shows examples and options\n", stderr);
		*status = 2;
		return false;
	}
	if (ret) {
		report_error(ret, &err);
		*status = ret == -EINVAL ? 2 : 1;
		return false;
	}
	if (out->command == COMMAND_HELP)
		print_help(out);
	if (out->command == COMMAND_VERSION)
		printf("mmattach %s\nengines: %s\n", MM_VERSION, MM_ENGINES);
	*status = enable_debug(out) ? 0 : 2;
	if (out->command >= COMMAND_HELP || *status)
		return false;
	take_effect(out);
	return true;
}
