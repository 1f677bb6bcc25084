/* SPDX-License-Identifier: MIT */
/*
 * sampling_hits: what follows from a hit: which block it is about (a wrapper may return an address inside
 * it), which stack allocated it, and whether it is tracked from now on.
 *
 *	a site of a trial	sampling_parents
 *	inside a wrapper	if its caller is watched, the block is seen there. Else it counts here
 *	where malloc returns	the same; and is it an address that was given out just before?
 *	any other		it counts for its stack, of whose blocks a fair sample is tracked
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "attach/events/tally.h"
#include "attach/sampling/sampling_facts.h"
#include "attach/sampling/sampling_parts.h"

/*
 * What is to be known of the block that the site's function has just returned as @result.
 * false: it is none. The trap has read words at
 * another offset if it was planted before it was known that the wrapper puts a header of its own in front
 * of the block.
 */
static bool describe(struct sampling *s, const struct sampling_site *site, const struct record_hit *hit,
		     taddr result, struct block_birth *out)
{
	const uint32_t delta = s->targets.all[site->target].delta;
	const taddr block = result - delta;
	struct block_hit what = { .addr = block, .inside = delta ? result : 0 };
	struct iovec here = { &what.head, sizeof(what.head) },
		     there = { (void *)(uintptr_t)(block - 8), sizeof(what.head) };

	if (site->delta != delta) {
		what.has_head = process_vm_readv(s->pid, &here, 1, &there, 1, 0) == sizeof(what.head);
	} else {
		what.has_head = hit->loads_read & 1u << SITE_CHUNK;
		what.head = hit->loads[SITE_CHUNK];
		what.has_words = (hit->loads_read & 3) == 3;
		memcpy(what.words, hit->loads, sizeof(what.words));
	}
	return sampling_heaps_born(&s->heaps, &what, out);
}

taddr sampling_caller(const struct sampling *s, const struct sampling_site *site, uint32_t number)
{
	const struct defs *d = &s->recorder->ledger.defs;
	/* the first frame is the wrapper's, if it is known where that begins (walk) */
	const uint32_t skip = (site->function != 0) + (sampling_targets_wrapper(&s->targets, site->target) != 0);
	uint32_t frames[3];

	if (defs_path(d, defs_stack(d, number), frames, skip + 1) <= skip || defs_is_script(d, frames[skip]))
		return 0;
	return d->frames[frames[skip]].pc;
}

static void note_caller(const struct sampling *s, struct sampling_site *site, uint32_t number, taddr caller)
{
	const struct defs *d = &s->recorder->ledger.defs;
	uint32_t stack = defs_stack(d, number);

	site->has_caller |= caller != 0;
	site->is_cut |= !caller && stack != DEFS_NONE && d->stacks[stack].end == MMT_END_CUT;
}

static void put_alloc(struct sampling *s, uint32_t i, const struct block_birth *birth, uint64_t now_ns)
{
	struct fact f = {
		.kind = MMT_ALLOC,
		.block = { .addr = birth->addr, .size = birth->usable,
			   .stack = s->stacks.all[i].number },
	};

	sampling_facts_block(s->recorder, &s->sites, &s->stacks.all[i], &f, now_ns);
}

/* Track this block, if it belongs to the sample of its stack and there is room. */
static void track(struct sampling *s, uint32_t i, const struct block_birth *birth, uint64_t now_ns)
{
	taddr instead;

	if (!sampling_stacks_wants(&s->stacks, i, &instead)) {
		(void)block_poll_taken(s->poll, birth->addr, now_ns);
		return;
	}
	if (instead)
		sampling_facts_forget(s->recorder, &s->sites, &s->stacks.all[i], instead, now_ns);
	if (block_poll_add(s->poll, birth, i, now_ns) < 0) {
		s->stacks.blocks_without_room++;
		return;
	}
	if (sampling_stacks_hold(&s->stacks, i, birth->addr) < 0) {
		(void)block_poll_drop(s->poll, birth->addr, NULL);
		s->tally->out_of_memory = true;
		return;
	}
	put_alloc(s, i, birth, now_ns);
}

bool sampling_sees_caller(const struct sampling *s, taddr caller)
{
	const uint32_t at = caller ? sampling_sites_find_at(&s->sites, caller) : SAMPLING_NONE;

	return at != SAMPLING_NONE && s->sites.all[at].number != SAMPLING_NONE &&
	       s->sites.all[at].role != SAMPLING_TRIAL;
}

/* A hit in a wrapper, or in malloc itself: is the block seen at @caller? */
static bool seen_at_caller(struct sampling *s, struct sampling_site *site, taddr caller)
{
	const bool known = sampling_sees_caller(s, caller);

	site->unknown += !known;
	return known;
}

/* A wrapper that was called there is part of the stack, as with a trap on malloc, though it has returned. */
static int walk(struct sampling *s, const struct sampling_site *site, const struct record_hit *hit, uint32_t *number)
{
	const struct tally_frames which = { .returned = sampling_targets_wrapper(&s->targets, site->target) };

	return s->tally->stack_of(s->tally->stack_ctx, hit, &s->planting->link->shared->sites[hit->head.site],
				  &which, NULL, number);
}

/* If a jump leads to the site, too, the result may be a block that was allocated long ago. */
static bool is_old(const struct sampling *s, uint32_t site, uint32_t i, taddr block)
{
	return s->sites.all[site].joined && sampling_stacks_holds(&s->stacks, i, block);
}

static uint32_t leaf_of(const struct defs *d, uint32_t number)
{
	const uint32_t stack = defs_stack(d, number);

	return stack == DEFS_NONE ? DEFS_NONE : d->stacks[stack].node;
}

/* The stack is the first that is seen at that site with these callers: windows find it by them. */
static int learn_path(struct sampling *s, const struct sampling_site *site, uint32_t number, uint32_t i)
{
	const struct defs *d = &s->recorder->ledger.defs;
	uint32_t node = leaf_of(d, number);

	while (node != DEFS_NONE && d->frames[d->nodes[node].frame].pc != site->addr)
		node = d->nodes[node].caller;
	if (node == DEFS_NONE)
		return 0;
	return sampling_again_learn(&s->again, site - s->sites.all, d->nodes[node].caller, i);
}

/*
 * Where malloc itself returned: the stack of the site at which the block will be seen, up through wrappers.
 * SAMPLING_NONE: there was none with these callers so far.
 */
static uint32_t stack_above(const struct sampling *s, uint32_t number)
{
	const struct defs *d = &s->recorder->ledger.defs;
	uint32_t node = leaf_of(d, number);

	for (unsigned level = 0; node != DEFS_NONE && level <= SAMPLING_LEVELS; level++) {
		const uint32_t at = sampling_sites_find_at(&s->sites, d->frames[d->nodes[node].frame].pc);

		node = d->nodes[node].caller;
		if (at == SAMPLING_NONE)
			break;
		if (s->sites.all[at].role == SAMPLING_TAKES)
			return sampling_again_stack(&s->again, at, node);
	}
	return SAMPLING_NONE;
}

uint32_t sampling_known_as(const struct sampling *s, uint32_t number)
{
	const uint32_t i = stack_above(s, number);

	return i == SAMPLING_NONE ? number : s->stacks.all[i].number;
}

/* A window, in which stack number @i (or SAMPLING_NONE) got this block: was it another's just before? */
static void see_again(struct sampling *s, const struct sampling_site *site, const struct record_hit *hit,
		      const struct block_birth *birth, uint32_t i)
{
	uint32_t freed;

	/* it may have left its block where it was */
	if (s->planting->rules[s->targets.all[site->target].rule].op == RULE_REALLOC)
		return;
	freed = sampling_again_see(&s->again, birth->addr, site->target, i, hit->head.time_ns);
	if (freed != SAMPLING_NONE)
		sampling_stacks_again(&s->stacks, freed);
	if (i != SAMPLING_NONE)
		sampling_stacks_given(&s->stacks, i);
}

static int take(struct sampling *s, uint32_t site, const struct record_hit *hit,
		const struct block_birth *birth)
{
	uint64_t now_ns = hit->head.time_ns;
	uint32_t number, i, known = s->stacks.n;
	taddr caller;
	int r = walk(s, &s->sites.all[site], hit, &number);

	if (r < 0)
		return r;
	caller = sampling_caller(s, &s->sites.all[site], number);
	note_caller(s, &s->sites.all[site], number, caller);
	if (s->sites.all[site].role == SAMPLING_INNER && seen_at_caller(s, &s->sites.all[site], caller)) {
		(void)block_poll_taken(s->poll, birth->addr, now_ns);
		if (sampling_sites_is_exit(&s->sites.all[site]))
			see_again(s, &s->sites.all[site], hit, birth, stack_above(s, number));
		return 0;
	}
	/* while modules move, no trap can be planted */
	r = sampling_parents_site_hit(&s->parents, site, hit, birth,
				      shared_modules_move(s->planting->link->shared) ? 0 : caller);
	if (r == 0)
		r = sampling_stacks_find(&s->stacks, number, site, &i);
	if (r < 0 || is_old(s, site, i, birth->addr))
		return r;
	s->sites.all[site].nstacks += s->stacks.n > known;
	if (sampling_sites_is_exit(&s->sites.all[site]))
		see_again(s, &s->sites.all[site], hit, birth, i);
	else if (s->stacks.n > known)
		r = learn_path(s, &s->sites.all[site], number, i);
	sampling_stacks_see(&s->stacks, i, birth->usable, now_ns);
	track(s, i, birth, now_ns);
	return r;
}

static void count(struct sampling *s, struct sampling_site *site)
{
	uint32_t probe = s->probes[s->targets.all[site->target].rule];

	if (probe != NO_PROBE)
		s->planting->probes[probe].hits++;
	site->records++;
	s->tally->events++;
}

static bool was_probed(const struct sampling *s, uint64_t at_ns)
{
	return s->probed_ns[0] && at_ns >= s->probed_ns[0] && (s->probed || at_ns <= s->probed_ns[1]);
}

void sampling_hit(struct sampling *s, const struct record_hit *hit)
{
	struct sampling_site *site = sampling_sites_at(&s->sites, hit->head.site);
	struct block_birth birth;

	/* a vfork child's own site, or one of a module that is gone */
	if (!site)
		return;
	site->passes++;
	if (!hit->regs.rax)
		return;
	/* its caller is not on the stack, but the kernel's trampoline */
	if (sampling_sites_is_exit(site) && was_probed(s, hit->head.time_ns)) {
		(void)block_poll_taken(s->poll, hit->regs.rax, hit->head.time_ns);
		return;
	}
	if (site->role == SAMPLING_TRIAL) {
		s->tally->out_of_memory |=
			sampling_parents_trial_hit(&s->parents, site - s->sites.all, hit) == -ENOMEM;
		return;
	}
	count(s, site);
	if (describe(s, site, hit, hit->regs.rax, &birth))
		s->tally->out_of_memory |= take(s, site - s->sites.all, hit, &birth) == -ENOMEM;
	else
		s->tally->unread_sizes++;
}
