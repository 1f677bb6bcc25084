/* SPDX-License-Identifier: MIT */
#include "attach/cli/probes_cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/cli/offers.h"
#include "attach/cli/probes_json.h"
#include "attach/control/planting.h"
#include "attach/options/ruleset.h"
#include "attach/rules/ruletext.h"
#include "attach/target/diagnose.h"
#include "attach/target/modules.h"
#include "attach/target/openfiles.h"
#include "attach/target/target.h"
#include "attach/target/target_find.h"
#include "attach/target/unread.h"
#include "base/log.h"
#include "packs/packs.h"

static void list_family(const struct ruleset *rs, size_t family, FILE *out)
{
	const struct rule_family *f = &rs->families[family];

	fprintf(out, "  family %s%s of=%s\n", f->name, f->refs ? " refs" : "", f->noun);
	for (size_t i = 0; i < rs->nrules; i++) {
		char text[1024];

		if (rs->rules[i].family != family || rule_is_scope(&rs->rules[i]))
			continue;
		rule_format(&rs->rules[i], text, sizeof(text));
		fprintf(out, "    %s\n", text);
	}
}

static void list_rules(const struct ruleset *rs, FILE *out)
{
	for (size_t i = 0; i < rs->nfamilies; i++)
		list_family(rs, i, out);
}

/* A pack's first line is a comment that says what it is for. */
static int list_pack(const struct pack *p, FILE *out)
{
	struct ruleset rs = { 0 };
	struct rulefile_error err;
	int r = ruleset_add_text(&rs, p->name, p->name, p->text, p->len, &err);

	fprintf(out, "\n%s: %.*s\n", p->name, (int)strcspn(p->text + 2, "\n"), p->text + 2);
	list_rules(&rs, out);
	ruleset_fini(&rs);
	return r;
}

static int list_packs(FILE *out)
{
	size_t n;
	const struct pack *packs = packs_all(&n);
	int r = 0;

	fprintf(out, "What can be watched: packs of rules, and their families. --family NAME,... selects\n"
		     "some by either name; -p PID or -n NAME shows where their traps would go.\n");
	for (size_t i = 0; r == 0 && i < n; i++)
		r = list_pack(&packs[i], out);
	return r;
}

/* How the plans are printed: text on @out, or JSON. */
struct printing {
	const struct options *opt;
	const struct ruleset *rules;
	FILE *out;
	struct probes_json json;
};

static void print_module(struct printing *p, const struct module *m, struct decoder *d,
			 const struct plan_set *set)
{
	char text[4096];

	if (p->opt->json) {
		probes_json_module(&p->json, p->rules, m, d, set);
		return;
	}
	if (set->n) {
		strbuf_print_text(p->out, m->path);
		fputc('\n', p->out);
	}
	for (size_t i = 0; i < set->n; i++) {
		plan_describe(&set->plans[i], d, m->bias, text, sizeof(text));
		fputs(text, p->out);
	}
}

static void warn(void *ctx, const char *sentence)
{
	(void)ctx;
	log_warn("%s", sentence);
}

/* The number of modules in which something was found, or -errno. */
static int print_plans(struct printing *p, const struct target_info *t)
{
	const struct ruleset *rs = p->rules;
	const struct plan_options options = {
		.exact_sizes = p->opt->what.exact_sizes, .shadow_stack = t->shadow_stack,
	};
	struct decoder *d = NULL;
	struct modules *ms;
	int r = modules_new(t->pid, &ms), found = 0;

	if (r == 0)
		r = modules_refresh(ms, false);
	if (r == 0)
		r = decoder_new(&d);
	for (size_t i = 0; r == 0 && i < modules_count(ms); i++) {
		struct module *m = modules_at(ms, i);
		struct plan_set set;

		if (!m->img)
			continue;
		r = planting_plan_module(m, d, rs->rules, rs->nrules, &options, -1, &set);
		if (r < 0)
			break;
		print_module(p, m, d, &set);
		found += set.n > 0;
		plan_set_fini(&set);
	}
	decoder_free(d);
	if (r == 0)
		r = unread_tell(ms, warn, NULL);
	modules_free(ms);
	return r < 0 ? r : found;
}

static int find(const struct options *opt, struct target_info *t)
{
	cleanup_strbuf struct strbuf listing = STRBUF_INIT;
	struct diagnosis d;
	pid_t pid = opt->pid;
	int r = opt->name ? target_find(opt->name, &pid, &listing) : 0;

	if (r == 0)
		r = target_read(pid, t);
	if (r < 0) {
		diagnose_lookup(opt->pid, opt->name, r, strbuf_str(&listing), &d);
		diagnose_log(&d);
	}
	return r;
}

/* What else could be watched there. */
static void print_offers(struct printing *p, pid_t pid)
{
	struct offers offers;

	/* what could not be read is reported already */
	if (offers_find(pid, &offers) < 0)
		return;
	if (p->opt->json)
		probes_json_offers(&p->json, &offers);
	else
		fputs("\nfamilies found in it (--family):\n", p->out);
	for (size_t i = 0; i < offers.n && !p->opt->json; i++) {
		fprintf(p->out, "  %-12s %zu function%s, in ", offers.all[i].family->name,
			offers.all[i].found, offers.all[i].found == 1 ? "" : "s");
		strbuf_print_text(p->out, offers.all[i].module);
		fputc('\n', p->out);
	}
	offers_fini(&offers);
}

/* Returns what print_plans does. */
static int print_all(struct printing *p, const struct target_info *t)
{
	int found;

	if (p->opt->json)
		probes_json_begin(&p->json, t);
	found = print_plans(p, t);
	if (found < 0)
		return found;
	print_offers(p, t->pid);
	if (p->opt->json && probes_json_end(&p->json, p->out) < 0)
		return -ENOMEM;
	return found;
}

static int probes_of(const struct options *opt, const struct ruleset *rs, FILE *out)
{
	struct printing p = { .opt = opt, .rules = rs, .out = out, .json = { .sb = STRBUF_INIT } };
	struct target_info t;
	struct diagnosis d;
	int r;

	if (find(opt, &t) < 0)
		return 1;
	r = print_all(&p, &t);
	if (r == 0 && (opt->what.families.n || ruleset_is_own(rs))) {
		log_error("no function of these rules found in %d (%s)", t.pid, t.comm);
	} else if (r == 0) {
		diagnose_no_allocator(&t, false, &d);
		diagnose_log(&d);
	} else if (r < 0) {
		log_error_errno(r, "cannot read the modules of %d", t.pid);
	}
	strbuf_fini(&p.json.sb);
	target_fini(&t);
	return r > 0 ? 0 : 1;
}

int probes_cmd(const struct options *opt, FILE *out)
{
	struct ruleset rs;
	int r = ruleset_choose(opt, &rs), status = 0;

	openfiles_raise(NULL);
	if (r == -ENOMEM)
		log_error_errno(r, "cannot list the rules");
	if (r < 0)
		return r == -EINVAL ? 2 : 1;
	if (opt->pid || opt->name)
		status = probes_of(opt, &rs, out);
	else if (opt->what.families.n || ruleset_is_own(&rs))
		list_rules(&rs, out);
	else
		status = list_packs(out) < 0;
	ruleset_fini(&rs);
	return status;
}
