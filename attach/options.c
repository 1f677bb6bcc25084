/* SPDX-License-Identifier: MIT */
/*
 * options: see options.h.
 *
 * `table` has a line for each option; its handler gets the argument and fills
 * the options. parse_all goes through the words: a word is an option (and
 * perhaps the next one its argument), a command, or, behind "--", a program.
 */
#include "attach/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/log.h"
#include "base/version.h"

#define MAX_STALL_LIMIT_NS 2000000000ull	/* then the keeper gives up anyway */

enum { FOR_WATCH = 1 << COMMAND_WATCH, FOR_PROBES = 1 << COMMAND_PROBES, FOR_REPAIR = 1 << COMMAND_REPAIR };
#define FOR_TARGET (FOR_WATCH | FOR_PROBES)
#define FOR_ALL (FOR_WATCH | FOR_PROBES | FOR_REPAIR)

struct option_line {
	const char *name;	/* long; NULL: only short */
	char letter;		/* short; 0: only long */
	const char *arg;	/* what its argument is called; NULL: takes none */
	unsigned commands;
	int (*handler)(struct options *o, const char *arg, struct usage_error *err);
	const char *help;
};

struct parser {
	int argc;
	char **argv;
	int at;
	unsigned used;		/* bit per line of the table that was given */
	bool command_given;
	struct options *o;
	struct usage_error *err;
};

static int refuse(struct usage_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse(struct usage_error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	err->hint[0] = '\0';
	return -EINVAL;
}

/* For `return advise(...)` behind a refuse: the hint, and -EINVAL. */
static int advise(struct usage_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int advise(struct usage_error *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool parse_number(const char *s, unsigned long max, unsigned long *out)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoul(s, &end, 10);
	return !errno && !*end && *out <= max;
}

static int set_pid(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long pid;

	if (!parse_number(arg, INT_MAX, &pid) || !pid) {
		refuse(err, "-p %s: not a process id", arg);
		return advise(err, "a process id is a number, as `ps -e` shows it; to choose by name: -n %s", arg);
	}
	if (o->pid && o->pid != (pid_t)pid)
		return refuse(err, "-p is given twice: one process at a time can be watched");
	o->pid = (pid_t)pid;
	return 0;
}

static int set_name(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return refuse(err, "-n: the name is empty");
	if (o->name)
		return refuse(err, "-n is given twice: one process at a time can be watched");
	o->name = arg;
	return 0;
}

static int set_duration(struct options *o, const char *arg, struct usage_error *err)
{
	if (duration_parse(arg, &o->duration_ns)) {
		refuse(err, "-d %s: not a duration", arg);
		return advise(err, "write it as 30s, 10m or 1h30m");
	}
	if (!o->duration_ns) {
		refuse(err, "-d %s: nothing can be seen in no time", arg);
		return advise(err, "without -d it watches until Ctrl-C, SIGTERM, or the target's end");
	}
	return 0;
}

static int add_rule(struct options *o, const char *text, size_t prefix, const char *option, struct usage_error *err)
{
	struct rule_error why;
	struct rule *rules = reallocarray(o->rules, o->nrules + 1, sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	o->rules = rules;
	if (rule_parse(text, &rules[o->nrules], &why))
		return refuse(err, "%s '%s': %s (column %zu)", option, text + prefix, why.message,
			      why.column > prefix ? why.column - prefix : 1);
	o->nrules++;
	return 0;
}

static int add_probe(struct options *o, const char *arg, struct usage_error *err)
{
	int ret = add_rule(o, arg, 0, "--probe", err);

	if (ret == -EINVAL)
		advise(err, "for example: --probe 'alloc my_alloc size=arg1' --probe 'free my_free'");
	return ret;
}

/* --from and --until are rules of one word and a function. */
static int add_scope(struct options *o, const char *verb, const char *arg, struct usage_error *err)
{
	char option[16];
	size_t prefix = strlen(verb) + 1;
	cleanup_free char *text = NULL;
	int ret;

	if (asprintf(&text, "%s %s", verb, arg) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	snprintf(option, sizeof(option), "--%s", verb);
	ret = add_rule(o, text, prefix, option, err);
	if (ret == -EINVAL)
		advise(err, "it takes the name of a function, 0xADDRESS or MODULE+0xOFFSET");
	return ret;
}

static int add_from(struct options *o, const char *arg, struct usage_error *err)
{
	return add_scope(o, "from", arg, err);
}

static int add_until(struct options *o, const char *arg, struct usage_error *err)
{
	return add_scope(o, "until", arg, err);
}

static int set_sizes(struct options *o, const char *arg, struct usage_error *err)
{
	if (!strcmp(arg, "exact"))
		o->exact_sizes = true;
	else if (!strcmp(arg, "usable"))
		o->exact_sizes = false;
	else
		return refuse(err, "--sizes %s: it is either usable or exact", arg);
	return 0;
}

static int set_stack_bytes(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long n;

	if (!parse_number(arg, OPTIONS_STACK_BYTES_MAX, &n))
		return refuse(err, "--stack-bytes %s: it is a number from 0 to %d", arg, OPTIONS_STACK_BYTES_MAX);
	o->stack_bytes = (unsigned)n;
	return 0;
}

static int set_lose_sigtrap(struct options *o, const char *arg, struct usage_error *err)
{
	(void)arg;
	(void)err;
	o->lose_sigtrap = true;
	return 0;
}

static int set_max_stall(struct options *o, const char *arg, struct usage_error *err)
{
	if (duration_parse(arg, &o->max_stall_ns) || !o->max_stall_ns || o->max_stall_ns > MAX_STALL_LIMIT_NS) {
		refuse(err, "--max-stall %s: it is a duration of at most 2s", arg);
		return advise(err, "for example --max-stall 100ms");
	}
	return 0;
}

static int set_format(struct options *o, const char *arg, struct usage_error *err)
{
	if (!strcmp(arg, "json"))
		o->format = FORMAT_JSON;
	else if (!strcmp(arg, "text"))
		o->format = FORMAT_TEXT;
	else
		return refuse(err, "--format %s: it is either text or json", arg);
	return 0;
}

static int set_report(struct options *o, const char *arg, struct usage_error *err)
{
	if (!*arg)
		return refuse(err, "--report: the file name is empty");
	o->report = arg;
	return 0;
}

static int set_top(struct options *o, const char *arg, struct usage_error *err)
{
	unsigned long n;

	if (!parse_number(arg, UINT_MAX, &n))
		return refuse(err, "--top %s: it is a number (0 for all)", arg);
	o->top = (unsigned)n;
	return 0;
}

static int set_debug(struct options *o, const char *arg, struct usage_error *err)
{
	(void)err;
	o->debug = arg;
	return 0;
}

static int set_quiet(struct options *o, const char *arg, struct usage_error *err)
{
	(void)arg;
	(void)err;
	o->quiet = true;
	return 0;
}

static int set_verbose(struct options *o, const char *arg, struct usage_error *err)
{
	(void)arg;
	(void)err;
	o->verbose = true;
	return 0;
}

static int set_version(struct options *o, const char *arg, struct usage_error *err)
{
	(void)arg;
	(void)err;
	o->command = COMMAND_VERSION;
	return 0;
}

static int set_help(struct options *o, const char *arg, struct usage_error *err)
{
	(void)arg;
	(void)err;
	o->command = COMMAND_HELP;
	return 0;
}

static const struct option_line table[] = {
	{ "pid", 'p', "PID", FOR_TARGET, set_pid, "the process to watch" },
	{ "name", 'n', "NAME", FOR_TARGET, set_name, "the same by name; if several have it, they are listed" },
	{ "duration", 'd', "DURATION", FOR_WATCH, set_duration,
	  "how long: 30s, 10m, 1h30m; without it: until Ctrl-C,\nSIGTERM, or the target's end" },
	{ "probe", 0, "RULE", FOR_TARGET, add_probe,
	  "watch a function, e.g. 'alloc my_alloc size=arg1' or\n'free my_free'; may be given again" },
	{ "from", 0, "FUNC", FOR_TARGET, add_from, "begin to count when FUNC is entered" },
	{ "until", 0, "FUNC", FOR_TARGET, add_until, "stop counting when FUNC is entered" },
	{ "sizes", 0, "usable|exact", FOR_TARGET, set_sizes,
	  "sizes as the allocator keeps them (default), or as they\nwere asked for (one more stop for each allocation)" },
	{ "stack-bytes", 0, "N", FOR_WATCH, set_stack_bytes,
	  "bytes of stack kept at an allocation, 0 to 16384\n(default 2048)" },
	{ "max-stall", 0, "DURATION", FOR_WATCH, set_max_stall,
	  "how long the target may be held while we cannot keep up\n(default 100ms); then events are dropped and counted" },
	{ "lose-sigtrap", 0, NULL, FOR_WATCH, set_lose_sigtrap,
	  "watch a target even if it loses its handling of SIGTRAP\nby that (it is refused otherwise)" },
	{ "format", 0, "text|json", FOR_WATCH, set_format, "form of the report (default text)" },
	{ "report", 0, "FILE", FOR_WATCH, set_report, "write the report there instead of to stdout" },
	{ "top", 0, "N", FOR_WATCH, set_top, "show the N largest groups (default 20; 0: all)" },
	{ "quiet", 'q', NULL, FOR_ALL, set_quiet, "no messages but errors" },
	{ "verbose", 'v', NULL, FOR_ALL, set_verbose, "more messages" },
	{ "debug", 0, "DOMAIN,...", FOR_ALL, set_debug, "print what happens inside; domains are listed below" },
	{ "version", 'V', NULL, FOR_ALL, set_version, "print the version" },
	{ "help", 'h', NULL, FOR_ALL, set_help, "print this" },
};

#define NOPTIONS (sizeof(table) / sizeof(table[0]))

static const char *const command_names[] = {
	[COMMAND_WATCH] = "watching", [COMMAND_PROBES] = "probes", [COMMAND_REPAIR] = "repair",
};

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* How many letters must be changed, added or taken out to make @b of @a; 99 for long words. */
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

	for (size_t i = 0; i < NOPTIONS; i++) {
		size_t d = edit_distance(word, table[i].name);

		/* A beginning of a name is as good as one typing error. */
		if (strlen(word) > 2 && !strncmp(word, table[i].name, strlen(word)))
			d = d < 1 ? d : 1;
		if (d <= best) {
			best = d - (d > 0);
			name = table[i].name;
		}
	}
	return name;
}

static int refuse_unknown(struct parser *p, const char *shown, const char *word)
{
	const char *near = nearest_option(word);

	refuse(p->err, "unknown option %s", shown);
	if (near)
		return advise(p->err, "did you mean --%s?", near);
	return advise(p->err, "mmattach --help lists the options");
}

/* The next word as the argument of @line; NULL if there is none. */
static const char *next_argument(struct parser *p)
{
	const char *word = p->at < p->argc ? p->argv[p->at] : NULL;

	/*
	 * A word like an option is one: -p -d 10s lacks a number. (--report=-x is the way to a file -x.)
	 * No option is a digit, so -5 is a wrong number rather than a missing one.
	 */
	if (!word || (word[0] == '-' && word[1] && !isdigit((unsigned char)word[1])))
		return NULL;
	p->at++;
	return word;
}

static int refuse_missing(struct parser *p, const struct option_line *line, const char *shown)
{
	refuse(p->err, "%s needs an argument", shown);
	if (line->letter)
		return advise(p->err, "-%c %s: %.*s", line->letter, line->arg, (int)strcspn(line->help, "\n"), line->help);
	return advise(p->err, "--%s %s: %.*s", line->name, line->arg, (int)strcspn(line->help, "\n"), line->help);
}

static int apply(struct parser *p, const struct option_line *line, const char *shown, const char *arg)
{
	if (line->arg && !arg)
		arg = next_argument(p);
	if (line->arg && !arg)
		return refuse_missing(p, line, shown);
	p->used |= 1u << (line - table);
	return line->handler(p->o, arg, p->err);
}

/* --name, --name=ARG, --name ARG */
static int parse_long(struct parser *p, const char *word)
{
	const char *name = word + 2, *value = strchr(name, '=');
	size_t n = value ? (size_t)(value - name) : strlen(name);
	char shown[64];

	snprintf(shown, sizeof(shown), "--%.*s", (int)n, name);
	for (size_t i = 0; i < NOPTIONS; i++) {
		if (strlen(table[i].name) != n || strncmp(table[i].name, name, n))
			continue;
		if (value && !table[i].arg)
			return refuse(p->err, "%s takes no argument", shown);
		return apply(p, &table[i], shown, value ? value + 1 : NULL);
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

		while (i < NOPTIONS && table[i].letter != *c)
			i++;
		if (i == NOPTIONS)
			return refuse_unknown(p, word, word + 1);
		if (table[i].arg)
			return apply(p, &table[i], shown, c[1] ? c + 1 : NULL);
		err = apply(p, &table[i], shown, NULL);
		if (err)
			return err;
	}
	return 0;
}

static int take_program(struct parser *p)
{
	if (p->at >= p->argc) {
		refuse(p->err, "nothing behind --");
		return advise(p->err, "name the program to start: mmattach -- PROGRAM ARG...");
	}
	p->o->program = p->argv + p->at;
	p->at = p->argc;
	return 0;
}

static int take_repair_pid(struct parser *p, const char *word)
{
	unsigned long pid;

	if (p->o->pid)
		return refuse(p->err, "unexpected argument '%s': one process at a time is repaired", word);
	if (!parse_number(word, INT_MAX, &pid) || !pid) {
		refuse(p->err, "repair %s: not a process id", word);
		return advise(p->err, "a process id is a number, as `ps -e` shows it");
	}
	p->o->pid = (pid_t)pid;
	return 0;
}

static bool take_command(struct parser *p, const char *word)
{
	if (p->command_given)
		return false;
	if (!strcmp(word, "probes"))
		p->o->command = COMMAND_PROBES;
	else if (!strcmp(word, "repair"))
		p->o->command = COMMAND_REPAIR;
	else
		return false;
	p->command_given = true;
	return true;
}

/* A word that is no option: a command, or the process to repair. */
static int take_word(struct parser *p, const char *word)
{
	unsigned long pid;

	if (take_command(p, word))
		return 0;
	if (p->o->command == COMMAND_REPAIR)
		return take_repair_pid(p, word);
	refuse(p->err, "unexpected argument '%s'", word);
	if (parse_number(word, INT_MAX, &pid))
		return advise(p->err, "to watch process %s: mmattach -p %s", word, word);
	if (p->o->command == COMMAND_PROBES)
		return advise(p->err, "mmattach probes -p PID");
	return advise(p->err, "commands are probes and repair; to watch a running process: -n %s; to start a program: "
			      "mmattach -- %s", word, word);
}

static int parse_all(struct parser *p)
{
	int err = 0;

	while (!err && p->at < p->argc && p->o->command < COMMAND_HELP) {
		const char *word = p->argv[p->at++];

		if (!strcmp(word, "--"))
			err = take_program(p);
		else if (!strncmp(word, "--", 2))
			err = parse_long(p, word);
		else if (word[0] == '-' && word[1])
			err = parse_short(p, word);
		else
			err = take_word(p, word);
	}
	return err;
}

/* Options that mean nothing to the command are refused rather than ignored. */
static int check_used(const struct parser *p)
{
	for (size_t i = 0; i < NOPTIONS; i++) {
		if (!(p->used >> i & 1) || (table[i].commands >> p->o->command & 1))
			continue;
		refuse(p->err, "--%s means nothing to %s", table[i].name, command_names[p->o->command]);
		if (p->o->command == COMMAND_REPAIR && p->o->pid)
			advise(p->err, "mmattach repair %d", (int)p->o->pid);
		return -EINVAL;
	}
	return 0;
}

static int check_target(const struct parser *p)
{
	const struct options *o = p->o;
	int given = !!o->pid + !!o->name + !!o->program;

	if (given > 1) {
		refuse(p->err, "%s: only one of them can say what to watch",
		       !o->program ? "-p and -n" : o->pid ? "-p and --" : "-n and --");
		return advise(p->err, "either a running process (-p PID or -n NAME), or a program to start (-- PROGRAM)");
	}
	if (o->command == COMMAND_PROBES && o->program)
		return refuse(p->err, "probes looks at a running process: mmattach probes -p PID");
	if (o->command == COMMAND_REPAIR && o->program)
		return refuse(p->err, "repair is for a running process: mmattach repair PID");
	if (o->command == COMMAND_REPAIR && !o->pid) {
		refuse(p->err, "repair needs the id of a process");
		return advise(p->err, "mmattach repair PID");
	}
	if (o->command == COMMAND_WATCH && !given) {
		refuse(p->err, "nothing to watch");
		return advise(p->err, "name it: -p PID, -n NAME, or -- PROGRAM ARG...");
	}
	if (o->quiet && o->verbose)
		return refuse(p->err, "-q and -v contradict each other");
	return 0;
}

int options_parse(int argc, char **argv, struct options *out, struct usage_error *err)
{
	struct parser p = { .argc = argc, .argv = argv, .at = 1, .o = out, .err = err };
	int ret;

	*out = (struct options){
		.stack_bytes = OPTIONS_STACK_BYTES,
		.max_stall_ns = OPTIONS_MAX_STALL_NS,
		.top = OPTIONS_TOP,
	};
	*err = (struct usage_error){ "", "" };
	ret = parse_all(&p);
	/* --help and --version are answered whatever else is there. */
	if (ret || out->command >= COMMAND_HELP)
		return ret;
	ret = check_used(&p);
	return ret ? ret : check_target(&p);
}

void options_fini(struct options *o)
{
	free(o->rules);
	o->rules = NULL;
	o->nrules = 0;
}

static void help_line(FILE *out, const struct option_line *line)
{
	char left[40];
	const char *text = line->help;
	size_t n;

	if (line->letter)
		snprintf(left, sizeof(left), "-%c, --%s%s%s", line->letter, line->name, line->arg ? " " : "",
			 line->arg ? line->arg : "");
	else
		snprintf(left, sizeof(left), "    --%s%s%s", line->name, line->arg ? " " : "",
			 line->arg ? line->arg : "");
	n = strcspn(text, "\n");
	fprintf(out, "  %-24s %.*s\n", left, (int)n, text);
	while (text[n]) {
		text += n + 1;
		n = strcspn(text, "\n");
		fprintf(out, "  %-24s %.*s\n", "", (int)n, text);
	}
}

static void help_domains(FILE *out)
{
	const char *name, *what;

	fputs("\nDomains of --debug (all: every one):\n", out);
	for (size_t i = 0; log_domain_describe(i, &name, &what); i++)
		fprintf(out, "  %-10s %s\n", name, what);
}

static void usage(FILE *out)
{
	fputs("usage: mmattach [options] (-p PID | -n NAME | -- PROGRAM ARG...)\n"
	      "       mmattach probes [-p PID | -n NAME]     where traps would go, and what they cost\n"
	      "       mmattach repair PID                    take out traps that a killed keeper left behind\n", out);
}

void options_help(FILE *out)
{
	usage(out);
	fputs("\nWatches the allocations and releases of a running process, and says which code keeps\n"
	      "what it takes. Nothing is loaded into the process; afterwards it goes on as it was.\n\n", out);
	for (size_t i = 0; i < NOPTIONS; i++)
		help_line(out, &table[i]);
	help_domains(out);
	fputs("\nFor example:\n"
	      "  mmattach -p 1234 -d 10m\n"
	      "  mmattach -n my_service -d 1h --format json --report leaks.json\n"
	      "  mmattach --probe 'alloc pool_get' --probe 'free pool_put' -- ./my_program --its-option\n", out);
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
		usage(stderr);
		fputs("       mmattach --help                        all options\n", stderr);
		*status = 2;
		return false;
	}
	if (ret) {
		report_error(ret, &err);
		*status = ret == -EINVAL ? 2 : 1;
		return false;
	}
	if (out->command == COMMAND_HELP)
		options_help(stdout);
	if (out->command == COMMAND_VERSION)
		puts("mmattach " MM_VERSION);
	*status = enable_debug(out) ? 0 : 2;
	if (out->command >= COMMAND_HELP || *status)
		return false;
	take_effect(out);
	return true;
}
