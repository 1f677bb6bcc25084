/* SPDX-License-Identifier: MIT */
/*
 * Finds malloc's own variables, without symbols.
 *
 * main_arena lies in the data of libc, or of a statically linked program: 127 pairs of words, the bins. An
 * empty bin points at itself (at the words 16 bytes before it, because it poses as a chunk); one that is not
 * empty points to chunks that point back. Only other arenas look like that, and they are not in a file's
 * mapping. After the bins comes `next`, the ring of all arenas: it closes only if the offset of the bins in
 * the struct is guessed right, which shows the version.
 *
 * There may be more than one: each namespace of dlmopen has a libc of its own, and so may the plugins of a
 * static program. The one that has allocated most is listed; the others are only reported.
 */
#include "heap/glibc/glibc.h"

#include <errno.h>
#include <stdlib.h>

#include "base/addrmap.h"
#include "base/grow.h"

#define PAIR 16u
#define BINS_BYTES (GLIBC_BINS * PAIR)
#define ENOUGH_BINS 100u	/* of 127: the others may be changing, or overwritten */
/* checks of possible arenas in one mapping: a real one takes some hundreds, and one for each other arena */
#define LOOKS_MAX (1u << 16)
#define LOOKS_ALL (1u << 20)	/* in all mappings */

/*
 * What precedes the bins, by version: 2.27 to 2.42; 2.43, without fastbins; 2.26 and before, without
 * have_fastchunks.
 */
static const struct {
	uint16_t bins, fastbins;
} states[] = { { 0x70, 0x10 }, { 0x18, 0 }, { 0x68, 0x08 } };

/* Does the pair of words at @at look like a bin: empty, or pointing to chunks that point back? */
static bool is_bin(struct snapshot_cursor *v, taddr at)
{
	const taddr self = at - PAIR;
	uint64_t fd, bk, back;

	if (!snapshot_cursor_word(v, at, &fd) || !snapshot_cursor_word(v, at + 8, &bk))
		return false;
	if (fd == self && bk == self)
		return true;
	return fd && bk && !(fd % GLIBC_ALIGN) && !(bk % GLIBC_ALIGN) &&
	       snapshot_cursor_word(v, fd + 24, &back) && back == self &&
	       snapshot_cursor_word(v, bk + 16, &back) && back == self;
}

static unsigned count_bins(struct snapshot_cursor *v, taddr bins)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GLIBC_BINS; i++)
		n += is_bin(v, bins + i * PAIR);
	return n;
}

static int add_arena(struct glibc *g, taddr at, uint32_t bins)
{
	if (grow_for(&g->arenas, g->narenas, &g->arena_room, sizeof(*g->arenas)) < 0)
		return -ENOMEM;
	g->arenas[g->narenas++] = (struct glibc_arena){ .at = at, .bins = at + bins };
	return 0;
}

/*
 * The number of checks is limited: memory may be full of false arenas, each of which leads on and on through
 * it.
 */
static bool looks_left(const struct glibc *g)
{
	return g->looks < LOOKS_MAX && g->looks_before + g->looks < LOOKS_ALL;
}

/*
 * All arenas from main_arena at @first on, with bins at offset @bins. 0; -ENOENT: the ring does not close;
 * -ENOMEM.
 */
static int follow_ring(struct glibc *g, taddr first, uint32_t bins)
{
	struct addrmap seen;
	taddr at = first;
	int err = 0;

	g->narenas = 0;
	addrmap_init(&seen, 0);
	do {
		bool fresh;

		g->looks++;
		err = !looks_left(g) || at % 8 || count_bins(&g->cursor, at + bins) < ENOUGH_BINS ? -ENOENT
												  : 0;
		if (!err && (!addrmap_slot(&seen, at, &fresh) || add_arena(g, at, bins) < 0))
			err = -ENOMEM;
		if (!err && (!fresh || !snapshot_cursor_word(&g->cursor, at + bins + GLIBC_NEXT, &at)))
			err = -ENOENT;
	} while (!err && at != first);
	addrmap_fini(&seen);
	return err;
}

/* Are the bins at @bins those of main_arena? 0: yes, and all arenas are known; -ENOENT; -ENOMEM. */
static int try_bins(struct glibc *g, taddr bins)
{
	int err = -ENOENT;

	for (size_t i = 0; i < sizeof(states) / sizeof(*states) && err == -ENOENT; i++) {
		err = follow_ring(g, bins - states[i].bins, states[i].bins);
		if (!err) {
			g->layout.bins = states[i].bins;
			g->layout.fastbins = states[i].fastbins;
		}
	}
	return err;
}

/* There is an empty bin at @at: the bins begin at one of the 127 places from there down. */
static int try_around(struct glibc *g, taddr at, taddr *bins_end)
{
	bool good[2 * GLIBC_BINS - 1];
	unsigned in_window = 0;
	int err = -ENOENT;

	for (unsigned i = 0; i < 2 * GLIBC_BINS - 1; i++)
		good[i] = is_bin(&g->cursor, at - (GLIBC_BINS - 1) * PAIR + i * PAIR);
	for (unsigned i = 0; i < GLIBC_BINS; i++)
		in_window += good[i];
	for (unsigned first = 0; first < GLIBC_BINS && err == -ENOENT; first++) {
		const taddr bins = at - (GLIBC_BINS - 1) * PAIR + first * PAIR;

		if (in_window >= ENOUGH_BINS)
			err = try_bins(g, bins);
		*bins_end = bins + BINS_BYTES;
		in_window -= good[first];
		in_window += first + GLIBC_BINS < 2 * GLIBC_BINS - 1 && good[first + GLIBC_BINS];
	}
	return err;
}

/* Search @m for main_arena. 0, -ENOENT, -ENOMEM. */
static int search(struct glibc *g, const struct mapping *m)
{
	for (size_t i = snapshot_piece_from(g->s, m->lo); i < g->s->npieces && g->s->pieces[i].lo < m->hi;
	     i++) {
		const struct snapshot_piece *p = &g->s->pieces[i];
		taddr at = ((p->lo > m->lo ? p->lo : m->lo) + 7) & ~7ull;
		taddr end = p->lo + p->size < m->hi ? p->lo + p->size : m->hi;

		for (; at + PAIR <= end && looks_left(g); at += 8) {
			uint64_t pair[2];
			taddr behind;
			int err;

			memcpy(pair, p->bytes + (at - p->lo), sizeof(pair));
			if (pair[0] != at - PAIR || pair[1] != pair[0])
				continue;
			err = try_around(g, at, &behind);
			if (err != -ENOENT)
				return err;
			at = behind - 8;
		}
	}
	return -ENOENT;
}

/*
 * Data of a program or library: main_arena is initialised, so it is in a file's mapping, and was written to.
 */
static bool is_data(const struct mapping *m)
{
	return m->ino && m->perms & MAPPING_WRITE && !(m->perms & MAPPING_SHARED);
}

/* Is the thread in user space, or in one of the system calls that malloc makes in the middle of its work? */
static bool may_be_in_malloc(const struct snapshot_thread *t)
{
	switch (t->known ? (int64_t)t->regs.orig_rax : -1) {
	case -1:
	case 9:		/* mmap */
	case 10:	/* mprotect */
	case 11:	/* munmap */
	case 12:	/* brk */
	case 25:	/* mremap */
	case 28:	/* madvise */
	case 157:	/* prctl: names of mappings */
		return true;
	default:
		return false;
	}
}

/* A process with one thread locks nothing. */
static bool only_one_and_in_malloc(const struct snapshot *s)
{
	return s->nthreads == 1 && may_be_in_malloc(&s->threads[0]);
}

static void read_arenas(struct glibc *g)
{
	const bool unlocked = only_one_and_in_malloc(g->s);

	for (size_t i = 0; i < g->narenas; i++) {
		struct glibc_arena *a = &g->arenas[i];
		uint64_t word = 0;

		if (!snapshot_cursor_word(&g->cursor, a->bins + GLIBC_TOP, &a->top) ||
		    !snapshot_cursor_word(&g->cursor, a->bins + GLIBC_SYSTEM_MEM, &a->system_mem))
			glibc_problem(g, a->at, "the arena is not in the snapshot as a whole");
		if (!snapshot_cursor_word(&g->cursor, a->bins, &a->last_freed))
			a->last_freed = 0;
		if (!snapshot_cursor_word(&g->cursor, a->at & ~7ull, &word))
			word = 0;
		a->busy = (uint32_t)word || unlocked;
		a->contiguous = i == 0 && !(word >> 32 & 2);
	}
	for (size_t i = 0; i < g->s->nthreads; i++)
		g->c->between += may_be_in_malloc(&g->s->threads[i]);
}

/* --- malloc_par --- */

/*
 * struct malloc_par is in the same mapping as main_arena. It is found without a symbol, by relations between
 * its words: sums are not above their maxima, and the beginning of the heap is in no file.
 */

static int32_t half(struct snapshot_cursor *v, taddr at)
{
	uint64_t word;
	const bool high = at % 8;

	if (!snapshot_cursor_word(v, at & ~7ull, &word))
		return -1;
	return (int32_t)(uint32_t)(high ? word >> 32 : word);
}

/* The four ints before mmapped_mem, which since 2.35 are 4 bytes further up (@shift). */
struct mapped_counts {
	int32_t n, most_allowed, most, fixed;
};

static struct mapped_counts counts_at(struct glibc *g, taddr at, unsigned shift)
{
	return (struct mapped_counts){ half(&g->cursor, at - 16 - shift), half(&g->cursor, at - 12 - shift),
				       half(&g->cursor, at - 8 - shift), half(&g->cursor, at - 4 - shift) };
}

static bool are_counts(const struct mapped_counts *c, uint64_t bytes, uint64_t most_bytes)
{
	if (c->n < 0 || c->n > c->most || c->most_allowed < 0 || c->fixed < 0 || c->fixed > 1 ||
	    (c->n && !bytes) || !c->most != !most_bytes)
		return false;
	/* in 2.43 each realloc of such a chunk counts 16 bytes that no chunk has */
	return c->n || bytes <= most_bytes / 2;
}

/*
 * How many chunks have a mapping of their own; -1: these are no counts. If few are allowed (M_MMAP_MAX),
 * both places fit: where the older versions have `n`, the newer ones have the number that is allowed; and
 * where the newer ones have it, the older ones have zeros.
 */
static int32_t mapped_now(struct glibc *g, taddr at, uint64_t bytes, uint64_t most_bytes)
{
	const struct mapped_counts older = counts_at(g, at, 0), newer = counts_at(g, at, 4);

	if (are_counts(&newer, bytes, most_bytes) && (newer.n || !g->layout.fastbins))
		return newer.n;
	if (are_counts(&older, bytes, most_bytes))
		return older.n;
	return are_counts(&newer, bytes, most_bytes) ? newer.n : -1;
}

/* Can the main heap begin at @at? Most addresses that are in a program's data are of its own file. */
static bool is_begin(const struct glibc *g, taddr at)
{
	const struct mapping *m = procmaps_find(&g->s->maps, at);

	return at ? m && glibc_plain(m) : !g->arenas[0].system_mem;
}

/* The words of struct malloc_par from mmapped_mem on, and the four ints before it. */
static bool is_param(struct glibc *g, taddr at, struct glibc_param *out)
{
	uint64_t w[7];
	int32_t n;

	for (unsigned i = 0; i < 7; i++)
		if (!snapshot_cursor_word(&g->cursor, at + 8 * i, &w[i]))
			return false;
	/*
	 * mmapped_mem, max_mmapped_mem, sbrk_base, tcache_bins, tcache_max_bytes, tcache_count,
	 * tcache_unsorted_limit
	 */
	if (w[0] > w[1] || w[0] % GLIBC_ALIGN || w[1] % GLIBC_ALIGN || w[3] > 76 || !w[3] || w[4] < 24 ||
	    w[4] > 4u << 20 || w[5] > 65535)
		return false;
	if (!is_begin(g, w[2]))
		return false;
	n = mapped_now(g, at, w[0], w[1]);
	*out = (struct glibc_param){ at, w[0], w[1], w[2], w[5], n };
	return n >= 0;
}

/* Finds struct malloc_par: g->param, zeros unless it is exactly one place. */
static void find_param(struct glibc *g)
{
	struct glibc_param one;
	unsigned n = 0;

	for (taddr at = g->data_lo + 32; at + 56 <= g->data_hi; at += 8)
		if (is_param(g, at, &one) && !n++)
			g->param = one;
	if (n != 1)
		g->param = (struct glibc_param){ 0 };
}

/* --- which one --- */

/* A malloc that was found. */
struct found {
	struct glibc_arena *arenas;
	size_t narenas;
	struct glibc_layout layout;
	struct glibc_param param;
	taddr data_lo, data_hi;
	uint64_t bytes, top_bytes;	/* from the system; of these, unused at the ends of its heaps */
	bool used;			/* a glibc beside another allocator may never have been used */
};

static uint64_t top_bytes(struct glibc *g, const struct glibc_arena *a)
{
	uint64_t top, head;

	if (!snapshot_cursor_word(&g->cursor, a->bins + GLIBC_TOP, &top) ||
	    !snapshot_cursor_word(&g->cursor, top + 8, &head))
		return 0;
	head &= ~(uint64_t)GLIBC_FLAGS;
	return head < a->system_mem ? head : a->system_mem;
}

static struct found weigh(struct glibc *g, const struct mapping *m)
{
	struct found f = { .arenas = g->arenas, .narenas = g->narenas, .layout = g->layout, .data_lo = m->lo,
			   .data_hi = m->hi };

	g->data_lo = m->lo;
	g->data_hi = m->hi;
	for (size_t i = 0; i < g->narenas; i++) {
		if (!snapshot_cursor_word(&g->cursor, g->arenas[i].bins + GLIBC_SYSTEM_MEM,
					  &g->arenas[i].system_mem))
			g->arenas[i].system_mem = 0;
		f.bytes += g->arenas[i].system_mem;
		f.top_bytes += top_bytes(g, &g->arenas[i]);
	}
	find_param(g);
	f.param = g->param;
	f.used = g->narenas > 1 || f.bytes || f.param.max_mmapped_mem;
	f.bytes += f.param.mmapped_mem;
	return f;
}

static bool is_better(const struct found *f, const struct found *than)
{
	if (!than->arenas || f->used != than->used)
		return !than->arenas || f->used;
	return f->bytes - f->top_bytes > than->bytes - than->top_bytes;
}

/* Keeps in @best the better one of it and the malloc that was just found; the other one is counted. */
static void choose(struct glibc *g, const struct mapping *m, struct found *best)
{
	struct found f = weigh(g, m), worse = f;

	if (is_better(&f, best)) {
		worse = *best;
		*best = f;
	}
	g->c->others += worse.arenas && worse.used;
	g->c->others_bytes += worse.used ? worse.bytes : 0;
	free(worse.arenas);
	g->arenas = NULL;
	g->narenas = g->arena_room = 0;
}

static void take(struct glibc *g, const struct found *f)
{
	g->arenas = f->arenas;
	g->narenas = g->arena_room = f->narenas;
	g->layout = f->layout;
	g->param = f->param;
	g->data_lo = f->data_lo;
	g->data_hi = f->data_hi;
}

int glibc_find(struct glibc *g)
{
	struct found best = { .arenas = NULL };

	for (size_t i = 0; i < g->s->maps.n; i++) {
		const struct mapping *m = &g->s->maps.maps[i];
		int err = is_data(m) ? search(g, m) : -ENOENT;

		g->looks_before += g->looks;
		g->looks = 0;
		if (err == -ENOMEM) {
			free(best.arenas);
			return err;
		}
		if (err == 0)
			choose(g, m, &best);
	}
	free(g->arenas);
	take(g, &best);
	if (!g->arenas) {
		glibc_problem(g, 0,
			      "no malloc of glibc was found in the data of any program or library: another "
			      "allocator, or one that was never used");
		return -ENOENT;
	}
	read_arenas(g);
	if (!best.used) {
		glibc_problem(g, g->arenas[0].at,
			      "glibc's malloc is there, but has never been used: the program has another "
			      "allocator");
		return -ENOENT;
	}
	return 0;
}
