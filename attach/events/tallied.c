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
	bool allocates = rule_allocates(x->rule) || x->rule->op == RULE_REF || x->rule->op == RULE_PROTECT;

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
	const struct tally_frames which = { .skip = x->rule->skip + (x->probe->kind == PLAN_WRAPPER) };

	t->unread_tags += unread;
	if (t->stack_of(t->stack_ctx, x->hit, x->site, &which, tag, number) == 0)
		return true;
	t->out_of_memory = true;
	return false;
}

bool tallied_caller_counts(struct tally *t, uint32_t stack)
{
	return scope_has_caller(t->scope, &t->recorder->ledger, stack);
}

/* --- blocks --- */

bool tallied_is_live(const struct tally *t, const struct tallied *x, taddr addr, struct live_block *b)
{
	return ledger_holds(&t->recorder->ledger, x->family, addr, b);
}

void tallied_put_free(struct tally *t, const struct tallied *x, taddr addr, uint32_t stack)
{
	const struct fact f = {
		.kind = stack == FACT_NONE ? MMT_FREE : MMT_FREE_AT, .time_us = tallied_time(t, x),
		.block = { .addr = addr, .stack = stack == FACT_NONE ? 0 : stack - 1 },
	};

	tallied_put(t, x, &f);
}

void tallied_forget(struct tally *t, const struct tallied *x, taddr addr)
{
	const struct fact f = { .kind = MMT_FORGET, .time_us = tallied_time(t, x), .block = {
		.addr = addr },
	};

	released_remove(t->released, tallied_key(x, addr));
	if (tallied_is_live(t, x, addr, NULL))
		tallied_put(t, x, &f);
	tallied_put_outside(t, x, addr);
}

uint32_t tallied_freeing_stack(struct tally *t, const struct tallied *x)
{
	uint32_t stack;

	if (!t->planting->free_stacks || !t->counting || !tallied_stack(t, x, &stack))
		return FACT_NONE;
	return stack + 1;
}

/* What released_by says of a block that was freed with its pool: no number of a stack. */
#define WITH_POOL UINT32_MAX

void tallied_remember_gone(struct tally *t, const struct tallied *x, taddr addr)
{
	released_put(t->released, tallied_key(x, addr), &(struct released_by){ WITH_POOL, FACT_NONE });
}

void tallied_free_with_pool(struct tally *t, const struct tallied *x, taddr addr, uint32_t by)
{
	if (!tallied_is_live(t, x, addr, NULL))
		(void)tallied_take_outside(t, x, addr);
	else if (t->counting)
		tallied_put_free(t, x, addr, by);
	else
		tallied_forget(t, x, addr);
	tallied_remember_gone(t, x, addr);
}

bool tallied_sees_allocs(const struct tally *t, const struct tallied *x)
{
	const bool *unseen = t->planting->unseen_allocs;

	return !unseen || !unseen[x->family];
}

enum tallied_before tallied_freed_before(const struct tally *t, const struct tallied *x, taddr addr,
					 struct released_by *by)
{
	if (!released_get(t->released, tallied_key(x, addr), by))
		return FREED_NOT;
	if (by->stack == WITH_POOL)
		return FREED_WITH_POOL;
	/* it was stored before an allocation of the family was missed for the first time */
	return tallied_sees_allocs(t, x) ? FREED_BEFORE : FREED_NOT;
}

/* --- where the hit is --- */

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

#define CHUNK_LEAST 32u
#define USER_END (1ull << 47)

uint64_t tallied_freed_size(const struct tallied *x, uint32_t load, taddr addr)
{
	const uint64_t header = x->hit->loads[load], size = header & ~7ull;
	const bool there = !(x->hit->head.flags & RECORD_CLOSES) && load >= x->rule->loads.n &&
			   x->site->loads[load].base == SITE_BASE_ARG1 && x->hit->loads_read & 1u << load;

	if (!there || size % 16 || size < CHUNK_LEAST || size >= USER_END || addr + size >= USER_END)
		return 0;
	return chunk_usable(header);
}
