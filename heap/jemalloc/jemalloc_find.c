/* SPDX-License-Identifier: MIT */
/*
 * jemalloc_find: the page map, a radix tree: see jemalloc.h.
 *
 * Its root is an array in the data of the library or program that jemalloc is in, with an element for each part
 * of the address space; nearly all are 0. So each word of such data is tried as an element of a root: it must
 * lead to a leaf, whose first elements lead to extents, whose addresses are those of the elements. From such an
 * address follows which element of the root the word is, and so where the root begins.
 */
#include "heap/jemalloc/jemalloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PAGE_BITS 12u
#define LINE 64u			/* to which the tables are aligned */
#define FIRST_TRIES 8u			/* elements of one leaf, until one leads to an extent */
#define TRIES 1024u			/* and then */
#define MOST_BAD 1u			/* of them that lead to no memory of jemalloc's: it may be corrupt */
#define MOST_ZEROS (UINT64_C(1) << 32)	/* bytes that are read in vain; then the search ends */
#define MOST_LOOKS (1u << 18)		/* words that are tried in the data of one file; likewise */

/*
 * The fields of arenas and bins are those of builds with statistics, as they are by default. Without, no figures
 * are found to compare.
 */
static const struct jemalloc_version versions[] = {
	{ .name = "5.3", .align = 128, .state_shift = 17, .state_mask = 7, .szind_shift = 20, .nfree_shift = 28,
	  .shard_shift = 38, .huge = 1u << 14, .caches_point_back = true,
	  .arena_bins = 0x13468, .arena_base = 0x13458, .arena_index = 0x13450, .bin_bytes = 224, .bin_regions = 136 },
	{ .name = "5.2", .align = 64, .state_shift = 16, .state_mask = 3, .szind_shift = 18, .nfree_shift = 26,
	  .shard_shift = 36, .arena_bins = 0x7208, .arena_base = 0x7328, .bin_regions = 160 },
};
#define VERSIONS (sizeof(versions) / sizeof(*versions))

static const struct jemalloc_form forms[] = {
	{ .levels = 2, .bits = 18, .leaf_words = 1, .name = "48" },
	{ .levels = 3, .bits = 15, .leaf_words = 2, .name = "57" },
};
#define FORMS (sizeof(forms) / sizeof(*forms))

struct search {
	struct jemalloc *j;
	const struct jemalloc_form *form;
	uint64_t zeros;			/* bytes read in vain */
	/* of the elements of active extents: those that agree with the version, and those that do not */
	unsigned agree[VERSIONS], disagree[VERSIONS];
	/*
	 * of extents that are not active, and so have no class: those whose class says that in our size classes, and
	 * those that have others
	 */
	unsigned native[VERSIONS], foreign[VERSIONS];
	unsigned elements;
	bool huge[VERSIONS];		/* an active extent is the huge page allocator's */
	bool voting;			/* all leaves are looked at, not only the first of a table */
};

static uint64_t table_words(const struct jemalloc_form *f, unsigned level)
{
	return (UINT64_C(1) << f->bits) * (level + 1 == f->levels ? f->leaf_words : 1);
}

/* --- what a word leads to --- */

/* Can a table, or an extent's struct, be there? */
static bool may_be_own(const struct jemalloc *j, taddr at)
{
	const struct mapping *m = at % LINE ? NULL : procmaps_find(&j->s->maps, at);

	return m && !*m->path && (m->perms & (MAPPING_WRITE | MAPPING_SHARED)) == MAPPING_WRITE;
}

/* From word @at on, before @end: the next that is not 0. false: there is none. */
static bool next_word(struct search *f, taddr *at, taddr end, uint64_t *value)
{
	while (*at < end) {
		uint64_t n;
		const uint8_t *bytes = snapshot_bytes(f->j->s, *at, &n);

		if (!bytes && snapshot_extent(f->j->s, *at, &n) == SNAPSHOT_NOTHING)
			return false;
		n = n < end - *at ? n : end - *at;
		for (uint64_t i = 0; bytes && i + sizeof(*value) <= n; i += sizeof(*value)) {
			memcpy(value, bytes + i, sizeof(*value));
			if (*value) {
				*at += i;
				return true;
			}
		}
		f->zeros += bytes ? n : 0;
		*at += n & ~(uint64_t)7 ? n & ~(uint64_t)7 : 8;
	}
	return false;
}

static void vote(struct search *f, taddr at, uint64_t bits, const uint64_t *words)
{
	f->elements++;
	for (unsigned v = 0; v < VERSIONS; v++) {
		const struct jemalloc_element e = jemalloc_element(&versions[v], f->form, words);

		/* only of active ones do both have the class */
		if (bits >> versions[v].state_shift & versions[v].state_mask) {
			f->native[v] += extent_class(&versions[v], bits) == JEMALLOC_SIZES;
			f->foreign[v] += extent_class(&versions[v], bits) != JEMALLOC_SIZES;
			continue;
		}
		if (e.class >= JEMALLOC_SIZES)
			continue;
		if (e.extent == at && at % versions[v].align == 0 && e.class == extent_class(&versions[v], bits) &&
		    e.slab == !!(bits & EXTENT_SLAB)) {
			f->agree[v]++;
			f->huge[v] |= bits & versions[v].huge;
		} else {
			f->disagree[v]++;
		}
	}
}

/*
 * The element of words @words, number @index of a leaf: does it lead to an extent that begins at that element?
 * Then *@key: the upper bits of the extent's address, as the leaf has them.
 */
static bool leads_to_extent(struct search *f, const uint64_t *words, uint64_t index, uint64_t *key)
{
	/* the smaller alignment: nothing of the address is lost in either version */
	const struct jemalloc_element e = jemalloc_element(&versions[0], f->form, words);
	uint64_t bits, addr, size;

	if (!e.extent || !may_be_own(f->j, e.extent))
		return false;
	for (taddr at = e.extent;; at += LINE) {
		if (at > e.extent + LINE || snapshot_word(f->j->s, at + EXTENT_BITS, &bits) < 0 ||
		    snapshot_word(f->j->s, at + EXTENT_ADDR, &addr) < 0 ||
		    snapshot_word(f->j->s, at + EXTENT_SIZE, &size) < 0)
			return false;
		if (size >= JEMALLOC_PAGE && addr &&
		    (addr >> PAGE_BITS & ((UINT64_C(1) << f->form->bits) - 1)) == index) {
			vote(f, at, bits, words);
			break;
		}
	}
	*key = addr >> (PAGE_BITS + f->form->bits);
	return true;
}

/* Is there a leaf at @leaf? The first elements of extents vote for a version, and the first one has the key. */
static bool is_leaf(struct search *f, taddr leaf, uint64_t *key)
{
	const taddr end = leaf + table_words(f->form, f->form->levels - 1) * 8;
	const unsigned bytes = f->form->leaf_words * 8;
	taddr at = leaf;
	uint64_t words[2] = { 0 }, other;
	unsigned bad = 0;
	taddr extent;
	bool found = false;

	if (!may_be_own(f->j, leaf))
		return false;
	/* what is no leaf does not get far; elements that were emptied have no address */
	for (unsigned i = 0; i < (found ? TRIES : FIRST_TRIES) && next_word(f, &at, end, &words[0]); at += bytes) {
		at -= (at - leaf) % bytes;
		if (snapshot_word(f->j->s, at, &words[0]) < 0 ||
		    (bytes > 8 && snapshot_word(f->j->s, at + 8, &words[1]) < 0))
			return false;
		extent = jemalloc_element(&versions[0], f->form, words).extent;
		i += extent != 0;
		bad += extent && !may_be_own(f->j, extent);
		if (bad > MOST_BAD)
			break;
		/* others are those of ends of extents */
		found |= leads_to_extent(f, words, (at - leaf) / bytes, found ? &other : key);
	}
	return found;
}

/* A table of the level that a root's elements lead to. *@key: the index of the root's element. */
static bool is_table(struct search *f, taddr table, uint64_t *key)
{
	const taddr end = table + table_words(f->form, 1) * 8;
	taddr at = table;
	uint64_t leaf, leaf_key;
	bool found = false;

	if (f->form->levels == 2)
		return is_leaf(f, table, key);
	/* a leaf may have been emptied; what is no table does not get far */
	for (unsigned i = 0; may_be_own(f->j, table) && i < TRIES && next_word(f, &at, end, &leaf); i++, at += 8) {
		if (!may_be_own(f->j, leaf))
			return false;
		if (!is_leaf(f, leaf, &leaf_key) ||
		    (leaf_key & ((UINT64_C(1) << f->form->bits) - 1)) != (at - table) / 8)
			continue;
		*key = leaf_key >> f->form->bits;
		found = true;
		if (!f->voting)
			break;
	}
	return found;
}

/* --- the root --- */

/* Do all elements of the root at @root lead to tables of their own index, or to empty ones? */
static bool is_root(struct search *f, taddr root)
{
	const taddr end = root + table_words(f->form, 0) * 8;
	uint64_t word, key;

	f->voting = true;
	f->elements = 0;
	memset(f->agree, 0, sizeof(f->agree));
	memset(f->disagree, 0, sizeof(f->disagree));
	memset(f->native, 0, sizeof(f->native));
	memset(f->foreign, 0, sizeof(f->foreign));
	memset(f->huge, 0, sizeof(f->huge));
	for (taddr at = root; next_word(f, &at, end, &word); at += 8) {
		if (!may_be_own(f->j, word))
			return false;
		if (is_table(f, word, &key) && key != (at - root) / 8)
			return false;
	}
	return f->elements;
}

/* The version that most of the elements agree with; a thread at work may have changed some of them. */
static const struct jemalloc_version *version_of(const struct search *f)
{
	unsigned best = 0;

	for (unsigned v = 1; v < VERSIONS; v++)
		if (f->agree[v] > f->agree[best])
			best = v;
	/* with another quantum (redis' own copy has 8) there are other size classes, and more of them */
	if (f->foreign[best] > f->native[best])
		return NULL;
	return f->agree[best] > f->disagree[best] ? &versions[best] : NULL;
}

/* The word at @at, of data [lo, hi). true: it is in the root of a page map, which ends at *@at. */
static bool try_word(struct search *f, taddr *at, uint64_t word, taddr lo, taddr hi)
{
	for (unsigned i = 0; i < FORMS; i++) {
		uint64_t key;
		taddr root;

		f->form = &forms[i];
		f->voting = false;
		if (!is_table(f, word, &key) || key >> f->form->bits || key * 8 > *at - lo)
			continue;
		root = *at - key * 8;
		if (hi - root < table_words(f->form, 0) * 8 || !is_root(f, root))
			continue;
		*at = root + table_words(f->form, 0) * 8;
		return true;
	}
	return false;
}

/* A page map was found that ends at @end, in data [lo, hi). */
static void found(struct search *f, taddr end, taddr lo, taddr hi)
{
	struct jemalloc *j = f->j;
	struct census *c = j->c;
	const taddr root = end - table_words(f->form, 0) * 8;
	const struct jemalloc_version *v = version_of(f);

	if (!v)
		snprintf(c->unread, sizeof(c->unread),
			 "jemalloc is there, but its layout is not known: its extents (page map at " PRItaddr
			 ") are neither those of 5.2 nor of 5.3, or it has other size classes", root);
	else if (j->version)
		snprintf(c->unread, sizeof(c->unread),
			 "jemalloc is there more than once: the blocks of the one with its page map at " PRItaddr
			 " are not listed", root);
	if (!v || j->version)
		return;
	j->version = v;
	j->huge = f->huge[v - versions];
	j->form = f->form;
	j->root = root;
	j->data_lo = lo;
	j->data_hi = hi;
}

static void search_data(struct search *f, taddr lo, taddr hi)
{
	taddr at = lo;
	unsigned looks = 0;
	uint64_t word;

	while (f->zeros < MOST_ZEROS && looks < MOST_LOOKS && next_word(f, &at, hi, &word)) {
		const taddr here = at;

		looks += may_be_own(f->j, word);
		if (may_be_own(f->j, word) && try_word(f, &at, word, lo, hi))
			found(f, at, lo, hi);
		else
			at = here + 8;
	}
}

static bool is_data(const struct mapping *m)
{
	return *m->path == '/' && (m->perms & (MAPPING_WRITE | MAPPING_SHARED)) == MAPPING_WRITE;
}

/* The data of a file: its writable mapping, and those without a path behind it (.bss). */
int jemalloc_find(struct jemalloc *j)
{
	const struct procmaps *maps = &j->s->maps;
	struct search f = { .j = j };

	for (size_t i = 0; i < maps->n; i++) {
		const taddr lo = maps->maps[i].lo;
		taddr hi = maps->maps[i].hi;

		if (!is_data(&maps->maps[i]))
			continue;
		for (; i + 1 < maps->n && maps->maps[i + 1].lo == hi &&
		       (!*maps->maps[i + 1].path || is_data(&maps->maps[i + 1])); i++)
			hi = maps->maps[i + 1].hi;
		search_data(&f, lo, hi);
	}
	return j->version ? 0 : -ENOENT;
}
