/* SPDX-License-Identifier: MIT */
#include "attach/cli/complete_values.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/engines.h"
#include "attach/options/ruleset.h"
#include "attach/rules/rulefile.h"
#include "attach/target/target.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/verdict.h"
#include "packs/packs.h"
#include "report/words/words.h"

/* The texts of --help are wrapped, and say more behind the first clause. */
static void put_clause(FILE *out, const char *text)
{
	size_t n = strlen(text);

	for (const char *end = text; (end = strpbrk(end, ";:(")); end++)
		if (end > text && (*end == '(' || isspace((unsigned char)end[1]))) {
			n = (size_t)(end - text);
			break;
		}
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	for (size_t i = 0; i < n; i++)
		fputc(iscntrl((unsigned char)text[i]) ? ' ' : text[i], out);
}

void complete_put(const struct complete_out *to, const char *value, const char *what)
{
	if (strncmp(value, to->begun, strlen(to->begun)))
		return;
	fprintf(to->out, "%.*s%s", (int)to->nprefix, to->prefix, value);
	if (what && *what) {
		fputc('\t', to->out);
		put_clause(to->out, what);
	}
	fputc('\n', to->out);
}

/* --- processes --- */

/* false: no process, a thread of the kernel, or ourselves. */
static bool read_process(const struct dirent *d, struct target_info *t)
{
	const pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

	if (pid <= 0 || pid == getpid() || target_read(pid, t) < 0)
		return false;
	if (!t->kernel_thread && t->state != 'Z')
		return true;
	target_fini(t);
	return false;
}

static bool is_plain(const char *name)
{
	for (; *name; name++)
		if (iscntrl((unsigned char)*name) || isspace((unsigned char)*name))
			return false;
	return true;
}

static void put_each(const struct complete_out *to,
		     void (*put)(const struct complete_out *, const struct target_info *))
{
	cleanup_closedir DIR *dir = opendir("/proc");
	struct target_info t;
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		if (!read_process(d, &t))
			continue;
		put(to, &t);
		target_fini(&t);
	}
}

static void put_number(const struct complete_out *to, const struct target_info *t)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", t->pid);
	complete_put(to, number, t->comm);
}

static void put_name(const struct complete_out *to, const struct target_info *t)
{
	char what[32];

	snprintf(what, sizeof(what), "process %d", t->pid);
	if (is_plain(t->comm))
		complete_put(to, t->comm, what);
}

void complete_processes(const struct complete_out *to)
{
	put_each(to, put_number);
}

static void put_names(const struct complete_out *to)
{
	put_each(to, put_name);
}

/* --- lists --- */

/* Packs, and families that are not called as their pack. */
static void put_families(const struct complete_out *to)
{
	struct ruleset rs;
	size_t n;
	const struct pack *packs = packs_all(&n);

	for (size_t i = 0; i < n; i++)
		complete_put(to, packs[i].name, packs[i].text + 2);
	if (ruleset_packs(&rs) == 0)
		for (size_t i = 0; i < rs.nfamilies; i++)
			if (strcmp(rs.families[i].name, rs.families[i].pack))
				complete_put(to, rs.families[i].name, rs.families[i].pack);
	ruleset_fini(&rs);
}

static void put_domains(const struct complete_out *to)
{
	const char *name, *what;

	for (size_t i = 0; log_domain_describe(i, &name, &what); i++)
		complete_put(to, name, what);
	complete_put(to, "all", "every one");
}

static void put_verdicts(const struct complete_out *to)
{
	for (enum verdict v = VERDICT_UNKNOWN + 1; v < VERDICT_COUNT; v++)
		complete_put(to, verdict_name(v), words_verdict(v));
}

/* --who-points-at of a watch. */
static void put_in_use(const struct complete_out *to)
{
	complete_put(to, verdict_name(VERDICT_POSSIBLE), words_verdict(VERDICT_POSSIBLE));
	complete_put(to, verdict_name(VERDICT_REACHABLE), words_verdict(VERDICT_REACHABLE));
}

static void put_files(const struct complete_out *to)
{
	fputs(":files\n", to->out);
}

/* "yes|no": the words of such a list are small, to be typed as they are; a name is large. */
static bool is_list(const char *arg)
{
	for (const char *c = arg; *c; c++)
		if (isupper((unsigned char)*c))
			return false;
	return strchr(arg, '|');
}

static void put_list(const struct complete_out *to, const char *arg)
{
	for (const char *at = arg; *at; at += strspn(at, "|")) {
		const size_t n = strcspn(at, "|");
		char word[32];

		snprintf(word, sizeof(word), "%.*s", (int)n, at);
		complete_put(to, word, NULL);
		at += n;
	}
}

static void put_engines(const struct complete_out *to)
{
	put_list(to, ENGINE_VALUES);
}

/* put NULL: the user's own choice, of which nothing is known. */
static const struct hit_class {
	const char *arg;
	void (*put)(const struct complete_out *to);
} meanings[] = {
	{ "PID", complete_processes }, { "PID,...", complete_processes }, { "NAME", put_names },
	{ "NAME,...", put_families },
	{ "FILE", put_files }, { "TRACE", put_files },
	{ "VERDICT,...", put_verdicts }, { "ADDR,...|possible|reachable", put_in_use }, { "DOMAIN,...", put_domains },
	{ "ENGINE", put_engines },
	{ "DURATION", NULL }, { "PCT", NULL }, { "RULE", NULL }, { "FUNC", NULL }, { "TID|NAME", NULL },
	{ "KEY=VALUE,...", NULL },
	{ "GLOB", NULL }, { "N", NULL }, { "SIZE", NULL }, { "REGEX", NULL }, { "[FAMILY:]N", NULL },
	{ "ADDR,...", NULL }, { "PATH", NULL }, { "UNIT", NULL }, { "ID", NULL },
	{ "REF:UNREF[:argN][:count=+OFF/BYTES][:birth=F,...]", NULL }, { "HITS,CONTROL,MEM", NULL },
};

static const struct hit_class *meaning_of(const char *arg)
{
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (!strcmp(meanings[i].arg, arg))
			return &meanings[i];
	return NULL;
}

bool complete_knows(const char *arg)
{
	return is_list(arg) || meaning_of(arg);
}

/* Of "NAME,..." the last name is completed: the ones before it belong to the prefix. */
static struct complete_out last_of(const struct complete_out *to, char *whole, size_t n)
{
	struct complete_out last = *to;
	const char *comma = strrchr(to->begun, ',');

	if (!comma)
		return last;
	snprintf(whole, n, "%.*s%s", (int)to->nprefix, to->prefix, to->begun);
	last.prefix = whole;
	last.nprefix = to->nprefix + (size_t)(comma + 1 - to->begun);
	last.begun = comma + 1;
	return last;
}

void complete_values(const struct complete_out *to, const char *arg)
{
	const struct hit_class *m = meaning_of(arg);
	char whole[1024];
	struct complete_out last;

	if (is_list(arg)) {
		put_list(to, arg);
		return;
	}
	if (!m || !m->put || to->nprefix + strlen(to->begun) >= sizeof(whole))
		return;
	last = strstr(arg, ",...") ? last_of(to, whole, sizeof(whole)) : *to;
	m->put(&last);
}
