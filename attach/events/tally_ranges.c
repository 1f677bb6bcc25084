/* SPDX-License-Identifier: MIT */
#include "attach/events/tally_ranges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/grow.h"
#include "base/procmaps.h"

static struct ranges *ranges_of(struct tally *t, const struct tallied *x)
{
	return &t->ranges[x->family];
}

/* --- facts --- */

static void put(struct tally *t, const struct tallied *x, uint32_t kind, const struct range *r)
{
	const struct fact f = {
		.kind = kind, .time_us = tallied_time(t, x),
		.block = { .addr = r->lo, .size = r->hi - r->lo, .stack = r->stack, .birth_us = r->birth_us },
	};

	if (r->live)
		tallied_put(t, x, &f);
}

static void put_end(struct tally *t, const struct tallied *x, uint32_t kind, const struct range *r)
{
	const struct fact f = { .kind = kind, .time_us = tallied_time(t, x), .block = { .addr = r->lo } };

	if (r->live)
		tallied_put(t, x, &f);
}

/* [@lo, @hi) was removed from @was. @kind: the fact to record if nothing is left. */
static void put_cut(struct tally *t, const struct tallied *x, uint32_t kind, const struct range *was,
		    taddr lo, taddr hi)
{
	struct range left = *was;

	if (lo <= was->lo && hi >= was->hi) {
		put_end(t, x, kind, was);
		return;
	}
	put_end(t, x, MMT_FORGET, was);
	left.hi = lo;
	if (was->lo < lo)
		put(t, x, MMT_HELD, &left);
	left.lo = hi;
	left.hi = was->hi;
	if (was->hi > hi)
		put(t, x, MMT_HELD, &left);
}

/* --- the table --- */

static void note_error(struct tally *t, int r)
{
	t->out_of_memory |= r < 0;
}

/* The part of @r that lies in [@lo, @hi). */
static struct range part_of(const struct range *r, taddr lo, taddr hi)
{
	struct range part = *r;

	if (part.lo < lo)
		part.lo = lo;
	if (part.hi > hi)
		part.hi = hi;
	return part;
}

/* Nothing is in [@lo, @hi) any more. true: something live was. */
static bool clear(struct tally *t, const struct tallied *x, taddr lo, taddr hi, uint32_t kind)
{
	struct range was;
	bool any = false;
	int r;

	while ((r = ranges_remove(ranges_of(t, x), lo, hi, &was)) > 0) {
		put_cut(t, x, kind, &was, lo, hi);
		any |= was.live;
	}
	note_error(t, r);
	return any;
}

/* A new range. */
static void add(struct tally *t, const struct tallied *x, struct range *new)
{
	int r = new->lo < new->hi ? ranges_add(ranges_of(t, x), new) : -EINVAL;

	note_error(t, r == -ENOMEM ? r : 0);
	if (r == 0)
		put(t, x, MMT_ALLOC, new);
}

static void free_range(struct tally *t, const struct tallied *x, taddr lo, taddr hi)
{
	if (clear(t, x, lo, hi, t->counting ? MMT_FREE : MMT_FORGET) && t->counting)
		tallied_count(t, x);
}

/* Find the stack of @new: does it count? */
static bool is_wanted(struct tally *t, const struct tallied *x, struct range *new)
{
	new->birth_us = tallied_time(t, x);
	return x->in_scope && tallied_stack(t, x, &new->stack) && tallied_caller_counts(t, new->stack);
}

/* A new range that is out of scope. */
static void leave_out(struct tally *t, const struct tallied *x)
{
	t->left_out += t->counting && !x->unknown;
}

/* --- values of the call --- */

/* false: the call failed, the rule does not apply to it, or a value was not read (counted). */
static bool read_call(struct tally *t, const struct tallied *x, uint64_t *ptr, uint64_t *size)
{
	enum rule_values_holds holds = rule_values_hold(&x->values);

	if (holds == HOLDS_NOT)
		return false;
	if (holds == HOLDS && rule_values_get(&x->values, &x->rule->ptr, ptr) &&
	    rule_values_get(&x->values, &x->rule->size, size))
		return true;
	tallied_unread(t, x);
	return false;
}

/* Is the memory writable? If the rule has no expression for that, it is. */
static bool is_writable(const struct tallied *x)
{
	uint64_t prot;

	return !x->rule->prot.n || (rule_values_get(&x->values, &x->rule->prot, &prot) && prot & PROT_WRITE);
}

static void allocate(struct tally *t, const struct tallied *x)
{
	struct range new = { .live = is_writable(x) };
	uint64_t size;

	if (!read_call(t, x, &new.lo, &size))
		return;
	new.hi = new.lo + size;
	if ((int64_t)size <= 0) {
		free_range(t, x, new.hi, new.lo);
		return;
	}
	/* mapped over older ranges: those are gone */
	(void)clear(t, x, new.lo, new.hi, t->counting ? MMT_FREE : MMT_FORGET);
	if (new.live && !is_wanted(t, x, &new)) {
		leave_out(t, x);
		return;
	}
	add(t, x, &new);
	if (new.live)
		tallied_count(t, x);
}

static void release(struct tally *t, const struct tallied *x)
{
	uint64_t ptr, size;

	if (read_call(t, x, &ptr, &size) && (int64_t)size > 0)
		free_range(t, x, ptr, ptr + size);
}

static void protect(struct tally *t, const struct tallied *x)
{
	struct range was, new = { .live = is_writable(x) };
	uint64_t lo, size;
	bool any = false, wanted;

	if (!read_call(t, x, &lo, &size) || (int64_t)size <= 0)
		return;
	wanted = !new.live || is_wanted(t, x, &new);
	for (taddr at = lo; at < lo + size && ranges_first(ranges_of(t, x), at, lo + size, &was); at =
	     new.hi) {
		const struct range part = part_of(&was, lo, lo + size);

		new.lo = part.lo;
		new.hi = part.hi;
		if (was.live == new.live)
			continue;
		if (!wanted) {
			leave_out(t, x);
			return;
		}
		(void)clear(t, x, part.lo, part.hi, t->counting ? MMT_FREE : MMT_FORGET);
		add(t, x, &new);
		any = true;
	}
	if (any && (t->counting || new.live))
		tallied_count(t, x);
}

/* --- moving --- */

void range_move_fini(struct range_move *m)
{
	free(m->parts);
}

static uint64_t thread_key(const struct tallied *x)
{
	return (uint64_t)x->family << 32 | x->hit->head.tid;
}

static int add_part(struct range_move *m, struct range part)
{
	struct range *slot = grow_by_one(&m->parts, m->n, sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*slot = part;
	m->n++;
	return 0;
}

/* The old range is put aside, part by part. */
static void move_opens(struct tally *t, const struct tallied *x)
{
	struct range_move m = { 0 };
	uint64_t was_size;
	struct range was;
	int r = 0;

	if (!rule_values_get(&x->values, &x->rule->old, &m.lo) ||
	    !rule_values_get(&x->values, &x->rule->was, &was_size))
		return;
	m.hi = m.lo + was_size;
	while (r >= 0 && (r = ranges_remove(ranges_of(t, x), m.lo, m.hi, &was)) > 0) {
		put_cut(t, x, MMT_FORGET, &was, m.lo, m.hi);
		r = add_part(&m, part_of(&was, m.lo, m.hi));
		r = r < 0 ? r : 1;
	}
	if (r == 0)
		r = addrmap_put(&t->moves, thread_key(x), &m);
	note_error(t, r);
	if (r < 0)
		range_move_fini(&m);
}

/* What was put aside is at @to now, but only its first @size bytes. The rest has been freed. */
static void put_parts(struct tally *t, const struct tallied *x, const struct range_move *m, taddr to,
		      uint64_t size)
{
	for (size_t i = 0; i < m->n; i++) {
		struct range part = m->parts[i];
		int r;

		part.lo += to - m->lo;
		part.hi += to - m->lo;
		part = part_of(&part, to, to + size);
		if (part.lo >= part.hi)
			continue;
		r = ranges_add(ranges_of(t, x), &part);
		note_error(t, r == -ENOMEM ? r : 0);
		if (r == 0)
			put(t, x, MMT_HELD, &part);
	}
}

/* The range is at @to now, @size bytes long. What was added is new, and live if its last part was. */
static void moved(struct tally *t, const struct tallied *x, const struct range_move *m, taddr to,
		  uint64_t size)
{
	uint64_t old_size = m->hi - m->lo;
	struct range more = {
		.lo = to + old_size, .hi = to + size, .live = !m->n || m->parts[m->n - 1].live,
	};

	(void)clear(t, x, to, to + size, t->counting ? MMT_FREE : MMT_FORGET);
	put_parts(t, x, m, to, size);
	if (size <= old_size)
		return;
	if (more.live && !is_wanted(t, x, &more)) {
		leave_out(t, x);
		return;
	}
	add(t, x, &more);
	if (more.live)
		tallied_count(t, x);
}

static void move_closes(struct tally *t, const struct tallied *x)
{
	struct range_move m;
	uint64_t to, size;

	if (!addrmap_del(&t->moves, thread_key(x), &m)) {
		tallied_unread(t, x);
		return;
	}
	if (read_call(t, x, &to, &size))
		moved(t, x, &m, to, size);
	else
		put_parts(t, x, &m, m.lo, m.hi - m.lo);
	range_move_fini(&m);
}

/* --- all --- */

void tally_range(struct tally *t, const struct tallied *x)
{
	if (x->hit->head.flags & RECORD_OPENS) {
		if (x->rule->op == RULE_REALLOC)
			move_opens(t, x);
		return;
	}
	if (x->rule->op == RULE_REALLOC)
		move_closes(t, x);
	else if (x->rule->op == RULE_PROTECT)
		protect(t, x);
	else if (x->rule->op == RULE_FREE)
		release(t, x);
	else
		allocate(t, x);
}

static int add_reserved(struct tally *t, const struct procmaps *maps, struct ranges *ranges)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < maps->n; i++) {
		const struct mapping *m = &maps->maps[i];

		if (!m->ino && !*m->path && !(m->perms & (MAPPING_READ | MAPPING_WRITE | MAPPING_EXEC)))
			r = ranges_add(ranges, &(struct range){ .lo = m->lo, .hi = m->hi });
	}
	note_error(t, r);
	return r;
}

int tally_ranges_begin(struct tally *t, pid_t pid)
{
	const struct ruleset *set = t->planting->set;
	struct procmaps maps = PROCMAPS_INIT;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	r = procmaps_read(path, &maps);
	for (size_t i = 0; r == 0 && i < set->nfamilies; i++)
		if (set->families[i].ranges)
			r = add_reserved(t, &maps, &t->ranges[i]);
	procmaps_fini(&maps);
	return r;
}
