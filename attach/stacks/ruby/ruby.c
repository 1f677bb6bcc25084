/* SPDX-License-Identifier: MIT */
#include "attach/stacks/ruby/ruby.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define LOOKS_MOST 10u
#define AGAIN_NS 10000000u	/* between two looks for the interpreter's threads */

/* --- the interpreter --- */

static void close_mem(struct ruby *y)
{
	if (y->mem >= 0)
		close(y->mem);
	y->mem = y->iseqs.mem = -1;
}

/* Of the process as it is now: it may be another one, a copy. */
static void open_mem(struct ruby *y)
{
	if (y->mem >= 0 && y->pid == modules_pid(y->modules))
		return;
	close_mem(y);
	y->pid = modules_pid(y->modules);
	y->mem = y->iseqs.mem = modules_open_mem(y->modules);
}

void ruby_init(struct ruby *y, struct modules *ms, struct shared *shared,
		struct script_places *places, bool wanted)
{
	*y = (struct ruby){ .modules = ms, .shared = shared, .wanted = wanted, .mem = -1 };
	iseqs_init(&y->iseqs, &y->runtime, places, -1);
}

void ruby_fini(struct ruby *y)
{
	iseqs_fini(&y->iseqs);
	close_mem(y);
}

void ruby_forget(struct ruby *y)
{
	if (y->state == RUBY_ON)
		atomic_store(&y->shared->chained, false);
	iseqs_forget(&y->iseqs);
	y->state = RUBY_NONE;
	y->looked = 0;
	y->looks = 0;
	y->why[0] = '\0';
}

/* Has the interpreter threads by now? Then their frames are read from the next hit on. */
static void look(struct ruby *y, uint64_t now_ns)
{
	if (now_ns < y->next_ns)
		return;
	/* if it never has any, each further look is later */
	y->next_ns = now_ns + ((uint64_t)AGAIN_NS << y->looks);
	y->looks += y->looks < LOOKS_MOST;
	if (rb_runtime_locate(&y->runtime, y->modules, y->mem) < 0)
		return;
	y->shared->chain = y->runtime.layout.chain;
	atomic_store(&y->shared->chained, true);
	y->state = RUBY_ON;
	log_debug(UNWIND, "Ruby's threads: slot %d; symbols at " PRItaddr, y->runtime.layout.chain.slot,
		  y->runtime.symbols);
}

void ruby_modules_changed(struct ruby *y)
{
	int r;

	if (!y->wanted)
		return;
	open_mem(y);
	if (y->state != RUBY_NONE)
		return;
	r = rb_runtime_find(y->modules, &y->looked, y->mem, &y->runtime, y->why, sizeof(y->why));
	if (r == -ENOTSUP) {
		y->state = RUBY_REFUSED;
		log_verbose("no frames of scripts: %s", y->why);
	} else if (r == 0) {
		y->state = RUBY_WAITS;
		log_debug(UNWIND, "Ruby %s, execution at " PRItaddr, y->runtime.version, y->runtime.exec.lo);
		y->next_ns = 0;
		look(y, 0);
	} else {
		close_mem(y);
	}
}

/* --- its frames --- */

struct splice {
	struct ruby *y;
	const struct record_hit *hit;
	const struct chain_link *links;
	uint32_t nlinks;		/* without the last one, which is no call */
	uint32_t next;			/* link */
	uint32_t n, max;		/* frames of the result */
	taddr frames[UNWIND_MAX];
	bool misfit, deep;
};

static bool is_of_c(const struct splice *s, uint32_t i)
{
	return chain_link_kind(&s->links[i]) & RB_OF_C;
}

/* A frame of the script that executes something: others are being made, or are no more than marks. */
static bool is_of_script(const struct splice *s, uint32_t i)
{
	return !is_of_c(s, i) && s->links[i].code && s->links[i].at;
}

static bool finishes(const struct splice *s, uint32_t i)
{
	return !is_of_c(s, i) && chain_link_kind(&s->links[i]) & RB_FINISH;
}

static bool is_execution(const struct splice *s, taddr frame)
{
	const struct code_range *exec = &s->y->runtime.exec;
	const taddr pc = frame & UNWIND_EXACT ? frame & ~UNWIND_EXACT : frame - 1;

	return pc >= exec->lo && pc < exec->hi;
}

/* --- putting them together --- */

static void put(struct splice *s, taddr frame)
{
	if (s->n < s->max)
		s->frames[s->n++] = frame;
	else
		s->deep = true;
}

/* The place of the frame at @i, or of the innermost one outside of it that has one. -ENOENT: there is none. */
static int place_from(const struct splice *s, uint32_t i, uint32_t *place)
{
	while (i < s->nlinks && !is_of_script(s, i))
		i++;
	if (i == s->nlinks)
		return -ENOENT;
	return iseqs_place(&s->y->iseqs, s->links[i].code, s->links[i].at, s->hit->head.time_ns, place);
}

static int put_link(struct splice *s, uint32_t i)
{
	uint32_t place;
	int r;

	if (!is_of_script(s, i) && !iseqs_is_method(&s->y->iseqs, s->links[i].code))
		return 0;
	r = place_from(s, i, &place);
	if (r == 0 && is_of_c(s, i))
		r = iseqs_method(&s->y->iseqs, s->links[i].code, place, s->hit->head.time_ns, &place);
	if (r == 0)
		put(s, UNWIND_EXACT | UNWIND_SCRIPT | place);
	return r == -ENOENT ? 0 : r;
}

/* What a call of the loop, in frame @frame of the stack, executes. */
static int put_call(struct splice *s, taddr frame)
{
	bool finished = false;
	int r = 0;

	if (s->next == s->nlinks && s->hit->chain_end == CHAIN_WHOLE) {
		s->misfit = true;
		put(s, frame);
		return 0;
	}
	while (r == 0 && !finished && s->next < s->nlinks) {
		finished = finishes(s, s->next);
		r = put_link(s, s->next++);
	}
	s->misfit |= !finished && s->hit->chain_end == CHAIN_WHOLE;
	/* what is further out was not read: the stack ends here, and says so */
	s->deep |= !finished && s->hit->chain_end != CHAIN_WHOLE;
	return r;
}

/* Is there a frame of the script that no call of the loop executes? */
static bool any_left(const struct splice *s)
{
	for (uint32_t i = s->next; i < s->nlinks; i++)
		if (is_of_script(s, i))
			return true;
	return false;
}

static int splice(struct splice *s, const struct unwind_stack *st)
{
	int r = 0;

	for (uint32_t i = 0; i < st->n && r == 0 && !s->deep; i++) {
		if (is_execution(s, st->frames[i]))
			r = put_call(s, st->frames[i]);
		else
			put(s, st->frames[i]);
	}
	if (st->end == UNWIND_WHOLE && !s->deep && any_left(s))
		s->misfit = true;
	return r;
}

static bool any_execution(const struct splice *s, const struct unwind_stack *st)
{
	for (uint32_t i = 0; i < st->n; i++)
		if (is_execution(s, st->frames[i]))
			return true;
	return false;
}

int ruby_splice(struct ruby *y, const struct record_hit *hit, uint32_t max, struct unwind_stack *st)
{
	struct splice s = { .y = y, .hit = hit, .links = record_chain(hit), .nlinks = hit->chain_len,
			    .max = max < UNWIND_MAX ? max : UNWIND_MAX };
	int r;

	if (y->state == RUBY_WAITS)
		look(y, hit->head.time_ns);
	if (y->state < RUBY_WAITS)
		return 0;
	if (!hit->chain_len) {
		y->without += any_execution(&s, st);
		return 0;
	}
	s.nlinks -= hit->chain_end == CHAIN_WHOLE;
	r = splice(&s, st);
	y->lost += hit->chain_end == CHAIN_LOST;
	if (r < 0 || s.misfit) {
		y->misfits += s.misfit;
		return r;
	}
	y->stacks++;
	st->n = s.n;
	st->end = s.deep ? UNWIND_DEEP : st->end;
	memcpy(st->frames, s.frames, s.n * sizeof(s.frames[0]));
	return 0;
}
