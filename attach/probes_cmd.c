/* SPDX-License-Identifier: MIT */
#include "attach/probes_cmd.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/diagnose.h"
#include "attach/modules.h"
#include "attach/planting.h"
#include "attach/ruleset.h"
#include "attach/target.h"
#include "base/log.h"

static int list_rules(const struct rule *rules, size_t n, FILE *out)
{
	fprintf(out, "rules (name a process with -p or -n to see where their traps would go):\n");
	for (size_t i = 0; i < n; i++) {
		char text[256];

		rule_format(&rules[i], text, sizeof(text));
		fprintf(out, "  %s\n", text);
	}
	return 0;
}

static int print_module(const struct module *m, struct decoder *d, const struct plan_set *set, FILE *out)
{
	char text[4096];

	if (set->n)
		fprintf(out, "%s\n", m->path);
	for (size_t i = 0; i < set->n; i++) {
		plan_describe(&set->plans[i], d, m->bias, text, sizeof(text));
		fputs(text, out);
	}
	return set->n > 0;
}

/* The number of modules in which something was found, or -errno. */
static int print_plans(pid_t pid, const struct options *opt, const struct target_info *t, const struct rule *rules,
		       size_t nrules, FILE *out)
{
	const struct plan_options options = {
		.exact_sizes = opt->exact_sizes, .shadow_stack = t->shadow_stack,
	};
	struct decoder *d = NULL;
	struct modules *ms;
	int r = modules_new(pid, &ms), found = 0;

	if (r == 0)
		r = modules_refresh(ms, false);
	if (r == 0)
		r = decoder_new(&d);
	for (size_t i = 0; r == 0 && i < modules_count(ms); i++) {
		struct module *m = modules_at(ms, i);
		struct plan_set set;

		if (!m->img)
			continue;
		r = planting_plan_module(m, d, rules, nrules, &options, &set);
		if (r < 0)
			break;
		found += print_module(m, d, &set, out);
		plan_set_fini(&set);
	}
	decoder_free(d);
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

static int probes_of(const struct options *opt, const struct rule *rules, size_t nrules, FILE *out)
{
	struct target_info t;
	struct diagnosis d;
	int r;

	if (find(opt, &t) < 0)
		return 1;
	r = print_plans(t.pid, opt, &t, rules, nrules, out);
	if (r == 0) {
		diagnose_no_allocator(&t, false, &d);
		diagnose_log(&d);
	} else if (r < 0) {
		log_error_errno(r, "cannot read the modules of %d", t.pid);
	}
	target_fini(&t);
	return r > 0 ? 0 : 1;
}

int probes_cmd(const struct options *opt, FILE *out)
{
	cleanup_free struct rule *rules = NULL;
	size_t n;

	if (ruleset_choose(opt, &rules, &n) < 0) {
		log_error_errno(ENOMEM, "cannot list the rules");
		return 1;
	}
	if (!opt->pid && !opt->name)
		return list_rules(rules, n, out);
	return probes_of(opt, rules, n, out);
}
