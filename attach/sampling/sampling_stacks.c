/* SPDX-License-Identifier: MIT */
#include "attach/sampling/sampling_stacks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/random.h"
#include "report/sampling/quantile.h"

#define GIVEN_MOST 200u		/* blocks of a stack in windows; then all counts are halved */
#define SOON_STEP 6u		/* blocks that are freed soon do not reach this step of age: a second */
#define MEAN_OFF 8u		/* bytes: the blocks of a stack need not be of one size */

void sampling_stacks_init(struct sampling_stacks *s, struct block_poll *poll, uint64_t begin_ns)
{
	*s = (struct sampling_stacks){ .poll = poll, .begin_ns = begin_ns, .random = begin_ns | 1 };
	addrmap_init(&s->by_number, sizeof(uint32_t));
}

void sampling_stacks_fini(struct sampling_stacks *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->all[i].held);
	free(s->all);
	free(s->others);
	addrmap_fini(&s->by_number);
}

/* --- stacks --- */

static struct sampling_stack *grow(struct sampling_stacks *s)
{
	return grow_for(&s->all, s->n, &s->room, sizeof(*s->all)) < 0 ? NULL : &s->all[s->n];
}

int sampling_stacks_find(struct sampling_stacks *s, uint32_t number, uint32_t site, uint32_t *i)
{
	const uint32_t *known = addrmap_get(&s->by_number, number);
	struct sampling_stack *stack;
	int r;

	if (known) {
		*i = *known;
		return 0;
	}
	if (s->n >= SAMPLING_STACKS) {
		s->stacks_without_room++;
		return -ENOSPC;
	}
	*i = s->n;
	stack = grow(s);
	r = stack ? addrmap_put(&s->by_number, number, i) : -ENOMEM;
	if (r < 0)
		return r;
	*stack = (struct sampling_stack){ .number = number, .site = site };
	s->n++;
	return 0;
}

void sampling_stacks_see(struct sampling_stacks *s, uint32_t i, uint64_t usable_bytes, uint64_t now_ns)
{
	s->all[i].seen++;
	s->all[i].usable_bytes += usable_bytes;
	sampling_spans_add(&s->all[i].when, now_ns > s->begin_ns ? now_ns - s->begin_ns : 0, 1);
	s->all[i].changed = true;
}

bool sampling_stacks_holds(const struct sampling_stacks *s, uint32_t i, taddr addr)
{
	for (uint32_t k = 0; k < s->all[i].nheld; k++)
		if (s->all[i].held[k] == addr)
			return true;
	return false;
}

/* --- blocks --- */

static void let_go(struct sampling_stack *stack, uint32_t k)
{
	stack->held[k] = stack->held[--stack->nheld];
}

static double age_s(const struct tracked *b, uint64_t now_ns)
{
	return now_ns > b->birth_ns ? (double)(now_ns - b->birth_ns) / 1e9 : 0;
}

static void drop(struct sampling_stacks *s, struct sampling_stack *stack, uint32_t k)
{
	struct tracked b;

	if (block_poll_drop(s->poll, stack->held[k], &b))
		survival_count(stack->ended, age_s(&b, b.seen_ns), SURVIVAL_STILL);
	let_go(stack, k);
}

bool sampling_stacks_wants(struct sampling_stacks *s, uint32_t i, taddr *instead)
{
	struct sampling_stack *stack = &s->all[i];
	uint64_t k;

	*instead = 0;
	if (stack->nheld < SAMPLING_TRACKED)
		return true;
	k = random_below(&s->random, stack->seen);
	if (k >= SAMPLING_TRACKED)
		return false;
	*instead = stack->held[k];
	drop(s, stack, k);
	return true;
}

int sampling_stacks_hold(struct sampling_stacks *s, uint32_t i, taddr addr)
{
	struct sampling_stack *stack = &s->all[i];

	if (stack->nheld == stack->held_room) {
		uint32_t room = stack->held_room ? 2 * stack->held_room : 4;
		taddr *grown = reallocarray(stack->held, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		stack->held = grown;
		stack->held_room = room;
	}
	stack->held[stack->nheld++] = addr;
	return 0;
}

void sampling_stacks_over(struct sampling_stacks *s, const struct tracked *b, enum fate fate, uint64_t now_ns)
{
	struct sampling_stack *stack = &s->all[b->stack];
	/*
	 * it was freed at some time between the last look at which it was live and the first at which it was
	 * not
	 */
	uint64_t end_ns = fate == FATE_SAME
				  ? b->seen_ns
				  : b->seen_ns + ((b->ended_ns ? b->ended_ns : now_ns) - b->seen_ns) / 2;

	survival_count(stack->ended, age_s(b, end_ns),
		       fate == FATE_GONE   ? SURVIVAL_GONE
		       : fate == FATE_SAME ? SURVIVAL_STILL
					   : SURVIVAL_LOST);
	stack->gone += fate == FATE_GONE;
	stack->searched += fate == FATE_SAME && b->searched;
	stack->lost += fate == FATE_SAME && b->lost;
	stack->unsure += fate == FATE_SAME && b->unsure;
	stack->unjudged += fate == FATE_SAME && !b->searched && !b->unsure;
	stack->changed = true;
	for (uint32_t k = 0; k < stack->nheld; k++) {
		if (stack->held[k] != b->addr)
			continue;
		let_go(stack, k);
		return;
	}
}

bool sampling_stacks_clear(struct sampling_stacks *s, uint32_t i, taddr *addr)
{
	struct sampling_stack *stack = &s->all[i];

	stack->changed = true;
	if (stack->nheld) {
		*addr = stack->held[0];
		drop(s, stack, 0);
		return true;
	}
	stack->seen = stack->usable_bytes = stack->gone = 0;
	stack->given = stack->again = 0;
	stack->searched = stack->lost = stack->unsure = stack->unjudged = 0;
	stack->old = 0;
	stack->when = (struct sampling_spans){ 0 };
	memset(stack->ended, 0, sizeof(stack->ended));
	memset(stack->now, 0, sizeof(stack->now));
	return false;
}

/* --- windows --- */

/* What was seen long ago counts less: a stack whose blocks were freed at first may leak later. */
void sampling_stacks_given(struct sampling_stacks *s, uint32_t i)
{
	struct sampling_stack *stack = &s->all[i];

	if (stack->given == GIVEN_MOST) {
		stack->given /= 2;
		stack->again /= 2;
	}
	stack->given++;
}

void sampling_stacks_again(struct sampling_stacks *s, uint32_t i)
{
	struct sampling_stack *stack = &s->all[i];

	/* the block may have been seen before the stack was cleared */
	if (stack->again < stack->given)
		stack->again++;
}

static void add_up(const struct sampling_stack *stack, struct survival_step out[SURVIVAL_STEPS])
{
	for (unsigned i = 0; i < SURVIVAL_STEPS; i++)
		out[i] = (struct survival_step){
			.at_risk = stack->ended[i].at_risk + stack->now[i].at_risk,
			.gone = stack->ended[i].gone + stack->now[i].gone,
			.unknown = stack->ended[i].unknown + stack->now[i].unknown,
		};
}

/*
 * Are more blocks of that stack freed soon than were among those that are tracked, by more than chance explains
 * (Newcombe's interval of 95 %, of the difference of two shares)? What is not known of these counts as freed; and
 * blocks that are younger do not count.
 */
static bool is_handed_on(const struct sampling_stack *stack)
{
	struct survival_step steps[SURVIVAL_STEPS];
	double gone = 0, tracked, least, most, unused, more;

	if (stack->given < SURVIVAL_ENOUGH)
		return false;
	add_up(stack, steps);
	for (unsigned i = 0; i < SOON_STEP; i++)
		gone += (double)(steps[i].gone + steps[i].unknown);
	tracked = gone + (double)steps[SOON_STEP].at_risk;
	if (tracked <= 0)
		return false;
	more = (double)stack->again / stack->given - gone / tracked;
	quantile_share(stack->again, stack->given, &least, &unused);
	quantile_share(gone, tracked, &unused, &most);
	return more > hypot((double)stack->again / stack->given - least, most - gone / tracked);
}

/* --- all of them --- */

void sampling_stacks_survey(struct sampling_stacks *s)
{
	for (size_t i = 0; i < s->n; i++) {
		memset(s->all[i].now, 0, sizeof(s->all[i].now));
		s->all[i].old = 0;
	}
	for (size_t k = 0; k < block_poll_count(s->poll); k++) {
		struct sampling_stack *stack;
		struct tracked b;

		block_poll_get(s->poll, k, &b);
		stack = &s->all[b.stack];
		survival_count(stack->now, age_s(&b, b.seen_ns), SURVIVAL_STILL);
		stack->old += b.seen_ns - b.birth_ns >= SAMPLING_OLD_NS;
		stack->changed = true;
	}
	for (size_t i = 0; i < s->n; i++) {
		struct sampling_stack *stack = &s->all[i];
		const bool handed_on = is_handed_on(stack);

		stack->changed |= handed_on != stack->handed_on;
		stack->handed_on = handed_on;
		stack->old = handed_on ? 0 : stack->old;
	}
}

void sampling_stacks_lost_sizes(struct sampling_stacks *s, const uint64_t *sizes, size_t n)
{
	s->nlost_sizes = n < SAMPLING_LOST_SIZES ? (uint32_t)n : SAMPLING_LOST_SIZES;
	memcpy(s->lost_sizes, sizes, s->nlost_sizes * sizeof(*sizes));
}

/* Are its blocks, on average, about as large? */
bool sampling_stacks_may_lose(const struct sampling_stacks *s, const struct sampling_stack *stack)
{
	const uint64_t mean = stack->seen ? stack->usable_bytes / stack->seen : 0;

	for (uint32_t i = 0; i < s->nlost_sizes; i++)
		if (mean <= s->lost_sizes[i] + MEAN_OFF && mean + MEAN_OFF >= s->lost_sizes[i])
			return true;
	return false;
}

/* The same stack may be known by several numbers. */
static void add_losing(struct fact_losing *to, const struct fact_losing *its)
{
	to->seen += its->seen;
	to->lost += its->lost;
	to->over_us = its->over_us;
	to->blocks += its->blocks;
	to->least += its->least;
	to->most += its->most;
	to->bytes += its->bytes;
}

static struct sampling_other *other_of(struct sampling_stacks *s, uint32_t family, uint32_t number)
{
	for (size_t i = 0; i < s->nothers; i++)
		if (s->others[i].number == number)
			return &s->others[i];
	if (grow_for(&s->others, s->nothers, &s->others_room, sizeof(*s->others)) < 0)
		return NULL;
	s->others[s->nothers] = (struct sampling_other){ .family = family, .number = number };
	return &s->others[s->nothers++];
}

int sampling_stacks_losing(struct sampling_stacks *s, uint32_t family, uint32_t number,
			   const struct fact_losing *its)
{
	const uint32_t *known = addrmap_get(&s->by_number, number);
	struct sampling_other *other;

	if (known) {
		add_losing(&s->all[*known].losing, its);
		s->all[*known].changed = true;
		return 0;
	}
	/* that it was seen says nothing more, if none is lost */
	other = its->lost ? other_of(s, family, number) : NULL;
	if (other)
		add_losing(&other->its, its);
	return its->lost && !other ? -ENOMEM : 0;
}

void sampling_stacks_steps(const struct sampling_stack *stack, struct survival_step out[SURVIVAL_STEPS])
{
	add_up(stack, out);
	if (!stack->handed_on)
		return;
	out[SOON_STEP].unknown = out[SOON_STEP].at_risk - out[SOON_STEP].gone;
	memset(&out[SOON_STEP + 1], 0, (SURVIVAL_STEPS - SOON_STEP - 1) * sizeof(*out));
}
