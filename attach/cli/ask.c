/* SPDX-License-Identifier: MIT */
#include "attach/cli/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "attach/cli/offers.h"
#include "attach/options/option_arg.h"
#include "attach/target/diagnose.h"
#include "attach/target/target.h"
#include "attach/target/target_find.h"
#include "base/duration.h"
#include "base/log.h"
#include "base/strbuf.h"

#define DURATION "15m"

struct dialogue {
	FILE *in, *out;
	char *line;
	size_t size;
};

/* The answer without surrounding blanks, valid until the next; @standard if empty. NULL: the input ended. */
static const char *get_answer(struct dialogue *d, const char *question, const char *standard)
{
	char *end;

	fprintf(d->out, "%s%s%s%s ", question, standard ? " [" : "", standard ? standard : "",
		standard ? "]" : "");
	fflush(d->out);
	if (getline(&d->line, &d->size, d->in) < 0) {
		fputc('\n', d->out);
		return NULL;
	}
	d->line[strcspn(d->line, "\n")] = '\0';
	for (end = d->line + strlen(d->line); end > d->line && strchr(" \t\r", end[-1]);)
		*--end = '\0';
	end = d->line + strspn(d->line, " \t");
	return !*end && standard ? standard : end;
}

/* --- the command line --- */

static int add(struct ask *a, const char *arg)
{
	char *copy = strdup(arg);

	if (!copy || a->argc + 1 >= ASK_ARGS) {
		free(copy);
		return -ENOMEM;
	}
	a->argv[a->argc++] = copy;
	return 0;
}

static int add_option(struct ask *a, const char *option, const char *value)
{
	int r = add(a, option);

	return r < 0 ? r : add(a, value);
}

/* No character in it is special to a shell. */
static bool is_plain(const char *text)
{
	return *text &&
	       !text[strspn(text,
			    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")];
}

static void show_word(struct dialogue *d, const char *word)
{
	const char *quote = is_plain(word) ? "" : "'";

	fprintf(d->out, " %s", quote);
	for (const char *c = word; *c; c++)
		fputs(*c == '\'' ? "'\\''" : (char[]){ *c, '\0' }, d->out);
	fputs(quote, d->out);
}

static void show_command(struct dialogue *d, const struct ask *a)
{
	fputs("\nthat is:", d->out);
	for (int i = 0; i < a->argc; i++)
		show_word(d, a->argv[i]);
	fputs("\n\n", d->out);
	fflush(d->out);
}

/* --- which process --- */

static int find_process(const char *answer, pid_t *pid)
{
	cleanup_strbuf struct strbuf listing = STRBUF_INIT;
	char *end;
	long number = strtol(answer, &end, 10);
	bool is_number = !*end && number > 0 && number <= INT_MAX;
	struct target_info t;
	struct diagnosis why;
	int r = 0;

	*pid = is_number ? (pid_t)number : 0;
	if (!is_number)
		r = target_find(answer, pid, &listing);
	if (r == 0)
		r = target_read(*pid, &t);
	if (r < 0) {
		diagnose_lookup(is_number ? *pid : 0, is_number ? NULL : answer, r, strbuf_str(&listing), &why);
		diagnose_log(&why);
		return r;
	}
	*pid = t.pid;
	target_fini(&t);
	return 0;
}

static int ask_process(struct dialogue *d, struct ask *a, pid_t *pid)
{
	const char *answer;
	char number[16];

	do {
		answer = get_answer(d, "which process? (its id or name)", NULL);
		if (!answer)
			return -ECANCELED;
	} while (!*answer || find_process(answer, pid) < 0);
	snprintf(number, sizeof(number), "%d", (int)*pid);
	return add_option(a, "-p", number);
}

/* --- what --- */

static void show_offers(struct dialogue *d, const struct offers *o)
{
	fputs("\n", d->out);
	for (size_t i = 0; i < o->n; i++) {
		const struct offer *f = &o->all[i];
		cleanup_strbuf struct strbuf what = STRBUF_INIT;

		offers_put_what(&what, f->family);
		fprintf(d->out, "  %-12s %s, %zu of its functions in ", f->family->name, strbuf_str(&what),
			f->found);
		strbuf_print_text(d->out, f->module);
		fputc('\n', d->out);
	}
}

static bool is_offered(const struct offers *o, const char *name, size_t len)
{
	for (size_t i = 0; i < o->n; i++)
		if (strlen(o->all[i].family->name) == len && !memcmp(o->all[i].family->name, name, len))
			return true;
	return false;
}

/*
 * The names of "a, b" in the form the option takes, "a,b". false: there is none, or one is not among the
 * offers, which is reported. (If there are no offers, any name is accepted.)
 */
static bool take_names(struct dialogue *d, const struct offers *o, const char *answer, struct strbuf *names)
{
	const char *at = answer + strspn(answer, ", ");

	strbuf_reset(names);
	for (size_t len; *at; at += len + strspn(at + len, ", ")) {
		len = strcspn(at, ", ");
		if (o->n && !is_offered(o, at, len)) {
			fprintf(d->out, "'%.*s' is not among them\n", (int)len, at);
			return false;
		}
		strbuf_printf(names, "%s%.*s", names->len ? "," : "", (int)len, at);
	}
	return names->len > 0;
}

static int ask_families(struct dialogue *d, struct ask *a, pid_t pid)
{
	cleanup_strbuf struct strbuf names = STRBUF_INIT;
	struct offers offers;
	const char *answer;
	int r = offers_find(pid, &offers);

	if (r < 0) {
		/* no permission to read it: attaching will report why */
		log_debug(PLAN, "no families can be offered: %s", strerror(-r));
		return 0;
	}
	show_offers(d, &offers);
	do {
		answer = get_answer(d, "what to watch? (several: with commas)",
				    offers.n ? offers.all[0].family->name : "libc");
	} while (answer && !take_names(d, &offers, answer, &names));
	r = answer ? add_option(a, "--family", strbuf_str(&names)) : -ECANCELED;
	offers_fini(&offers);
	return r;
}

/* --- how long, where to --- */

static int ask_duration(struct dialogue *d, struct ask *a)
{
	const char *answer;
	uint64_t ns;

	for (;;) {
		answer = get_answer(d, "how long?", DURATION);
		if (!answer)
			return -ECANCELED;
		if (duration_parse(answer, &ns) == 0 && ns)
			return add_option(a, "-d", answer);
		fputs("write it as 30s, 10m or 1h30m\n", d->out);
	}
}

static int ask_file(struct dialogue *d, struct ask *a)
{
	const char *answer = get_answer(d, "file for the trace? (empty: none)", NULL);

	if (!answer)
		return -ECANCELED;
	return *answer ? add_option(a, "-o", answer) : 0;
}

int ask(const char *program, FILE *in, FILE *out, struct ask *a)
{
	struct dialogue d = { .in = in, .out = out };
	pid_t pid;
	int r;

	*a = (struct ask){ .argc = 0 };
	r = add(a, program);
	if (r == 0)
		r = ask_process(&d, a, &pid);
	if (r == 0)
		r = ask_families(&d, a, pid);
	if (r == 0)
		r = ask_duration(&d, a);
	if (r == 0)
		r = ask_file(&d, a);
	if (r == 0)
		show_command(&d, a);
	free(d.line);
	return r;
}

void ask_fini(struct ask *a)
{
	for (int i = 0; i < a->argc; i++)
		free(a->argv[i]);
	a->argc = 0;
}
