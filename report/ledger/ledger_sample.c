/* SPDX-License-Identifier: MIT */
#include "report/ledger/ledger_sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/ledger/ledger_parts.h"

void ledger_samples_init(struct ledger_samples *s)
{
	*s = (struct ledger_samples){ 0 };
	addrmap_init(&s->index, sizeof(size_t));
}

void ledger_samples_fini(struct ledger_samples *s)
{
	free(s->all);
	addrmap_fini(&s->index);
	*s = (struct ledger_samples){ 0 };
}

size_t ledger_samples_memory(const struct ledger_samples *s)
{
	return s->size * sizeof(*s->all) + addrmap_memory(&s->index);
}

static uint64_t key_of(uint32_t family, uint32_t stack)
{
	return (uint64_t)family << 32 | stack;
}

/* Returns its index in s->all in @at; made, if it is new. 0, -ENOMEM or -ENOSPC. */
static int find_or_add(struct ledger_samples *s, uint32_t family, uint32_t stack, size_t *at)
{
	const size_t *known = addrmap_get(&s->index, key_of(family, stack));

	*at = known ? *known : s->n;
	if (known)
		return 0;
	if (s->n >= LEDGER_SAMPLES_MAX)
		return -ENOSPC;
	if (grow_for(&s->all, s->n, &s->size, sizeof(*s->all)) < 0 ||
	    addrmap_put(&s->index, key_of(family, stack), at) < 0)
		return -ENOMEM;
	s->all[s->n] = (struct ledger_sample){ .family = family, .stack = stack, .last = s->n };
	s->n++;
	return 0;
}

/* At the end of the list of the same stack. */
static void append(struct ledger_samples *s, size_t first, size_t at)
{
	s->all[s->all[first].last].next = at + 1;
	s->all[first].last = at;
}

int ledger_add_sample(struct ledger *l, uint32_t family, uint32_t stack, uint32_t process,
		      const struct fact_sample *its)
{
	struct ledger_samples *s = &l->samples;
	const size_t *first = addrmap_get(&s->index, key_of(family, stack)), at = s->n;

	if (s->n >= LEDGER_SAMPLES_MERGED)
		return -ENOSPC;
	if (grow_for(&s->all, s->n, &s->size, sizeof(*s->all)) < 0)
		return -ENOMEM;
	s->all[s->n++] = (struct ledger_sample){
		.family = family, .stack = stack, .process = process, .last = at, .its = *its,
	};
	s->all[at].its.process = process + 1;
	if (first)
		append(s, *first, at);
	else if (addrmap_put(&s->index, key_of(family, stack), &at) < 0)
		return -ENOMEM;
	return ledger_place_now(l, family, stack) ? 0 : -ENOMEM;
}

static int take_merged(struct ledger *l, uint32_t stack, const struct fact_sample *its)
{
	const uint32_t *process = addrmap_get(&l->merged.process_index, its->process - 1);

	return process ? ledger_add_sample(l, l->family, stack, *process, its) : -EINVAL;
}

/*
 * A stack whose blocks were seen, but none of them tracked, gets a place, so that loops over places include
 * it.
 */
int ledger_take_sample(struct ledger *l, const struct fact *f)
{
	uint32_t stack = defs_stack(&l->defs, f->sample.stack);
	size_t at;
	int r;

	if (l->defs.families[l->family].refs)
		return -EINVAL;
	if (stack == DEFS_NONE) {
		l->undefined++;
		return 0;
	}
	if (f->sample.its->process)
		return take_merged(l, stack, f->sample.its);
	r = find_or_add(&l->samples, l->family, stack, &at);
	if (r < 0)
		return r;
	l->samples.all[at].its = *f->sample.its;
	return ledger_place_now(l, l->family, stack) ? 0 : -ENOMEM;
}

void ledger_take_budget(struct ledger *l, const struct fact_budget *budget)
{
	l->samples.budget = *budget;
	l->samples.has_budget = true;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void ledger_add_budget(struct ledger *l, const struct fact_budget *budget)
{
	struct fact_budget *b = &l->samples.budget;
	const struct fact_budget before = *b;

	*b = (struct fact_budget){
		.promise_ppm = larger(before.promise_ppm, budget->promise_ppm),
		.spent_us = before.spent_us + budget->spent_us, .wall_us = before.wall_us + budget->wall_us,
		.worst_ppm = larger(before.worst_ppm, budget->worst_ppm),
		.closed = before.closed + budget->closed, .closed_us = before.closed_us + budget->closed_us,
		.sites = before.sites + budget->sites, .sites_hit = before.sites_hit + budget->sites_hit,
		.sites_settled = before.sites_settled + budget->sites_settled,
		.candidates = before.candidates + budget->candidates, .unfound = before.unfound + budget->unfound,
		/* what each has lost in another time is no sum; of one run it stays */
		.loss = l->samples.has_budget ? (struct fact_loss){ 0 } : budget->loss,
	};
	l->samples.has_budget = true;
}

const struct ledger_sample *ledger_sample(const struct ledger *l, uint32_t family, uint32_t stack)
{
	const size_t *at = addrmap_get(&l->samples.index, key_of(family, stack));

	return at ? &l->samples.all[*at] : NULL;
}

const struct ledger_sample *ledger_sample_next(const struct ledger *l, const struct ledger_sample *s)
{
	return s->next ? &l->samples.all[s->next - 1] : NULL;
}

bool ledger_is_sampled(const struct ledger *l)
{
	return l->run.mode && strcmp(l->run.mode, "sampled") == 0;
}
