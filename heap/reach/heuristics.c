/* SPDX-License-Identifier: MIT */
/* heuristics: see heuristics.h. Words of the target are only compared and divided, whatever they contain. */
#include "heap/reach/heuristics.h"

#include <string.h>

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

/*
 * --- hashbrown: slots, then a byte for each slot, then a copy of the first GROUP of these bytes ---
 *
 * With fewer slots than GROUP the bytes between them and the copy are EMPTY.
 */

#define GROUP 16u
#define EMPTY 0xffu
#define LEAST_SLOTS 4u
#define DELETED 0x80u		/* a byte below it: a used slot */
#define MOST_SLOTS_READ 4096u

static bool is_slot(uint8_t c)
{
	return c <= DELETED || c == EMPTY;
}

/* Some slot is used, some is empty, and no byte means anything else, as far as is looked. */
static bool are_slots(const struct snapshot *s, taddr at, uint64_t n)
{
	const uint64_t most = n < MOST_SLOTS_READ ? n : MOST_SLOTS_READ;
	uint8_t slots[GROUP];
	bool used = false, empty = false;

	for (uint64_t i = 0; i < most; i += GROUP) {
		const uint64_t some = most - i < GROUP ? most - i : GROUP;

		if (snapshot_read(s, at + i, slots, some) < 0)
			return false;
		for (uint64_t k = 0; k < some; k++) {
			if (!is_slot(slots[k]))
				return false;
			used |= slots[k] < DELETED;
			empty |= slots[k] == EMPTY;
		}
	}
	return used && empty;
}

/* The copy at the end; @n: slots. */
static bool has_copy(const struct snapshot *s, taddr at, uint64_t n)
{
	const uint64_t copied = n < GROUP ? n : GROUP;
	uint8_t first[GROUP], last[GROUP];

	if (snapshot_read(s, at, first, GROUP) < 0 ||
	    snapshot_read(s, at + (n < GROUP ? GROUP : n), last, copied) < 0)
		return false;
	for (uint64_t i = n; i < GROUP; i++)
		if (first[i] != EMPTY)
			return false;
	return memcmp(first, last, copied) == 0;
}

/*
 * In arrays, what repeats itself after a power of two of bytes does so in half of it, too; what the used slots have
 * is a part of a hash. A first group without any that is used says nothing.
 */
static bool maybe_slots(const struct snapshot *s, taddr v)
{
	uint8_t first[GROUP];
	bool any = false, other = false;

	if (snapshot_read(s, v, first, GROUP) < 0)
		return false;
	for (uint64_t i = 0; i < GROUP; i++) {
		any |= first[i] < DELETED;
		other |= first[i] != first[0];
		if (!is_slot(first[i]))
			return false;
	}
	return any && other && memcmp(first, first + GROUP / 2, GROUP / 2) != 0;
}

/* Slots of at least a byte, a power of two of them. No allocator gives twice of what it was asked for. */
static bool is_hash_table(const struct snapshot *s, const struct block *b, taddr v)
{
	const uint64_t before = v - b->addr;

	if (before % GROUP || b->size < before + LEAST_SLOTS + GROUP || !maybe_slots(s, v))
		return false;
	for (uint64_t n = LEAST_SLOTS; n <= before && before + n + GROUP <= b->size; n *= 2) {
		/* the slots are of one size; if there are many, without padding behind them */
		if (before + n + GROUP <= b->size / 2 || (n > GROUP && before % n))
			continue;
		if (has_copy(s, v, n) && are_slots(s, v, n))
			return true;
	}
	return false;
}

/* --- sds: length, bytes allocated, kind, characters, NUL; or a kind that has the length in it --- */

#define SDS_KIND 7u
#define SDS_KINDS 5u
#define SDS_LENGTH_SHIFT 3

static bool is_sds(const struct snapshot *s, const struct block *b, taddr v)
{
	const uint64_t before = v - b->addr;
	uint64_t length = 0, room = 0, bytes;
	uint8_t kind, end;

	if (snapshot_read(s, v - 1, &kind, 1) < 0 || (kind & SDS_KIND) >= SDS_KINDS)
		return false;
	/* 1, 2, 4 or 8 bytes of each number; 0: there are none */
	bytes = kind & SDS_KIND ? 1u << ((kind & SDS_KIND) - 1) : 0;
	if (before != 2 * bytes + 1)
		return false;
	if (snapshot_read(s, b->addr, &length, bytes) < 0 || snapshot_read(s, b->addr + bytes, &room, bytes) < 0)
		return false;
	if (!bytes)
		length = room = kind >> SDS_LENGTH_SHIFT;
	return length <= room && room < b->size && before + room + 1 <= b->size &&
	       (b->size <= SMALLEST || before + room + 1 > b->size / 2) && !snapshot_read(s, v + length, &end, 1) && !end;
}

bool heuristic_holds(const struct snapshot *s, const struct block *b, taddr v, unsigned which, bool exact)
{
	return (which & REACH_STDSTRING && is_string(s, b, v, exact)) ||
	       (which & REACH_LENGTH64 && is_length(s, b, v, exact)) ||
	       (which & REACH_NEWARRAY && is_array(s, b, v, exact)) ||
	       (which & REACH_MULTIPLE && is_part(s, b, v)) ||
	       (which & REACH_HASH_TABLE && is_hash_table(s, b, v)) ||
	       (which & REACH_SDS && is_sds(s, b, v));
}
