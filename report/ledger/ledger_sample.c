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
	s->all[s->n++] = (struct ledger_sample){ .family = family, .stack = stack };
	return 0;
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

const struct fact_sample *ledger_sample(const struct ledger *l, uint32_t family, uint32_t stack)
{
	const size_t *at = addrmap_get(&l->samples.index, key_of(family, stack));

	return at ? &l->samples.all[*at].its : NULL;
}

bool ledger_is_sampled(const struct ledger *l)
{
	return l->run.mode && strcmp(l->run.mode, "sampled") == 0;
}
