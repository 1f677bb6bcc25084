/* SPDX-License-Identifier: MIT */
/* uprobe_pump: the kernel's records become those of struct shared's ring (uprobe.h). */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "attach/keeper/shared/ring.h"
#include "attach/target/target.h"
#include "attach/uprobe/uprobe_parts.h"
#include "base/clock.h"
#include "base/log.h"

#define COUNT_NS 1000000000ull		/* how often the threads are counted */

_Static_assert(UPROBE_SITES == SHARED_SITES && UPROBE_LOADS == SITE_LOADS && UPROBE_TEXT == SITE_TEXT &&
		       UPROBE_HINTS == SHARED_THREADS,
	       "what BPF knows of a site is what the plan has");
_Static_assert(UPROBE_LINKS == CHAIN_MAX && UPROBE_LINK_WORDS * 8 == CHAIN_LINK_MOST &&
		       sizeof(struct uprobe_link) == sizeof(struct chain_link) &&
		       sizeof(struct uprobe_chain_plan) == sizeof(struct chain_plan),
	       "and of a chain");
_Static_assert(UPROBE_REGS * 8 == offsetof(struct user_regs_struct, fs_base), "pt_regs begins user_regs_struct");

static uint64_t lost_now(const struct uprobe *u)
{
	return __atomic_load_n(&uprobe_kernel_control(u->kernel)->lost, __ATOMIC_RELAXED);
}

/* --- records --- */

static struct record_hit *reserve(struct uprobe *u, uint32_t slice, const struct uprobe_chain *chain)
{
	size_t size = sizeof(struct record_hit) + slice;

	if (chain)
		size += record_chain_at(slice) - slice + chain->n * sizeof(chain->links[0]);
	return (struct record_hit *)ring_reserve(&u->shared->ring, (uint32_t)size);
}

/* false: there is no space in the ring now. */
static bool put_record(struct uprobe *u, const struct record *what)
{
	struct record *rec = ring_reserve(&u->shared->ring, sizeof(*rec));

	if (!rec)
		return false;
	*rec = *what;
	ring_commit(&u->shared->ring, rec, sizeof(*rec));
	return true;
}

static bool note(struct uprobe *u, enum record_kind kind, const struct uprobe_head *h, int64_t value)
{
	return put_record(u, &(struct record){ .kind = kind, .tid = h ? h->tid : 0,
					       .time_ns = h ? h->time_ns : clock_ns(), .value = value });
}

static void fill_head(struct uprobe *u, const struct uprobe_head *h, const struct uprobe_meaning *m,
		      struct record_hit *rec)
{
	rec->head = (struct record){
		.kind = RECORD_HIT, .tid = h->tid, .site = h->site, .time_ns = h->time_ns,
		.flags = (uint16_t)(m->flags | (h->flags & UPROBE_CUT ? RECORD_CUT : 0) |
				    (h->flags & UPROBE_NO_BLOCK ? RECORD_NO_BLOCK : 0) |
				    (h->tgid == (uint32_t)u->pid ? 0 : RECORD_GUEST)),
	};
	rec->outer_site = m->has_call ? m->call.trap : h->site;
	rec->thread = h->tid % SHARED_THREADS;
	rec->loads_read = rec->loads_null = rec->slice_len = 0;
	rec->chain_len = 0;
	rec->chain_end = CHAIN_NONE;
}

static void fill_brief(const struct uprobe_brief *b, const struct site *s, struct record_hit *rec)
{
	const unsigned word = uprobe_word_load(s);


	rec->regs = (struct user_regs_struct){
		.rip = b->ip, .rsp = b->sp, .rdi = b->args[0], .rsi = b->args[1], .rdx = b->args[2],
		.rcx = b->args[3], .r8 = b->args[4], .r9 = b->args[5],
	};
	memcpy(rec->args, b->args, sizeof(rec->args));
	if (!b->word || word >= SITE_LOADS)
		return;
	rec->loads[word] = b->word;
	rec->loads_read = 1u << word;
}

/* As they were before the kernel replaced them; a frame that was left has something else there. */
static void restore_returns(const struct uprobe_hit *h, uint64_t sp, uint8_t *slice)
{
	for (uint32_t i = 0; i < h->nhidden && i < UPROBE_HIDDEN; i++) {
		const uint64_t at = h->hidden[i].at - sp;

		if (h->slice_len >= sizeof(uint64_t) && at <= h->slice_len - sizeof(uint64_t) &&
		    !memcmp(slice + at, &h->trampoline, sizeof(h->trampoline)))
			memcpy(slice + at, &h->hidden[i].ret, sizeof(h->hidden[i].ret));
	}
}

/* What is read at the end of a call; the word before its argument is read at its beginning. */
static struct site_load read_late(const struct site *s, unsigned i)
{
	return i == uprobe_word_load(s) ? (struct site_load){ 0 } : s->loads[i];
}

static bool read_the_same(const struct site *a, const struct site *b)
{
	for (unsigned i = 0; i < SITE_LOADS; i++) {
		const struct site_load one = read_late(a, i), other = read_late(b, i);

		if (memcmp(&one, &other, sizeof(one)))
			return false;
	}
	return true;
}

static void fill_hit(const struct shared *sh, const struct uprobe_hit *h, const struct uprobe_meaning *m,
		     struct record_hit *rec)
{
	const struct site *asked = &sh->sites[h->outer % SHARED_SITES], *asks = &sh->sites[rec->outer_site];

	rec->regs = (struct user_regs_struct){ 0 };
	memcpy(&rec->regs, h->regs, sizeof(h->regs));
	memcpy(rec->args, m->has_call ? m->call.args : (const uint64_t *)h->args, sizeof(rec->args));
	memcpy(rec->loads, h->loads, sizeof(rec->loads));
	/* if it was not known there which call ends, they may be those of another rule */
	if (read_the_same(asked, asks)) {
		rec->loads_read = h->loads_read;
		rec->loads_null = h->loads_null;
	}
	memcpy(rec->text, h->text, sizeof(rec->text));
	rec->slice_len = h->slice_len;
	memcpy(rec->slice, h->slice, h->slice_len);
	restore_returns(h, rec->regs.rsp, rec->slice);
}

/* The chain that was read at this hit, which came before it; or NULL. */
static const struct uprobe_chain *chain_of(const struct uprobe *u, const struct uprobe_head *h)
{
	const struct uprobe_chain *c = &u->chains[h->tid % UPROBE_CHAIN_SLOTS];
	const uint64_t time_ns = h->kind == UPROBE_HIT ? ((const struct uprobe_hit *)h)->chain : 0;

	return time_ns && c->head.time_ns == time_ns && c->head.tid == h->tid ? c : NULL;
}

/* @rec has its slice. */
static void fill_chain(const struct uprobe_chain *c, struct record_hit *rec)
{
	rec->chain_len = (uint16_t)c->n;
	rec->chain_end = (uint16_t)c->end;
	rec->chain_head = c->first;
	memcpy(rec->slice + record_chain_at(rec->slice_len), c->links, c->n * sizeof(c->links[0]));
}

/* Kept for the thread's hits, until BPF has another one in that slot. */
static void keep_chain(struct uprobe *u, const struct uprobe_head *h, size_t n)
{
	struct uprobe_chain *c = &u->chains[h->tid % UPROBE_CHAIN_SLOTS];

	if (n <= sizeof(*c))
		memcpy(c, h, n);
}

void uprobe_pass_chain(struct uprobe *u)
{
	struct uprobe_control *c = uprobe_kernel_control(u->kernel);
	const bool chained = atomic_load(&u->shared->chained);

	if (chained == u->chained)
		return;
	u->chained = chained;
	memcpy(&c->chain, &u->shared->chain, sizeof(c->chain));
	__atomic_store_n(&c->chained, chained, __ATOMIC_RELEASE);
}

/* What the controller has learned of the thread's stack: known to BPF at its next hit. */
static void pass_hint(struct uprobe *u, uint32_t tid)
{
	const uint32_t i = tid % SHARED_THREADS;
	const struct slice_hint *from = &u->shared->slice_hints[i];
	const uint64_t bytes = atomic_load_explicit(&from->bytes, memory_order_relaxed);
	const uint64_t end = atomic_load_explicit(&from->end, memory_order_relaxed);
	volatile struct uprobe_hint *to = &uprobe_kernel_hints(u->kernel)[i];
	struct uprobe_control *c = uprobe_kernel_control(u->kernel);

	if (to->bytes == bytes && to->end == end)
		return;
	to->end = end;
	to->bytes = bytes;
	if ((uint32_t)bytes > c->slice_guess)
		c->slice_guess = uprobe_smaller((uint32_t)bytes, u->shared->slice_bytes);
}

static uint32_t slice_of(const struct uprobe_head *h)
{
	return h->kind == UPROBE_HIT ? ((const struct uprobe_hit *)h)->slice_len : 0;
}

static const uint64_t *args_of(const struct uprobe_head *h)
{
	return (const uint64_t *)(h->kind == UPROBE_HIT ? ((const struct uprobe_hit *)h)->args :
							  ((const struct uprobe_brief *)h)->args);
}

static taddr sp_of(const struct uprobe_head *h)
{
	return h->kind == UPROBE_HIT ? ((const struct uprobe_hit *)h)->regs[19] : ((const struct uprobe_brief *)h)->sp;
}

/* false: there is no space in the ring. */
static bool take_hit(struct uprobe *u, const struct uprobe_head *h)
{
	const struct uprobe_chain *chain = chain_of(u, h);
	struct record_hit *rec = reserve(u, slice_of(h), chain);
	struct uprobe_meaning m;

	if (!rec)
		return false;
	if (u->group_of[h->site % SHARED_SITES] == NO_GROUP || h->generation != u->generation[h->site % SHARED_SITES]) {
		u->stale++; /* of a module that is unmapped by now */
		return true;
	}
	if (uprobe_calls_hit(&u->calls, h, &u->shared->sites[h->site % SHARED_SITES], sp_of(h), args_of(h), &m) < 0) {
		u->unfollowed++;
		(void)note(u, RECORD_LOST, h, 1);
		return true;
	}
	if (!m.emit)
		return true;
	fill_head(u, h, &m, rec);
	if (h->kind == UPROBE_HIT)
		fill_hit(u->shared, (const struct uprobe_hit *)h, &m, rec);
	else
		fill_brief((const struct uprobe_brief *)h, &u->shared->sites[h->site % SHARED_SITES], rec);
	if (chain)
		fill_chain(chain, rec);
	ring_commit(&u->shared->ring, &rec->head, record_hit_size(rec));
	pass_hint(u, h->tid);
	return true;
}

/*
 * Before the records that came after a loss. Each time: the address of a block whose allocation was lost may be in
 * the next record. What BPF has left out (ends_others) is counted as lost where it begins, and ends unseen.
 */
static bool note_lost(struct uprobe *u, const struct uprobe_head *h)
{
	struct record lost = { .kind = RECORD_LOST, .tid = h->tid, .time_ns = h->time_ns };

	/* it was filled before the record in front of it */
	if ((int32_t)(h->lost - u->lost_seen) < 0)
		return true;
	if (h->lost != u->lost_seen)
		uprobe_calls_forget(&u->calls);
	u->lost_seen = h->lost;
	if (h->lost == u->lost_noted)
		return true;
	lost.value = h->lost - u->lost_noted;
	lost.site = __atomic_load_n(&uprobe_kernel_control(u->kernel)->unfollowed, __ATOMIC_ACQUIRE) != 0;
	if (!put_record(u, &lost))
		return false;
	u->lost_noted = h->lost;
	return true;
}

static bool note_sharers(struct uprobe *u, const struct uprobe_head *h, uint32_t n)
{
	if (!note(u, RECORD_SHARERS, h, n))
		return false;
	u->sharers = n;
	return true;
}

/* When all records are read: some may be lost, or be in another order than was counted. */
static void mend_sharers(struct uprobe *u)
{
	const uint32_t n = __atomic_load_n(&uprobe_kernel_control(u->kernel)->sharers, __ATOMIC_ACQUIRE);

	if (n != u->sharers)
		(void)note_sharers(u, NULL, n);
}

/*
 * What its probes have cost the thread, as the self-test found it: a record with a stack is one of a call that was
 * probed at its entry and its exit. Of calls that are not in a sample there are no records.
 */
static void add_cost(struct uprobe *u, const struct uprobe_head *h)
{
	const struct uprobe_hit_cost *cost = &u->cost;
	const uint64_t ns = h->kind == UPROBE_HIT ? cost->pair_ns : cost->brief_ns;
	const struct uprobe_thread *t = u->rules ? NULL : uprobe_calls_cost(&u->calls, h, ns);
	struct shared_worst *worst = &u->shared->counts.worst;

	if (!t)
		return;
	atomic_fetch_add_explicit(&u->shared->counts.probed_ns, ns, memory_order_relaxed);
	if (t->cost_ns <= atomic_load_explicit(&worst->ns, memory_order_relaxed))
		return;
	atomic_store_explicit(&worst->ns, t->cost_ns, memory_order_relaxed);
	atomic_store_explicit(&worst->since_ns, t->first_ns, memory_order_relaxed);
	atomic_store_explicit(&worst->last_ns, h->time_ns, memory_order_relaxed);
	atomic_store_explicit(&worst->tid, h->tid, memory_order_relaxed);
}

static bool take(struct uprobe *u, const struct uprobe_head *h, size_t n)
{
	if (!note_lost(u, h))
		return false;
	switch (h->kind) {
	case UPROBE_HIT:
	case UPROBE_HIT_BRIEF:
		if (!take_hit(u, h))
			return false;
		u->hits++;
		add_cost(u, h);
		return true;
	case UPROBE_CHAIN:
		keep_chain(u, h, n);
		return true;
	case UPROBE_SHARERS:
		return note_sharers(u, h, h->site);
	case UPROBE_THREAD_END:
		if (!note(u, RECORD_THREAD_END, h, 0))
			return false;
		uprobe_calls_end(&u->calls, h->tid);
		return true;
	}
	return true;
}

/* --- gaps, threads, the end --- */

/* Once nothing more is lost, the gap is a record: from when the ring was last known to be whole, until now. */
static void note_gap(struct uprobe *u, uint64_t now)
{
	const struct uprobe_control *control = uprobe_kernel_control(u->kernel);
	const uint64_t unfollowed = __atomic_load_n(&control->unfollowed, __ATOMIC_ACQUIRE), lost = lost_now(u);

	atomic_store(&u->shared->counts.dropped, lost - unfollowed + u->stale);
	atomic_store(&u->shared->counts.unopened, u->unfollowed + u->calls.dropped + unfollowed +
		     __atomic_load_n(&control->unstored, __ATOMIC_RELAXED));
	atomic_store(&u->shared->counts.sharers, __atomic_load_n(&control->shared, __ATOMIC_RELAXED));
	if (lost != u->lost && !u->losing_since_ns)
		u->losing_since_ns = u->read_ns;
	else if (u->losing_since_ns && (lost == u->lost || u->left) &&
		 note(u, RECORD_GAP, NULL, (int64_t)(now - u->losing_since_ns)))
		u->losing_since_ns = 0;
	u->lost = lost;
	u->read_ns = now;
}

static void count(struct uprobe *u, uint64_t now)
{
	if (now - u->counted_ns < COUNT_NS)
		return;
	u->counted_ns = now;
	atomic_store(&u->shared->threads, target_status_number(u->pid, "Threads"));
	atomic_store(&u->shared->counts.hitting, uprobe_calls_threads(&u->calls));
	atomic_store(&u->shared->counts.have_hit, uprobe_calls_threads(&u->calls));
}

static bool target_is_gone(const struct uprobe *u)
{
	struct pollfd p = { .fd = u->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

void uprobe_pump(struct uprobe *u, uint64_t until)
{
	const uint64_t now = clock_ns();
	const void *rec = NULL;
	size_t n;

	atomic_fetch_add(&u->shared->beat, 1);
	uprobe_pass_chain(u);
	note_gap(u, now);
	count(u, now);
	while (uprobe_reader_read(&u->reader) < until && (rec = uprobe_reader_peek(&u->reader, &n)) &&
	       take(u, rec, n))
		uprobe_reader_consume(&u->reader, n);
	if (u->ended || rec || until != UPROBE_ALL)
		return;
	mend_sharers(u);
	if (__atomic_load_n(&uprobe_kernel_control(u->kernel)->execed, __ATOMIC_ACQUIRE) && !u->execed) {
		u->execed = note(u, RECORD_EXEC, NULL, 0);
		return;
	}
	if (!target_is_gone(u))
		return;
	/* what its last thread did may have come meanwhile */
	if (uprobe_reader_peek(&u->reader, &n))
		return;
	u->ended = note(u, RECORD_END, NULL, 0);
}

uint64_t uprobe_position(const struct uprobe *u)
{
	return uprobe_reader_written(&u->reader);
}

bool uprobe_is_crowded(const struct uprobe *u)
{
	return uprobe_reader_written(&u->reader) - uprobe_reader_read(&u->reader) > u->reader.size / 4;
}
