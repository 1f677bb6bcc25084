/* SPDX-License-Identifier: MIT */
#include "attach/tally.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>


void tally_init(struct tally *t, struct planting *planting, tally_stack_of *stack_of, void *stack_ctx)
{
	*t = (struct tally){
		.planting = planting, .stack_of = stack_of, .stack_ctx = stack_ctx, .counting = true,
	};
	live_init(&t->live);
	addrmap_init(&t->aside, sizeof(struct aside));
	doubts_init(&t->doubts);
	for (size_t i = 0; i < planting->nrules; i++)
		if (planting->rules[i].op == RULE_FROM)
			t->counting = false;
}

void tally_fini(struct tally *t)
{
	live_fini(&t->live);
	addrmap_fini(&t->aside);
	doubts_fini(&t->doubts);
}

/* --- reading a hit --- */

static uint64_t argument(const struct record_hit *hit, int n)
{
	return n >= 1 && n <= 6 ? hit->args[n - 1] : 0;
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
	bool args = hit->head.flags & RECORD_CLOSES;

	if (args && t->planting->options.exact_sizes && r->size.kind == VALUE_ARG)
		return argument(hit, r->size.a);
	if (args && t->planting->options.exact_sizes && r->size.kind == VALUE_PRODUCT)
		return argument(hit, r->size.a) * argument(hit, r->size.b);
	if (chunk && (hit->aux_read & 1))
		return chunk_usable(hit->aux[0]);
	if (args && r->size.kind == VALUE_ARG)
		return argument(hit, r->size.a);
	if (args && r->size.kind == VALUE_PRODUCT)
		return argument(hit, r->size.a) * argument(hit, r->size.b);
	t->unread_sizes++;
	return 0;
}

/* --- what it does --- */

static void count(struct tally *t, struct probe *p)
{
	p->hits++;
	t->events++;
}

static void add_block(struct tally *t, const struct record_hit *hit, const struct probe *p, bool chunk, taddr ptr,
		      const struct site *s)
{
	uint32_t stack;

	if (!(s->flags & SITE_AFTER) && hit->slice_len < sizeof(taddr))
		t->unread_callers++;
	/* a wrapper was called by whoever wanted the block, and called the function that was hit */
	if (t->stack_of(t->stack_ctx, hit, s, p->kind == PLAN_WRAPPER, &stack) < 0 ||
	    live_alloc(&t->live, ptr, block_size(t, hit, p->rule, chunk), stack, hit->head.time_ns) < 0)
		t->out_of_memory = true;
}

static void on_alloc(struct tally *t, const struct record_hit *hit, struct probe *p, const struct site *s, bool chunk)
{
	const struct rule *r = p->rule;
	taddr ptr = result(hit, s);

	if (hit->head.flags & RECORD_OPENS)
		return;
	if (r->ptr.kind == VALUE_LOAD && p->kind != PLAN_WRAPPER) {
		/* the result is a status; the block's address was read from where the caller wants it */
		if (r->if_ret_zero && (uint32_t)ptr != 0)
			ptr = 0;
		else
			ptr = hit->aux_read & 1 ? hit->aux[0] : 0;
		chunk = false;
	}
	if (!t->counting) {
		if (ptr)
			live_forget(&t->live, ptr);
		return;
	}
	if (!ptr)
		return;
	count(t, p);
	add_block(t, hit, p, chunk, ptr, s);
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
			live_released(&t->live, &d.all[i], true);
		else if (d.all[i].was == ASIDE_UNKNOWN)
			live_forget(&t->live, d.all[i].addr);
	}
	if (ended) {
		t->planting->probes[d.probe].hits -= d.n;
		t->events -= d.n;
	}
	doubtful_fini(&d);
}

static void release(struct tally *t, const struct record_hit *hit, taddr ptr, uint32_t probe)
{
	struct aside a;

	live_set_aside(&t->live, ptr, &a);
	if (!t->counting)
		return;
	if (a.was == ASIDE_HELD) {
		settle_doubts(t, hit->head.tid, false);
		live_released(&t->live, &a, true);
	} else if (doubts_add(&t->doubts, hit->head.tid, &a, probe) < 0) {
		t->out_of_memory = true;
	}
}

static void on_free(struct tally *t, const struct record_hit *hit, struct probe *p)
{
	taddr ptr = argument(hit, p->rule->ptr.kind == VALUE_ARG ? p->rule->ptr.a : 1);

	if (!ptr)
		return;
	if (t->counting)
		count(t, p);
	release(t, hit, ptr, p - t->planting->probes);
}

static taddr realloc_old(const struct record_hit *hit, const struct rule *r)
{
	return argument(hit, r->old.kind == VALUE_ARG ? r->old.a : 1);
}

static void realloc_opens(struct tally *t, const struct record_hit *hit, const struct rule *r)
{
	taddr old = realloc_old(hit, r);
	struct aside a;

	if (!old)
		return;
	live_set_aside(&t->live, old, &a);
	if (addrmap_put(&t->aside, hit->head.tid, &a) < 0)
		t->out_of_memory = true;
}

static void end_aside(struct tally *t, const struct record_hit *hit, taddr old, bool released)
{
	struct aside a;

	if (!addrmap_del(&t->aside, hit->head.tid, &a) || a.addr != old)
		live_set_aside(&t->live, old, &a); /* its beginning was lost */
	if (released)
		live_released(&t->live, &a, t->counting);
	else
		live_put_back(&t->live, &a);
}

static void realloc_closes(struct tally *t, const struct record_hit *hit, struct probe *p, const struct site *s,
			   bool chunk)
{
	taddr old = realloc_old(hit, p->rule), ptr = result(hit, s);
	bool to_nothing = p->rule->size.kind == VALUE_ARG && argument(hit, p->rule->size.a) == 0;

	if (t->counting && (ptr || (old && to_nothing)))
		count(t, p);
	if (old)
		end_aside(t, hit, old, ptr || to_nothing);
	if (ptr && t->counting)
		add_block(t, hit, p, chunk, ptr, s);
	else if (ptr)
		live_forget(&t->live, ptr);
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
		on_free(t, hit, p);
		break;
	case RULE_FROM:
		t->counting = true;
		break;
	case RULE_UNTIL:
		t->counting = false;
		break;
	}
}

void tally_thread_end(struct tally *t, uint32_t tid)
{
	addrmap_del(&t->aside, tid, NULL);
	settle_doubts(t, tid, true);
}

void tally_end(struct tally *t)
{
	uint32_t tid;

	while (doubts_any(&t->doubts, &tid))
		settle_doubts(t, tid, t->pid && syscall(SYS_tgkill, t->pid, (pid_t)tid, 0) < 0);
}
