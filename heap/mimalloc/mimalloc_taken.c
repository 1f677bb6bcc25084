/* SPDX-License-Identifier: MIT */
/*
 * mimalloc_taken: a thread takes the list of what others have freed as a whole, and goes through it before it
 * counts. Then these blocks are in no list, and nothing leads to them but that thread's registers and the
 * frames of its stack that are mimalloc's.
 */
#include "heap/atwork.h"
#include "heap/mimalloc/mimalloc.h"

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
 * At least two blocks of one page, which the thread owns, to the end of a list: it may as well be the
 * program's own list.
 */
static bool is_list_of_page(struct mimalloc *g, const struct snapshot_thread *t, taddr at)
{
	uint64_t i;
	const struct mimalloc_page *p = at ? mimalloc_page_of(g, at, &i) : NULL;
	uint32_t n = 0;

	if (!p || p->owner != t->regs.fs_base)
		return false;
	/* before the new list becomes local_free, the old one is put behind it */
	while (at && at != p->local && n <= p->capacity) {
		if (mimalloc_page_of(g, at, &i) != p || i >= p->capacity || mimalloc_is_free(g, p, i) ||
		    !mimalloc_word(g, at, &at))
			return false;
		n++;
	}
	return (!at || at == p->local) && n > 1;
}

/* --- all --- */

static void look_at(struct mimalloc *g, const struct snapshot_thread *t, uint64_t word, bool *unsure)
{
	take_delayed(g, t, word);
	*unsure = *unsure || is_list_of_page(g, t, word & ~3ull);
}

static void look_in(struct mimalloc *g, const struct snapshot_thread *t)
{
	const struct user_regs_struct *r = &t->regs;
	const uint64_t regs[] = { r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->r8,
				  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15 };
	const taddr end = g->own_file ? frames_end(g, t) : t->sp + WORDS * 8;
	bool unsure = false;
	uint64_t word;

	for (unsigned i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		look_at(g, t, regs[i], &unsure);
	for (taddr at = t->sp; at < end; at += 8)
		if (mimalloc_word(g, at, &word))
			look_at(g, t, word, &unsure);
	g->c->unsure += unsure;
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
