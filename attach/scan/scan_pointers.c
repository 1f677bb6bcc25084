/* SPDX-License-Identifier: MIT */
#include "attach/scan/scan_pointers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/scan/scan_content.h"
#include "attach/scan/scan_places.h"
#include "report/model/format_text.h"
#include "report/names/shortname.h"

#define SITE_WIDTH 40		/* of a function's name */
#define LISTED 1000		/* pointers to one address */
#define CHAIN 16		/* steps back towards a root */
#define CHAIN_BYTES (8ull << 30)	/* the most that is read for all steps; each one reads all memory */

/* --- one pointer --- */

static const struct snapshot_thread *thread(const struct scan *sc, pid_t tid)
{
	for (size_t i = 0; i < sc->snapshot.nthreads; i++)
		if (sc->snapshot.threads[i].tid == tid)
			return &sc->snapshot.threads[i];
	return NULL;
}

/* "session_open svc.c:42", "svc+0x1310": the code that allocated it, by the watch (--with-trace). */
static void name_site(const struct summary_frame *f, struct strbuf *sb)
{
	if (f->function)
		shortname(sb, f->function, SITE_WIDTH);
	else if (f->module)
		strbuf_printf(sb, "%s+0x%" PRIx64, format_base(f->module), f->offset);
	if (f->file)
		strbuf_printf(sb, " %s:%d", format_base(f->file), f->line);
}

/* NULL: not known. Also if out of memory. */
static const char *site_of(struct scan *sc, size_t i)
{
	cleanup_strbuf struct strbuf sb = STRBUF_INIT;
	enum scan_watched_is is;
	const uint32_t stack = scan_watched_stack(&sc->watched, &sc->blocks[i], &is);
	struct stack_view view;

	if (stack == SCAN_NO_STACK || scan_watched_expand(&sc->watched, stack, &view) < 0)
		return NULL;
	if (view.wrappers < view.depth)
		name_site(&view.frames[view.wrappers], &sb);
	free(view.frames);
	return sb.len ? summary_string(&sc->report.summary, strbuf_str(&sb)) : NULL;
}

static void fill_block(struct scan *sc, size_t i, struct scan_block *out)
{
	uint32_t class = scan_class_of(sc, i);

	*out = (struct scan_block){ .addr = sc->blocks[i].addr, .size = sc->blocks[i].size,
				    .verdict = scan_verdict(sc, i), .label = site_of(sc, i) };
	if (!out->label && class != CLASS_NONE)
		out->label = summary_string(&sc->report.summary, classify_name(sc->classes, class));
}

static void fill_stack(const struct scan *sc, struct scan_pointer *out)
{
	const struct snapshot_thread *t = thread(sc, out->tid);

	out->sp_known = t && t->sp;
	out->from_sp = out->sp_known ? (int64_t)(out->at - t->sp) : 0;
}

static void fill(struct scan *sc, const struct pointer *p, struct scan_pointer *out)
{
	static const enum scan_place places[] = {
		[POINTER_BLOCK] = SCAN_IN_BLOCK, [POINTER_REGISTER] = SCAN_IN_REGISTER,
		[POINTER_STACK] = SCAN_ON_STACK, [POINTER_DATA] = SCAN_IN_DATA,
		[POINTER_TLS] = SCAN_IN_TLS,	 [POINTER_OWN] = SCAN_IN_ALLOCATOR,
	};

	*out = (struct scan_pointer){ .place = places[p->place], .at = p->at, .value = p->value };
	if (p->place == POINTER_BLOCK)
		fill_block(sc, p->block, &out->block);
	if (p->place == POINTER_REGISTER || p->place == POINTER_STACK || p->place == POINTER_TLS)
		out->tid = p->tid;
	if (p->place == POINTER_REGISTER)
		out->reg = summary_string(&sc->report.summary, p->reg);
	if (p->place == POINTER_STACK)
		fill_stack(sc, out);
	if (p->place == POINTER_DATA)
		scan_place_data(sc, p->at, out);
}

/* --- all pointers to one address --- */

static int list(struct scan *sc, const struct pointer *found, size_t n, struct scan_answer *a)
{
	a->pointers = calloc(n + 1, sizeof(*a->pointers));
	if (!a->pointers)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		fill(sc, &found[i], &a->pointers[i]);
	a->n = n;
	return 0;
}

/* --- the way back to a root --- */

struct way {
	size_t blocks[CHAIN];
	size_t n;
};

static bool been_there(const struct way *w, size_t block)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->blocks[i] == block)
			return true;
	return false;
}

/*
 * A root, if there is one among them; else a block that is not on the way yet: a reachable one, if there is
 * one, since lost blocks point to reachable ones, too. NULL: neither.
 */
static const struct pointer *choose(const struct scan *sc, const struct pointer *found, size_t n,
				    const struct way *w)
{
	const struct pointer *block = NULL;

	for (size_t i = 0; i < n; i++) {
		if (found[i].place != POINTER_BLOCK && found[i].place != POINTER_OWN)
			return &found[i];
		if (found[i].place != POINTER_BLOCK || been_there(w, found[i].block))
			continue;
		if (!block || (scan_verdict(sc, found[i].block) == VERDICT_REACHABLE &&
			       scan_verdict(sc, block->block) != VERDICT_REACHABLE))
			block = &found[i];
	}
	return block;
}

/* Of pointers none of which leads on: does one come from a block of the chain? */
static bool points_from_way(const struct pointer *found, size_t n, const struct way *w)
{
	for (size_t i = 0; i < n; i++)
		if (found[i].place == POINTER_BLOCK && been_there(w, found[i].block))
			return true;
	return false;
}

/* One step. 1: continue from the block in @next; 0: this was the last; -ENOMEM. */
static int step(struct scan *sc, const struct pointer *found, size_t n, size_t total, struct way *w,
		struct scan_chain *c, size_t *next)
{
	const struct pointer *p = choose(sc, found, n, w);

	if (!p) {
		c->ring = n && n == total && points_from_way(found, n, w);
		return 0;
	}
	fill(sc, p, &c->links[c->n++]);
	c->root = p->place != POINTER_BLOCK;
	if (c->root || w->n == CHAIN)
		return 0;
	*next = p->block;
	w->blocks[w->n++] = p->block;
	return 1;
}

static int follow(struct scan *sc, const struct pointer *first, size_t nfirst, size_t total, size_t block,
		  struct scan_chain *c)
{
	const struct reach_input in = scan_reach_input(sc);
	struct way way = { .blocks = { block }, .n = 1 };
	uint64_t looked = sc->snapshot.bytes;
	size_t next;
	int r;

	c->links = calloc(CHAIN + 1, sizeof(*c->links));
	if (!c->links)
		return -ENOMEM;
	r = step(sc, first, nfirst, total, &way, c, &next);
	while (r == 1 && (looked += sc->snapshot.bytes) <= CHAIN_BYTES) {
		struct pointer *found = NULL;
		size_t n = 0;

		r = reach_who_points(&in, sc->blocks[next].addr, LISTED, &found, &n, &total);
		if (r == 0)
			r = step(sc, found, n, total, &way, c, &next);
		free(found);
	}
	return r < 0 ? r : 0;
}

/* --- all --- */

static int answer(struct scan *sc, taddr addr)
{
	const struct reach_input in = scan_reach_input(sc);
	struct scan_answer *a = scan_add_answer(&sc->report);
	struct pointer *found = NULL;
	const size_t block = block_over(sc->blocks, sc->nblocks, addr);
	size_t n = 0;
	int r;

	if (!a)
		return -ENOMEM;
	a->addr = addr;
	a->in_block = block < sc->nblocks;
	if (a->in_block)
		fill_block(sc, block, &a->block);
	else
		a->where = scan_place_text(sc, addr);
	r = reach_who_points(&in, addr, LISTED, &found, &n, &a->total);
	if (r == 0)
		r = list(sc, found, n, a);
	if (r == 0 && a->in_block)
		r = follow(sc, found, n, a->total, block, &a->chain);
	free(found);
	return r;
}

int scan_pointers_add(struct scan *sc, const taddr *addrs, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = answer(sc, addrs[i]);
	return r;
}
