/* SPDX-License-Identifier: MIT */
/*
 * callsites: first the bytes are searched, then what was found is verified.
 *
 *	slots     which slots of the global offset table hold a target (relocations)
 *	goals     where a call of a target can go: to the target's own address, and to every `jmp *slot` of
 *	          such a slot (a PLT stub of any kind, with the endbr64 and bnd before it)
 *	calls     e8 rel32 to a goal, ff 15 rel32 through a slot
 *	verify    all the code of each function with such bytes (codesweep.h)
 *
 * memchr does the search; a program of ten megabytes has some thousand calls in as many functions, and only
 * the code of those is decoded. If jumps to new targets are searched, those to older ones count only in the
 * functions that have one to a new target: only their code is searched for them.
 */
#include "attach/probes/callsites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/probes/code/codesweep.h"
#include "attach/probes/code/elfslots.h"
#include "base/addr_search.h"
#include "base/grow.h"
#include "symbolize/files/elffile.h"

#define PIECES 8			/* a file has one executable segment, or two */
#define CODE_MAX (512UL << 20)		/* of a file: a sparse one can claim gigabytes */

/* An address that leads to a target: a slot that holds it, or its code or stub. */
struct goal {
	taddr addr;
	uint32_t target;
};

struct goals {
	struct goal *v;		/* by address, once sorted */
	size_t n, room;
};

/* An executable segment, read. */
struct piece {
	taddr lo;
	uint8_t *code;
	size_t n;
};

struct search {
	const struct elfimage *img;
	bool tails;		/* jumps are looked for, not calls */
	const struct callsite_target *targets;
	size_t ntargets;
	uint32_t first;		/* the first target that is searched */
	struct piece pieces[PIECES];
	size_t npieces, nbytes;
	struct goals slots, goals;
	struct callsite *found;
	size_t nfound, room;
	struct callsite *kept;	/* of these, what is verified */
	size_t nkept, kept_room;
};

static int goals_add(struct goals *g, taddr addr, uint32_t target)
{
	int rc = grow_for(&g->v, g->n, &g->room, sizeof(*g->v));

	if (!rc)
		g->v[g->n++] = (struct goal){ addr, target };
	return rc;
}

/* At one address, the target that is named first comes first. */
static int compare_goals(const void *pa, const void *pb)
{
	const struct goal *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return a->target < b->target ? -1 : a->target > b->target;
}

static void goals_sort(struct goals *g)
{
	if (g->n)
		qsort(g->v, g->n, sizeof(*g->v), compare_goals);
}

static const struct goal *goals_find(const struct goals *g, taddr addr)
{
	size_t i = addr ? ADDR_SEARCH(g->v, g->n, addr, addr - 1) : g->n;

	return i < g->n && g->v[i].addr == addr ? &g->v[i] : NULL;
}

static int read_piece(struct search *s, struct code_range range)
{
	struct piece *p = &s->pieces[s->npieces];
	size_t n = range.hi - range.lo;

	if (range.hi <= range.lo || n > CODE_MAX - s->nbytes)
		return 0;
	p->code = malloc(n);
	if (!p->code)
		return -ENOMEM;
	p->lo = range.lo;
	p->n = elfimage_code(s->img, range.lo, p->code, n);
	s->npieces++;
	s->nbytes += n;
	return 0;
}

static int read_pieces(struct search *s)
{
	struct code_range range;
	int rc = 0;

	for (size_t i = 0; !rc && s->npieces < PIECES && elfimage_code_segment(s->img, i, &range); i++)
		rc = read_piece(s, range);
	return rc;
}

static int32_t rel32(const uint8_t *p)
{
	int32_t rel;

	memcpy(&rel, p, sizeof(rel));
	return rel;
}

/* Is the slot filled with the target? */
static bool leads_to(const struct elfslot *slot, const struct callsite_target *target)
{
	if (!*slot->name)
		return target->addr && slot->addr == target->addr;
	return target->name && !strcmp(slot->name, target->name);
}

static int find_slots(struct search *s)
{
	size_t n;
	const struct elfslot *slots = elfimage_slots(s->img, &n);
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t t = 0; !rc && t < s->ntargets; t++) {
			if (leads_to(&slots[i], &s->targets[t]))
				rc = goals_add(&s->slots, slots[i].slot, (uint32_t)t);
		}
	}
	goals_sort(&s->slots);
	return rc;
}

/* The stub whose `jmp *slot` is at @at of @p, with the bnd and endbr64 that may precede it. */
static int add_stub(struct search *s, const struct piece *p, size_t at, uint32_t target)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	int rc = goals_add(&s->goals, p->lo + at, target);

	if (!rc && at >= 1 && p->code[at - 1] == 0xf2)
		rc = goals_add(&s->goals, p->lo + --at, target);
	if (!rc && at >= sizeof(endbr64) && !memcmp(p->code + at - sizeof(endbr64), endbr64, sizeof(endbr64)))
		rc = goals_add(&s->goals, p->lo + at - sizeof(endbr64), target);
	return rc;
}

static int find_stubs(struct search *s, const struct piece *p)
{
	const uint8_t *end = p->code + p->n, *at = p->code;
	int rc = 0;

	for (; !rc && (at = memchr(at, 0xff, (size_t)(end - at))) && end - at >= 6; at++) {
		size_t i = (size_t)(at - p->code);
		const struct goal *slot =
			at[1] == 0x25 ? goals_find(&s->slots, p->lo + i + 6 + (uint64_t)rel32(at + 2)) : NULL;

		if (slot)
			rc = add_stub(s, p, i, slot->target);
	}
	return rc;
}

static int find_goals(struct search *s)
{
	int rc = 0;

	for (size_t t = 0; !rc && t < s->ntargets; t++) {
		if (s->targets[t].addr)
			rc = goals_add(&s->goals, s->targets[t].addr, (uint32_t)t);
	}
	for (size_t i = 0; !rc && s->slots.n && i < s->npieces; i++)
		rc = find_stubs(s, &s->pieces[i]);
	goals_sort(&s->goals);
	return rc;
}

static int add_call(struct search *s, taddr ret, uint32_t target)
{
	int rc = grow_for(&s->found, s->nfound, &s->room, sizeof(*s->found));

	if (!rc)
		s->found[s->nfound++] = (struct callsite){ .ret = ret, .target = target };
	return rc;
}

/* Add the call or jump whose rel32 is at @at of @p, if it goes to one of @goals: the code or the slots. */
static int try_rel32(struct search *s, const struct piece *p, size_t at, const struct goals *goals)
{
	taddr ret = p->lo + at + 4;
	const struct goal *goal = goals_find(goals, ret + (uint64_t)rel32(p->code + at));

	return goal && goal->target >= s->first ? add_call(s, ret, goal->target) : 0;
}

/* By address: call, jmp. */
static int find_direct(struct search *s, const struct piece *p)
{
	const uint8_t *end = p->code + p->n, *at = p->code;
	int rc = 0;

	for (; !rc && (at = memchr(at, s->tails ? 0xe9 : 0xe8, (size_t)(end - at))) && end - at >= 5; at++)
		rc = try_rel32(s, p, (size_t)(at - p->code) + 1, &s->goals);
	return rc;
}

/* By address: conditional jumps. */
static int find_conditional(struct search *s, const struct piece *p)
{
	const uint8_t *end = p->code + p->n, *at = p->code;
	int rc = 0;

	for (; !rc && (at = memchr(at, 0x0f, (size_t)(end - at))) && end - at >= 6; at++) {
		if (at[1] >> 4 == 8)
			rc = try_rel32(s, p, (size_t)(at - p->code) + 2, &s->goals);
	}
	return rc;
}

/* Through a slot. */
static int find_indirect(struct search *s, const struct piece *p)
{
	const uint8_t *end = p->code + p->n, *at = p->code;
	int rc = 0;

	for (; !rc && (at = memchr(at, 0xff, (size_t)(end - at))) && end - at >= 6; at++) {
		if (at[1] == (s->tails ? 0x25 : 0x15))
			rc = try_rel32(s, p, (size_t)(at - p->code) + 2, &s->slots);
	}
	return rc;
}

static int compare_sites(const void *pa, const void *pb)
{
	const struct callsite *a = pa, *b = pb;

	return a->ret < b->ret ? -1 : a->ret > b->ret;
}

static int find_in(struct search *s, const struct piece *p)
{
	int rc = 0;

	if (s->goals.n)
		rc = find_direct(s, p);
	if (!rc && s->goals.n && s->tails)
		rc = find_conditional(s, p);
	if (!rc && s->slots.n)
		rc = find_indirect(s, p);
	return rc;
}

static void sort_found(struct search *s)
{
	if (s->nfound)
		qsort(s->found, s->nfound, sizeof(*s->found), compare_sites);
}

static int find_calls(struct search *s)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < s->npieces; i++)
		rc = find_in(s, &s->pieces[i]);
	sort_found(s);
	return rc;
}

/* The code of @range, if all of it was read. */
static uint8_t *code_of(const struct search *s, struct code_range range)
{
	for (size_t i = 0; i < s->npieces; i++) {
		const struct piece *p = &s->pieces[i];

		if (range.lo >= p->lo && range.hi > range.lo && range.lo - p->lo <= p->n &&
		    range.hi - range.lo <= p->n - (range.lo - p->lo))
			return p->code + (range.lo - p->lo);
	}
	return NULL;
}

static int keep_one(struct search *s, const struct callsite *site)
{
	int rc = grow_for(&s->kept, s->nkept, &s->kept_room, sizeof(*s->kept));

	if (!rc)
		s->kept[s->nkept++] = *site;
	return rc;
}

/*
 * Does the function have other ways out than the @n jumps that are kept? If a part of its code could not be
 * decoded, it may have.
 */
static bool has_others(const struct codesweep *sweep, size_t n)
{
	return sweep->exits > n || sweep->reached < sweep->range.hi - sweep->range.lo;
}

/* Keep those of the @n calls at @sites, all in the function @range with this code, that are really calls. */
static int keep_calls(struct search *s, struct code_range range, const uint8_t *code,
		      const struct callsite *sites, size_t n)
{
	size_t before = s->nkept;
	struct codesweep sweep;
	int rc = codesweep_run(code, range, &sweep);

	for (size_t i = 0; !rc && i < n; i++) {
		struct callsite site = sites[i];

		if (!(s->tails ? codesweep_leaves_before : codesweep_returns_to)(&sweep, site.ret))
			continue;
		site.function = range.lo;
		site.joined = codesweep_jumps_to(&sweep, site.ret);
		rc = keep_one(s, &site);
	}
	for (size_t i = before; s->tails && i < s->nkept; i++)
		s->kept[i].joined = has_others(&sweep, s->nkept - before);
	codesweep_fini(&sweep);
	return rc;
}

/* The function @range has a jump to a new target: keep all its jumps to targets. */
static int keep_jumps(struct search *s, struct code_range range, uint8_t *code)
{
	const struct piece piece = { range.lo, code, range.hi - range.lo };
	struct search in = { .tails = true, .goals = s->goals, .slots = s->slots };
	int rc = find_in(&in, &piece);

	sort_found(&in);
	if (!rc)
		rc = keep_calls(s, range, code, in.found, in.nfound);
	free(in.found);
	return rc;
}

/* true if @addr lies among the stubs of a PLT. */
static bool in_plt(const struct search *s, taddr addr)
{
	static const char *const names[] = { ".plt", ".plt.got", ".plt.sec", ".iplt" };
	GElf_Shdr sh;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (elffile_section(elfimage_elf(s->img), names[i], &sh) && addr - sh.sh_addr < sh.sh_size)
			return true;
	}
	return false;
}

/* The @n calls at @sites lie in the function @range. */
static int keep(struct search *s, struct code_range range, const struct callsite *sites, size_t n)
{
	uint8_t *code = code_of(s, range);

	if (!code || range.hi - range.lo > CODESWEEP_MAX || (s->tails && in_plt(s, range.lo)))
		return 0;
	return s->tails ? keep_jumps(s, range, code) : keep_calls(s, range, code, sites, n);
}

/* The calls are sorted: those of one function follow each other. */
static int verify(struct search *s)
{
	size_t first = 0;
	taddr done = 0;
	int rc = 0;

	while (!rc && first < s->nfound) {
		struct code_range range;
		size_t n = 1;

		if (elfimage_extent(s->img, s->found[first].ret - 1, &range)) {
			while (first + n < s->nfound && s->found[first + n].ret <= range.hi)
				n++;
			/* all jumps of a function are kept: of two that overlap, only those of the first one */
			if (!s->tails || range.lo >= done) {
				rc = keep(s, range, &s->found[first], n);
				done = range.hi;
			}
		}
		first += n;
	}
	return rc;
}

static void search_fini(struct search *s)
{
	for (size_t i = 0; i < s->npieces; i++)
		free(s->pieces[i].code);
	free(s->slots.v);
	free(s->goals.v);
	free(s->found);
	free(s->kept);
}

static int search(struct search *s, struct callsite **out, size_t *nout, size_t *unsure)
{
	int rc = find_slots(s);

	if (!rc)
		rc = read_pieces(s);
	if (!rc)
		rc = find_goals(s);
	if (!rc)
		rc = find_calls(s);
	if (!rc)
		rc = verify(s);
	if (!rc) {
		*out = s->kept;
		*nout = s->nkept;
		s->kept = NULL;
		if (unsure)
			*unsure = s->nfound - s->nkept;
	}
	search_fini(s);
	return rc;
}

int callsites_find(const struct elfimage *img, const struct callsite_target *targets, size_t n,
		   struct callsite **out, size_t *nout, size_t *unsure)
{
	struct search s = { .img = img, .targets = targets, .ntargets = n };

	return search(&s, out, nout, unsure);
}

int callsites_tails(const struct elfimage *img, const struct callsite_target *targets, size_t n, size_t first,
		    struct callsite **out, size_t *nout)
{
	struct search s = {
		.img = img, .tails = true, .targets = targets, .ntargets = n, .first = (uint32_t)first
	};

	return search(&s, out, nout, NULL);
}
