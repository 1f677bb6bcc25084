/* SPDX-License-Identifier: MIT */
/*
 * tcmalloc_find: tcmalloc's variables, by what they look like; no symbol is needed. The table of size
 * classes is first: two arrays in it lead to each other for each class. In the same data, then: central
 * lists, which have the numbers of their classes; the root of the page map, which must have a span of one
 * of them at its own page; and a list of thread caches, which have the sizes of all classes, beside its
 * length.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "heap/datawords.h"
#include "heap/tcmalloc/tcmalloc.h"

/* The table of size classes: for each size its class; then arrays with an element for each class. */
#define BATCHES_AT 2172u
#define SIZES_AT 2684u
#define PAGES_AT 3200u
#define SIZES_FIRST (UINT64_C(8) << 32)	/* the sizes 0 and 8 */
#define SIZE_MOST (256u << 10)

/*
 * A central list: the class's number, and two lists of spans; a span that stands for a list has the links
 * there.
 */
#define CENTRAL_CLASS 8u
#define CENTRAL_EMPTY 16u
#define CENTRAL_OTHERS 64u
#define SPAN_NEXT 16u
#define SAMPLES 16u			/* spans by which the page map is looked for */

#define CACHES_MOST 100000u
#define COUNT_NEAR 128u			/* how far from the list its length may be */

static const struct tcmalloc_version versions[] = {
	{ .name = "2.8 to 2.10", .classes = 4224, .thread = 4128, .next = 4144, .prev = 4152 },
	{ .name = "2.11 or later", .classes = 4232, .thread = 4128, .next = 4144, .prev = 4152 },
};
#define VERSIONS (sizeof(versions) / sizeof(*versions))

static uint32_t half(struct tcmalloc *g, taddr at)
{
	return (uint32_t)tcmalloc_word_or_0(g, at);
}

/* --- the table of size classes --- */

/* The element for blocks of @size bytes. */
static unsigned class_index(uint64_t size)
{
	return (unsigned)(size <= 1024 ? (size + 7) / 8 : (size + 127 + (120 << 7)) / 128);
}

/* Is class @i at @table as it can be, and larger than the one before? */
static bool read_class(struct tcmalloc *g, taddr table, unsigned i)
{
	struct tcmalloc_class *k = &g->classes[i];

	k->size = half(g, table + SIZES_AT + 4 * i);
	k->batch = half(g, table + BATCHES_AT + 4 * i);
	k->pages = tcmalloc_word_or_0(g, table + PAGES_AT + 8 * i);
	return k->size > k[-1].size && k->size <= SIZE_MOST && k->size % 8 == 0 && k->pages && k->pages <= 1024 &&
	       k->batch && (half(g, table + class_index(k->size)) & 0xff) == i;
}

/* A block of the largest class takes all of its pages: so their number shows how large a page is. */
static unsigned page_shift(uint64_t pages)
{
	for (unsigned shift = 12; shift <= 18; shift++)
		if (pages << shift == SIZE_MOST)
			return shift;
	return 0;
}

static bool is_table(struct tcmalloc *g, taddr table)
{
	unsigned n = 1;

	memset(g->classes, 0, sizeof(*g->classes));
	while (n < TCMALLOC_CLASSES && read_class(g, table, n))
		n++;
	if (g->classes[n - 1].size != SIZE_MOST)
		return false;
	g->nclasses = n;
	g->page_shift = page_shift(g->classes[n - 1].pages);
	for (unsigned v = 0; v < VERSIONS && g->page_shift; v++)
		if (tcmalloc_word_or_0(g, table + versions[v].classes) == n) {
			g->version = &versions[v];
			return true;
		}
	return false;
}

/* The next table at or behind @*at in the piece. false: there is none. */
static bool next_table(struct tcmalloc *g, const struct datawords *d, taddr *at)
{
	for (; *at + 8 <= d->hi; *at += 8) {
		uint64_t word;

		memcpy(&word, d->bytes + (*at - d->lo), sizeof(word));
		if (word == SIZES_FIRST && is_table(g, *at - SIZES_AT))
			return true;
	}
	return false;
}

/* Its data, too. The first one counts; then the classes are those of that one again. */
static bool find_table(struct tcmalloc *g)
{
	struct datawords d = datawords_of(g->s);
	taddr first = 0, at;

	while (datawords_next(&d))
		for (at = ((d.lo + 3) & ~(taddr)7) + 4; next_table(g, &d, &at); at += 8) {
			if (first) {
				snprintf(g->c->unread, sizeof(g->c->unread),
					 "tcmalloc is there more than once: the blocks of the one with its size "
					 "classes at " PRItaddr " are not listed", at - SIZES_AT);
				return is_table(g, first);
			}
			first = at - SIZES_AT;
			g->file = d.file;
			g->data_lo = d.file->lo;
			g->data_hi = datamaps_end(&g->s->maps, d.file);
		}
	return first && is_table(g, first);
}

/* --- the words of its data --- */

/* Calls @is with each word that is not 0, until that returns true. */
static bool any_word(struct tcmalloc *g, bool (*is)(struct tcmalloc *g, taddr at, uint64_t word))
{
	const uint8_t *bytes;
	uint64_t n, word;
	bool hole = false;

	for (taddr at = g->data_lo; (bytes = snapshot_next_bytes(g->s, &at, g->data_hi, &n, &hole)); at += n)
		for (uint64_t i = 0; i < n; i += 8) {
			memcpy(&word, bytes + i, sizeof(word));
			if (word && is(g, at + i, word))
				return true;
		}
	return false;
}

/* Can one of tcmalloc's own structs be there? */
static bool may_be_own(const struct tcmalloc *g, taddr at)
{
	const struct mapping *m = at % 8 || at >> 47 ? NULL : procmaps_find(&g->s->maps, at);

	return m && !m->ino && (m->perms & (MAPPING_WRITE | MAPPING_SHARED)) == MAPPING_WRITE;
}

static bool is_central(struct tcmalloc *g, taddr at, uint64_t word)
{
	const taddr first = at - CENTRAL_CLASS - TCMALLOC_CENTRAL_BYTES;

	if (word != 1)
		return false;
	for (unsigned i = 0; i < g->nclasses; i++)
		if (tcmalloc_word_or_0(g, first + i * TCMALLOC_CENTRAL_BYTES + CENTRAL_CLASS) != i ||
		    !tcmalloc_word_or_0(g, first + i * TCMALLOC_CENTRAL_BYTES + CENTRAL_EMPTY + SPAN_NEXT))
			return false;
	g->central = first;
	return true;
}

/* --- the page map --- */

/* Is @word a leaf's, and does it have span @span at its page? Then the root begins where that says. */
static bool leads_to(struct tcmalloc *g, taddr at, uint64_t leaf, taddr span)
{
	const uint64_t length = tcmalloc_leaf_length(g), page = tcmalloc_word_or_0(g, span);
	const taddr root = at - page / length * 8;

	if (!page || page / length >= tcmalloc_root_length(g) || page / length * 8 > at - g->data_lo ||
	    tcmalloc_word_or_0(g, leaf + page % length * 8) != span)
		return false;
	g->root = root;
	return root + tcmalloc_root_length(g) * 8 <= g->data_hi;
}

static bool is_root(struct tcmalloc *g, taddr at, uint64_t word)
{
	unsigned tried = 0;

	if (!may_be_own(g, word))
		return false;
	for (unsigned i = 1; i < 2 * g->nclasses && tried < SAMPLES; i++) {
		const taddr list = g->central + i / 2 * TCMALLOC_CENTRAL_BYTES +
				   (i % 2 ? CENTRAL_EMPTY : CENTRAL_OTHERS);
		const taddr span = tcmalloc_word_or_0(g, list + SPAN_NEXT);

		if (span == list || !may_be_own(g, span))
			continue;
		if (leads_to(g, at, word, span))
			return true;
		tried++;
	}
	return false;
}

/* --- the thread caches --- */

static bool is_cache(struct tcmalloc *g, taddr at)
{
	for (unsigned i = 1; i < g->nclasses; i++)
		if (half(g, at + i * TCMALLOC_LIST_BYTES + TCMALLOC_LIST_SIZE) != g->classes[i].size)
			return false;
	return true;
}

/* The first of the list that @at is in; 0: they do not lead to each other. */
static taddr first_cache(struct tcmalloc *g, taddr at)
{
	for (unsigned n = 0; n < CACHES_MOST; n++) {
		const taddr prev = tcmalloc_word_or_0(g, at + g->version->prev);

		if (!prev)
			return at;
		if (!may_be_own(g, prev) || tcmalloc_word_or_0(g, prev + g->version->next) != at)
			return 0;
		at = prev;
	}
	return 0;
}

/* List the caches from @first on. false: something else is among them, or memory is short. */
static bool list_caches(struct tcmalloc *g, taddr first)
{
	taddr before = 0;

	g->ncaches = 0;
	for (taddr at = first; at; at = tcmalloc_word_or_0(g, at + g->version->next)) {
		struct tcmalloc_cache *c;

		if (g->ncaches == CACHES_MOST || !may_be_own(g, at) || !is_cache(g, at) ||
		    tcmalloc_word_or_0(g, at + g->version->prev) != before)
			return false;
		c = grow_by_one(&g->caches, g->ncaches, sizeof(*c));
		if (!c) {
			g->no_memory = true;
			return false;
		}
		*c = (struct tcmalloc_cache){ at, tcmalloc_word_or_0(g, at + g->version->thread), false };
		g->ncaches++;
		before = at;
	}
	return true;
}

/* One that is freed is not in the list, but has links that once were. */
static bool length_is_near(struct tcmalloc *g, taddr at)
{
	for (taddr near = at - COUNT_NEAR; near <= at + COUNT_NEAR; near += 4)
		if (near != at && near != at + 4 && half(g, near) == g->ncaches)
			return true;
	return false;
}

static bool is_caches(struct tcmalloc *g, taddr at, uint64_t word)
{
	taddr first;

	if (!may_be_own(g, word) || !is_cache(g, word))
		return false;
	g->caches_at = at;
	first = first_cache(g, word);
	/* or a thread has put a new one before it, and not written it here yet */
	return first && list_caches(g, first) && length_is_near(g, at);
}

int tcmalloc_find(struct tcmalloc *g)
{
	const char *lacks = NULL;

	if (!find_table(g))
		return -ENOENT;
	if (!any_word(g, is_central))
		lacks = "its central lists";
	else if (!any_word(g, is_root))
		lacks = "its page map";
	else if (!any_word(g, is_caches))
		lacks = "its thread caches";
	if (g->no_memory)
		return -ENOMEM;
	if (lacks)
		snprintf(g->c->unread, sizeof(g->c->unread),
			 "tcmalloc is there, but its layout is not known, or was just changing: "
			 "%s are not found", lacks);
	return lacks ? -ENOENT : 0;
}
