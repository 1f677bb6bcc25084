/* SPDX-License-Identifier: MIT */
#include "attach/control/planting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/target/allocators.h"
#include "attach/target/linker.h"
#include "base/log.h"
#include "trace/probenote.h"

int planting_init(struct planting *p, struct link *link, struct modules *modules, int mem,
		  const struct ruleset *set, const struct plan_options *options)
{
	int r;

	memset(p, 0, sizeof(*p));
	p->link = link;
	p->modules = modules;
	p->mem = mem;
	p->options = *options;
	p->set = set;
	p->rules = set->rules;
	p->nrules = set->nrules;
	for (size_t i = 0; i < set->nrules; i++)
		link->shared->scoped |= set->rules[i].op == RULE_IN;
	skipped_functions_init(&p->skipped, set->skips, set->nskips);
	p->unseen_allocs = calloc(set->nfamilies + 1, sizeof(*p->unseen_allocs));
	for (size_t i = 0; p->unseen_allocs && i < set->nfamilies; i++)
		p->unseen_allocs[i] = options->sampled;
	r = p->unseen_allocs ? decoder_new(&p->decoder) : -ENOMEM;
	if (r < 0)
		planting_fini(p);
	return r;
}

void planting_fini(struct planting *p)
{
	if (p->mem >= 0)
		close(p->mem);
	decoder_free(p->decoder);
	skipped_functions_fini(&p->skipped);
	free(p->probes);
	free(p->unseen_allocs);
}

/* --- planning --- */

/* The rules that can concern @m, with file addresses; @index: their numbers among all rules. */
static size_t rules_for(const struct module *m, const struct rule *rules, size_t nrules, struct rule *out,
			uint16_t *index)
{
	char build_id[MODULE_BUILD_ID_TEXT];
	size_t n = 0;

	module_build_id(m, build_id);
	for (size_t i = 0; i < nrules; i++) {
		const struct rule *r = &rules[i];

		if (r->where == WHERE_ADDRESS && (r->addr < m->lo || r->addr >= m->hi))
			continue;
		if (!rule_holds_in(r, m->name, build_id))
			continue;
		out[n] = *r;
		if (r->where == WHERE_ADDRESS)
			out[n].addr -= m->bias;
		index[n++] = i;
	}
	return n;
}

int planting_plan_module(const struct module *m, struct decoder *d, const struct rule *rules, size_t nrules,
			 const struct plan_options *options, int mem, struct plan_set *set)
{
	cleanup_free struct rule *mine = malloc((nrules + 1) * sizeof(*mine));
	cleanup_free uint16_t *index = malloc((nrules + 1) * sizeof(*index));
	struct plan_options here = *options;
	int r;

	if (!mine || !index)
		return -ENOMEM;
	here.glibc_chunks = module_is_glibc(m);
	here.other_returns = here.kernel_returns && allocator_ignores_stack(m, mem);
	here.all = rules;
	here.nall = nrules;
	r = plan_module(m->img, d, mine, rules_for(m, rules, nrules, mine, index), &here, set);
	for (size_t i = 0; r == 0 && i < set->n; i++) {
		set->plans[i].rule_index = index[set->plans[i].rule_index];
		set->plans[i].rule = &rules[set->plans[i].rule_index];
	}
	return r;
}

/* The probe of a function, or a new one. A module that is loaded again keeps its earlier counts. */
static struct probe *probe_for(struct planting *p, const struct module *m, const struct plan *plan)
{
	struct probe *grown;

	for (size_t i = 0; i < p->nprobes; i++)
		if (p->probes[i].module == m && p->probes[i].rule == plan->rule &&
		    strcmp(p->probes[i].function, plan->function) == 0)
			return &p->probes[i];
	grown = realloc(p->probes, (p->nprobes + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	p->probes = grown;
	grown[p->nprobes].hits = 0;
	return &grown[p->nprobes++];
}

/*
 * Two packs may have rules for the same function: that it has another rule already is a warning only for a
 * rule of the user.
 */
static void log_not_watched(const struct module *m, const struct plan *plan)
{
	if (plan->rule->builtin && probenote_is_other_rule(plan->reason))
		log_verbose("%s in %s is not watched: %s", plan->function, m->name, plan->reason);
	else
		log_warn("%s in %s is not watched: %s", plan->function, m->name, plan->reason);
}

/* It has a reason now not to be watched. */
static void note_unseen(struct planting *p, const struct probe *probe)
{
	if (rule_allocates(probe->rule) && !probenote_is_other_rule(probe->why_not))
		p->unseen_allocs[probe->rule->family] = true;
}

static int add_probe(struct planting *p, const struct module *m, const struct plan *plan, bool glibc,
		     uint32_t *number)
{
	size_t known = p->nprobes;
	struct probe *probe = probe_for(p, m, plan);

	if (!probe)
		return -ENOMEM;
	*number = probe - p->probes;
	*probe = (struct probe){
		.hits = probe->hits, .rule = plan->rule, .module = m, .kind = plan->kind,
		.forwards = plan->forwards,
		.glibc = glibc,
		.body = { plan->body.lo + m->bias, plan->body.hi + m->bias },
	};
	snprintf(probe->function, sizeof(probe->function), "%s", plan->function);
	if (plan->kind == PLAN_NONE) {
		snprintf(probe->why_not, sizeof(probe->why_not), "%s", plan->reason);
		note_unseen(p, probe);
		/* not each time that a module is loaded again */
		if (p->nprobes > known)
			log_not_watched(m, plan);
	}
	return 0;
}

static bool releases(const struct rule *r)
{
	return r->op == RULE_FREE || r->op == RULE_RESET;
}

/* Queue one site for planting; its number in @i. -ENOSPC: no number is left. */
static int new_site(struct planting *p, const struct site *s, const struct site_info *info, uint16_t rule,
		    uint32_t *i)
{
	struct site *to;
	int r = link_new_site(p->link, i);

	if (r < 0)
		return r;
	to = &p->link->shared->sites[*i];
	*to = *s;
	site_rebase(to, info->module->bias);
	to->rule = rule;
	if (p->free_stacks && info->probe != NO_PROBE && releases(p->probes[info->probe].rule))
		to->flags |= SITE_SLICE;
	if (p->hold && (to->flags & SITE_SLICE))
		to->flags |= SITE_WAIT;
	p->sites[*i] = *info;
	p->sites[*i].chunk = s->loads[SITE_CHUNK].base != SITE_BASE_NONE;
	p->waiting[p->nwaiting++] = *i;
	return 0;
}

static int add_site(struct planting *p, const struct site *s, const struct site_info *info, uint16_t rule)
{
	uint32_t i;

	return new_site(p, s, info, rule, &i);
}

int planting_add(struct planting *p, struct module *m, const struct site *s, uint32_t *i)
{
	const struct site_info info = { .probe = NO_PROBE, .module = m };

	return new_site(p, s, &info, s->rule, i);
}

static int add_plan(struct planting *p, struct module *m, const struct plan *plan)
{
	struct site_info info = { .module = m };
	int r = add_probe(p, m, plan, module_is_glibc(m), &info.probe);

	for (size_t i = 0; r == 0 && i < plan->nsites; i++) {
		r = add_site(p, &plan->sites[i], &info, plan->rule_index);
		if (r == -ENOSPC) {
			snprintf(p->probes[info.probe].why_not, sizeof(p->probes[0].why_not),
				 "more traps than can be kept");
			note_unseen(p, &p->probes[info.probe]);
			return 0;
		}
	}
	log_debug(PLAN, "%s: %s: %zu sites, %s", m->name, plan->function, plan->nsites, plan->reason);
	return r;
}

int planting_add_probe(struct planting *p, const struct module *m, uint16_t rule, uint32_t *probe)
{
	struct plan plan = { .rule = &p->rules[rule], .rule_index = rule, .kind = PLAN_CALLS };

	snprintf(plan.function, sizeof(plan.function), "%s", plan.rule->name);
	return add_probe(p, m, &plan, module_is_glibc(m), probe);
}

static int plan_one(struct planting *p, struct module *m)
{
	struct plan_set set;
	int r;

	if (p->own.plan)
		return p->own.plan(p->own.ctx, m);
	r = planting_plan_module(m, p->decoder, p->rules, p->nrules, &p->options, p->mem, &set);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < set.n; i++)
		r = add_plan(p, m, &set.plans[i]);
	plan_set_fini(&set);
	return r;
}

int planting_plan(struct planting *p)
{
	for (size_t i = 0; i < modules_count(p->modules); i++) {
		struct module *m = modules_at(p->modules, i);
		int r;

		if (m->planned || m->gone || !m->img)
			continue;
		m->planned = true;
		refused_returns_forget(&p->link->shared->refused_returns);
		link_alive(p->link);
		r = plan_one(p, m);
		if (r == 0)
			r = skipped_functions_add_module(&p->skipped, m);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A trap at @addr, at which the modules are looked at. */
static int plan_look(struct planting *p, taddr addr)
{
	const uint16_t flags = SITE_EMIT | SITE_MODULES | (p->own.plan ? 0 : SITE_WAIT);
	struct site_info info = { .probe = NO_PROBE };
	struct site s;
	int r;

	info.module = modules_find(p->modules, addr);
	if (!info.module || !info.module->img)
		return -ENOENT;
	r = plan_entry(info.module->img, p->decoder, addr - info.module->bias, p->options.kernel,
		       flags, &s);
	return r < 0 ? r : add_site(p, &s, &info, 0);
}

int planting_plan_linker(struct planting *p)
{
	taddr addr;
	int r = linker_break(p->modules, &addr);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : plan_look(p, addr);
}

int planting_plan_start(struct planting *p)
{
	return plan_look(p, linker_entry(p->modules));
}

/* --- planting --- */

static void format_code(char *buf, size_t size, const uint8_t *bytes, size_t n)
{
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && at + 4 < size; i++)
		at += snprintf(buf + at, size - at, i ? " %02x" : "%02x", bytes[i]);
}

static void log_not_trapped(struct planting *p, uint32_t i, const char *where, const char *why,
			    const char *hint)
{
	struct probe *probe = p->sites[i].probe == NO_PROBE ? NULL : &p->probes[p->sites[i].probe];

	log_warn("%s %s: not trapped at %s: %s", probe ? "function" : "the",
		 probe ? probe->function : "dynamic linker", where, why);
	log_hint("%s; calls that pass it are not seen", hint);
	if (probe)
		snprintf(probe->why_not, sizeof(probe->why_not), "not trapped at %.100s: %s", where, why);
}

static void log_other_code(struct planting *p, uint32_t i, const char *where)
{
	const struct site *s = &p->link->shared->sites[i];
	char why[128], now_text[40] = "?", file_text[40];
	uint8_t now[8];

	if (pread(p->mem, now, 1, (off_t)s->addr) != 1) {
		log_verbose("no trap at %s: it is not mapped any more", where);
		return;
	}
	if (pread(p->mem, now, sizeof(now), (off_t)s->addr) == sizeof(now))
		format_code(now_text, sizeof(now_text), now, sizeof(now));
	format_code(file_text, sizeof(file_text), s->bytes, s->nbytes < 8 ? s->nbytes : 8);
	snprintf(why, sizeof(why), "the code in memory (%s) is not the file's (%s)", now_text, file_text);
	log_not_trapped(p, i, where, why, "another tool's hook or breakpoint is there");
}

static void log_refused(struct planting *p, uint32_t i)
{
	const struct site_info *info = &p->sites[i];
	int err = p->link->shared->plant_result[i];
	char where[256];

	snprintf(where, sizeof(where), "%s+0x%" PRIx64, info->module->name,
		 p->link->shared->sites[i].addr - info->module->bias);
	if (err == -EILSEQ) {
		log_other_code(p, i, where);
	} else if (err == -ETXTBSY) {
		log_not_trapped(p, i, where, "its code is mapped shared",
				"a trap would be written into the file itself");
	} else {
		log_warn_errno(err, "cannot plant a trap at %s", where);
		if (info->probe != NO_PROBE)
			snprintf(p->probes[info->probe].why_not, sizeof(p->probes[0].why_not),
				 "no trap at %.100s: %s", where, strerror(-err));
	}
	if (info->probe != NO_PROBE && p->probes[info->probe].why_not[0])
		note_unseen(p, &p->probes[info->probe]);
}

int planting_plant(struct planting *p)
{
	size_t n = p->nwaiting;
	int r = link_plant(p->link, p->waiting, n);

	p->nwaiting = 0;
	for (size_t i = 0; r == 0 && i < n; i++) {
		uint32_t site = p->waiting[i];

		log_debug(TRAP, "site %u at " PRItaddr ": %s", site, p->link->shared->sites[site].addr,
			  p->link->shared->plant_result[site] ? strerror(-p->link->shared->plant_result[site])
							      : "planted");
		if (p->link->shared->plant_result[site] < 0)
			log_refused(p, site);
	}
	return r;
}

int planting_adopt(struct planting *p)
{
	int r = link_adopt(p->link);
	size_t n = 0;

	for (size_t i = 0; r == 0 && i < p->nwaiting; i++)
		if (!p->link->planted[p->waiting[i]])
			p->waiting[n++] = p->waiting[i];
	if (r == 0)
		p->nwaiting = n;
	return r;
}

void planting_again(struct planting *p)
{
	p->nwaiting = 0;
	for (uint32_t i = 0; i < p->link->nsites; i++)
		if (p->link->used[i] && !p->sites[i].module->gone)
			p->waiting[p->nwaiting++] = i;
}

/* The number @i is about to be reused: what was queued under it will not be planted. */
static void drop_waiting(struct planting *p, uint32_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < p->nwaiting; k++)
		if (p->waiting[k] != i)
			p->waiting[n++] = p->waiting[k];
	p->nwaiting = n;
}

static bool is_gone(const struct planting *p, uint32_t i)
{
	return i < p->link->nsites && p->link->used[i] && p->sites[i].module->gone;
}

/* Consecutive site numbers make one command to the keeper. */
int planting_forget_gone(struct planting *p)
{
	for (uint32_t first = 0, n; first < p->link->nsites; first += n + 1) {
		int r = 0;

		for (n = 0; is_gone(p, first + n); n++) {
			log_debug(TRAP, "site %u: %s is unmapped", first + n,
				  p->sites[first + n].module->name);
			if (p->own.gone)
				p->own.gone(p->own.ctx, first + n);
			drop_waiting(p, first + n);
		}
		if (n) {
			refused_returns_forget(&p->link->shared->refused_returns);
			r = link_forget(p->link, first, n);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

void planting_forget_all(struct planting *p, int mem)
{
	link_forget_all(p->link);
	skipped_functions_forget(&p->skipped);
	refused_returns_forget(&p->link->shared->refused_returns);
	p->nwaiting = 0;
	p->nprobes = 0;
	if (p->mem >= 0)
		close(p->mem);
	p->mem = mem;
}

/* Its site, if it has one, is planted, or was refused. */
static bool has_site_at(const struct planting *p, taddr addr, uint32_t *i)
{
	for (*i = 0; *i < p->link->nsites; ++*i)
		if (p->link->used[*i] && p->link->shared->sites[*i].addr == addr && !p->sites[*i].module->gone)
			return true;
	return false;
}

static int result_of(const struct planting *p, uint32_t i)
{
	const int r = p->link->shared->plant_result[i];

	return p->link->planted[i] ? 0 : r < 0 ? r : -ETIMEDOUT;
}

static int plant_return(struct planting *p, taddr ret, uint32_t entry)
{
	struct site_info info = p->sites[entry];
	struct module *m;
	struct site s;
	uint32_t i;
	int r;

	/* two threads may have asked for the same trap before it was planted for either */
	if (has_site_at(p, ret, &i))
		return result_of(p, i);
	m = modules_find(p->modules, ret);
	/* gone: what is there now is in no file, or not known yet */
	if (!m || !m->img || m->gone)
		return -ENOENT;
	r = plan_return(m->img, p->decoder, ret - m->bias, &p->options, &s);
	if (r < 0)
		return r;
	info.module = m;
	r = new_site(p, &s, &info, p->link->shared->sites[entry].rule, &i);
	if (r == 0)
		r = planting_plant(p);
	return r < 0 ? r : result_of(p, i);
}

/* What such a call allocates may have any address that was freed before. */
static void note_unseen_end(struct planting *p, uint32_t entry)
{
	const struct rule *rule = &p->rules[p->link->shared->sites[entry].rule];

	if (rule_allocates(rule))
		p->unseen_allocs[rule->family] = true;
}

int planting_return(struct planting *p, taddr ret, uint32_t entry)
{
	const int r = plant_return(p, ret, entry);

	if (r < 0)
		note_unseen_end(p, entry);
	if (r == -ENOMEM || r == -EPIPE || r == -ETIMEDOUT)
		p->lost_returns++;
	else if (r < 0)
		refused_returns_add(&p->link->shared->refused_returns, ret);
	return r;
}

bool planting_any(const struct planting *p)
{
	for (size_t i = 0; i < p->nprobes; i++)
		if (!rule_is_scope(p->probes[i].rule) && p->probes[i].kind != PLAN_NONE)
			return true;
	return false;
}

uint32_t planting_wrapper_at(const struct planting *p, taddr ret, uint16_t family)
{
	for (size_t i = 0; i < p->nprobes; i++) {
		const struct probe *probe = &p->probes[i];

		if (probe->kind == PLAN_WRAPPER && plan_family(probe->rule) == family &&
		    ret >= probe->body.lo && ret < probe->body.hi)
			return i;
	}
	return NO_PROBE;
}
