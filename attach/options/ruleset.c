/* SPDX-License-Identifier: MIT */
#include "attach/options/ruleset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "attach/options/options.h"
#include "attach/rules/rulefile.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/strbuf.h"
#include "packs/packs.h"
#include "report/ledger/ledger.h"

#define FILE_MAX (1u << 20)

bool ruleset_is_own(const struct ruleset *rs)
{
	for (size_t i = 0; i < rs->nrules; i++)
		if (!rs->rules[i].builtin && !rule_is_scope(&rs->rules[i]))
			return true;
	return false;
}

static int add_text(struct ruleset *rs, const char *file, const char *pack, const char *text, size_t len)
{
	struct rulefile_error err;
	int r = ruleset_add_text(rs, file, pack, text, len, &err);

	if (r == -EINVAL)
		log_error("%s", err.text);
	return r;
}

int ruleset_packs(struct ruleset *out)
{
	size_t n;
	const struct pack *packs = packs_all(&n);
	int r = 0;

	*out = (struct ruleset){ 0 };
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_text(out, packs[i].name, packs[i].name, packs[i].text, packs[i].len);
	return r;
}

/* --- the user's --- */

static int read_file(const char *name, struct strbuf *out)
{
	cleanup_close int fd = open(name, O_RDONLY | O_CLOEXEC);
	char piece[4096];
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, piece, sizeof(piece))) > 0 && out->len <= FILE_MAX)
		strbuf_append(out, piece, (size_t)n);
	return n < 0 ? -errno : n > 0 ? -EFBIG : strbuf_error(out);
}

static int add_file(struct ruleset *rs, const char *name)
{
	cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int r = read_file(name, &text);

	if (r == 0)
		return add_text(rs, name, NULL, strbuf_str(&text), text.len);
	if (r == -ENOMEM)
		return r;
	log_error_errno(r, "cannot read the rules of %s", name);
	return -EINVAL;
}

static int add_own(const struct options *opt, struct ruleset *rs)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < opt->what.probe_files.n; i++)
		r = add_file(rs, opt->what.probe_files.all[i]);
	if (r == 0)
		r = add_text(rs, "--probe", NULL, strbuf_str(&opt->what.probes), opt->what.probes.len);
	if (r == 0)
		r = add_text(rs, "options", NULL, strbuf_str(&opt->what.rules), opt->what.rules.len);
	return r;
}

/* --- which --- */

/* The names of all --family options, one by one. */
struct names {
	const char **all;	/* point into text */
	size_t n;
	struct strbuf text;
};

static int split_names(const struct option_list *families, struct names *out)
{
	size_t most = 1;
	char *word, *rest;

	for (size_t i = 0; i < families->n; i++) {
		strbuf_printf(&out->text, "%s%s", i ? "," : "", families->all[i]);
		most += strlen(families->all[i]);
	}
	out->all = calloc(most, sizeof(*out->all));
	if (!out->all || strbuf_error(&out->text))
		return -ENOMEM;
	for (word = families->n ? strtok_r(out->text.s, ",", &rest) : NULL; word;
	     word = strtok_r(NULL, ",", &rest))
		out->all[out->n++] = word;
	return 0;
}

static void names_fini(struct names *names)
{
	free(names->all);
	strbuf_fini(&names->text);
}

/* The nearest family or pack; NULL: none is near. */
static const char *nearest_family(const struct ruleset *all, const char *name)
{
	struct nearest near = nearest_to(name, strlen(name));
	size_t npacks;
	const struct pack *packs = packs_all(&npacks);

	for (size_t i = 0; i < all->nfamilies; i++)
		nearest_try(&near, all->families[i].name, strlen(all->families[i].name));
	for (size_t i = 0; i < npacks; i++)
		nearest_try(&near, packs[i].name, strlen(packs[i].name));
	return near.name;
}

static void report_unknown(const struct ruleset *all, const char *name)
{
	cleanup_strbuf struct strbuf list = STRBUF_INIT;
	const char *near = nearest_family(all, name);

	for (size_t i = 0; i < all->nfamilies; i++)
		strbuf_printf(&list, "%s%s", i ? ", " : "", all->families[i].name);
	log_error("--family %s: there is no such family or pack", name);
	if (near)
		log_hint("did you mean %s? `mmattach probes` lists all", near);
	else
		log_hint("families are %s; `mmattach probes` lists their rules", strbuf_str(&list));
}

static bool has_rules(const struct ruleset *all, const char *pack)
{
	for (size_t i = 0; i < all->nrules; i++)
		if (all->rules[i].pack && !strcmp(all->rules[i].pack, pack))
			return true;
	return false;
}

/* A pack without rules only names functions to leave out of stacks: then the blocks are those of libc. */
static void replace_skips(struct names *names, const struct ruleset *all)
{
	size_t npacks;
	const struct pack *packs = packs_all(&npacks);

	for (size_t i = 0; i < names->n; i++)
		for (size_t k = 0; k < npacks; k++)
			if (!strcmp(packs[k].name, names->all[i]) && !has_rules(all, packs[k].name))
				names->all[i] = "libc";
}

static int choose_named(const struct option_list *families, const struct ruleset *all, struct ruleset *out)
{
	struct names names = { .text = STRBUF_INIT };
	const char *unknown = NULL;
	int r = split_names(families, &names);

	if (r == 0)
		replace_skips(&names, all);
	if (r == 0)
		r = ruleset_select(all, names.all, names.n, out, &unknown);
	if (r == -ENOENT) {
		report_unknown(all, unknown);
		r = -EINVAL;
	}
	names_fini(&names);
	return r;
}

static int check_families(const struct ruleset *rs)
{
	if (rs->nfamilies <= LEDGER_FAMILIES_MAX)
		return 0;
	log_error("%zu families: at most %d can be watched at a time", rs->nfamilies, LEDGER_FAMILIES_MAX);
	return -EINVAL;
}

int ruleset_choose(const struct options *opt, struct ruleset *out)
{
	const struct option_list libc = { .all = (const char *[]){ "libc" }, .n = 1 };
	struct ruleset all;
	int r = ruleset_packs(&all);

	*out = (struct ruleset){ 0 };
	if (r == 0)
		r = add_own(opt, &all);
	if (r == 0 && !opt->what.families.n && !ruleset_is_own(&all))
		r = choose_named(&libc, &all, out);
	else if (r == 0)
		r = choose_named(&opt->what.families, &all, out);
	if (r == 0)
		r = check_families(out);
	ruleset_fini(&all);
	return r;
}
