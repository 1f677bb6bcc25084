/* SPDX-License-Identifier: MIT */
/*
 * mimalloc_taken: a thread takes the list of what others have freed as a whole, and goes through it before it
 * counts. Then these blocks are in no list, and nothing leads to them but that thread's registers and the
 * frames of its stack that are mimalloc's.
 *
 *	the heap's list		certain: a flag of each page says that one of its blocks is in it
 *	a page's list		the thread goes through it to its end, and is often stopped there: each block is
 *				a cache miss. Meanwhile its registers have the page, the page's capacity, the
 *				list's first block, the present one, and how many these are. At any other moment
 *				it may as well be the program's own list, and the census does not add up.
 */
#include "heap/atwork.h"
#include "heap/mimalloc/mimalloc.h"
#include "heap/registers.h"

/* Words of a stack: its frames have up to 2 KiB; within how many the first of them must be. */
#define WORDS 512u
#define NEAR 64u

static bool in_code(const struct mimalloc *g, taddr at)
{
	const struct mapping *m = procmaps_find(&g->s->maps, at);

	return m && m->ino == g->file->ino && m->dev == g->file->dev && m->perms & MAPPING_EXEC;
}

/* Code of another file: such a word, in a stack, is where a frame of another function begins. */
static bool in_other_code(const struct mimalloc *g, taddr at)
{
	const struct mapping *m = procmaps_find(&g->s->maps, at);

	return m && m->perms & MAPPING_EXEC && (m->ino != g->file->ino || m->dev != g->file->dev);
}

/* Where on its stack the last frame of mimalloc's ends, or 0: none does. */
static taddr frames_end(const struct mimalloc *g, const struct snapshot_thread *t)
{
	bool inside = in_code(g, t->regs.rip);
	taddr end = inside ? t->sp + WORDS * 8 : 0;

	for (unsigned i = 0; i < (inside ? WORDS : NEAR); i++) {
		uint64_t word;

		if (snapshot_word(g->s, t->sp + 8 * i, &word) < 0)
			break;
		if (!inside && in_code(g, word)) {
			inside = true;
			end = t->sp + WORDS * 8;
		} else if (inside && in_other_code(g, word)) {
			return t->sp + 8 * i;
		}
	}
	return end;
}

/* In a program that has mimalloc in itself, every stack has addresses of its code. */
static bool is_inside(const struct mimalloc *g, const struct snapshot_thread *t)
{
	return t->known && (g->own_file ? frames_end(g, t) != 0 : in_code(g, t->regs.rip));
}

size_t mimalloc_threads_inside(const struct mimalloc *g)
{
	const size_t by_call = atwork_in_file(g->s, g->file, 0, 0);
	size_t n = 0;

	for (size_t i = 0; i < g->s->nthreads; i++)
		n += is_inside(g, &g->s->threads[i]);
	return n > by_call ? n : by_call;
}

/* --- what its heap's list had --- */

/*
 * A page's flag says that one block of it is in the list of its heap. It is not there: it is in a list that
 * the owner of the page has taken. So of the program's own lists none can be mistaken for this. Returns the
 * page of the block at @at, if it is such a block, and its number.
 */
static struct mimalloc_page *page_of_delayed(struct mimalloc *g, const struct snapshot_thread *t, taddr at,
					     uint64_t *i)
{
	struct mimalloc_page *p = at ? mimalloc_page_of(g, at, i) : NULL;

	if (!p || p->flag != MIMALLOC_DELAYED || p->delayed || p->owner != t->regs.fs_base)
		return NULL;
	return *i < p->capacity && !mimalloc_is_free(g, p, *i) ? p : NULL;
}

/* How many blocks the list has that begins with @at; 0: not all of it is such. A page can be in it once. */
static size_t count_delayed(struct mimalloc *g, const struct snapshot_thread *t, taddr at)
{
	size_t n = 0;
	uint64_t i;

	while (at && n <= g->npages && page_of_delayed(g, t, at, &i) && mimalloc_word(g, at, &at))
		n++;
	return at ? 0 : n;
}

static void take_delayed(struct mimalloc *g, const struct snapshot_thread *t, taddr at)
{
	size_t n = count_delayed(g, t, at);
	struct mimalloc_page *p;
	uint64_t i;

	for (; n && (p = page_of_delayed(g, t, at, &i)); n--) {
		p->delayed = 1;
		p->foreign++;
		(void)mimalloc_mark_free(g, p, i);
		if (!mimalloc_word(g, at, &at))
			return;
	}
}

/* --- what a page's list had --- */

/*
 * At least two blocks of one page, which the thread owns, to the end of a list: their page; NULL: it is no
 * such list. The old list is put behind the new one before that becomes local_free.
 */
static struct mimalloc_page *page_of_list(struct mimalloc *g, const struct snapshot_thread *t, taddr at)
{
	uint64_t i;
	struct mimalloc_page *p = at ? mimalloc_page_of(g, at, &i) : NULL;
	uint32_t n = 0;

	if (!p || p->owner != t->regs.fs_base)
		return NULL;
	while (at && at != p->local && n <= p->capacity) {
		if (mimalloc_page_of(g, at, &i) != p || i >= p->capacity || mimalloc_is_free(g, p, i) ||
		    !mimalloc_word(g, at, &at))
			return NULL;
		n++;
	}
	return (!at || at == p->local) && n > 1 ? p : NULL;
}

/* Is the thread counting the list of @p that begins at @at, and no longer at its first block? */
static bool is_counting(struct mimalloc *g, const struct snapshot_thread *t, const struct mimalloc_page *p,
			taddr at)
{
	if (!in_code(g, t->regs.rip) || !registers_have(t, p->at) || !registers_have(t, p->capacity))
		return false;
	/* one register cannot be both */
	for (uint32_t n = 2; mimalloc_word(g, at, &at) && at && at != p->local; n++)
		if (n != p->capacity && registers_have(t, at) && registers_have(t, n))
			return true;
	return false;
}

static void take_list(struct mimalloc *g, struct mimalloc_page *p, taddr at)
{
	uint64_t i;

	while (at && at != p->local && mimalloc_page_of(g, at, &i) == p && mimalloc_mark_free(g, p, i)) {
		p->foreign++;
		if (!mimalloc_word(g, at, &at))
			return;
	}
}

/* The list that the thread is counting, if it does. */
static void take_counted(struct mimalloc *g, const struct snapshot_thread *t)
{
	uint64_t registers[REGISTERS];

	registers_general(t, registers);
	for (unsigned i = 0; i < REGISTERS; i++) {
		struct mimalloc_page *p = page_of_list(g, t, registers[i]);

		if (p && is_counting(g, t, p, registers[i]))
			take_list(g, p, registers[i]);
	}
}

/* --- all --- */

static bool look_at(struct mimalloc *g, const struct snapshot_thread *t, uint64_t word)
{
	take_delayed(g, t, word);
	return page_of_list(g, t, word & ~3ull);
}

static void look_in(struct mimalloc *g, const struct snapshot_thread *t)
{
	const taddr end = g->own_file ? frames_end(g, t) : t->sp + WORDS * 8;
	uint64_t registers[REGISTERS], word;
	size_t unsure = 0;

	take_counted(g, t);
	registers_general(t, registers);
	for (unsigned i = 0; i < REGISTERS; i++)
		unsure += look_at(g, t, registers[i]);
	for (taddr at = t->sp; at < end; at += 8)
		if (mimalloc_word(g, at, &word))
			unsure += look_at(g, t, word);
	census_unsure(g->c, unsure, t->sp, "a thread may have taken the list of a page");
}

void mimalloc_look_for_taken(struct mimalloc *g)
{
	for (size_t i = 0; i < g->s->nthreads; i++)
		if (is_inside(g, &g->s->threads[i]))
			look_in(g, &g->s->threads[i]);
	for (size_t i = 0; i < g->npages; i++)
		if (g->pages[i].flag == MIMALLOC_DELAYED && !g->pages[i].delayed)
			census_doubt(g->c, g->at_work, g->pages[i].at,
				     "corrupt: a block that another thread has freed is in no list");
}
