/* SPDX-License-Identifier: MIT */
#include "attach/tally.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RELEASED_BYTES (64u << 20)
#define FAMILY 0	/* all rules of a watch are one family */

/* The old block of a realloc under way. */
struct realloc_open {
	taddr addr;
	uint32_t alloc;			/* who had got it: number + 1 or FACT_NONE */
	struct released_by before;
	enum { REALLOC_HELD, REALLOC_OLD, REALLOC_RELEASED } was;
};

int tally_init(struct tally *t, struct planting *planting, struct recorder *recorder, tally_stack_of *stack_of,
	       void *stack_ctx)
{
	*t = (struct tally){
		.planting = planting, .recorder = recorder, .stack_of = stack_of, .stack_ctx = stack_ctx,
		.counting = true,
	};
	addrmap_init(&t->reallocs, sizeof(struct realloc_open));
	doubts_init(&t->doubts);
	for (size_t i = 0; i < planting->nrules; i++)
		if (planting->rules[i].op == RULE_FROM)
			t->counting = false;
	return released_new(RELEASED_BYTES, &t->released);
}

void tally_fini(struct tally *t)
{
	released_free(t->released);
	addrmap_fini(&t->reallocs);
	doubts_fini(&t->doubts);
}

/* --- facts --- */

static uint64_t time_of(const struct tally *t, const struct record_hit *hit)
{
	return recorder_time(t->recorder, hit->head.time_ns);
}

static void put_alloc(struct tally *t, const struct record_hit *hit, taddr addr, uint64_t size, uint32_t stack)
{
	const struct fact f = {
		.kind = MMT_ALLOC, .time_us = time_of(t, hit), .block = { .addr = addr, .size = size, .stack = stack },
	};

	released_remove(t->released, addr);
	recorder_put(t->recorder, &f);
}

/* @stack: number + 1 or FACT_NONE. */
static void put_free(struct tally *t, const struct record_hit *hit, taddr addr, uint32_t stack)
{
	const struct fact f = {
		.kind = stack == FACT_NONE ? MMT_FREE : MMT_FREE_AT, .time_us = time_of(t, hit),
		.block = { .addr = addr, .stack = stack == FACT_NONE ? 0 : stack - 1 },
	};

	recorder_put(t->recorder, &f);
}

static void put_doubt(struct tally *t, const struct doubt *d)
{
	const struct fact f = {
		.kind = d->again ? MMT_TWICE : MMT_OLD, .time_us = d->time_us,
		.block = { .addr = d->addr, .stack = d->stack, .first = d->before.stack, .alloc = d->before.alloc },
	};

	recorder_put(t->recorder, &f);
}

static void put_aside(struct tally *t, const struct record_hit *hit, uint32_t kind, taddr addr, uint32_t stack)
{
	const struct fact f = {
		.kind = kind, .time_us = time_of(t, hit), .block = { .addr = addr, .key = hit->head.tid, .stack = stack },
	};

	recorder_put(t->recorder, &f);
}

/* It was given out again, but that is not to be counted: what we knew of the address is over. */
static void forget(struct tally *t, const struct record_hit *hit, taddr addr)
{
	const struct fact f = { .kind = MMT_FORGET, .time_us = time_of(t, hit), .block = { .addr = addr } };

	released_remove(t->released, addr);
	if (ledger_holds(&t->recorder->ledger, FAMILY, addr, NULL))
		recorder_put(t->recorder, &f);
}

/* --- reading a hit --- */

/* What an expression over the arguments gives. */
static bool value(const struct record_hit *hit, const struct rule *r, const struct expr *e, uint64_t *out)
{
	struct expr_values v = { 0 };

	memcpy(v.args, hit->args, sizeof(v.args));
	return expr_eval(e, &r->loads, &v, out);
}

static uint64_t result(const struct record_hit *hit, const struct site *s)
{
	struct user_regs_struct regs = hit->regs;

	return *emu_reg_slot(&regs, s->result);
}

/* The first word of the slice is the return address, at an exit; behind a return the caller is where we are. */
static taddr caller(const struct record_hit *hit, const struct site *s)
{
	taddr ret;

	if (s->flags & SITE_AFTER)
		return hit->regs.rip;
	if (hit->slice_len < sizeof(ret))
		return 0;
	memcpy(&ret, hit->slice, sizeof(ret));
	return ret;
}

/* glibc: the word before the block, its low bits flags; a mapped chunk has one word less for the user. */
static uint64_t chunk_usable(uint64_t header)
{
	uint64_t size = header & ~7ull, overhead = header & 2 ? 16 : 8;

	return size > overhead ? size - overhead : 0;
}

static uint64_t block_size(struct tally *t, const struct record_hit *hit, const struct rule *r, bool chunk)
{
	uint64_t size = 0;
	bool asked = (hit->head.flags & RECORD_CLOSES) && value(hit, r, &r->size, &size);

	if (chunk && (hit->aux_read & 1) && !(asked && t->planting->options.exact_sizes))
		return chunk_usable(hit->aux[0]);
	t->unread_sizes += !asked;
	return size;
}

/* --- what it does --- */

static void count(struct tally *t, struct probe *p)
{
	p->hits++;
	t->events++;
}

static void add_block(struct tally *t, const struct record_hit *hit, const struct probe *p, bool chunk, taddr ptr,
		      const struct site *s, uint32_t *stack)
{
	if (!(s->flags & SITE_AFTER) && hit->slice_len < sizeof(taddr))
		t->unread_callers++;
	/* a wrapper was called by whoever wanted the block, and called the function that was hit */
	if (t->stack_of(t->stack_ctx, hit, s, p->kind == PLAN_WRAPPER, stack) < 0)
		t->out_of_memory = true;
	else
		put_alloc(t, hit, ptr, block_size(t, hit, p->rule, chunk), *stack);
}

static void on_alloc(struct tally *t, const struct record_hit *hit, struct probe *p, const struct site *s, bool chunk)
{
	const struct rule *r = p->rule;
	taddr ptr = result(hit, s);
	uint32_t stack;

	if (hit->head.flags & RECORD_OPENS)
		return;
	if (expr_is_load(&r->ptr) && p->kind != PLAN_WRAPPER) {
		/* the result is a status; the block's address was read from where the caller wants it */
		if (r->own_condition && (uint32_t)ptr != 0)
			ptr = 0;
		else
			ptr = hit->aux_read & 1 ? hit->aux[0] : 0;
		chunk = false;
	}
	if (!ptr)
		return;
	if (!t->counting) {
		forget(t, hit, ptr);
		return;
	}
	count(t, p);
	add_block(t, hit, p, chunk, ptr, s, &stack);
}

/* --- releases that may be the allocator's own --- */

static void settle_doubts(struct tally *t, uint32_t tid, bool ended)
{
	struct doubtful d;

	if (!doubts_take(&t->doubts, tid, &d))
		return;
	ended &= (pid_t)tid != t->pid;
	for (size_t i = 0; i < d.n; i++) {
		if (!ended)
			put_doubt(t, &d.all[i]);
		else if (!d.all[i].again)
			released_remove(t->released, d.all[i].addr);
	}
	if (ended) {
		t->planting->probes[d.probe].hits -= d.n;
		t->events -= d.n;
	}
	doubtful_fini(&d);
}

/* Who releases: number + 1, or FACT_NONE if that is not wanted. */
static uint32_t releaser(struct tally *t, const struct record_hit *hit, const struct site *s)
{
	uint32_t stack;

	if (!t->planting->free_stacks || !t->counting)
		return FACT_NONE;
	if (t->stack_of(t->stack_ctx, hit, s, false, &stack) < 0) {
		t->out_of_memory = true;
		return FACT_NONE;
	}
	return stack + 1;
}

static void release_held(struct tally *t, const struct record_hit *hit, taddr ptr, uint32_t by, uint32_t alloc)
{
	if (t->counting) {
		settle_doubts(t, hit->head.tid, false);
		put_free(t, hit, ptr, by);
	} else {
		forget(t, hit, ptr);
	}
	released_put(t->released, ptr, &(struct released_by){ by, alloc });
}

static void release_other(struct tally *t, const struct record_hit *hit, taddr ptr, uint32_t by, uint32_t probe)
{
	struct doubt d = { .addr = ptr, .time_us = time_of(t, hit), .stack = by };

	d.again = released_get(t->released, ptr, &d.before);
	if (!d.again)
		released_put(t->released, ptr, &(struct released_by){ by, FACT_NONE });
	if (t->counting && doubts_add(&t->doubts, hit->head.tid, &d, probe) < 0)
		t->out_of_memory = true;
}

static void on_free(struct tally *t, const struct record_hit *hit, struct probe *p, const struct site *s)
{
	struct live_block b;
	taddr ptr = 0;
	uint32_t by;

	if (!value(hit, p->rule, &p->rule->ptr, &ptr) || !ptr)
		return;
	if (t->counting)
		count(t, p);
	by = releaser(t, hit, s);
	if (ledger_holds(&t->recorder->ledger, FAMILY, ptr, &b))
		release_held(t, hit, ptr, by, b.stack + 1);
	else
		release_other(t, hit, ptr, by, p - t->planting->probes);
}

static taddr realloc_old(const struct record_hit *hit, const struct rule *r)
{
	taddr old = 0;

	return value(hit, r, &r->old, &old) ? old : 0;
}

static void look_up_old(struct tally *t, taddr old, struct realloc_open *o)
{
	struct live_block b;

	*o = (struct realloc_open){ .addr = old, .was = REALLOC_OLD };
	if (ledger_holds(&t->recorder->ledger, FAMILY, old, &b)) {
		o->was = REALLOC_HELD;
		o->alloc = b.stack + 1;
	} else if (released_get(t->released, old, &o->before)) {
		o->was = REALLOC_RELEASED;
	}
}

/* While it lasts, the old block is nobody's: who releases it meanwhile releases it twice. */
static void realloc_opens(struct tally *t, const struct record_hit *hit, const struct rule *r)
{
	taddr old = realloc_old(hit, r);
	struct realloc_open o;

	if (!old)
		return;
	look_up_old(t, old, &o);
	if (o.was == REALLOC_HELD)
		put_aside(t, hit, MMT_ASIDE, old, FACT_NONE);
	if (o.was != REALLOC_RELEASED)
		released_put(t->released, old, &(struct released_by){ FACT_NONE, o.alloc });
	if (addrmap_put(&t->reallocs, hit->head.tid, &o) < 0)
		t->out_of_memory = true;
}

static void realloc_failed(struct tally *t, const struct record_hit *hit, const struct realloc_open *o)
{
	if (o->was == REALLOC_HELD)
		put_aside(t, hit, MMT_ASIDE_BACK, o->addr, FACT_NONE);
	if (o->was != REALLOC_RELEASED)
		released_remove(t->released, o->addr);
}

/* @by: number + 1 or FACT_NONE. */
static void realloc_released(struct tally *t, const struct record_hit *hit, const struct realloc_open *o, uint32_t by)
{
	const struct doubt d = {
		.addr = o->addr, .time_us = time_of(t, hit), .stack = by, .again = o->was == REALLOC_RELEASED,
		.before = o->before,
	};
	struct released_by first;

	/* unless the address has been given out again meanwhile */
	if (o->was != REALLOC_RELEASED && released_get(t->released, o->addr, &first))
		released_put(t->released, o->addr, &(struct released_by){ by, o->alloc });
	if (!t->counting)
		return; /* it stays aside for good */
	if (o->was == REALLOC_HELD)
		put_aside(t, hit, MMT_ASIDE_FREED, o->addr, by);
	else
		put_doubt(t, &d);
}

static void end_realloc(struct tally *t, const struct record_hit *hit, taddr old, bool released, uint32_t by)
{
	struct realloc_open o;

	if (!addrmap_del(&t->reallocs, hit->head.tid, &o) || o.addr != old) {
		/* its beginning was lost */
		if (!released)
			return;
		look_up_old(t, old, &o);
		if (o.was == REALLOC_HELD) {
			release_held(t, hit, old, by, o.alloc);
			return;
		}
	}
	if (released)
		realloc_released(t, hit, &o, by);
	else
		realloc_failed(t, hit, &o);
}

static void realloc_closes(struct tally *t, const struct record_hit *hit, struct probe *p, const struct site *s,
			   bool chunk)
{
	taddr old = realloc_old(hit, p->rule), ptr = result(hit, s);
	uint64_t size;
	bool to_nothing = value(hit, p->rule, &p->rule->size, &size) && size == 0;

	if (t->counting && (ptr || (old && to_nothing)))
		count(t, p);
	if (old)
		end_realloc(t, hit, old, ptr || to_nothing, ptr || to_nothing ? releaser(t, hit, s) : FACT_NONE);
	if (ptr && t->counting)
		add_block(t, hit, p, chunk, ptr, s, &(uint32_t){ 0 });
	else if (ptr)
		forget(t, hit, ptr);
}

static void on_realloc(struct tally *t, const struct record_hit *hit, struct probe *p, const struct site *s, bool chunk)
{
	if (hit->head.flags & RECORD_OPENS)
		realloc_opens(t, hit, p->rule);
	else if (hit->head.flags & RECORD_CLOSES)
		realloc_closes(t, hit, p, s, chunk);
	else
		on_alloc(t, hit, p, s, chunk); /* it was under way when we came: the old block is older than us */
}

/* Which function this was a call of. */
static uint32_t probe_of(const struct tally *t, const struct record_hit *hit, const struct site *s)
{
	const struct planting *pl = t->planting;
	uint32_t wrapper;

	if (hit->head.flags & RECORD_CLOSES)
		return pl->sites[hit->outer_site].probe;
	if (hit->head.flags & RECORD_STATIC) {
		wrapper = planting_wrapper_at(pl, caller(hit, s));
		if (wrapper != NO_PROBE)
			return wrapper;
	}
	return pl->sites[hit->head.site].probe;
}

void tally_hit(struct tally *t, const struct record_hit *hit)
{
	const struct site *s = &t->planting->link->shared->sites[hit->head.site];
	bool chunk = t->planting->sites[hit->head.site].chunk;
	uint32_t i = probe_of(t, hit, s);
	struct probe *p;

	if (i == NO_PROBE)
		return;
	p = &t->planting->probes[i];
	if (p->rule->op != RULE_FREE)
		settle_doubts(t, hit->head.tid, false);
	switch (p->rule->op) {
	case RULE_ALLOC:
		on_alloc(t, hit, p, s, chunk);
		break;
	case RULE_REALLOC:
		on_realloc(t, hit, p, s, chunk);
		break;
	case RULE_FREE:
		on_free(t, hit, p, s);
		break;
	case RULE_FROM:
		t->counting = true;
		break;
	case RULE_UNTIL:
		t->counting = false;
		break;
	default:
		break;
	}
}

void tally_thread_end(struct tally *t, uint32_t tid)
{
	addrmap_del(&t->reallocs, tid, NULL);
	settle_doubts(t, tid, true);
}

void tally_gap(struct tally *t)
{
	released_clear(t->released);
}

void tally_end(struct tally *t)
{
	uint32_t tid;

	while (doubts_any(&t->doubts, &tid))
		settle_doubts(t, tid, t->pid && syscall(SYS_tgkill, t->pid, (pid_t)tid, 0) < 0);
}
