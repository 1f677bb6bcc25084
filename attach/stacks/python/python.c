/* SPDX-License-Identifier: MIT */
#include "attach/stacks/python/python.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define LOOKS_MOST 10u
#define AGAIN_NS 10000000u	/* between two looks for the interpreter's threads */
#define OWNED_BY_GENERATOR 1
#define OWNED_BY_C_STACK 3

/* --- the interpreter --- */

static void close_mem(struct python *p)
{
	if (p->mem >= 0)
		close(p->mem);
	p->mem = p->codes.mem = -1;
}

/* Of the process as it is now: it may be another one, a copy. */
static void open_mem(struct python *p)
{
	if (p->mem >= 0 && p->pid == modules_pid(p->modules))
		return;
	close_mem(p);
	p->pid = modules_pid(p->modules);
	p->mem = p->codes.mem = modules_open_mem(p->modules);
}

void python_init(struct python *p, struct modules *ms, struct shared *shared,
		 struct script_places *places, bool wanted)
{
	*p = (struct python){ .modules = ms, .shared = shared, .wanted = wanted, .mem = -1 };
	codes_init(&p->codes, &p->runtime, places, -1);
}

void python_fini(struct python *p)
{
	codes_fini(&p->codes);
	close_mem(p);
}

void python_forget(struct python *p)
{
	atomic_store(&p->shared->chained, false);
	codes_forget(&p->codes);
	p->state = PYTHON_NONE;
	p->looked = 0;
	p->looks = 0;
	p->why[0] = '\0';
}

/* Has the interpreter threads by now? Then its chains are read from the next hit on. */
static void look(struct python *p, uint64_t now_ns)
{
	if (now_ns < p->next_ns)
		return;
	/* if it never has any, each further look is later */
	p->next_ns = now_ns + ((uint64_t)AGAIN_NS << p->looks);
	p->looks += p->looks < LOOKS_MOST;
	if (python_runtime_locate(&p->runtime, p->mem) < 0)
		return;
	p->shared->chain = p->runtime.layout.chain;
	atomic_store(&p->shared->chained, true);
	p->state = PYTHON_ON;
	log_debug(UNWIND, "CPython's threads: slot %d", p->runtime.layout.chain.slot);
}

void python_modules_changed(struct python *p)
{
	int r;

	if (!p->wanted)
		return;
	open_mem(p);
	if (p->state != PYTHON_NONE)
		return;
	r = python_runtime_find(p->modules, &p->looked, p->mem, &p->runtime, p->why, sizeof(p->why));
	if (r == -ENOTSUP) {
		p->state = PYTHON_REFUSED;
		log_verbose("no frames of scripts: %s", p->why);
	} else if (r == 0) {
		p->state = PYTHON_WAITS;
		log_debug(UNWIND, "CPython %s, evaluation at " PRItaddr, p->runtime.version,
			  p->runtime.eval.lo);
		p->next_ns = 0;
		look(p, 0);
	} else {
		close_mem(p);
	}
}

/* --- calls of the evaluation loop --- */

struct splice {
	struct python *p;
	const struct record_hit *hit;
	const struct unwind_stack *st;
	const struct chain_link *links;
	uint32_t next;			/* link */
	taddr entry;			/* in the piece of stack of the next such call; 0: not known */
	uint32_t n, max;		/* frames of the result */
	taddr frames[UNWIND_MAX];
	bool misfit, deep;
};

static bool is_shim(const struct splice *s, uint32_t i)
{
	return s->p->runtime.layout.entry == LAYOUTS_ENTRY_SHIM &&
	       (chain_link_kind(&s->links[i]) & 0xff) == OWNED_BY_C_STACK;
}

/* Is it a generator's? Its first instruction is never one that is not shown. */
static bool is_generator(const struct splice *s, uint32_t i)
{
	const uint16_t kind = chain_link_kind(&s->links[i]);

	if (s->p->runtime.layout.entry == LAYOUTS_ENTRY_FLAG)
		return kind >> 8 == OWNED_BY_GENERATOR;
	return (kind & 0xff) == OWNED_BY_GENERATOR;
}

/* What the next call of the loop has on the C stack. */
static taddr entry_of(const struct splice *s, uint32_t from)
{
	if (s->p->runtime.layout.entry != LAYOUTS_ENTRY_SHIM)
		return 0;
	for (uint32_t i = from; i < s->hit->chain_len; i++)
		if (is_shim(s, i))
			return chain_link_addr(&s->links[i]);
	return 0;
}

static taddr word_of_slice(const struct record_hit *hit, taddr addr)
{
	const uint64_t at = addr - hit->regs.rsp;
	taddr word = 0;

	if (addr && hit->slice_len >= sizeof(word) && at <= hit->slice_len - sizeof(word))
		memcpy(&word, hit->slice + at, sizeof(word));
	return word;
}

static void next_entry(struct splice *s)
{
	const struct layout *l = &s->p->runtime.layout;

	if (l->entry == LAYOUTS_ENTRY_FLAG)
		s->entry = s->entry ? word_of_slice(s->hit, s->entry + l->outer_entry) : 0;
	else
		s->entry = entry_of(s, s->next);
}

static bool has_entry(const struct splice *s, uint32_t i)
{
	const struct unwind_stack *st = s->st;

	return st->has_sps && s->entry && i + 1 < st->n && s->entry >= st->sps[i] &&
	       s->entry < st->sps[i + 1];
}

/*
 * Each call is known by what is on the stack. Then those behind the last one are of another chain: where a
 * thread switches between several of them, as greenlets do, stacks lead from one into the other.
 */
static bool is_sure(const struct splice *s)
{
	return s->st->has_sps && s->p->runtime.layout.entry != LAYOUTS_ENTRY_EACH;
}

static bool is_evaluation(const struct splice *s, uint32_t i)
{
	const struct code_range *eval = &s->p->runtime.eval;
	const taddr frame = s->st->frames[i];
	const taddr pc = frame & UNWIND_EXACT ? frame & ~UNWIND_EXACT : frame - 1;

	return (pc >= eval->lo && pc < eval->hi) || has_entry(s, i);
}

/* --- putting them together --- */

static void put(struct splice *s, taddr frame)
{
	if (s->n < s->max)
		s->frames[s->n++] = frame;
	else
		s->deep = true;
}

static int put_link(struct splice *s, uint32_t i)
{
	const struct chain_link *l = &s->links[i];
	uint32_t place;
	int r = codes_place(&s->p->codes, l->code, l->at, is_generator(s, i), s->hit->head.time_ns, &place);

	if (r == 0)
		put(s, UNWIND_EXACT | UNWIND_SCRIPT | place);
	return r == -ENOENT ? 0 : r;
}

/* Does the frame at @i begin the call of the loop that executes it? */
static bool begins(const struct splice *s, uint32_t i)
{
	switch (s->p->runtime.layout.entry) {
	case LAYOUTS_ENTRY_EACH:
		return true;
	case LAYOUTS_ENTRY_FLAG:
		return chain_link_kind(&s->links[i]) & 0xff;
	case LAYOUTS_ENTRY_SHIM:
		return is_shim(s, i);
	}
	return true;
}

/* What the call of the loop in frame @i of the stack executes. */
static int put_call(struct splice *s, uint32_t i)
{
	bool begun = false;
	int r = 0;

	if (s->next == s->hit->chain_len) {
		s->misfit |= s->hit->chain_end == CHAIN_WHOLE && !is_sure(s);
		put(s, s->st->frames[i]);
		return 0;
	}
	s->misfit |= s->entry && is_sure(s) && !has_entry(s, i);
	while (r == 0 && !begun && s->next < s->hit->chain_len) {
		begun = begins(s, s->next);
		if (!is_shim(s, s->next))
			r = put_link(s, s->next);
		s->next++;
	}
	next_entry(s);
	return r;
}

/* Is there a frame of the chain that no call of the loop executes? */
static bool any_left(const struct splice *s)
{
	for (uint32_t i = s->next; i < s->hit->chain_len; i++)
		if (!is_shim(s, i))
			return true;
	return false;
}

static int splice(struct splice *s)
{
	const struct unwind_stack *st = s->st;
	int r = 0;

	s->entry = s->p->runtime.layout.entry == LAYOUTS_ENTRY_FLAG ? s->hit->chain_head : entry_of(s, 0);
	for (uint32_t i = 0; i < st->n && r == 0; i++) {
		if (is_evaluation(s, i))
			r = put_call(s, i);
		else
			put(s, st->frames[i]);
	}
	if (st->end == UNWIND_WHOLE && any_left(s))
		s->misfit = true;
	return r;
}

/* Does the interpreter execute something in this stack? */
static bool any_evaluation(const struct python *p, const struct unwind_stack *st)
{
	for (uint32_t i = 0; i < st->n; i++) {
		const taddr pc = st->frames[i] & ~UNWIND_EXACT;

		if (pc > p->runtime.eval.lo && pc < p->runtime.eval.hi)
			return true;
	}
	return false;
}

int python_splice(struct python *p, const struct record_hit *hit, uint32_t max, struct unwind_stack *st)
{
	struct splice s = { .p = p, .hit = hit, .st = st, .links = record_chain(hit),
			    .max = max < UNWIND_MAX ? max : UNWIND_MAX };
	int r;

	if (p->state == PYTHON_WAITS)
		look(p, hit->head.time_ns);
	if (p->state < PYTHON_WAITS)
		return 0;
	if (!hit->chain_len) {
		p->without += any_evaluation(p, st);
		return 0;
	}
	r = splice(&s);
	p->lost += hit->chain_end == CHAIN_LOST;
	if (r < 0 || s.misfit) {
		p->misfits += s.misfit;
		return r;
	}
	p->stacks++;
	st->n = s.n;
	st->end = s.deep ? UNWIND_DEEP : st->end;
	memcpy(st->frames, s.frames, s.n * sizeof(s.frames[0]));
	return 0;
}
