/* SPDX-License-Identifier: MIT */
#include "attach/sampling/heaps/jemalloc_cached.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "attach/sampling/heaps/thread_tls.h"
#include "base/grow.h"
#include "heap/jemalloc/jemalloc_sizes.h"

#define PAGE 4096u
#define AGAIN_NS 1000000000ull
#define READINGS 2u
#define TLS_WORDS (JEMALLOC_TLS_MOST / 8)

void jemalloc_cached_init(struct jemalloc_cached *c, pid_t pid, const struct jemalloc_map *map)
{
	*c = (struct jemalloc_cached){ .pid = pid, .version = map->version };
	addrmap_init(&c->blocks, sizeof(uint64_t));
}

void jemalloc_cached_fini(struct jemalloc_cached *c)
{
	free(c->caches);
	free(c->pieces);
	free(c->words);
	addrmap_fini(&c->blocks);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- which caches there are --- */

/* Where in the TLS below @fs is the cache? It is at the same distance in all threads. 0: not found. */
static int64_t find_offset(const struct jemalloc_cached *c, taddr fs)
{
	cleanup_free uint64_t *words = calloc(TLS_WORDS, sizeof(*words));
	taddr lo = fs / PAGE * PAGE;

	if (!words || !remote_read_words(c->pid, lo, &words[TLS_WORDS - (fs - lo) / 8], fs - lo))
		return 0;
	while (fs - lo + PAGE <= JEMALLOC_TLS_MOST &&
	       remote_read_words(c->pid, lo - PAGE, &words[TLS_WORDS - (fs - lo + PAGE) / 8], PAGE))
		lo -= PAGE;
	for (taddr at = fs - 8; at > lo; at -= 8)
		if (jemalloc_cache_is(c->version, at, fs - JEMALLOC_TLS_MOST, words, TLS_WORDS))
			return (int64_t)(at - fs);
	return 0;
}

/* The bins of the cache at @at. false: the thread has none. */
static bool read_cache(const struct jemalloc_cached *c, taddr at, struct cached_thread *out)
{
	uint64_t words[JEMALLOC_CACHE_BYTES / 8], proof, expected;
	taddr proof_at;

	if (!remote_read_words(c->pid, at, words, sizeof(words)))
		return false;
	proof_at = jemalloc_cache_proof(c->version, at, words, &expected);
	if (!remote_read_words(c->pid, proof_at, &proof, sizeof(proof)) || proof != expected)
		return false;
	jemalloc_cache_bins(c->version, at, words, out->bins);
	return true;
}

int jemalloc_cached_list(struct jemalloc_cached *c)
{
	const uint64_t now = now_ns();
	cleanup_free taddr *threads = NULL;
	size_t n;
	int r;

	if (c->n && now - c->listed_ns < AGAIN_NS)
		return 0;
	c->n = 0;
	c->listed_ns = now;
	r = thread_tls_list(c->pid, &threads, &n);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (!c->offset)
			c->offset = find_offset(c, threads[i]);
		r = c->offset ? grow_for(&c->caches, c->n, &c->room, sizeof(*c->caches)) : 0;
		if (r == 0 && c->offset)
			c->n += read_cache(c, threads[i] + (taddr)c->offset, &c->caches[c->n]);
	}
	return r < 0 ? r : c->n ? 0 : -ENOENT;
}

/* --- what is in question --- */

void jemalloc_cached_begin(struct jemalloc_cached *c)
{
	addrmap_clear(&c->blocks);
	memset(c->wanted, 0, sizeof(c->wanted));
	c->readings = 0;
}

int jemalloc_cached_ask(struct jemalloc_cached *c, taddr at, uint64_t bytes)
{
	unsigned class = 0;

	while (class < JEMALLOC_CACHE_CLASSES && jemalloc_size(class) < bytes)
		class++;
	if (class == JEMALLOC_CACHE_CLASSES)
		return 0;
	c->wanted[class] = true;
	return addrmap_put(&c->blocks, at, NULL);
}

/* --- reading --- */

static int add_piece(struct jemalloc_cached *c, taddr at, size_t bytes)
{
	int r = grow_for(&c->pieces, c->npieces, &c->piece_room, sizeof(*c->pieces));

	if (r < 0)
		return r;
	c->pieces[c->npieces++] = (struct remote_read_piece){ .at = at, .n = (uint32_t)bytes };
	c->nwords += bytes / 8;
	return 0;
}

/* The pieces of a bin: its struct, then its slots, page by page. */
static int add_bin(struct jemalloc_cached *c, const struct jemalloc_cache_bin *b)
{
	int r = add_piece(c, b->at, BIN);

	for (taddr at = b->end - 8 * (taddr)b->slots; at < b->end && r == 0;) {
		const taddr next = at / PAGE * PAGE + PAGE;

		r = add_piece(c, at, (next < b->end ? next : b->end) - at);
		at = next;
	}
	return r;
}

static int make_room(struct jemalloc_cached *c)
{
	size_t at = 0;
	int r = grow_for(&c->words, c->nwords, &c->word_room, sizeof(*c->words));

	if (r < 0)
		return r;
	for (size_t i = 0; i < c->npieces; i++) {
		c->pieces[i].to = &c->words[at];
		at += c->pieces[i].n / 8;
	}
	return 0;
}

/* @b was read as @words: its struct, then all of its slots. */
static void note_bin(struct jemalloc_cached *c, const struct jemalloc_cache_bin *b, const uint64_t *words)
{
	const uint64_t *const slots = words + BIN / 8;

	for (uint32_t i = b->slots - jemalloc_cache_held(c->version, b, words); i < b->slots; i++) {
		uint64_t *in = addrmap_get(&c->blocks, slots[i]);

		if (in)
			*in |= UINT64_C(1) << c->readings;
	}
}

/* Were the pieces of a bin, from number *@i on, all read? */
static bool was_read(const struct jemalloc_cached *c, const struct jemalloc_cache_bin *b, size_t *i)
{
	bool all = true;

	for (size_t words = BIN / 8 + b->slots; words; words -= c->pieces[(*i)++].n / 8)
		all = all && c->pieces[*i].got == REMOTE_READ_DONE;
	return all;
}

/* Each bin in question, of each cache. */
static bool next_bin(const struct jemalloc_cached *c, size_t *at, const struct jemalloc_cache_bin **out)
{
	for (; *at < c->n * JEMALLOC_CACHE_CLASSES; ++*at) {
		const unsigned class = *at % JEMALLOC_CACHE_CLASSES;

		*out = &c->caches[*at / JEMALLOC_CACHE_CLASSES].bins[class];
		if (c->wanted[class] && (*out)->slots) {
			++*at;
			return true;
		}
	}
	return false;
}

int jemalloc_cached_read(struct jemalloc_cached *c, struct remote_read *g)
{
	const struct jemalloc_cache_bin *b;
	size_t piece = 0;
	int r = 0;

	c->npieces = c->nwords = 0;
	for (size_t at = 0; r == 0 && next_bin(c, &at, &b);)
		r = add_bin(c, b);
	if (r == 0)
		r = make_room(c);
	if (r == 0)
		r = remote_read_now(g, c->pieces, c->npieces);
	for (size_t at = 0; r == 0 && next_bin(c, &at, &b);) {
		const uint64_t *words = c->pieces[piece].to;

		if (was_read(c, b, &piece))
			note_bin(c, b, words);
	}
	c->readings++;
	return r;
}

enum jemalloc_cached_answer jemalloc_cached_answer(const struct jemalloc_cached *c, taddr at)
{
	const uint64_t *in = addrmap_get(&c->blocks, at);

	if (in && !c->n)
		return CACHED_UNSURE;
	if (!in || !*in)
		return CACHED_NO;
	return *in == (UINT64_C(1) << READINGS) - 1 ? CACHED_YES : CACHED_UNSURE;
}
