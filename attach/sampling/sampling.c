/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/events/tally.h"
#include "attach/sampling/sampling_facts.h"
#include "attach/sampling/sampling_parts.h"

#define TICK_NS 250000000ull
#define DECIDE_NS 1000000000ull
#define RECORD_NS 10000000000ull

/*
 * --- what is watched in a module ---
 *
 * Allocators that the module defines are probes, and have traps where they return; the sites are behind its
 * calls of allocators and of wrappers. A function of the module that only jumps to an allocator counts as an
 * allocator, too: its callers are searched in all modules.
 */

/* The functions themselves are reported as probes, so that the reader knows what was watched. */
static int add_probes(struct sampling *s, struct module *m)
{
	for (uint32_t i = 0; i < s->targets.n; i++) {
		const struct sampling_target *t = &s->targets.all[i];
		int r;

		if (t->level || s->probes[t->rule] != NO_PROBE || !sampling_targets_in(&s->targets, i, m))
			continue;
		r = planting_add_probe(s->planting, m, t->rule, &s->probes[t->rule]);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Traps where malloc itself returns: sampled now and then, they show how many blocks go to callers that were
 * not found.
 */
static int add_exits(struct sampling *s, struct module *m)
{
	const struct planting *p = s->planting;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->targets.n; i++) {
		const struct sampling_target *t = &s->targets.all[i];
		struct plan_set set;

		if (t->level || !sampling_targets_in(&s->targets, i, m))
			continue;
		r = planting_plan_module(m, p->decoder, &p->rules[t->rule], 1, &p->options, p->mem, &set);
		for (size_t k = 0; r == 0 && k < set.n; k++)
			for (size_t n = 0; set.plans[k].kind == PLAN_EXITS && n < set.plans[k].nsites; n++)
				(void)!sampling_sites_add_exit(&s->sites, m, &set.plans[k].sites[n], i);
		if (r == 0)
			plan_set_fini(&set);
	}
	return r;
}

static bool is_searched(const struct module *m)
{
	return m->planned && !m->gone && m->img;
}

/*
 * Targets from number @first on are new: find their callers, in all modules that were searched before. 0 or
 * -ENOMEM.
 */
static int find_callers(struct sampling *s, uint32_t first)
{
	const size_t n = first < s->targets.n ? modules_count(s->planting->modules) : 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct module *m = modules_at(s->planting->modules, i);

		link_alive(s->planting->link);
		if (is_searched(m))
			r = sampling_targets_tails(&s->targets, m, first);
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct module *m = modules_at(s->planting->modules, i);

		link_alive(s->planting->link);
		if (is_searched(m))
			r = sampling_sites_find(&s->sites, m, first);
	}
	return r;
}

static int plan_module_of(void *ctx, struct module *m)
{
	struct sampling *s = ctx;
	uint32_t known = s->targets.n;
	int r = add_probes(s, m);

	if (r == 0)
		r = add_exits(s, m);
	if (r == 0)
		r = sampling_targets_tails(&s->targets, m, 0);
	if (r == 0)
		r = sampling_sites_find(&s->sites, m, 0);
	return r < 0 ? r : find_callers(s, known);
}

static void module_gone(void *ctx, uint32_t number)
{
	struct sampling *s = ctx;

	sampling_sites_gone(&s->sites, number);
}

/* --- from beginning to end --- */

/* What became of a block is known. A block that is live at the end stays recorded. */
static void over(void *ctx, const struct tracked *b, enum fate fate, uint64_t now_ns)
{
	struct sampling *s = ctx;
	const struct sampling_stack *stack = &s->stacks.all[b->stack];
	struct fact f = { .kind = MMT_FREE, .block = { .addr = b->addr } };

	if (fate == FATE_GONE)
		sampling_facts_block(s->recorder, &s->sites, stack, &f, now_ns);
	else if (fate == FATE_UNKNOWN)
		sampling_facts_forget(s->recorder, &s->sites, stack, b->addr, now_ns);
	sampling_stacks_over(&s->stacks, b, fate, now_ns);
}

int sampling_new(pid_t pid, struct planting *planting, struct tally *tally, uint32_t budget_ppm,
		 struct sampling **out)
{
	struct sampling *s = calloc(1, sizeof(*s));
	int r = -ENOMEM;

	*out = s;
	if (!s)
		return r;
	s->pid = pid;
	s->planting = planting;
	s->tally = tally;
	s->recorder = tally->recorder;
	sampling_sites_init(&s->sites, planting, &s->targets);
	sampling_parents_init(&s->parents, &s->sites, budget_ppm);
	sampling_rounds_init(&s->rounds, budget_ppm);
	s->probes = calloc(planting->nrules + 1, sizeof(*s->probes));
	for (size_t i = 0; s->probes && i < planting->nrules; i++)
		s->probes[i] = NO_PROBE;
	r = s->probes ? sampling_heaps_open(pid, planting->modules, &s->heaps) : -ENOMEM;
	if (r == 0)
		r = block_poll_new(pid, over, s, &s->poll);
	sampling_stacks_init(&s->stacks, s->poll, 0);
	sampling_again_init(&s->again);
	if (r == 0)
		r = sampling_targets_init(&s->targets, planting);
	planting->own = (struct planting_own){ .plan = plan_module_of, .gone = module_gone, .ctx = s };
	return r;
}

void sampling_free(struct sampling *s)
{
	if (!s)
		return;
	block_poll_free(s->poll);
	sampling_heaps_close(&s->heaps);
	sampling_parents_fini(&s->parents);
	sampling_stacks_fini(&s->stacks);
	sampling_again_fini(&s->again);
	sampling_sites_fini(&s->sites);
	sampling_targets_fini(&s->targets);
	free(s->probes);
	free(s);
}

void sampling_begin(struct sampling *s, uint64_t now_ns)
{
	s->stacks.begin_ns = now_ns;
	s->next_tick_ns = now_ns + TICK_NS;
	s->next_decide_ns = now_ns + DECIDE_NS;
	s->next_record_ns = now_ns + RECORD_NS;
}

void sampling_thread_end(struct sampling *s, uint32_t tid)
{
	sampling_parents_thread_end(&s->parents, tid);
}

/* --- as time goes on --- */

/*
 * Were its blocks seen inside @function, which is a wrapper now, and counts anew? Or in another one, for a
 * caller that has a trap now: what it calls jumps to @function or to the other.
 */
static bool is_seen_elsewhere(const struct sampling *s, const struct sampling_stack *stack, taddr function)
{
	const struct sampling_site *site = &s->sites.all[stack->site];

	return site->function == function ||
	       (site->role == SAMPLING_INNER &&
		sampling_sees_caller(s, sampling_caller(s, site, stack->number)));
}

/* Without this they would be reported twice. */
static void forget_seen_elsewhere(struct sampling *s, taddr function, uint64_t now_ns)
{
	for (uint32_t i = 0; i < s->stacks.n; i++) {
		taddr addr;

		if (!is_seen_elsewhere(s, &s->stacks.all[i], function))
			continue;
		while (sampling_stacks_clear(&s->stacks, i, &addr))
			sampling_facts_forget(s->recorder, &s->sites, &s->stacks.all[i], addr, now_ns);
	}
}

static void plant_waiting(struct sampling *s)
{
	if (s->planting->nwaiting)
		(void)!planting_plant(s->planting);
}

static void tick(struct sampling *s, uint64_t now_ns)
{
	uint32_t target;
	taddr function;

	/*
	 * plant the traps of trials that began before any trial is decided: until then the meter with their
	 * number may still have the counts of another site
	 */
	plant_waiting(s);
	while (sampling_parents_decide(&s->parents, now_ns, &function, &target)) {
		s->tally->out_of_memory |= find_callers(s, target) == -ENOMEM;
		forget_seen_elsewhere(s, function, now_ns);
	}
	plant_waiting(s);
	s->next_tick_ns = now_ns + TICK_NS;
}

static void decide(struct sampling *s, uint64_t now_ns)
{
	struct shared *sh = s->planting->link->shared;
	const struct sampling_costs costs = {
		.now_ns = now_ns, .spent_ns = atomic_load(&sh->budget.spent_ns),
		.stop_ns = atomic_load(&sh->budget.trap_stop_ns),
	};

	sampling_heaps_again(&s->heaps, s->pid);
	sampling_sites_note_exposed(&s->sites, now_ns - s->stacks.begin_ns);
	sampling_stacks_survey(&s->stacks);
	sampling_rounds_decide(&s->rounds, &s->sites, &s->stacks, &costs);
	s->next_decide_ns = now_ns + DECIDE_NS;
}

static void tell(struct sampling *s, uint64_t now_ns, bool all)
{
	sampling_stacks_survey(&s->stacks);
	sampling_facts_stacks(s->recorder, &s->sites, &s->stacks, now_ns, all);
	sampling_facts_budget(s->recorder, &s->sites, &s->rounds, s->planting->link->shared, &s->loss, now_ns);
	s->next_record_ns = now_ns + RECORD_NS;
}

void sampling_record(struct sampling *s, uint64_t now_ns)
{
	tell(s, now_ns, false);
}

uint64_t sampling_poll(struct sampling *s, uint64_t now_ns)
{
	uint64_t next = s->next_tick_ns, other;

	if (now_ns >= block_poll_next_ns(s->poll))
		block_poll(s->poll, now_ns);
	if (now_ns >= s->next_tick_ns)
		tick(s, now_ns);
	if (now_ns >= s->next_decide_ns)
		decide(s, now_ns);
	if (now_ns >= s->next_record_ns)
		sampling_record(s, now_ns);
	/* while modules move no trap can be planted: so no thread is held for one */
	if (!shared_modules_move(s->planting->link->shared)) {
		sampling_parents_hold(&s->parents, now_ns);
		other = sampling_parents_next_ns(&s->parents);
		next = other < next ? other : next;
	}
	other = block_poll_next_ns(s->poll);
	return other < next ? other : next;
}

void sampling_judge(struct sampling *s, taddr addr, const struct block_judged *its)
{
	block_poll_judge(s->poll, addr, its);
}

void sampling_judge_anew(struct sampling *s)
{
	block_poll_judge_anew(s->poll);
}

void sampling_lost_sizes(struct sampling *s, const uint64_t *sizes, size_t n)
{
	sampling_stacks_lost_sizes(&s->stacks, sizes, n);
}

void sampling_probed(struct sampling *s, bool there, uint64_t now_ns)
{
	if (there && !s->probed)
		s->probed_ns[0] = s->looked_ns;
	if (!there && s->probed)
		s->probed_ns[1] = now_ns;
	s->probed = there;
	s->looked_ns = now_ns;
}

void sampling_share(struct sampling *s, uint32_t ppm)
{
	s->rounds.budget_ppm = s->parents.budget_ppm = ppm;
}

int sampling_losing(struct sampling *s, uint32_t family, uint32_t number, const struct fact_losing *its)
{
	return sampling_stacks_losing(&s->stacks, family, number, its);
}

void sampling_loss(struct sampling *s, const struct fact_loss *loss)
{
	s->loss = *loss;
}

void sampling_end(struct sampling *s, uint64_t now_ns)
{
	block_poll_end(s->poll, now_ns);
	tell(s, now_ns, true);
	sampling_facts_others(s->recorder, &s->stacks, now_ns);
	sampling_facts_notes(s->recorder, &s->sites, &s->stacks, s->planting->link->shared, now_ns);
}
