/* SPDX-License-Identifier: MIT */
/*
 * Continues a walk that has found a contradiction.
 *
 * Either a thread is at work. It does one thing at a time, with the arena locked, so there is at most one
 * such place, or two for neighbours:
 *
 *	a chunk is being split		its head is written, then that of the rest; in between, old contents
 *					are read as the head of the rest. If the chunk was free, the next one
 *					still has the old size before its head, and so shows where it began:
 *					from there on, all is one chunk that is not in use
 *	a block is being freed		the next chunk's bit is already cleared; the size before its head is
 *					not written yet
 *	memalign, realloc cut off	the rest has no head for some time: the thread has the next chunk's
 *	something			address in a register. Old contents may pass for a head: if a thread
 *					has chunk, rest, the rest's size and its end in registers, these count
 *
 * Or the heap is corrupt. Then the walk continues at the next chunk that a bin or a list contains; what lies
 * between is not seen, and reported as unseen.
 */
#include "heap/glibc/glibc_walk.h"
#include "heap/registers.h"

#include <stdlib.h>

#define PAGE SNAPSHOT_PAGE
#define ODD_MOST 2u

static bool known_edge(const struct walk *w, taddr at)
{
	return at >= w->r->lo && ((w->r->cached && glibc_bit(w->r->cached, w->r, at)) ||
				  (w->r->edges && glibc_bit(w->r->edges, w->r, at)));
}

bool walk_leads_on(struct walk *w, taddr at, uint64_t **dead)
{
	unsigned fences = 0;
	uint64_t head;

	while (at + 16 <= w->r->hi) {
		if (at == w->a->top && w->r->ends_in_top)
			return true;
		if (!snapshot_cursor_word(&w->g->cursor, at + 8, &head))
			return false;
		if (!walk_size(head) && !w->r->ends_in_top && at + 16 == w->r->hi)
			return true;
		if (!walk_is_head(w, at, head))
			return false;
		if (known_edge(w, at))
			return true;
		fences = walk_size(head) == 16 ? fences + 1 : 0;
		/* two, and before them the remainder of top, if that was too small for a chunk */
		if (fences >= 2 && (at + 16) % PAGE == 0)
			return true;
		if (fences > 3 || !glibc_set_bit(w->g, dead, w->r, at))
			return false;
		at += walk_size(head);
	}
	return false;
}

/* Is this one of the few contradictions that a thread at work may cause? */
static bool may_be_work(struct walk *w)
{
	return w->a->busy && w->a->odd++ < ODD_MOST;
}

/* --- a free chunk that is being split --- */

/*
 * All from @from on to @next is one chunk, and not in use. false: that was tried already, or there are too
 * many.
 */
static bool join(struct walk *w, taddr from, taddr next)
{
	for (size_t i = 0; i < w->njoints; i++)
		if (w->joints[i].from == from)
			return false;
	if (w->njoints == WALK_JOINTS)
		return false;
	w->joints[w->njoints++] = (struct walk_joint){ from, next, 0 };
	w->again = from < w->at;
	if (!w->again)
		walk_go_on(w, w->at);
	return true;
}

/* Does the chunk at w->at, which a bin says is free, look like a free one? */
static bool looks_free(struct walk *w)
{
	const taddr next = w->at + walk_size(w->head);
	uint64_t before, head;

	return walk_is_head(w, w->at, w->head) && snapshot_cursor_word(&w->g->cursor, next, &before) &&
	       snapshot_cursor_word(&w->g->cursor, next + 8, &head) && before == next - w->at &&
	       !(head & GLIBC_PREV_INUSE);
}

/* Is there a chunk at @next that has the size of all from @from on before its head, as after a free chunk? */
static bool ends_at(struct walk *w, taddr from, taddr next)
{
	uint64_t before, head;

	return next % GLIBC_ALIGN == 0 && next > w->at && next < w->r->hi &&
	       snapshot_cursor_word(&w->g->cursor, next, &before) && before == next - from &&
	       snapshot_cursor_word(&w->g->cursor, next + 8, &head) && !(head & GLIBC_PREV_INUSE) &&
	       walk_is_head(w, next, head);
}

/*
 * Does the thread have the address of the chunk before in a register, or that of its block, which malloc
 * returns? Another register may have the size of the rest: then @next is the end of both, else 0.
 */
static bool in_hand(struct walk *w, const struct snapshot_thread *t, taddr *next)
{
	uint64_t regs[REGISTERS];
	bool has = false;

	registers_general(t, regs);
	*next = 0;
	for (size_t k = 0; k < REGISTERS; k++)
		has = has || regs[k] == w->before || regs[k] == w->before + 16;
	for (size_t k = 0; k < REGISTERS && has && !*next; k++) {
		const uint64_t size = regs[k] & ~(uint64_t)GLIBC_FLAGS;

		if (ends_at(w, w->before, w->at + size))
			*next = w->at + size;
		else if (ends_at(w, w->before, w->before + size))
			*next = w->before + size;
	}
	return has;
}

/*
 * Nothing is being split if the chunk at w->at is a proper free one, and the sizes lead from it past @next
 * without reaching it: then @next is inside another chunk, and the words before it are old.
 */
static bool leads_past(struct walk *w, taddr next)
{
	taddr at = w->at;
	uint64_t head = w->head;

	if (!looks_free(w))
		return false;
	while (at < next && walk_is_head(w, at, head)) {
		at += walk_size(head);
		if (at >= w->r->hi || !snapshot_cursor_word(&w->g->cursor, at + 8, &head))
			break;
	}
	return at > next;
}

/* No register has the end: the first place where it could be. */
static taddr look_for_end(struct walk *w)
{
	for (taddr next = w->at + GLIBC_ALIGN; next + GLIBC_MINSIZE <= w->r->hi; next += GLIBC_ALIGN)
		if (ends_at(w, w->before, next))
			return next;
	return 0;
}

/*
 * The rest is put into the bin first, then the heads are written, then the size before the next chunk's head.
 * The next chunk still has the size of the old chunk, which began with the chunk before: that is how the next
 * chunk is found. What was in that memory before may look like anything.
 */
bool walk_cut(struct walk *w)
{
	taddr next;

	if (w->a->cut_tried || !w->before)
		return false;
	w->a->cut_tried = true;
	for (size_t i = 0; i < w->g->s->nthreads; i++) {
		if (!in_hand(w, &w->g->s->threads[i], &next))
			continue;
		if (!next && !looks_free(w))
			next = look_for_end(w);
		return next && !leads_past(w, next) && join(w, w->before, next);
	}
	return false;
}

void walk_bad_foot(struct walk *w, taddr next, uint64_t before, uint64_t head)
{
	/* it is just being freed: the bit is cleared first, the size is written last */
	if (!may_be_work(w))
		glibc_problem(w->g, next,
			      "corrupt: the size before this chunk (%#" PRIx64
			      ") is not that of the free chunk there (%#" PRIx64 ")",
			      before, next - w->at);
	walk_take_free(w, w->at, next - w->at);
	w->before = w->at;
	w->at = next;
	w->head = head;
}

/* --- the rest has no head yet --- */

static int by_address(const void *a, const void *b)
{
	const taddr *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Addresses after w->at that registers of @t contain, or that are as far from it as a register says. */
static size_t places_in(const struct walk *w, const struct snapshot_thread *t, taddr *out)
{
	uint64_t regs[REGISTERS];
	size_t n = 0;

	registers_general(t, regs);
	for (size_t i = 0; i < REGISTERS; i++) {
		const uint64_t distance = regs[i] & ~(uint64_t)GLIBC_FLAGS;

		out[n++] = regs[i];
		out[n++] = w->at + distance;
		out[n++] = w->before + distance;
	}
	return n;
}

/* The nearest place that a register gives and from which the sizes lead on; 0: none. */
static taddr from_registers(struct walk *w)
{
	const size_t most = 3 * REGISTERS * w->g->s->nthreads;
	taddr *places = calloc(most + 1, sizeof(*places)), found = 0;
	uint64_t *dead = NULL;
	size_t n = 0;

	if (!places) {
		w->g->no_memory = true;
		return 0;
	}
	for (size_t i = 0; i < w->g->s->nthreads; i++)
		n += places_in(w, &w->g->s->threads[i], places + n);
	qsort(places, n, sizeof(*places), by_address);
	for (size_t i = 0; i < n && !found; i++)
		if (places[i] % GLIBC_ALIGN == 0 && places[i] > w->at && places[i] + 16 <= w->r->hi &&
		    places[i] + 16 > places[i] && walk_leads_on(w, places[i], &dead))
			found = places[i];
	free(places);
	free(dead);
	return found;
}

/* Does one of the registers @r have this value? If @size, the flags of a size do not count. */
static bool has_value(const uint64_t r[REGISTERS], uint64_t value, bool size)
{
	for (size_t i = 0; i < REGISTERS; i++)
		if ((size ? r[i] & ~(uint64_t)GLIBC_FLAGS : r[i]) == value)
			return true;
	return false;
}

/* The size of the chunk at @at by its head; 0: it is no chunk of the region. */
static uint64_t size_at(struct walk *w, taddr at)
{
	uint64_t head;

	if (at % GLIBC_ALIGN || at < w->r->first || at >= w->r->hi ||
	    !snapshot_cursor_word(&w->g->cursor, at + 8, &head) || !walk_is_head(w, at, head))
		return 0;
	return walk_size(head);
}

/*
 * If a thread with the registers @r has just made the chunk at @at smaller: is the rest's head not written
 * yet?
 */
static void note_rest(struct walk *w, const uint64_t r[REGISTERS], taddr at)
{
	const uint64_t kept = size_at(w, at);
	const taddr rest = at + kept;

	if (!kept || !has_value(r, rest, false) || w->njoints == WALK_JOINTS)
		return;
	for (size_t i = 0; i < REGISTERS; i++) {
		const taddr end = r[i];

		if (end < rest + GLIBC_MINSIZE || !size_at(w, end) || !has_value(r, end - rest, true) ||
		    size_at(w, rest) == end - rest)
			continue;
		w->joints[w->njoints++] = (struct walk_joint){ rest, end, at };
		return;
	}
}

void walk_note_rests(struct walk *w)
{
	for (size_t i = 0; i < w->g->s->nthreads; i++) {
		uint64_t r[REGISTERS];

		registers_general(&w->g->s->threads[i], r);
		for (size_t k = 0; k < REGISTERS; k++)
			note_rest(w, r, r[k]);
	}
}

static bool skip_rest(struct walk *w)
{
	const taddr next = w->before ? from_registers(w) : 0;

	/* the rest belongs to no block, so it is not in use; but that all of this is the rest is a guess */
	census_unsure(w->g->c, !!next, w->at, "a chunk that is being divided");
	return next && join(w, w->at, next);
}

/* --- corrupt --- */

/* The next chunk after @at that a free list contains; the region's end if there is none. */
static taddr next_edge(struct walk *w, taddr at)
{
	const uint64_t words = (w->r->hi - w->r->lo) / GLIBC_ALIGN / 64 + 1;
	const uint64_t i = (at - w->r->lo) / GLIBC_ALIGN + 1;
	uint64_t mask = ~0ull << i % 64;

	for (uint64_t k = i / 64; k < words && (w->r->cached || w->r->edges); k++, mask = ~0ull) {
		const uint64_t bits =
			((w->r->cached ? w->r->cached[k] : 0) | (w->r->edges ? w->r->edges[k] : 0)) & mask;

		if (bits)
			return w->r->lo + (k * 64 + (uint64_t)__builtin_ctzll(bits)) * GLIBC_ALIGN;
	}
	return w->r->ends_in_top && w->a->top > at && w->a->top < w->r->hi ? w->a->top : w->r->hi;
}

static void lose_to_next_edge(struct walk *w)
{
	const taddr next = next_edge(w, w->at);

	w->g->c->unseen_bytes += next - w->at;
	w->out->walked_bytes -= next - w->at;
	if (next >= w->r->hi)
		walk_end(w);
	else
		walk_go_on(w, next);
}

void walk_bad_head(struct walk *w)
{
	uint64_t word;
	const bool here = snapshot_cursor_word(&w->g->cursor, w->at + 8, &word);

	if (!w->a->edges_known) {
		w->a->edges_known = true;
		glibc_check_bins(w->g, w->r->arena);
	}
	if (here && may_be_work(w) && skip_rest(w))
		return;
	if (here)
		glibc_problem(w->g, w->at,
			      "corrupt: a chunk should begin here, and none has the size %#" PRIx64, w->head);
	else
		glibc_problem(w->g, w->at, "the heap's memory is not in the snapshot from here on");
	lose_to_next_edge(w);
}
