/* SPDX-License-Identifier: MIT */
#include "attach/sampling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "attach/following.h"
#include "attach/sampling_facts.h"
#include "attach/sampling_parents.h"
#include "attach/sampling_rounds.h"
#include "attach/sampling_sites.h"
#include "attach/sampling_stacks.h"
#include "base/log.h"
#include "heap/chunkstate.h"

#define TICK_NS 250000000ull
#define DECIDE_NS 1000000000ull
#define TELL_NS 10000000000ull

struct sampling {
	pid_t pid;
	struct planting *planting;
	struct tally *tally;
	struct recorder *recorder;
	struct following *following;
	struct sampling_targets targets;
	struct sampling_sites sites;
	struct sampling_stacks stacks;
	struct sampling_parents parents;
	struct sampling_rounds rounds;
	uint32_t *probes;		/* of each rule; NO_PROBE: its function was not found */
	uint64_t records;
	uint64_t next_tick_ns, next_decide_ns, next_tell_ns;
};

/* --- modules --- */

/* The functions themselves are told of as probes, so that the reader knows what was watched. */
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

/* Where malloc itself returns: by what is seen there now and then it is known how much comes from callers that nobody found. */
static int add_exits(struct sampling *s, struct module *m)
{
	const struct planting *p = s->planting;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < s->targets.n; i++) {
		const struct sampling_target *t = &s->targets.all[i];
		struct plan_set set;

		if (t->level || !sampling_targets_in(&s->targets, i, m))
			continue;
		r = planting_plan_module(m, p->decoder, &p->rules[t->rule], 1, &p->options, &set);
		for (size_t k = 0; r == 0 && k < set.n; k++)
			for (size_t n = 0; set.plans[k].kind == PLAN_EXITS && n < set.plans[k].nsites; n++)
				(void)!sampling_sites_add_exit(&s->sites, m, &set.plans[k].sites[n], i);
		if (r == 0)
			plan_set_fini(&set);
	}
	return r;
}

/* Targets from number @first on are new: their callers, in all modules that were looked through before. */
static int find_callers(struct sampling *s, uint32_t first)
{
	int r = 0;

	for (size_t i = 0; r == 0 && first < s->targets.n && i < modules_count(s->planting->modules); i++) {
		struct module *m = modules_at(s->planting->modules, i);

		link_alive(s->planting->link);
		if (m->planned && !m->gone && m->img)
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

static void put(struct sampling *s, const struct sampling_stack *stack, struct fact *f, uint64_t now_ns)
{
	const struct sampling_site *site = &s->sites.all[stack->site];

	f->time_us = recorder_time(s->recorder, now_ns);
	recorder_put_event(s->recorder, s->planting->rules[s->targets.all[site->target].rule].family, f);
}

static void put_forget(struct sampling *s, const struct sampling_stack *stack, taddr addr, uint64_t now_ns)
{
	struct fact f = { .kind = MMT_FORGET, .block = { .addr = addr } };

	put(s, stack, &f, now_ns);
}

/* What became of a block is known. One that is there when all is over stays listed. */
static void over(void *ctx, const struct followed *b, enum fate fate, uint64_t now_ns)
{
	struct sampling *s = ctx;
	const struct sampling_stack *stack = &s->stacks.all[b->stack];
	struct fact f = { .kind = MMT_FREE, .block = { .addr = b->addr } };

	if (fate == FATE_GONE)
		put(s, stack, &f, now_ns);
	else if (fate == FATE_UNKNOWN)
		put_forget(s, stack, b->addr, now_ns);
	sampling_stacks_over(&s->stacks, b, fate, now_ns);
}

int sampling_new(pid_t pid, struct planting *planting, struct tally *tally, uint32_t budget_ppm, struct sampling **out)
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
	r = s->probes ? following_new(pid, 0, over, s, &s->following) : -ENOMEM;
	sampling_stacks_init(&s->stacks, s->following, 0);
	if (r == 0)
		r = sampling_targets_init(&s->targets, planting);
	planting->own = (struct planting_own){ .plan = plan_module_of, .gone = module_gone, .ctx = s };
	return r;
}

void sampling_free(struct sampling *s)
{
	if (!s)
		return;
	following_free(s->following);
	sampling_parents_fini(&s->parents);
	sampling_stacks_fini(&s->stacks);
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
	s->next_tell_ns = now_ns + TELL_NS;
}

/* --- one hit --- */

/* What the block began with when it was given out. */
struct sampling_words {
	uint64_t head;		/* in front of it */
	uint64_t first[2];
	bool first_read;
};

/* Where it was known only later that a wrapper keeps something in front of the block, the trap has read other words. */
static bool read_words(const struct sampling *s, const struct sampling_site *site, const struct record_hit *hit, taddr block,
		       struct sampling_words *out)
{
	struct iovec here = { &out->head, sizeof(out->head) }, there = { (void *)(uintptr_t)(block - 8), sizeof(out->head) };

	out->first_read = false;
	if (site->delta != s->targets.all[site->target].delta)
		return process_vm_readv(s->pid, &here, 1, &there, 1, 0) == sizeof(out->head) && chunkstate_size(out->head);
	out->head = hit->loads[SITE_CHUNK];
	out->first_read = (hit->loads_read & 3) == 3;
	memcpy(out->first, hit->loads, sizeof(out->first));
	return hit->loads_read & 1u << SITE_CHUNK && chunkstate_size(out->head);
}

/* Who called the function around the site, or (@skip 0) the one that returns at it; 0: the stack does not tell. */
static taddr caller_of(const struct sampling *s, uint32_t number, uint32_t skip)
{
	const struct defs *d = &s->recorder->ledger.defs;
	uint32_t frames[2];

	return defs_path(d, defs_stack(d, number), frames, skip + 1) > skip ? d->frames[frames[skip]].pc : 0;
}

static void put_alloc(struct sampling *s, uint32_t i, taddr block, uint64_t head, uint64_t now_ns)
{
	uint64_t size = chunkstate_size(head);
	struct fact f = {
		.kind = MMT_ALLOC,
		.block = { .addr = block, .size = size - (chunkstate_mapped(head) ? 16 : 8), .stack = s->stacks.all[i].number },
	};

	put(s, &s->stacks.all[i], &f, now_ns);
}

/* Of that stack's blocks this one is to be followed, if there is room. */
static void follow(struct sampling *s, uint32_t i, taddr block, const struct sampling_words *words, uint64_t now_ns)
{
	taddr instead;

	if (!sampling_stacks_wants(&s->stacks, i, &instead)) {
		(void)following_taken(s->following, block, now_ns);
		return;
	}
	if (instead)
		put_forget(s, &s->stacks.all[i], instead, now_ns);
	if (following_add(s->following, block, words->head, words->first_read ? words->first : NULL, i, now_ns) < 0) {
		s->stacks.unfollowed++;
		return;
	}
	if (sampling_stacks_hold(&s->stacks, i, block) < 0) {
		(void)following_drop(s->following, block, NULL);
		s->tally->out_of_memory = true;
		return;
	}
	put_alloc(s, i, block, words->head, now_ns);
}

/* In a function that passes on, or malloc itself: is its caller watched? Then the block is seen there. */
static bool seen_elsewhere(struct sampling *s, struct sampling_site *site, taddr caller)
{
	uint32_t at = caller ? sampling_sites_find_at(&s->sites, caller) : SAMPLING_NONE;
	bool known = at != SAMPLING_NONE && s->sites.all[at].number != SAMPLING_NONE && s->sites.all[at].role != SAMPLING_TRIAL;

	site->unknown += !known;
	return known;
}

static int walk(struct sampling *s, const struct record_hit *hit, uint32_t *number)
{
	return s->tally->stack_of(s->tally->stack_ctx, hit, &s->planting->link->shared->sites[hit->head.site], 0, NULL, number);
}

/* A jump may lead behind the call, too: with a block that is there for long. */
static bool is_old(const struct sampling *s, uint32_t site, uint32_t i, taddr block)
{
	return s->sites.all[site].joined && sampling_stacks_holds(&s->stacks, i, block);
}

static int take(struct sampling *s, uint32_t site, const struct record_hit *hit, taddr block, const struct sampling_words *words)
{
	uint64_t now_ns = hit->head.time_ns;
	uint32_t number, i, known = s->stacks.n;
	taddr caller;
	int r = walk(s, hit, &number);

	if (r < 0)
		return r;
	caller = caller_of(s, number, s->sites.all[site].function != 0);
	if (s->sites.all[site].role == SAMPLING_INNER && seen_elsewhere(s, &s->sites.all[site], caller)) {
		(void)following_taken(s->following, block, now_ns);
		return 0;
	}
	sampling_parents_saw(&s->parents, site, caller, now_ns);
	if (hit->head.flags & RECORD_HELD)
		r = sampling_parents_held(&s->parents, site, hit, block, chunkstate_size(words->head), caller);
	if (r == 0)
		r = sampling_stacks_find(&s->stacks, number, site, &i);
	if (r < 0 || is_old(s, site, i, block))
		return r;
	s->sites.all[site].nstacks += s->stacks.n > known;
	sampling_stacks_see(&s->stacks, i, chunkstate_size(words->head), now_ns);
	follow(s, i, block, words, now_ns);
	return 0;
}

static void count(struct sampling *s, struct sampling_site *site)
{
	uint32_t probe = s->probes[s->targets.all[site->target].rule];

	if (probe != NO_PROBE)
		s->planting->probes[probe].hits++;
	site->records++;
	s->tally->events++;
}

void sampling_hit(struct sampling *s, const struct record_hit *hit)
{
	struct sampling_site *site = sampling_sites_at(&s->sites, hit->head.site);
	struct sampling_words words;
	taddr block;

	/* a vfork child's own, or of a module that has gone */
	if (!site || !hit->regs.rax)
		return;
	s->records++;
	if (site->role == SAMPLING_TRIAL) {
		sampling_parents_came(&s->parents, site - s->sites.all, hit);
		return;
	}
	count(s, site);
	block = hit->regs.rax - s->targets.all[site->target].delta;
	if (read_words(s, site, hit, block, &words))
		s->tally->out_of_memory |= take(s, site - s->sites.all, hit, block, &words) == -ENOMEM;
	else
		s->tally->unread_sizes++;
}

void sampling_thread_end(struct sampling *s, uint32_t tid)
{
	sampling_parents_thread_end(&s->parents, tid);
}

/* --- as time goes on --- */

/* What was seen inside of the function is seen at its callers from now on: it would be told twice. */
static void forget_inside(struct sampling *s, taddr function, uint64_t now_ns)
{
	for (uint32_t i = 0; i < s->stacks.n; i++) {
		taddr addr;

		if (s->sites.all[s->stacks.all[i].site].function != function)
			continue;
		while (sampling_stacks_clear(&s->stacks, i, &addr))
			put_forget(s, &s->stacks.all[i], addr, now_ns);
	}
}

static void tick(struct sampling *s, uint64_t now_ns)
{
	uint32_t target;
	taddr function;

	while (sampling_parents_decide(&s->parents, now_ns, &function, &target)) {
		forget_inside(s, function, now_ns);
		s->tally->out_of_memory |= find_callers(s, target) == -ENOMEM;
	}
	/* the traps of trials that began */
	if (s->planting->nwaiting)
		(void)!planting_plant(s->planting);
	s->next_tick_ns = now_ns + TICK_NS;
}

static void decide(struct sampling *s, uint64_t now_ns)
{
	sampling_stacks_survey(&s->stacks, now_ns);
	sampling_rounds_decide(&s->rounds, &s->sites, &s->stacks, atomic_load(&s->planting->link->shared->spent_ns), s->records);
	s->next_decide_ns = now_ns + DECIDE_NS;
}

static void tell(struct sampling *s, uint64_t now_ns, bool all)
{
	sampling_stacks_survey(&s->stacks, now_ns);
	sampling_facts_stacks(s->recorder, &s->sites, &s->stacks, now_ns, all);
	sampling_facts_budget(s->recorder, &s->sites, &s->rounds, s->planting->link->shared, now_ns);
	s->next_tell_ns = now_ns + TELL_NS;
}

void sampling_tell(struct sampling *s, uint64_t now_ns)
{
	tell(s, now_ns, false);
}

uint64_t sampling_poll(struct sampling *s, uint64_t now_ns)
{
	uint64_t next;

	if (now_ns >= following_next_ns(s->following))
		following_poll(s->following, now_ns);
	if (now_ns >= s->next_tick_ns)
		tick(s, now_ns);
	if (now_ns >= s->next_decide_ns)
		decide(s, now_ns);
	if (now_ns >= s->next_tell_ns)
		sampling_tell(s, now_ns);
	sampling_parents_hold(&s->parents, now_ns);
	next = following_next_ns(s->following);
	return next < s->next_tick_ns ? next : s->next_tick_ns;
}

void sampling_end(struct sampling *s, uint64_t now_ns)
{
	following_end(s->following, now_ns);
	tell(s, now_ns, true);
	sampling_facts_notes(s->recorder, &s->sites, &s->stacks, now_ns);
}
