/* SPDX-License-Identifier: MIT */
#include "attach/stacks/scripts/scripts.h"

#include <errno.h>
#include <unistd.h>

#include "attach/stacks/scripts/script_join.h"
#include "base/log.h"

#define LOOKS_MOST 10u
#define AGAIN_NS 10000000u	/* between two looks for the interpreter's threads */

static void set_mem(struct scripts *s, int mem)
{
	s->mem = mem;
	for (uint32_t i = 0; i < s->n; i++)
		s->all[i].runtime->mem = mem;
}

static void close_mem(struct scripts *s)
{
	if (s->mem >= 0)
		close(s->mem);
	set_mem(s, -1);
}

/* Of the process as it is now: it may be another one, a copy. */
static void open_mem(struct scripts *s)
{
	if (s->mem >= 0 && s->pid == modules_pid(s->modules))
		return;
	close_mem(s);
	s->pid = modules_pid(s->modules);
	set_mem(s, modules_open_mem(s->modules));
}

void scripts_init(struct scripts *s, struct modules *ms, struct shared *shared, struct script_places *places)
{
	*s = (struct scripts){ .modules = ms, .shared = shared, .mem = -1 };
	script_codes_init(&s->codes, places);
}

void scripts_fini(struct scripts *s)
{
	script_codes_fini(&s->codes);
	close_mem(s);
}

void scripts_want(struct scripts *s, const struct script_language *l, struct script_runtime *rt)
{
	rt->mem = -1;
	s->all[s->n++] = (struct scripts_of){ .language = l, .runtime = rt };
}

void scripts_forget(struct scripts *s)
{
	atomic_store(&s->shared->chained, false);
	s->state = SCRIPTS_NONE;
	s->found = NULL;
	s->looked = 0;
	s->looks = 0;
	s->why[0] = '\0';
}

/* --- finding one --- */

/* Has the interpreter threads by now? Then its chains are read from the next hit on. */
static void look(struct scripts *s, uint64_t now_ns)
{
	struct script_runtime *rt = s->found->runtime;

	if (now_ns < s->next_ns)
		return;
	/* if it never has any, each further look is later */
	s->next_ns = now_ns + ((uint64_t)AGAIN_NS << s->looks);
	s->looks += s->looks < LOOKS_MOST;
	if (s->found->language->locate(rt, modules_at(s->modules, s->module)) < 0)
		return;
	s->shared->chain = rt->chain;
	atomic_store(&s->shared->chained, true);
	s->state = SCRIPTS_ON;
	log_debug(UNWIND, "threads of %s: slot %d, evaluation at " PRItaddr, s->found->language->interpreter,
		  rt->chain.slot, rt->loop.lo);
}

static void refuse(struct scripts *s)
{
	s->state = SCRIPTS_REFUSED;
	log_verbose("no frames of scripts: %s", s->why);
}

static void begin(struct scripts *s)
{
	const struct scripts_of *f = s->found;

	s->state = SCRIPTS_WAITS;
	s->next_ns = 0;
	script_codes_begin(&s->codes, f->language, f->runtime);
	log_debug(UNWIND, "%s %s", f->language->interpreter, f->runtime->version);
	look(s, 0);
}

static void look_into(struct scripts *s, size_t module)
{
	const struct module *m = modules_at(s->modules, module);
	int r = -ENOENT;

	for (uint32_t i = 0; i < s->n && r == -ENOENT && !m->gone; i++) {
		struct scripts_of *of = &s->all[i];

		r = of->language->find(of->runtime, m, s->mem, s->why, sizeof(s->why));
		s->found = r == -ENOENT ? NULL : of;
	}
	s->module = module;
	if (r == -ENOTSUP)
		refuse(s);
	else if (r == 0)
		begin(s);
}

void scripts_modules_changed(struct scripts *s)
{
	if (!s->n)
		return;
	open_mem(s);
	while (s->state == SCRIPTS_NONE && s->looked < modules_count(s->modules))
		look_into(s, s->looked++);
	if (s->state == SCRIPTS_NONE)
		close_mem(s);
}

/* --- a stack --- */

/* As long as the evaluation loop is not known, all that runs through its file counts. */
static bool is_of_interpreter(const struct scripts *s, const struct unwind_stack *st)
{
	const struct module *m;

	if (s->found->runtime->loop.hi)
		return script_join_any(s->found->runtime, st);
	m = modules_at(s->modules, s->module);
	for (uint32_t i = 0; i < st->n; i++)
		if ((st->frames[i] & ~UNWIND_EXACT) >= m->lo && (st->frames[i] & ~UNWIND_EXACT) < m->hi)
			return true;
	return false;
}

int scripts_put(struct scripts *s, const struct record_hit *hit, uint32_t max, struct unwind_stack *st)
{
	struct scripts_of *f = s->found;
	const uint64_t gone = s->codes.gone;
	int r;

	if (s->state == SCRIPTS_WAITS)
		look(s, hit->head.time_ns);
	if (s->state < SCRIPTS_WAITS)
		return 0;
	if (!hit->chain_len) {
		f->without += is_of_interpreter(s, st);
		return 0;
	}
	r = script_join(&s->codes, hit, max, st);
	f->lost += hit->chain_end == CHAIN_LOST;
	f->gone += s->codes.gone - gone;
	f->stacks += r == 0;
	f->misfits += r == -EBADMSG;
	return r == -EBADMSG ? 0 : r;
}
