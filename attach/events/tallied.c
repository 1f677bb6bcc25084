/* SPDX-License-Identifier: MIT */
#include "attach/events/tallied.h"

#include <string.h>

uint64_t tallied_time(const struct tally *t, const struct tallied *x)
{
	return recorder_time(t->recorder, x->hit->head.time_ns);
}

void tallied_put(struct tally *t, const struct tallied *x, const struct fact *f)
{
	recorder_put_event(t->recorder, x->family, f);
}

void tallied_count(struct tally *t, const struct tallied *x)
{
	x->probe->hits++;
	t->events++;
}

void tallied_unread(struct tally *t, const struct tallied *x)
{
	bool allocates = x->rule->op != RULE_FREE && x->rule->op != RULE_UNREF;

	t->unread_values += allocates ? x->in_scope : t->counting;
}

taddr tallied_key(const struct tallied *x, taddr addr)
{
	return addr ^ (taddr)x->family << 48;
}

/*
 * Addresses are stored only while counting. A block from before that is an older one, as those from before
 * the watch, and after counting has ended none is looked up.
 */
void tallied_put_outside(struct tally *t, const struct tallied *x, taddr addr)
{
	if (t->counting && addrmap_put(&t->outside, tallied_key(x, addr), NULL) < 0)
		t->out_of_memory = true;
	else if (!t->counting)
		addrmap_del(&t->outside, tallied_key(x, addr), NULL);
	t->unread_threads += x->unknown;
}

bool tallied_take_outside(struct tally *t, const struct tallied *x, taddr addr)
{
	return addrmap_del(&t->outside, tallied_key(x, addr), NULL);
}

bool tallied_stack(struct tally *t, const struct tallied *x, uint32_t *number)
{
	const char *tag;
	char buf[RULE_VALUES_TAG];
	bool unread = rule_values_tag(&x->values, buf, &tag) == TAGGED_UNREAD;
	/* a wrapper called the function that was hit for its own caller: skip the wrapper's frame */
	uint32_t skip = x->rule->skip + (x->probe->kind == PLAN_WRAPPER);

	t->unread_tags += unread;
	if (t->stack_of(t->stack_ctx, x->hit, x->site, skip, tag, number) == 0)
		return true;
	t->out_of_memory = true;
	return false;
}

bool tallied_caller_counts(struct tally *t, uint32_t stack)
{
	return scope_has_caller(t->scope, &t->recorder->ledger, stack);
}

taddr tallied_caller(const struct record_hit *hit, const struct site *s)
{
	taddr ret;

	if (s->flags & (SITE_AFTER | SITE_BEHIND))
		return hit->regs.rip;
	if (hit->slice_len < sizeof(ret))
		return 0;
	memcpy(&ret, hit->slice, sizeof(ret));
	return ret;
}

/* --- the size of a block: from glibc's chunk header, or as it was requested --- */

/* The word before the block, its low bits flags; a mapped chunk has one word less for the user. */
static uint64_t chunk_usable(uint64_t header)
{
	uint64_t size = header & ~7ull, overhead = header & 2 ? 16 : 8;

	return size > overhead ? size - overhead : 0;
}

bool tallied_requested_size(const struct tallied *x, uint64_t *size)
{
	return x->rule->size.n && rule_values_get(&x->values, &x->rule->size, size);
}

/* Does the family consist of things that have no size, and are only counted? */
static bool is_counted(const struct tally *t, const struct tallied *x)
{
	return strcmp(t->planting->set->families[x->family].noun, "block") != 0;
}

uint64_t tallied_size(struct tally *t, const struct tallied *x)
{
	uint64_t size = 0;

	if (t->planting->options.exact_sizes && tallied_requested_size(x, &size))
		return size;
	if (x->chunk && x->hit->loads_read & 1u << SITE_CHUNK)
		return chunk_usable(x->hit->loads[SITE_CHUNK]);
	/* descriptors, threads: each counts 1 */
	if (!x->chunk && !x->rule->size.n)
		return is_counted(t, x);
	t->unread_sizes += !tallied_requested_size(x, &size);
	return size;
}
