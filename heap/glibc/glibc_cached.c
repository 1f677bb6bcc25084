/* SPDX-License-Identifier: MIT */
/*
 * Chunks that are free though the walk cannot see it: those in fastbins and in tcaches keep the bit that says
 * "in use".
 *
 * A tcache is a chunk like any other, with counts and heads of lists; its size shows which of three forms it
 * has. Its thread has a pointer to it in its thread-local memory, at the same distance below fs_base in all
 * threads: it is where most threads have a pointer to what looks like a tcache.
 *
 * Links are plain up to 2.31; from 2.32 on they are mixed with their own address. The lists themselves show
 * which of both holds.
 *
 * A stop may interrupt a change of a list: its count may be off by one, and its first chunk may be in no
 * list.
 */
#include "heap/glibc/glibc.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "heap/threadstacks.h"

#define TLS_MOST (1u << 20)	/* of static thread-local memory, searched for the pointer */
#define VOTERS 16u
#define MOST_BINS 76u

static const struct glibc_tcache_form forms[] = {
	/* 2.26 to 2.29; 2.30 to 2.41; from 2.42 on */
	{ .chunk = 0x250, .bins = 64, .count_bytes = 1, .exact_bins = 64 },
	{ .chunk = 0x290, .bins = 64, .count_bytes = 2, .exact_bins = 64 },
	{ .chunk = 0x300, .bins = 76, .count_bytes = 2, .exact_bins = 64, .slots = true },
};

struct tcache {
	taddr at;
	const struct glibc_tcache_form *form;
	uint16_t counts[MOST_BINS];
	taddr heads[MOST_BINS];
	size_t filled;			/* lists that are not empty */
	bool ending;			/* its thread may be ending: lists are emptied, counts stay */
};

/* --- tcaches --- */

/* The index of the list for chunks of @size; beyond the last if there is none. */
static unsigned tcache_bin(const struct glibc_tcache_form *form, uint64_t size)
{
	const uint64_t i = (size - GLIBC_MINSIZE) / GLIBC_ALIGN;
	const uint32_t last_exact = GLIBC_MINSIZE + (form->exact_bins - 1u) * GLIBC_ALIGN;

	if (i < form->exact_bins)
		return (unsigned)i;
	if (size > UINT32_MAX)
		return UINT32_MAX;
	return form->exact_bins + (unsigned)__builtin_clz(last_exact) -
	       (unsigned)__builtin_clz((uint32_t)size);
}

/*
 * A chunk is 16 bytes larger if the rest would be too small for one; and 2.43 requests 16 too much if another
 * list needed a tcache.
 */
static bool is_form(const struct glibc_tcache_form *form, uint64_t size)
{
	return size >= form->chunk && size <= form->chunk + 32u;
}

static bool read_counts(struct glibc *g, struct tcache *t)
{
	uint8_t raw[2 * MOST_BINS];
	const size_t n = (size_t)t->form->bins * t->form->count_bytes;

	if (snapshot_read(g->s, t->at, raw, n) < 0 ||
	    snapshot_read(g->s, t->at + n, t->heads, t->form->bins * sizeof(taddr)) < 0)
		return false;
	for (unsigned i = 0; i < t->form->bins; i++)
		t->counts[i] =
			t->form->count_bytes == 1 ? raw[i] : (uint16_t)(raw[2 * i] | raw[2 * i + 1] << 8);
	return true;
}

static bool one_fits(struct glibc *g, const struct tcache *t, unsigned i)
{
	struct glibc_region *r;
	uint64_t size;

	if (!t->heads[i])
		return t->form->slots || t->ending || t->counts[i] <= 1;
	if (t->heads[i] % GLIBC_ALIGN || (!t->form->slots && t->counts[i] > UINT16_MAX / 2 + 1))
		return false;
	size = glibc_chunk_size(g, t->heads[i] - 16, &r);
	return size && tcache_bin(t->form, size) == i;
}

/* Is there a tcache of @form at t->at? */
static bool read_as(struct glibc *g, const struct glibc_tcache_form *form, struct tcache *t)
{
	t->form = form;
	t->filled = 0;
	if (!read_counts(g, t))
		return false;
	for (unsigned i = 0; i < form->bins; i++) {
		if (!one_fits(g, t, i))
			return false;
		t->filled += !!t->heads[i];
	}
	return true;
}

/*
 * Is there a tcache at @at? If its thread has no arena (none could be made), it has a mapping of its own,
 * whose size shows nothing: then it has the form with which all its lists are valid. An empty one fits any
 * form.
 */
static bool read_tcache(struct glibc *g, taddr at, bool ending, struct tcache *t)
{
	struct glibc_region *r;
	const uint64_t size = glibc_chunk_size(g, at - 16, &r);
	const bool mapped = r && r->arena == CENSUS_MMAPPED && r->hi - r->lo == SNAPSHOT_PAGE;

	t->at = at;
	t->ending = ending;
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if ((mapped || is_form(&forms[i], size)) && read_as(g, &forms[i], t))
			return true;
	return false;
}

/* --- where threads have the pointer to their tcache --- */

/* A thread that has a tcache, or had one. */
struct holder {
	pid_t tid;			/* 0: it has ended */
	taddr fs;
	taddr least;			/* where its variables begin, at least; 0: not known */
};

struct holders {
	struct holder *all;		/* those that live first */
	size_t n;
};

/*
 * From its struct pthread down to its stack, or to that of another thread, which has pointers to that one's
 * tcache. (Its DTV may not have a variable of the C library's that was loaded later, with dlmopen.)
 */
static void look_below(const struct threadstacks *st, struct holder *h)
{
	for (size_t i = 0; i < st->n; i++)
		if (st->all[i].hi <= h->fs && st->all[i].hi > h->least)
			h->least = st->all[i].hi;
}

static struct holder living(const struct snapshot_thread *t)
{
	return (struct holder){ t->tid, t->regs.fs_base, t->sp <= t->regs.fs_base ? t->sp : 0 };
}

static bool may_vote(const struct holder *h)
{
	return h->fs && h->fs % 8 == 0;
}

/* Of its stack nothing is in use; of one whose variables are not found, nothing is asked. */
static struct holder ended(const struct snapshot *s, taddr self)
{
	const taddr begin = threadstacks_tls(s, self, self > TLS_MOST ? self - TLS_MOST : 0);

	return (struct holder){ 0, self, begin };
}

/*
 * A thread that has ended has freed its tcache, and cleared the pointer; unless it ended without the C library
 * (the system call exit), or in another process: those that a child of fork does not have.
 */
static int find_holders(struct glibc *g, struct holders *hs)
{
	const struct snapshot *s = g->s;
	struct threadstacks st;
	int err = threadstacks_find(&st, s);
	size_t voters = 0;

	hs->n = 0;
	hs->all = err ? NULL : calloc(s->nthreads + st.n + 1, sizeof(*hs->all));
	for (size_t i = 0; hs->all && i < s->nthreads; i++)
		if (s->threads[i].known)
			hs->all[hs->n++] = living(&s->threads[i]);
	/* there may be tens of thousands of threads, and for each one asked all stacks are looked at */
	for (size_t i = 0; i < hs->n && voters < VOTERS; i++)
		if (may_vote(&hs->all[i]) && ++voters)
			look_below(&st, &hs->all[i]);
	for (size_t i = 0; hs->all && i < st.n; i++)
		if (!st.all[i].tid)
			hs->all[hs->n++] = ended(s, st.all[i].self);
	threadstacks_fini(&st);
	return hs->all ? 0 : -ENOMEM;
}

/* For each distance below fs_base, in words. */
struct votes {
	uint32_t *points;
	size_t n;
};

static void vote_word(struct glibc *g, taddr fs, struct votes *v, size_t i)
{
	struct tcache t;
	uint64_t word;

	if (!snapshot_cursor_word(&g->cursor, fs - 8 * i, &word) || !word || word % GLIBC_ALIGN ||
	    !read_tcache(g, word, false, &t))
		return;
	if (t.filled)
		v->points[i] += 4;
	else if (!glibc_region_at(g, word) || glibc_region_at(g, word)->arena != CENSUS_MMAPPED)
		v->points[i]++;	/* any mapped page of zeros could be one */
}

static void vote(struct glibc *g, const struct holder *h, struct votes *v)
{
	for (size_t i = 1; i < v->n && 8 * i < h->fs; i++) {
		const taddr at = h->fs - 8 * i;

		if (at < h->least || snapshot_kind_at(g->s, at) == SNAPSHOT_NOTHING)
			return;
		if (snapshot_kind_at(g->s, at) != SNAPSHOT_HERE) {
			/* continue at the word before this page */
			i += at % SNAPSHOT_PAGE / 8;
			continue;
		}
		do
			vote_word(g, h->fs, v, i);
		while ((h->fs - 8 * i) % SNAPSHOT_PAGE && ++i < v->n && h->fs - 8 * i >= h->least);
	}
}

/* How far below fs_base the pointer is; 0: no thread has one. */
static int find_slot(struct glibc *g, const struct holders *hs, uint64_t *distance)
{
	struct votes v = { .n = TLS_MOST / 8 };
	size_t best = 0;

	*distance = 0;
	v.points = calloc(v.n, sizeof(*v.points));
	if (!v.points)
		return -ENOMEM;
	for (size_t i = 0, asked = 0; i < hs->n && asked < VOTERS; i++) {
		if (!may_vote(&hs->all[i]))
			continue;
		vote(g, &hs->all[i], &v);
		asked++;
	}
	for (size_t i = 1; i < v.n; i++)
		if (v.points[i] > v.points[best])
			best = i;
	*distance = 8 * best;
	free(v.points);
	return 0;
}

/* --- marking --- */

/*
 * Marks @mem, which is in list @i of @t. false: it is no such chunk, or was marked already. @link: where its
 * address is in the list.
 */
static bool mark_in_tcache(struct glibc *g, const struct tcache *t, unsigned i, taddr mem, taddr link)
{
	struct glibc_region *r;
	const uint64_t size = mem % GLIBC_ALIGN ? 0 : glibc_chunk_size(g, mem - 16, &r);

	if (!size || tcache_bin(t->form, size) != i) {
		glibc_problem(
			g, link,
			"corrupt: a tcache's list leads from here to what is no chunk of its size (" PRItaddr
			", list %u)",
			mem, i);
		return false;
	}
	if (r->arena == CENSUS_MMAPPED) {
		r->freed = true;
		return true;
	}
	if (glibc_mark(g, r, mem - 16, size, &g->c->arenas[r->arena].tcache))
		return true;
	if (!g->no_memory)
		glibc_problem(
			g, mem,
			"corrupt: a chunk that is in two free lists, or twice in one (tcache at " PRItaddr
			", list %u)",
			t->at, i);
	return false;
}

static taddr head_at(const struct tcache *t, unsigned i)
{
	return t->at + (taddr)t->form->bins * t->form->count_bytes + 8 * i;
}

static void check_count(struct glibc *g, const struct tcache *t, unsigned i, uint64_t n)
{
	const bool wrong = t->form->slots ? g->param.at && n + t->counts[i] + 1 < g->param.tcache_count
					  : n + 1 < t->counts[i] || n > t->counts[i] + 1u;

	if (wrong && !t->ending)
		glibc_problem(g, t->at,
			      "corrupt: a tcache's count is not the length of its list (list %u: %" PRIu64
			      ")",
			      i, n);
}

/*
 * Counts of one byte are older than keys: the second word of a chunk is a key only if it is the address of
 * its tcache (2.29, and corrections of 2.27 and 2.28). Else it is what the program had there, and blocks may
 * have the same. With larger counts there is always a key.
 */
static bool may_be_key(const struct tcache *t, uint64_t word)
{
	return t->form->count_bytes > 1 || word == t->at;
}

/*
 * The key is the second word of chunks in an intact list. If a link leads astray, its chunk was written to
 * after it was freed, and its second word is not used: it is the program's, and other blocks may have the
 * same value (a count of one).
 */
static void mark_list(struct glibc *g, const struct tcache *t, unsigned i)
{
	taddr link_at = head_at(t, i), mem = t->heads[i];
	uint64_t n = 0, link, key = 0, last = 0;

	while (mem && mark_in_tcache(g, t, i, mem, link_at)) {
		/* the list went on after this chunk; the first one's key may not be written yet */
		if (last)
			key = last;
		n++;
		if (!snapshot_cursor_word(&g->cursor, mem + 8, &last) || !may_be_key(t, last))
			last = 0;
		if (!snapshot_cursor_word(&g->cursor, mem, &link))
			link = glibc_unmangle(g, mem, 0);
		link_at = mem;
		mem = glibc_unmangle(g, mem, link);
	}
	if (!mem && last)
		key = last;
	if (mem) {
		g->list_lost = true;
		g->lost_key = key ? key : g->lost_key;
	} else {
		g->key = key ? key : g->key;
		check_count(g, t, i, n);
	}
}

static int add_own(struct glibc *g, taddr at, uint64_t size)
{
	if (grow_for(&g->c->own, g->c->nown, &g->own_room, sizeof(*g->c->own)) < 0)
		return -ENOMEM;
	g->c->own[g->c->nown++] = (struct block){ at, size };
	return 0;
}

/* The tcache itself is the allocator's: it is marked, so that it is not the program's. */
static int mark_tcache(struct glibc *g, const struct tcache *t)
{
	struct glibc_region *r;
	const uint64_t size = glibc_chunk_size(g, t->at - 16, &r);

	if (r->arena == CENSUS_MMAPPED) {
		r->freed = true;
	} else {
		struct census_sum ignored = { 0 };

		if (!glibc_mark(g, r, t->at - 16, size, &ignored))
			return g->no_memory ? -ENOMEM : 0;
		g->c->arenas[r->arena].other_bytes += size;
	}
	/* an empty one with a mapping of its own fits any form */
	if (t->filled || r->arena != CENSUS_MMAPPED)
		g->layout.tcache = t->form;
	for (unsigned i = 0; i < t->form->bins; i++)
		mark_list(g, t, i);
	return g->no_memory ? -ENOMEM : add_own(g, t->at, size - 8);
}

/* Reads each thread's tcache; several threads may have the same pointer. */
static int read_all_tcaches(struct glibc *g, const struct holders *hs, uint64_t distance, struct tcache **out,
			    size_t *n)
{
	size_t room = 0;

	for (size_t i = 0; distance && i < hs->n; i++) {
		const struct holder *h = &hs->all[i];
		uint64_t at;

		if (h->fs <= distance || !snapshot_cursor_word(&g->cursor, h->fs - distance, &at) || !at)
			continue;
		if (grow_for(out, *n, &room, sizeof(**out)) < 0)
			return -ENOMEM;
		if (read_tcache(g, at, false, &(*out)[*n]))
			(*n)++;
		else if (h->tid && glibc_region_at(g, at))
			glibc_problem(g, at, "what a thread has for its tcache is not one (thread %d)",
				      h->tid);
	}
	return 0;
}

static int mark_tcaches(struct glibc *g, int *plain, struct tcache **all, size_t *n)
{
	struct holders hs;
	uint64_t distance;
	int err = find_holders(g, &hs);

	if (!err)
		err = find_slot(g, &hs, &distance);
	if (!err)
		err = read_all_tcaches(g, &hs, distance, all, n);
	for (size_t i = 0; i < *n && !err; i++)
		for (unsigned k = 0; k < (*all)[i].form->bins; k++)
			if ((*all)[i].heads[k])
				glibc_learn_mangling(g, (*all)[i].heads[k], 16, plain);
	free(hs.all);
	return err;
}

/* --- fastbins: up to 2.42; singly linked from the arena, chunks of one size each, perhaps millions --- */

/*
 * A position in a list. All lists of an arena are followed at the same time, a chunk of each in turn, because
 * each next one is elsewhere in memory.
 */
struct cursor {
	taddr chunk, link_at;	/* chunk 0: at its end */
	unsigned bin;
};

/* Mark the chunk, and go on to the next one. */
static void follow(struct glibc *g, size_t a, struct cursor *c)
{
	const taddr chunk = c->chunk;
	struct glibc_region *r;
	const uint64_t size = glibc_chunk_size(g, chunk, &r);
	uint64_t link;

	c->chunk = 0;
	if (!size || size / GLIBC_ALIGN - 2 != c->bin || r->arena != a) {
		glibc_problem(g, c->link_at,
			      "corrupt: a fastbin leads from here to what is no chunk of its size (" PRItaddr
			      ", list %u)",
			      chunk, c->bin);
		return;
	}
	if (!glibc_mark(g, r, chunk, size, &g->c->arenas[a].fast)) {
		if (!g->no_memory)
			glibc_problem(g, chunk,
				      "corrupt: a chunk that is in two free lists, or twice in one (fastbin "
				      "%u of the arena at " PRItaddr ")",
				      c->bin, g->arenas[a].at);
		return;
	}
	c->link_at = chunk + 16;
	if (!snapshot_cursor_word(&g->cursor, c->link_at, &link))
		return;
	c->chunk = glibc_unmangle(g, c->link_at, link);
	snapshot_cursor_prefetch(&g->cursor, c->chunk + 8);
}

/* Mark the chunks in the fastbins of the arena number @a. */
static void mark_fastbins(struct glibc *g, size_t a)
{
	struct cursor all[GLIBC_FASTBINS];
	unsigned n = 0;

	for (unsigned i = 0; i < GLIBC_FASTBINS; i++) {
		const taddr link_at = g->arenas[a].at + g->layout.fastbins + 8 * i;
		uint64_t head;

		if (snapshot_cursor_word(&g->cursor, link_at, &head) && head)
			all[n++] = (struct cursor){ head, link_at, i };
	}
	while (n) {
		for (unsigned i = 0; i < n; i++) {
			follow(g, a, &all[i]);
			if (!all[i].chunk)
				all[i--] = all[--n];
		}
	}
}

static void learn_from_fastbins(struct glibc *g, int *plain)
{
	for (size_t a = 0; a < g->narenas; a++) {
		for (unsigned i = 0; i < GLIBC_FASTBINS; i++) {
			uint64_t head;

			if (snapshot_cursor_word(&g->cursor, g->arenas[a].at + g->layout.fastbins + 8 * i,
						 &head) &&
			    head)
				glibc_learn_mangling(g, head + 16, 0, plain);
		}
	}
}

/* --- all --- */

bool glibc_tcache_size(uint64_t size)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (is_form(&forms[i], size))
			return true;
	return false;
}

/*
 * Does the first chunk of a list have the key of a tcache? In older versions the key is the address of its
 * tcache.
 */
static bool has_key(struct glibc *g, const struct tcache *t)
{
	for (unsigned i = 0; i < t->form->bins; i++) {
		uint64_t key;

		if (t->heads[i] && snapshot_cursor_word(&g->cursor, t->heads[i] + 8, &key) &&
		    (key == t->at || (key && key == g->key)))
			return true;
	}
	return false;
}

int glibc_mark_orphan(struct glibc *g, taddr at)
{
	struct tcache t;

	if (!read_tcache(g, at, true, &t) || !t.filled)
		return 0;
	if (has_key(g, &t))
		return mark_tcache(g, &t);
	/* without a key nothing but its form shows it, and a thread can only be ending in malloc */
	census_unsure(g->c, t.form->count_bytes == 1 && g->c->between, at,
		      "what looks like the tcache of a thread that ends");
	return 0;
}

int glibc_mark_cached(struct glibc *g)
{
	struct tcache *all = NULL;
	size_t n = 0;
	int plain = 0, err;

	err = mark_tcaches(g, &plain, &all, &n);
	if (g->layout.fastbins)
		learn_from_fastbins(g, &plain);
	g->layout.mangled = plain < 0 || !g->layout.fastbins;
	g->layout.links_seen = plain != 0;
	for (size_t i = 0; i < n && !err; i++)
		err = mark_tcache(g, &all[i]);
	for (size_t a = 0; a < g->narenas && g->layout.fastbins && !err; a++)
		mark_fastbins(g, a);
	free(all);
	return g->no_memory ? -ENOMEM : err;
}
