/* SPDX-License-Identifier: MIT */
/*
 * copies_adopt: the watch of a copy has begun. It has planned the copy by itself, so its sites have other
 * numbers than those of the keeper that has forked it, and a few may be others: the traps are given its
 * numbers, by their addresses. What is recorded already has the old ones: the slot's map says which are
 * which.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/keeper/copies/copies.h"
#include "attach/keeper/procfs.h"

static bool any_steps(struct keeper *k)
{
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t))
		if (t->stepping != NO_TRAP || t->state == TRACEE_HELD)
			return true;
	return false;
}

static bool is_same(const struct trap *t, const struct site *s)
{
	const uint8_t n = t->site.nbytes < s->nbytes ? t->site.nbytes : s->nbytes;

	return (t->state == TRAP_PLANTED || t->state == TRAP_LIFTED) && t->site.flags == s->flags &&
	       t->site.family == s->family && t->site.rule == s->rule && !memcmp(t->site.bytes, s->bytes, n);
}

/* The traps that the watch has planned, too, with its numbers, in @to. */
static void take_wanted(struct keeper *k, struct traps *to, uint32_t nsites)
{
	struct shared *sh = k->shared;

	for (uint32_t i = 0; i < nsites; i++) {
		const uint32_t old = trap_find(&k->traps, sh->sites[i].addr);

		sh->plant_result[i] = -EAGAIN;
		if (old == NO_TRAP || k->slot->map[old] != SLOT_NO_SITE ||
		    !is_same(&k->traps.all[old], &sh->sites[i]) ||
		    trap_adopt(to, i, &k->traps.all[old].site) < 0)
			continue;
		/* it may be in padding already, where the old one has it */
		sh->sites[i] = k->traps.all[old].site;
		to->all[i] = k->traps.all[old];
		k->slot->map[old] = (uint16_t)i;
		sh->plant_result[i] = 0;
	}
}

/* Those that it does not want. */
static void lift_rest(struct keeper *k, struct traps *to)
{
	for (uint32_t i = 0; i < k->traps.bound; i++) {
		if (k->slot->map[i] != SLOT_NO_SITE)
			continue;
		if (trap_lift(&k->traps, k->mem, i) < 0)
			atomic_fetch_add(&k->shared->end.unlifted, 1);
		trap_keep_gone(to, &k->traps.all[i]);
	}
}

static void renumber_threads(struct keeper *k)
{
	for (struct tracee *t = threads_first(&k->threads); t; t = threads_next(&k->threads, t)) {
		calls_renumber(&k->calls, &t->calls, k->slot->map, SLOT_NO_SITE);
		t->redo = t->redo == NO_TRAP || k->slot->map[t->redo] == SLOT_NO_SITE ? NO_TRAP
										     : k->slot->map[t->redo];
	}
}

/* One that the parent planted while it forked is perhaps not there. */
static void plant_missing(struct keeper *k)
{
	for (uint32_t i = 0; i < k->traps.bound; i++)
		if (trap_is_lost(&k->traps, k->mem, i))
			k->shared->plant_result[i] = trap_replant(&k->traps, k->mem, i);
}

int64_t copies_adopt(struct keeper *k, pid_t watch, uint32_t nsites)
{
	struct traps *to = k->first ? &k->first->rooms[SLOTS].traps : NULL;

	if (!k->slot || k->adopter || nsites > SHARED_SITES)
		return -EINVAL;
	if (any_steps(k))
		return -EAGAIN;
	k->adopter_fd = (int)syscall(SYS_pidfd_open, watch, 0);
	if (k->adopter_fd < 0)
		return -errno;
	if (k->traps.maps <= 0)
		k->traps.maps = procfs_open_maps(k->target);
	memset(k->slot->map, 0xff, sizeof(k->slot->map));
	trap_empty(to, &k->traps);
	take_wanted(k, to, nsites);
	lift_rest(k, to);
	trap_copy_table(&k->traps, to);
	renumber_threads(k);
	plant_missing(k);
	k->slot->mapped_until = atomic_load(&k->shared->ring.head);
	k->adopter = k->controller = watch;
	k->reader.unread = stall_timer_begin(k->now_ns);
	atomic_store(&k->slot->state, SLOT_ADOPTED);
	return 0;
}
