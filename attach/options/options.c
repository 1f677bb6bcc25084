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
#include <stdlib.h>
#include <string.h>

#include "attach/options/option_arg.h"
#include "attach/options/option_table.h"
#include "attach/options/options_check.h"
#include "attach/options/options_help.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/version.h"

#define COMMANDS "report, diff, shrink, import, scan, probes and repair"

struct parser {
	int argc;
	char **argv;
	int at;
	uint64_t used;		/* bit per line of the table that was given */
	bool command_given;
	struct options *o;
	struct usage_error *err;
};

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* How many letters must be changed, added or removed to turn @a into @b; 99 for long words. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[32], n = strlen(b);

	if (n >= 32)
		return 99;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; *a; i++, a++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			size_t above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (*a != b[j - 1]));
			diagonal = above;
		}
	}
	return row[n];
}

static const char *nearest_option(const char *word)
{
	size_t best = strlen(word) / 3 + 1;
	const char *name = NULL;

	for (size_t i = 0; i < option_count; i++) {
		size_t d = edit_distance(word, option_table[i].name);

		/* A beginning of a name is as good as one typing error. */
		if (strlen(word) > 2 && !strncmp(word, option_table[i].name, strlen(word)))
			d = d < 1 ? d : 1;
		if (d <= best) {
			best = d - (d > 0);
			name = option_table[i].name;
		}
	}
	return name;
}

static int refuse_unknown(struct parser *p, const char *shown, const char *word)
{
	const char *near = nearest_option(word);

	usage_refuse(p->err, "unknown option %s", shown);
	if (near)
		return usage_advise(p->err, "did you mean --%s?", near);
	return usage_advise(p->err, "mmattach --help lists the options");
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
	return usage_advise(p->err, "--%s %s: %.*s", line->name, line->arg, (int)strcspn(line->help, "\n"),
			    line->help);
}

static int apply(struct parser *p, const struct option_line *line, const char *shown, const char *arg)
{
	if (line->arg && !arg)
		arg = next_argument(p);
	if (line->arg && !arg)
		return refuse_missing(p, line, shown);
	p->used |= 1ull << (line - option_table);
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

/* COMMAND_WATCH: @word is not a command. */
static enum command command_called(const char *word)
{
	for (enum command i = COMMAND_PROBES; i < COMMAND_HELP; i++)
		if (!strcmp(word, options_command_name(i)))
			return i;
	return COMMAND_WATCH;
}

static bool take_command(struct parser *p, const char *word)
{
	const enum command c = p->command_given ? COMMAND_WATCH : command_called(word);

	if (c == COMMAND_WATCH)
		return false;
	p->o->command = c;
	p->command_given = true;
	return true;
}

/* mmattach help [COMMAND] */
static int take_help(struct parser *p)
{
	const char *word = p->at < p->argc ? p->argv[p->at] : NULL;

	p->o->help_about = word ? command_called(word) : COMMAND_WATCH;
	if (word && p->o->help_about == COMMAND_WATCH) {
		usage_refuse(p->err, "help %s: there is no such command", word);
		return usage_advise(p->err, "commands are " COMMANDS);
	}
	p->o->command = COMMAND_HELP;
	return 0;
}

/* The first word after import. */
static int take_import_kind(struct parser *p, const char *word)
{
	if (!strcmp(word, "mmleak"))
		p->o->import = IMPORT_MMLEAK;
	else if (!strcmp(word, "mtrace"))
		p->o->import = IMPORT_MTRACE;
	else
		return usage_refuse(p->err, "import %s: it is either mmleak or mtrace", word);
	return 0;
}

static int refuse_word(struct parser *p, const char *word)
{
	unsigned long pid;
	uint64_t ns;
	size_t n = strlen(word);

	usage_refuse(p->err, "unexpected argument '%s'", word);
	if (p->o->command == COMMAND_WATCH && (p->o->pid || p->o->name) && !duration_parse(word, &ns) && ns)
		return usage_advise(
			p->err, "to watch for that long: -d %s; of more than one process, each wants a mmattach of its own",
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
		return usage_advise(p->err, "mmattach probes -p PID");
	return usage_advise(p->err,
			    "commands are " COMMANDS
			    "; to watch a running process: -n %s; to start a program: mmattach -- %s",
			    word, word);
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
		.stacks = { .bytes = OPTIONS_STACK_BYTES, .depth = OPTIONS_DEPTH },
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
	free(o->single.block_family);
	fini_list(&o->with_traces);
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
}

static bool enable_debug(const struct options *o)
{
	char bad[32];

	if (!o->debug || !log_debug_enable(o->debug, bad, sizeof(bad)))
		return true;
	log_error("--debug: there is no domain '%s'", bad);
	log_hint("mmattach --help lists them; all means every one");
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

bool options_start(int argc, char **argv, struct options *out, int *status)
{
	struct usage_error err;
	int ret = options_parse(argc, argv, out, &err);

	if (argc <= 1) {
		options_usage(stderr);
		*status = 2;
		return false;
	}
	if (ret) {
		report_error(ret, &err);
		*status = ret == -EINVAL ? 2 : 1;
		return false;
	}
	if (out->command == COMMAND_HELP)
		options_help(out->help_about, stdout);
	if (out->command == COMMAND_VERSION)
		puts("mmattach " MM_VERSION);
	*status = enable_debug(out) ? 0 : 2;
	if (out->command >= COMMAND_HELP || *status)
		return false;
	take_effect(out);
	return true;
}
