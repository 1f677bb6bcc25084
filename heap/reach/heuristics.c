/* SPDX-License-Identifier: MIT */
/* heuristics: see heuristics.h. Words of the target are only compared and divided, whatever they contain. */
#include "heap/reach/heuristics.h"

#include "heap/reach/reach.h"

#define WORD sizeof(uint64_t)
#define VTABLE_WORDS 20		/* valgrind's VTABLE_MAX_CHECK: two of so many words must be functions */
#define SMALLEST 24u		/* glibc's block for a request of 0 to 24 bytes */

/* The smallest request for which a block of @b->size bytes may have been allocated. */
static uint64_t least_request(const struct block *b, bool exact)
{
	uint64_t slack = 15;

	if (exact)
		return b->size;
	if (b->size <= SMALLEST)
		return 0;
	if (b->addr % SNAPSHOT_PAGE == 16 && (b->size + 16) % SNAPSHOT_PAGE == 0)
		slack = SNAPSHOT_PAGE - 1;	/* a mapping of its own */
	return b->size > slack ? b->size - slack : 0;
}

static bool fits(const struct block *b, bool exact, uint64_t request)
{
	return request <= b->size && request >= least_request(b, exact);
}

static bool is_string(const struct snapshot *s, const struct block *b, taddr v, bool exact)
{
	uint64_t length, capacity;

	if (v - b->addr != 3 * WORD || snapshot_word(s, b->addr, &length) ||
	    snapshot_word(s, b->addr + WORD, &capacity))
		return false;
	return length <= capacity && capacity < b->size && fits(b, exact, 3 * WORD + capacity + 1);
}

static bool is_length(const struct snapshot *s, const struct block *b, taddr v, bool exact)
{
	uint64_t length;

	if (v - b->addr != WORD || snapshot_word(s, b->addr, &length))
		return false;
	return length && length < b->size && fits(b, exact, WORD + length);
}

/*
 * Is there an element size for which the request fits? The largest one that does not exceed the block is
 * tried.
 */
static bool is_array(const struct snapshot *s, const struct block *b, taddr v, bool exact)
{
	uint64_t n, rest = b->size - WORD;

	if (v - b->addr != WORD || snapshot_word(s, b->addr, &n))
		return false;
	return n && n <= rest && fits(b, exact, WORD + rest / n * n);
}

static bool in_file(const struct snapshot *s, taddr at, unsigned perms, const struct mapping **out)
{
	*out = procmaps_find(&s->maps, at);
	return *out && (*out)->ino && ((*out)->perms & perms) == perms;
}

/*
 * gcore leaves out unchanged pages of files, and with them their permissions: in such a core, every mapping
 * without contents that is not writable may be code.
 */
static bool in_code(const struct snapshot *s, taddr at)
{
	const struct mapping *m;
	size_t i;

	if (!in_file(s, at, MAPPING_READ, &m))
		return false;
	if (m->perms & MAPPING_EXEC)
		return true;
	i = snapshot_piece_from(s, m->lo);
	return !s->live && m->perms == MAPPING_READ && (i == s->npieces || s->pieces[i].lo >= m->hi);
}

/* Two functions, with nothing but functions and zeros before the second. */
static bool is_vtable(const struct snapshot *s, taddr at)
{
	const struct mapping *m;
	int functions = 0;
	uint64_t word;

	if (!in_file(s, at, MAPPING_READ, &m))
		return false;
	for (int i = 0; i < VTABLE_WORDS && m->hi - at >= WORD; i++, at += WORD) {
		if (snapshot_word(s, at, &word) < 0)
			return false;
		if (word && !in_code(s, word))
			return false;
		if (word && ++functions == 2)
			return true;
	}
	return false;
}

/* As in valgrind, small numbers and unaligned words are no tables. */
static bool maybe_vtable(uint64_t word)
{
	return word % WORD == 0 && word >= SNAPSHOT_PAGE;
}

static bool is_part(const struct snapshot *s, const struct block *b, taddr v)
{
	uint64_t first, inner;

	if (v % WORD || b->addr % WORD || snapshot_word(s, v, &inner) < 0 || !maybe_vtable(inner))
		return false;
	if (snapshot_word(s, b->addr, &first) < 0 || !maybe_vtable(first))
		return false;
	return is_vtable(s, inner) && is_vtable(s, first);
}

bool heuristic_holds(const struct snapshot *s, const struct block *b, taddr v, unsigned which, bool exact)
{
	return (which & REACH_STDSTRING && is_string(s, b, v, exact)) ||
	       (which & REACH_LENGTH64 && is_length(s, b, v, exact)) ||
	       (which & REACH_NEWARRAY && is_array(s, b, v, exact)) ||
	       (which & REACH_MULTIPLE && is_part(s, b, v));
}
