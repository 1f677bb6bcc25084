/* SPDX-License-Identifier: MIT */
/* roots: see roots.h. Cuts and blocks are walked in parallel with the pieces, each once. */
#include "heap/reach/roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr_search.h"
#include "heap/reach/shared_maps.h"

/* rsp, too: valgrind has it, and a stack that is a block is reachable through it. */
const char *const root_register_names[ROOT_REGISTERS] = {
	"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",
	"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
};

void root_registers(const struct snapshot_thread *t, uint64_t out[ROOT_REGISTERS])
{
	const struct user_regs_struct *r = &t->regs;
	const uint64_t all[ROOT_REGISTERS] = {
		r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp,
		r->r8,	r->r9,	r->r10, r->r11, r->r12, r->r13, r->r14, r->r15
	};

	memcpy(out, all, sizeof(all));
}

/*
 * May memory of this mapping contain roots? Memory that was written once and then protected may well contain
 * pointers (a service's configuration, in a mapping or in its own data); valgrind does not search it, but
 * mmattach does if the snapshot has it. Of a file's pages the snapshot has those that were written, most of
 * them by the loader, and none of code.
 */
bool root_mapping(const struct mapping *m)
{
	if (!m)
		return true;
	if (m->perms & MAPPING_SHARED)
		return shared_map_may_point(m);
	if (strncmp(m->path, "[v", 2) == 0)	/* vdso, vvar, vsyscall */
		return false;
	return m->perms & MAPPING_WRITE || !m->ino || !(m->perms & MAPPING_EXEC);
}

bool root_is_code(const struct mapping *m)
{
	/* a stack may be executable, and has no code */
	return m && m->perms & MAPPING_EXEC && !(m->perms & MAPPING_SHARED) && !m->ino && m->path[0] != '[' &&
	       root_mapping(m);
}

/* --- cuts --- */

struct ranges {
	struct snapshot_range *all;
	size_t n;
};

static void add(struct ranges *r, taddr lo, taddr hi)
{
	if (lo < hi)
		r->all[r->n++] = (struct snapshot_range){ lo, hi };
}

static void add_census(struct ranges *r, const struct census *c, bool areas)
{
	for (size_t i = 0; i < c->nareas && areas; i++)
		add(r, c->areas[i].lo, c->areas[i].hi);
	for (size_t i = 0; i < c->narenas; i++)
		add(r, c->arenas[i].at, c->arenas[i].at + c->arenas[i].state_bytes);
}

static const struct census *known_census(const struct reach_input *in)
{
	return in->census && in->census->known ? in->census : NULL;
}

static int find_cuts(struct ranges *r, const struct reach_input *in, const struct threadstacks *stacks,
		     bool areas)
{
	const struct census *c = known_census(in);

	r->n = 0;
	r->all = calloc((c ? c->nareas + c->narenas : 0) + in->nquiet + stacks->ndead + 1, sizeof(*r->all));
	if (!r->all)
		return -ENOMEM;
	if (c)
		add_census(r, c, areas);
	for (size_t i = 0; i < in->nquiet; i++)
		add(r, in->quiet[i].addr, in->quiet[i].addr + in->quiet[i].size);
	for (size_t i = 0; i < stacks->ndead; i++)
		add(r, stacks->dead[i].lo, stacks->dead[i].hi);
	r->n = snapshot_join(r->all, r->n);
	return 0;
}

static int find_extra(struct ranges *r, const struct census *c, const struct nodes *nodes)
{
	r->n = 0;
	r->all = calloc(c->nown + nodes->nholders + 1, sizeof(*r->all));
	if (!r->all)
		return -ENOMEM;
	for (size_t i = 0; i < c->nown; i++)
		add(r, c->own[i].addr, c->own[i].addr + c->own[i].size);
	for (size_t i = 0; i < nodes->nholders; i++)
		add(r, nodes->holders[i].lo, nodes->holders[i].hi);
	r->n = snapshot_join(r->all, r->n);
	return 0;
}

/*
 * Free memory in a heap is not searched; if a heap could not be walked to its end, it is unknown what is free
 * in it.
 */
static bool heaps_are_known(const struct census *c)
{
	return c && !c->nproblems && !c->problem.at;
}

int roots_init(struct roots *r, const struct reach_input *in, const struct nodes *nodes,
	       const struct threadstacks *stacks)
{
	const struct census *c = known_census(in);
	const bool known = heaps_are_known(c);
	struct ranges cuts = { NULL, 0 }, inner = { NULL, 0 }, extra = { NULL, 0 };

	memset(r, 0, sizeof(*r));
	if (find_cuts(&cuts, in, stacks, known) < 0 || find_cuts(&inner, in, stacks, false) < 0 ||
	    (known && find_extra(&extra, c, nodes) < 0)) {
		free(cuts.all);
		free(inner.all);
		free(extra.all);
		return -ENOMEM;
	}
	*r = (struct roots){ .s = in->snapshot, .nodes = nodes, .cuts = cuts.all, .ncuts = cuts.n,
			     .inner = inner.all, .ninner = inner.n,
			     .extra = extra.all, .nextra = extra.n };
	return 0;
}

void roots_fini(struct roots *r)
{
	free(r->cuts);
	free(r->inner);
	free(r->extra);
	memset(r, 0, sizeof(*r));
}

/* --- iteration --- */

/*
 * If @at is in a cut, the end of the cut; otherwise @at, and *@end is moved to the beginning of the next one.
 */
static taddr leave_cut(struct roots *r, taddr at, taddr *end)
{
	const struct snapshot_range *cuts = r->extras ? r->inner : r->cuts;
	const size_t ncuts = r->extras ? r->ninner : r->ncuts;

	while (r->cut < ncuts && cuts[r->cut].hi <= at)
		r->cut++;
	if (r->cut == ncuts || cuts[r->cut].lo >= *end)
		return at;
	if (cuts[r->cut].lo <= at)
		return cuts[r->cut].hi;
	*end = cuts[r->cut].lo;
	return at;
}

static taddr leave_block(struct roots *r, taddr at, taddr *end)
{
	const struct block *b = r->nodes->blocks;

	while (r->node < r->nodes->n && b[r->node].addr + b[r->node].size <= at)
		r->node++;
	if (r->node == r->nodes->n || b[r->node].addr >= *end)
		return at;
	if (b[r->node].addr <= at)
		return b[r->node].addr + b[r->node].size;
	*end = b[r->node].addr;
	return at;
}

/* The next range of piece @p, before @end; false: continue at r->at, which is @end or the end of a cut. */
static bool next_range(struct roots *r, const struct snapshot_piece *p, taddr end, struct root *out)
{
	taddr behind = leave_cut(r, r->at, &end);

	if (behind == r->at)
		behind = leave_block(r, r->at, &end);
	if (behind != r->at) {
		r->at = behind;
		return false;
	}
	if (end - r->at > ROOT_MAX)
		end = r->at + ROOT_MAX;
	out->at = (r->at + 7) & ~UINT64_C(7);
	r->at = end;
	end &= ~UINT64_C(7);
	if (out->at >= end)
		return false;
	out->size = end - out->at;
	out->bytes = p->bytes + (out->at - p->lo);
	out->own = r->extras;
	out->code = false;
	out->behind = 0;
	return true;
}

/* The end of the mapping @m, NULL: none, at @at, or @end. */
static taddr end_of_mapping(const struct mapping *m, taddr at, taddr end)
{
	if (m && m->hi < end)
		return m->hi;
	return m ? end : at + SNAPSHOT_PAGE < end ? (at | (SNAPSHOT_PAGE - 1)) + 1 : end;
}

/* An address may go on behind the range, where the next one begins. */
static void mark_code(const struct snapshot_piece *p, struct root *out)
{
	const uint64_t left = p->lo + p->size - (out->at + out->size);

	out->code = true;
	out->behind = left < sizeof(taddr) - 1 ? left : sizeof(taddr) - 1;
}

static bool next_in_pieces(struct roots *r, struct root *out)
{
	for (; r->piece < r->s->npieces; r->piece++) {
		const struct snapshot_piece *p = &r->s->pieces[r->piece];

		if (r->at < p->lo)
			r->at = p->lo;
		while (r->at < p->lo + p->size) {
			const struct mapping *m = procmaps_find(&r->s->maps, r->at);
			const taddr end = end_of_mapping(m, r->at, p->lo + p->size);

			if (!root_mapping(m)) {
				r->at = end;
				continue;
			}
			if (!next_range(r, p, end, out))
				continue;
			if (root_is_code(m))
				mark_code(p, out);
			return true;
		}
	}
	return false;
}

static bool next_in_extra(struct roots *r, struct root *out)
{
	while (r->in_extra < r->nextra) {
		const struct snapshot_range *e = &r->extra[r->in_extra];
		const struct snapshot_piece *p;
		taddr end;

		if (r->at < e->lo)
			r->at = e->lo;
		while (r->piece < r->s->npieces &&
		       r->s->pieces[r->piece].lo + r->s->pieces[r->piece].size <= r->at)
			r->piece++;
		p = &r->s->pieces[r->piece];
		if (r->at >= e->hi || r->piece == r->s->npieces || p->lo >= e->hi) {
			r->in_extra++;
			continue;
		}
		if (r->at < p->lo)
			r->at = p->lo;
		end = p->lo + p->size < e->hi ? p->lo + p->size : e->hi;
		if (next_range(r, p, end, out))
			return true;
	}
	return false;
}

bool roots_next(struct roots *r, struct root *out)
{
	if (!r->extras) {
		if (next_in_pieces(r, out))
			return true;
		r->extras = true;
		r->piece = r->cut = r->node = 0;
		r->at = 0;
	}
	return next_in_extra(r, out);
}

void roots_rewind(struct roots *r)
{
	r->piece = r->cut = r->node = r->in_extra = 0;
	r->at = 0;
	r->extras = false;
}

static bool in_ranges(const struct snapshot_range *all, size_t n, taddr at)
{
	const size_t i = ADDR_SEARCH(all, n, hi, at);

	return i < n && all[i].lo <= at;
}

bool roots_hold(const struct roots *r, taddr at, bool *own)
{
	*own = in_ranges(r->extra, r->nextra, at) && !in_ranges(r->inner, r->ninner, at);
	return *own || (root_mapping(procmaps_find(&r->s->maps, at)) && !in_ranges(r->cuts, r->ncuts, at));
}
