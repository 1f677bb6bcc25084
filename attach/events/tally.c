/* SPDX-License-Identifier: MIT */
/* tally: see tally.h. Here: the function of a hit, whether it is in scope, and the part that handles it. */
#include "attach/events/tally.h"

#include <inttypes.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/events/tally_blocks.h"
#include "attach/events/tally_pools.h"
#include "attach/events/tally_ranges.h"
#include "attach/events/tally_refs.h"

#define RELEASED_BYTES (64u << 20)

int tally_init(struct tally *t, struct planting *planting, struct recorder *recorder, struct scope *scope,
	       tally_stack_of *stack_of, void *stack_ctx)
{
	*t = (struct tally){
		.planting = planting, .recorder = recorder, .scope = scope, .stack_of = stack_of,
		.stack_ctx = stack_ctx,
		.counting = true,
	};
	addrmap_init(&t->reallocs, sizeof(struct realloc_open));
	addrmap_init(&t->outside, 0);
	addrmap_init(&t->forwarded, sizeof(struct forwarded_free));
	pools_init(&t->pools);
	addrmap_init(&t->moves, sizeof(struct range_move));
	for (size_t i = 0; i < LEDGER_FAMILIES_MAX; i++)
		ranges_init(&t->ranges[i]);
	suspect_frees_init(&t->suspects);
	for (size_t i = 0; i < planting->nrules; i++)
		if (planting->rules[i].op == RULE_FROM)
			t->counting = false;
	return released_new(RELEASED_BYTES, &t->released);
}

static void moves_fini(struct addrmap *moves)
{
	uint64_t key;
	void *move;

	for (size_t i = 0; addrmap_next(moves, &i, &key, &move);)
		range_move_fini(move);
	addrmap_fini(moves);
}

void tally_fini(struct tally *t)
{
	released_free(t->released);
	addrmap_fini(&t->reallocs);
	addrmap_fini(&t->outside);
	addrmap_fini(&t->forwarded);
	pools_fini(&t->pools);
	moves_fini(&t->moves);
	for (size_t i = 0; i < LEDGER_FAMILIES_MAX; i++)
		ranges_fini(&t->ranges[i]);
	suspect_frees_fini(&t->suspects);
}

/* --- one hit --- */

/* The function that was called. */
static uint32_t probe_of(const struct tally *t, const struct record_hit *hit, const struct site *s)
{
	const struct planting *pl = t->planting;
	uint32_t wrapper;

	if (hit->head.flags & RECORD_CLOSES)
		return pl->sites[hit->outer_site].probe;
	if (hit->head.flags & RECORD_STATIC) {
		wrapper = planting_wrapper_at(pl, tallied_caller(hit, s), s->family);
		if (wrapper != NO_PROBE)
			return wrapper;
	}
	return pl->sites[hit->head.site].probe;
}

/* A vfork child shares the target's memory, but not its descriptors. */
static bool is_private(const struct tally *t, const struct tallied *x)
{
	return !rule_is_scope(x->rule) && t->planting->set->families[x->family].private;
}

static bool is_of_ranges(const struct tally *t, const struct tallied *x)
{
	return !rule_is_scope(x->rule) && t->planting->set->families[x->family].ranges;
}

static void find_scope(struct tally *t, const struct record_hit *hit, struct tallied *x)
{
	enum scope_answer answer = SCOPE_NO;

	if (t->counting && !(hit->head.flags & RECORD_OUTSIDE))
		answer = scope_has_thread(t->scope, hit->head.tid, hit->head.time_ns);
	x->in_scope = answer == SCOPE_YES;
	x->unknown = answer == SCOPE_UNKNOWN;
}

static void tally_by_rule(struct tally *t, const struct tallied *x)
{
	switch (x->rule->op) {
	case RULE_ALLOC:
	case RULE_POOL:
		tally_alloc(t, x);
		break;
	case RULE_REALLOC:
		tally_realloc(t, x);
		break;
	case RULE_FREE:
		tally_free(t, x);
		break;
	case RULE_RESET:
		tally_reset(t, x);
		break;
	case RULE_MOVE:
		tally_move(t, x);
		break;
	case RULE_REF:
	case RULE_UNREF:
		tally_ref(t, x);
		break;
	case RULE_FROM:
		tally_pools_settle(t);
		t->counting = true;
		break;
	case RULE_UNTIL:
		tally_pools_settle(t);
		t->counting = false;
		break;
	case RULE_IN:
		break; /* the keeper marks hits outside (RECORD_OUTSIDE) */
	case RULE_PROTECT:
		break; /* only for ranges */
	}
}

void tally_hit(struct tally *t, const struct record_hit *hit)
{
	const struct site *s = &t->planting->link->shared->sites[hit->head.site];
	/* the values read are those for the site that opened the call, or else for the site that was hit */
	const struct site_info *wanted = &t->planting->sites[hit->outer_site];
	uint32_t i = probe_of(t, hit, s);
	struct tallied x = { .hit = hit, .site = s, .chunk = wanted->chunk };

	if (i == NO_PROBE)
		return;
	x.probe = &t->planting->probes[i];
	x.rule = x.probe->rule;
	x.family = x.rule->family;
	find_scope(t, hit, &x);
	if (hit->head.flags & RECORD_GUEST && is_private(t, &x))
		return;
	rule_values_read(hit, s, x.rule, wanted->probe == i, &x.values);
	if (x.rule->op != RULE_FREE)
		tally_settle_suspects(t, hit->head.tid, SUSPECTS_REAL);
	if (hit->head.flags & RECORD_UNOPENED)
		tally_unopened(t, &x);
	else if (is_of_ranges(t, &x))
		tally_range(t, &x);
	else
		tally_by_rule(t, &x);
	tally_pools_work(t, &x);
	t->out_of_memory |= t->scope->out_of_memory;
}

void tally_thread_end(struct tally *t, uint32_t tid)
{
	struct range_move move;

	for (uint64_t family = 0; family < LEDGER_FAMILIES_MAX; family++) {
		if (addrmap_del(&t->moves, family << 32 | tid, &move))
			range_move_fini(&move);
		addrmap_del(&t->reallocs, family << 32 | tid, NULL);
		addrmap_del(&t->forwarded, family << 32 | tid, NULL);
	}
	scope_thread_end(t->scope, tid);
	tally_settle_suspects(t, tid, SUSPECTS_ITS_OWN);
}

/* Among what was lost may be the end of their threads, and another thread has the number of one that has ended. */
static void settle_all_suspects(struct tally *t)
{
	uint32_t tid;

	while (suspect_frees_any(&t->suspects, &tid))
		tally_settle_suspects(t, tid, SUSPECTS_UNKNOWN);
}

void tally_gap(struct tally *t)
{
	settle_all_suspects(t);
	/* the address of a pool that is condemned may be that of a new one, which was not seen */
	tally_pools_settle(t);
	released_clear(t->released);
	t->lossy = true;
	t->unsure_us = t->recorder->ledger.now_us;
}

#define AT_ONCE 4096
/* a thread whose last hits may be the frees of its end is given so long to end */
#define ENDING_NS 300000000
#define ENDING_LOOKS 30

bool tally_idle(struct tally *t)
{
	return tally_pools_idle(t, AT_ONCE);
}

void tally_settle(struct tally *t)
{
	tally_pools_settle(t);
}

static bool has_ended(const struct tally *t, uint32_t tid)
{
	return t->pid && syscall(SYS_tgkill, t->pid, (pid_t)tid, 0) < 0;
}

/* Of the threads that have freed blocks again, how many are still there; the first one does not free its cache. */
static uint32_t count_there(const struct tally *t)
{
	uint32_t tid, n = 0;

	for (size_t i = 0; suspect_frees_next_again(&t->suspects, &i, &tid);)
		n += tid != (uint32_t)t->pid && !has_ended(t, tid);
	return n;
}

/*
 * What such a thread freed last may be its cache, or a block of the program's for the second time. If it ends right
 * after the watch, nothing tells which.
 */
static void note_ended(struct tally *t, uint32_t n)
{
	if (n)
		recorder_note(t->recorder, t->recorder->ledger.now_us,
			      "%" PRIu32 " thread%s ended right after the watch, and what %s freed last is not counted: if a "
			      "block was freed twice then, that is not known",
			      n, n == 1 ? "" : "s", n == 1 ? "it" : "they");
}

void tally_await_ends(struct tally *t)
{
	const struct timespec pause = { 0, ENDING_NS / ENDING_LOOKS };
	const uint32_t before = t->pid ? count_there(t) : 0;
	uint32_t left = before;

	for (unsigned i = 0; left && i < ENDING_LOOKS; i++) {
		nanosleep(&pause, NULL);
		left = count_there(t);
	}
	note_ended(t, before - left);
}

void tally_end(struct tally *t)
{
	uint32_t tid;

	tally_settle(t);
	while (suspect_frees_any(&t->suspects, &tid))
		tally_settle_suspects(t, tid, has_ended(t, tid) ? SUSPECTS_ITS_OWN : SUSPECTS_REAL);
}
