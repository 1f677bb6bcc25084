/* SPDX-License-Identifier: MIT */
#include "attach/events/tally_blocks.h"

#include "attach/events/tally_pools.h"

/* One thread may be in a function of several families. */
static uint64_t thread_key(const struct tallied *x)
{
	return (uint64_t)x->family << 32 | x->hit->head.tid;
}

/*
 * Another free of it will be a double free, unless it is allocated in between, or this free may have been refused:
 * then the other one belongs to it, as that of a block that was freed with its pool does.
 */
static void remember_freed(struct tally *t, const struct tallied *x, taddr addr, const struct released_by *by)
{
	const struct rule_family *f = &t->planting->set->families[x->family];

	if (!t->settling && !f->refuses && tallied_sees_allocs(t, x))
		released_put(t->released, tallied_key(x, addr), by);
	else if (f->pools || f->refuses)
		tallied_remember_gone(t, x, addr);
}

/* --- facts --- */

static void put_alloc(struct tally *t, const struct tallied *x, taddr addr, uint64_t size, uint32_t stack)
{
	const struct fact f = {
		.kind = MMT_ALLOC, .time_us = tallied_time(t, x),
		.block = { .addr = addr, .size = size, .stack = stack },
	};

	released_remove(t->released, tallied_key(x, addr));
	(void)tallied_take_outside(t, x, addr);
	tallied_put(t, x, &f);
}

static uint64_t size_of_freed(const struct tally *t, const struct tallied *x, const struct suspect_free *d)
{
	if (d->size || x->probe->glibc || !t->freed_size)
		return d->size;
	return t->freed_size(t->freed_size_ctx, x->probe->module, d->addr);
}

static void put_older_size(struct tally *t, const struct tallied *x, const struct suspect_free *d)
{
	const uint64_t size = size_of_freed(t, x, d);
	const struct fact f = {
		.kind = MMT_INFO, .info = MMT_OLDER, .time_us = d->time_us,
		.place = { .size = size, .frees = 1, .bytes = size },
	};

	if (size)
		tallied_put(t, x, &f);
}

static void put_suspect(struct tally *t, const struct tallied *x, const struct suspect_free *d)
{
	const struct fact f = {
		.kind = d->again ? MMT_TWICE : MMT_OLD, .time_us = d->time_us,
		.block = {
			.addr = d->addr, .stack = d->stack, .first = d->before.stack,
			.alloc = d->before.alloc,
		},
	};

	tallied_put(t, x, &f);
	if (!d->again)
		put_older_size(t, x, d);
}

static void put_aside(struct tally *t, const struct tallied *x, uint32_t kind, taddr addr, uint32_t stack)
{
	const struct fact f = {
		.kind = kind, .time_us = tallied_time(t, x),
		.block = { .addr = addr, .key = thread_key(x), .stack = stack },
	};

	tallied_put(t, x, &f);
}

/* --- allocated blocks --- */

static void add_block(struct tally *t, const struct tallied *x, taddr ptr)
{
	uint32_t stack;

	if (!(x->site->flags & SITE_AFTER) && x->hit->slice_len < sizeof(taddr))
		t->unread_callers++;
	if (!tallied_stack(t, x, &stack))
		return;
	if (!tallied_caller_counts(t, stack)) {
		tallied_forget(t, x, ptr);
		return;
	}
	tallied_count(t, x);
	put_alloc(t, x, ptr, tallied_size(t, x), stack);
}

static bool pool_is_known(const struct tallied *x)
{
	uint64_t pool;

	return !x->rule->pool.n || rule_values_get(&x->values, &x->rule->pool, &pool);
}

/* A block may be there, at an address that may have been freed before. */
static void unread_block(struct tally *t, const struct tallied *x)
{
	tallied_unread(t, x);
	released_clear(t->released);
}

/* The block that the call allocated; false: none, or its address could not be read. */
static bool allocated_block(struct tally *t, const struct tallied *x, taddr *ptr)
{
	enum rule_values_holds holds;

	/* the hit is in the function that the wrapper calls: the wrapper's own result does not exist yet */
	if (x->probe->kind == PLAN_WRAPPER) {
		*ptr = rule_values_result(x->hit, x->site);
		return *ptr != 0;
	}
	holds = rule_values_hold(&x->values);
	if (holds == HOLDS_NOT)
		return false;
	if (holds == HOLDS_UNREAD || !rule_values_get(&x->values, &x->rule->ptr, ptr) || !pool_is_known(x)) {
		unread_block(t, x);
		return false;
	}
	/* 0 is not a block, unless the rule has its own condition for what counts: descriptors begin at 0 */
	return *ptr || x->rule->own_condition;
}

/* The second block of the same call. */
static bool second_block(struct tally *t, const struct tallied *x, taddr *ptr)
{
	if (!x->rule->also.n || x->probe->kind == PLAN_WRAPPER)
		return false;
	if (rule_values_get(&x->values, &x->rule->also, ptr))
		return true;
	unread_block(t, x);
	return false;
}

static void add_or_forget(struct tally *t, const struct tallied *x, taddr ptr)
{
	if (tally_pools_made(t, x, ptr) && x->in_scope)
		add_block(t, x, ptr);
	else
		tallied_forget(t, x, ptr);
}

void tally_alloc(struct tally *t, const struct tallied *x)
{
	taddr ptr;

	if (x->hit->head.flags & (RECORD_OPENS | RECORD_NO_BLOCK))
		return;
	if (!allocated_block(t, x, &ptr))
		return;
	add_or_forget(t, x, ptr);
	if (second_block(t, x, &ptr))
		add_or_forget(t, x, ptr);
}

/* Events were lost since the block was allocated. */
static bool is_unsure(const struct tally *t, const struct live_block *b)
{
	return t->lossy && b->birth_us <= t->unsure_us;
}

/* What it has allocated is not counted: the loss is. But the address is known to be a block's again. */
void tally_unopened(struct tally *t, const struct tallied *x)
{
	struct live_block b;
	taddr ptr;

	if (!rule_allocates(x->rule))
		return;
	if (x->rule->also.n || !rule_values_get(&x->values, &x->rule->ptr, &ptr))
		released_clear(t->released);
	else if (ptr && (!tallied_is_live(t, x, ptr, &b) || is_unsure(t, &b)))
		tallied_forget(t, x, ptr);
}

/* --- frees that may be the allocator's own --- */

/* true: it counts. */
static bool settle_suspect(struct tally *t, const struct tallied *x, const struct suspect_free *d,
			   enum suspects_are what)
{
	if (what == SUSPECTS_REAL || (what == SUSPECTS_UNKNOWN && !d->again)) {
		put_suspect(t, x, d);
		return true;
	}
	if (!d->again)
		released_remove(t->released, tallied_key(x, d->addr));
	return false;
}

void tally_settle_suspects(struct tally *t, uint32_t tid, enum suspects_are what)
{
	struct tallied x = { 0 };
	struct suspect_found d;

	if (!suspect_frees_take(&t->suspects, tid, &d))
		return;
	if ((pid_t)tid == t->pid)
		what = SUSPECTS_REAL;
	x.probe = &t->planting->probes[d.probe];
	x.family = x.probe->rule->family;
	for (size_t i = 0; i < d.n; i++) {
		if (settle_suspect(t, &x, &d.all[i], what))
			continue;
		x.probe->hits--;
		t->events--;
	}
	suspect_found_fini(&d);
}

/* A thread that frees a live block is not at its end, or is done with its cache. */
static void not_in_its_cache(struct tally *t, uint32_t tid)
{
	if (!suspect_frees_set_done(&t->suspects, tid))
		tally_settle_suspects(t, tid, SUSPECTS_REAL);
}

/* If the block is unsure, it may be in the thread's cache. */
static void free_live(struct tally *t, const struct tallied *x, taddr ptr, uint32_t by, const struct live_block *b)
{
	if (t->counting) {
		if (!is_unsure(t, b))
			not_in_its_cache(t, x->hit->head.tid);
		tallied_put_free(t, x, ptr, by);
	} else {
		tallied_forget(t, x, ptr);
	}
	remember_freed(t, x, ptr, &(struct released_by){ by, b->stack + 1 });
}

/* The allocation was not counted, so the free is not either. */
static void free_outside(struct tally *t, const struct tallied *x, taddr ptr)
{
	if (!t->lossy)
		not_in_its_cache(t, x->hit->head.tid);
	remember_freed(t, x, ptr, &(struct released_by){ FACT_NONE, FACT_NONE });
}

static void set_aside(struct tally *t, const struct tallied *x, const struct suspect_free *d)
{
	const uint32_t tid = x->hit->head.tid;

	if (suspect_frees_is_done(&t->suspects, tid) && !d->again) {
		put_suspect(t, x, d);
		return;
	}
	if (suspect_frees_is_done(&t->suspects, tid))
		tally_settle_suspects(t, tid, SUSPECTS_REAL);
	if (suspect_frees_add(&t->suspects, tid, d, x->probe - t->planting->probes) < 0)
		t->out_of_memory = true;
}

static void free_other(struct tally *t, const struct tallied *x, taddr ptr, uint32_t by)
{
	struct suspect_free d = {
		.addr = ptr, .time_us = tallied_time(t, x), .stack = by,
		.size = tallied_freed_size(x, SITE_CHUNK, ptr),
	};

	d.again = tallied_freed_before(t, x, ptr, &d.before) == FREED_BEFORE;
	if (!d.again)
		remember_freed(t, x, ptr, &(struct released_by){ by, FACT_NONE });
	if (!t->counting)
		return;
	if (!x->probe->glibc)
		put_suspect(t, x, &d);
	else
		set_aside(t, x, &d);
}

/*
 * CRYPTO_clear_free forwards to CRYPTO_free: that is one free. It is a second free if the block was allocated
 * again in between, if the same function is called again, or if the other function is not called from within
 * the first.
 */
static bool is_forwarded(struct tally *t, const struct tallied *x, taddr ptr)
{
	struct forwarded_free now = { ptr, x->hit->regs.rsp + x->site->sp_delta,
				 (uint32_t)(x->probe - t->planting->probes) };
	const struct forwarded_free *last = addrmap_get(&t->forwarded, thread_key(x));

	if (last && last->addr == ptr && last->probe != now.probe && now.sp <= last->sp &&
	    !tallied_is_live(t, x, ptr, NULL))
		return true;
	if (x->probe->forwards && addrmap_put(&t->forwarded, thread_key(x), &now) < 0)
		t->out_of_memory = true;
	else if (last && !x->probe->forwards)
		addrmap_del(&t->forwarded, thread_key(x), NULL);
	return false;
}

/* It was freed with its pool: this free is a part of that. */
static bool went_with_pool(struct tally *t, const struct tallied *x, taddr ptr)
{
	struct released_by by;

	if (tallied_freed_before(t, x, ptr, &by) != FREED_WITH_POOL)
		return false;
	released_remove(t->released, tallied_key(x, ptr));
	return true;
}

void tally_free(struct tally *t, const struct tallied *x)
{
	enum rule_values_holds holds = rule_values_hold(&x->values);
	struct live_block b;
	uint32_t by;
	taddr ptr;

	if (x->hit->head.flags & RECORD_OPENS || holds == HOLDS_NOT)
		return;
	/*
	 * an exit without an entry: of another function with the same end (pthread_join, pthread_tryjoin_np)
	 */
	if (!x->values.args && rule_needs_args(x->rule))
		return;
	if (holds == HOLDS_UNREAD || !rule_values_get(&x->values, &x->rule->ptr, &ptr)) {
		tallied_unread(t, x);
		return;
	}
	if ((!ptr && !x->rule->own_condition) || is_forwarded(t, x, ptr))
		return;
	tally_pools_freed(t, x, ptr);
	if (tallied_take_outside(t, x, ptr)) {
		free_outside(t, x, ptr);
		return;
	}
	if (went_with_pool(t, x, ptr))
		return;
	/* internal to the allocator: a block that realloc moves, or that is allocated next */
	if (x->hit->head.flags & RECORD_WITHIN && !tallied_is_live(t, x, ptr, NULL))
		return;
	if (t->counting)
		tallied_count(t, x);
	by = tallied_freeing_stack(t, x);
	if (tallied_is_live(t, x, ptr, &b))
		free_live(t, x, ptr, by, &b);
	else
		free_other(t, x, ptr, by);
}

/* --- realloc --- */

static void look_up_old(struct tally *t, const struct tallied *x, taddr old, struct realloc_open *o)
{
	struct live_block b;

	*o = (struct realloc_open){
		.addr = old, .was = REALLOC_OLD, .size = tallied_freed_size(x, SITE_OLD_CHUNK, old),
	};
	if (tallied_is_live(t, x, old, &b)) {
		o->was = REALLOC_LIVE;
		o->alloc = b.stack + 1;
	} else if (tallied_take_outside(t, x, old)) {
		o->was = REALLOC_OUTSIDE;
	} else if (tallied_freed_before(t, x, old, &o->before) == FREED_BEFORE) {
		o->was = REALLOC_FREED;
	}
}

/* While the call lasts, the old block counts as freed: another free of it in that time is a double free. */
static void realloc_opens(struct tally *t, const struct tallied *x)
{
	struct realloc_open o;
	taddr old;

	if (!rule_values_get(&x->values, &x->rule->old, &old) || !old)
		return;
	tally_pools_resize(t, x, old);
	look_up_old(t, x, old, &o);
	if (o.was == REALLOC_LIVE)
		put_aside(t, x, MMT_ASIDE, old, FACT_NONE);
	if (o.was != REALLOC_FREED)
		remember_freed(t, x, old, &(struct released_by){ FACT_NONE, o.alloc });
	if (addrmap_put(&t->reallocs, thread_key(x), &o) < 0)
		t->out_of_memory = true;
}

static void realloc_failed(struct tally *t, const struct tallied *x, const struct realloc_open *o)
{
	if (o->was == REALLOC_LIVE)
		put_aside(t, x, MMT_ASIDE_BACK, o->addr, FACT_NONE);
	if (o->was == REALLOC_OUTSIDE)
		tallied_put_outside(t, x, o->addr);
	if (o->was != REALLOC_FREED)
		released_remove(t->released, tallied_key(x, o->addr));
}

/* Counting has ended: a block that was live is forgotten, without having been freed. */
static void forget_aside(struct tally *t, const struct tallied *x, taddr addr)
{
	put_aside(t, x, MMT_ASIDE_BACK, addr, FACT_NONE);
	tallied_forget(t, x, addr);
}

/* @by: number + 1 or FACT_NONE. true: it counts. */
static bool realloc_freed(struct tally *t, const struct tallied *x, const struct realloc_open *o, uint32_t by)
{
	const struct suspect_free d = {
		.addr = o->addr, .time_us = tallied_time(t, x), .stack = by,
		.again = o->was == REALLOC_FREED,
		.before = o->before, .size = o->size,
	};
	taddr key = tallied_key(x, o->addr);
	struct released_by first;
	/* unless the address was allocated again meanwhile */
	bool gone = o->was != REALLOC_FREED && released_get(t->released, key, &first);

	if (!t->counting && o->was == REALLOC_LIVE)
		forget_aside(t, x, o->addr);
	if (gone)
		remember_freed(t, x, o->addr, &(struct released_by){ by, o->alloc });
	if (!t->counting || o->was == REALLOC_OUTSIDE)
		return false;
	if (o->was == REALLOC_LIVE)
		put_aside(t, x, MMT_ASIDE_FREED, o->addr, by);
	else
		put_suspect(t, x, &d);
	return true;
}

/*
 * The hit at its entry was lost. When the old block was freed is not known: if the address has been another block's
 * since the loss, or is free again, that is not changed. true: a free that counts.
 */
static bool end_unopened_realloc(struct tally *t, const struct tallied *x, taddr old, uint32_t by)
{
	struct realloc_open o;
	struct live_block b;

	if (tallied_is_live(t, x, old, &b)) {
		if (!is_unsure(t, &b))
			return false;
		free_live(t, x, old, by, &b);
		return t->counting;
	}
	look_up_old(t, x, old, &o);
	return o.was != REALLOC_FREED && realloc_freed(t, x, &o, by);
}

/* true: a free that counts. */
static bool end_realloc(struct tally *t, const struct tallied *x, taddr old, bool released, uint32_t by)
{
	struct realloc_open o;

	if (!addrmap_del(&t->reallocs, thread_key(x), &o) || o.addr != old)
		return released && end_unopened_realloc(t, x, old, by);
	if (released)
		return realloc_freed(t, x, &o, by);
	realloc_failed(t, x, &o);
	return false;
}

/* realloc(old, 0) returns no block, but it has freed the old one. */
static bool only_frees(const struct tallied *x)
{
	uint64_t size;

	return tallied_requested_size(x, &size) && size == 0;
}

/* The new block. true: it counts. @stack is valid if it is in scope. */
static bool add_resized(struct tally *t, const struct tallied *x, taddr ptr, uint32_t stack)
{
	if (!x->in_scope || !tallied_caller_counts(t, stack)) {
		tallied_forget(t, x, ptr);
		return false;
	}
	if (!(x->site->flags & SITE_AFTER) && x->hit->slice_len < sizeof(taddr))
		t->unread_callers++;
	put_alloc(t, x, ptr, tallied_size(t, x), stack);
	return true;
}

/* Both blocks get the stack of the realloc. If neither can need it, it may not even have been copied. */
static bool needs_stack(const struct tally *t, const struct tallied *x)
{
	return x->in_scope ||
	       (t->planting->free_stacks && t->counting && !(x->hit->head.flags & RECORD_OUTSIDE));
}

/* In which pool is the block now? false: in one that is not known, so its end would not be seen. */
static bool place_resized(struct tally *t, const struct tallied *x, taddr old, taddr now)
{
	if (old)
		return tally_pools_resized(t, x, old, now);
	return !now || tally_pools_made(t, x, now);
}

static void realloc_closes(struct tally *t, const struct tallied *x)
{
	taddr old, ptr = 0;
	const bool left_out = x->hit->head.flags & RECORD_NO_BLOCK;
	bool made = !left_out && allocated_block(t, x, &ptr), known, done, counts = false;
	uint32_t stack = 0, by = FACT_NONE;

	if (!rule_values_get(&x->values, &x->rule->old, &old))
		old = 0;
	done = made || (old && (left_out || only_frees(x)));
	if (done && needs_stack(t, x)) {
		if (!tallied_stack(t, x, &stack))
			return;
		by = t->planting->free_stacks ? stack + 1 : FACT_NONE;
	}
	if (old)
		counts = end_realloc(t, x, old, done, by);
	known = place_resized(t, x, old, made ? ptr : done ? 0 : old);
	if (made && known)
		counts |= add_resized(t, x, ptr, stack);
	else if (made)
		tallied_forget(t, x, ptr);
	if (counts)
		tallied_count(t, x);
}

void tally_realloc(struct tally *t, const struct tallied *x)
{
	if (x->hit->head.flags & RECORD_OPENS)
		realloc_opens(t, x);
	else if (x->hit->head.flags & RECORD_CLOSES)
		realloc_closes(t, x);
	else
		tally_alloc(t, x); /* it was under way when we attached: the old block is older */
}
