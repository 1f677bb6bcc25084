/* SPDX-License-Identifier: MIT */
/* content: see content.h. This file examines blocks; content_words.c puts the result into words. */
#include "heap/classify/content.h"

#include <string.h>

#define TEXT_LEAST 4u		/* characters, if a NUL follows */
#define TEXT_LONG 16u		/* characters, if none does */
#define SMALL 65536u
#define SHORT_STRING 15u	/* what fits into a std::string itself */

/* How many bytes the character at @p has, of @n: 0 if it is not printable. */
static size_t character(const uint8_t *p, size_t n)
{
	size_t more = p[0] < 0x80		    ? 0
		      : p[0] >= 0xc2 && p[0] < 0xe0 ? 1
		      : (p[0] & 0xf0) == 0xe0	    ? 2
		      : p[0] >= 0xf0 && p[0] < 0xf5 ? 3
						    : 4;

	if (!more)
		return (p[0] >= ' ' && p[0] < 0x7f) || p[0] == '\n' || p[0] == '\r' || p[0] == '\t';
	if (more == 4 || more >= n)
		return 0;
	for (size_t i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return more + 1;
}

/* How many bytes of text begin at @p. */
static size_t text_run(const uint8_t *p, size_t n)
{
	size_t at = 0, c;

	while (at < n && (c = character(p + at, n - at)))
		at += c;
	return at;
}

static bool is_text(const uint8_t *p, size_t run, size_t n)
{
	return run >= TEXT_LONG || (run >= TEXT_LEAST && run < n && !p[run]);
}

/* As much of the @run bytes as fits, in whole characters. */
static void keep_sample(struct content *c, const uint8_t *p, size_t run, unsigned at)
{
	size_t n = run < CONTENT_SAMPLE ? run : CONTENT_SAMPLE;

	while (n < run && n && (p[n] & 0xc0) == 0x80)
		n--;
	memcpy(c->sample, p, n);
	c->sample[n] = '\0';
	c->more = n < run;
	c->sample_at = at;
}

/* Stores the first text of the block; returns how many of its bytes are text. */
static size_t find_text(const uint8_t *p, size_t n, struct content *c)
{
	size_t all = 0;

	for (size_t at = 0; at < n; ) {
		size_t run = text_run(p + at, n - at);

		if (is_text(p + at, run, n - at)) {
			if (!all)
				keep_sample(c, p + at, run, (unsigned)at);
			all += run;
		}
		at += run + 1;
	}
	return all;
}

static bool is_stack(const struct snapshot *s, const struct mapping *m)
{
	if (!strcmp(m->path, "[stack]"))
		return true;
	for (size_t i = 0; i < s->nthreads && m->perms & MAPPING_WRITE && !m->ino; i++) {
		if (s->threads[i].sp >= m->lo && s->threads[i].sp < m->hi)
			return true;
	}
	return false;
}

struct looking {
	const struct snapshot *s;
	const struct block *blocks;
	size_t nblocks;
	struct content *c;
};

static bool in_block(const struct looking *l, taddr at)
{
	return block_over(l->blocks, l->nblocks, at) < l->nblocks;
}

/*
 * Counts what the word points to. If a block lies in the same mapping as a stack, the block is the better
 * answer.
 */
static void follow(const struct looking *l, uint64_t word, bool first)
{
	const struct mapping *m;

	if (in_block(l, word)) {
		l->c->to_blocks++;
		return;
	}
	m = procmaps_find(&l->s->maps, word);
	if (!m)
		return;
	if (m->ino)
		l->c->to_files++;
	else if (is_stack(l->s, m))
		l->c->to_stacks++;
	if (first && m->ino && m->perms & MAPPING_EXEC)
		l->c->function = word;
}

static void count_words(const struct looking *l, const uint8_t *p, size_t n)
{
	for (size_t at = 0; at + 8 <= n; at += 8) {
		uint64_t word;

		memcpy(&word, p + at, sizeof(word));
		l->c->words++;
		if (!word)
			l->c->zeros++;
		else if (word < SMALL || word > UINT64_MAX - SMALL)
			l->c->numbers++;
		else
			follow(l, word, !at);
	}
}

/* libstdc++'s std::string: address of the text, its length, and either the text or its capacity. */
static bool look_like_string(const struct looking *l, taddr addr, const uint8_t *p, size_t n)
{
	uint8_t text[CONTENT_SAMPLE + 4] = "", end;
	uint64_t at, length, room;
	size_t have, run;

	if (n < 32)
		return false;
	memcpy(&at, p, 8);
	memcpy(&length, p + 8, 8);
	memcpy(&room, p + 16, 8);
	if (!length ||
	    (at == addr + 16 ? length > SHORT_STRING
			     : room < length || room <= SHORT_STRING || room >> 40 || !in_block(l, at)))
		return false;
	have = length < sizeof(text) ? length : sizeof(text);
	if (snapshot_read(l->s, at, text, have) < 0 || snapshot_read(l->s, at + length, &end, 1) < 0 || end)
		return false;
	run = text_run(text, have);
	if (have - run > 3 || (have == length && run < have))
		return false;
	keep_sample(l->c, text, run, 0);
	l->c->more = l->c->more || run < length;
	return true;
}

/* Are most of the 4-byte numbers, two a word, small? */
static bool has_small_numbers(const uint8_t *p, size_t n)
{
	size_t all = n / 4, small = 0, zero = 0;

	for (size_t i = 0; i < all; i++) {
		uint32_t v;

		memcpy(&v, p + i * 4, sizeof(v));
		zero += !v;
		small += v && (v < SMALL || v > UINT32_MAX - SMALL);
	}
	return small && small + zero >= all - all / 8;
}

static enum content_kind judge(const struct looking *l, taddr addr, const uint8_t *p, size_t n)
{
	struct content *c = l->c;
	size_t text = find_text(p, n, c), nonzero = 0;
	unsigned pointers;

	for (size_t i = 0; i < n; i++)
		nonzero += p[i] != 0;
	count_words(l, p, n);
	pointers = c->to_blocks + c->to_files + c->to_stacks;
	if (!nonzero)
		return CONTENT_ZEROS;
	if (look_like_string(l, addr, p, n))
		return CONTENT_STRING;
	if (text && (!c->sample_at || text >= nonzero * 3 / 4))
		return CONTENT_TEXT;
	if (pointers && pointers * 2 >= c->words - c->zeros)
		return CONTENT_POINTERS;
	return has_small_numbers(p, n) ? CONTENT_NUMBERS : CONTENT_UNKNOWN;
}

void content_look(const struct snapshot *s, const struct block *blocks, size_t nblocks, taddr addr,
		  uint64_t size, struct content *out)
{
	const struct looking l = { s, blocks, nblocks, out };
	size_t n = size < CONTENT_LOOK ? size : CONTENT_LOOK;
	uint8_t bytes[CONTENT_LOOK];

	memset(out, 0, sizeof(*out));
	if (n && !snapshot_read(s, addr, bytes, n))
		out->kind = judge(&l, addr, bytes, n);
}
