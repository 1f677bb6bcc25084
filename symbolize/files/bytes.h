/* SPDX-License-Identifier: MIT */
/*
 * bytes: reads numbers from a file's bytes, never past their end.
 *
 * The error is sticky: a read past the end gives 0 and sets @bad, so a parser reads a whole item and checks
 * once.
 */
#ifndef MM_BYTES_H
#define MM_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *p, *end;
	bool bad;
};

/* The next @n bytes, or NULL. */
static inline const uint8_t *bytes_take(struct bytes *b, uint64_t n)
{
	const uint8_t *p = b->p;

	if (b->bad || n > (size_t)(b->end - p)) {
		b->bad = true;
		return NULL;
	}
	b->p += n;
	return p;
}

/* A little-endian number of @size bytes, at most 8. */
static inline uint64_t bytes_number(struct bytes *b, unsigned size)
{
	const uint8_t *p = bytes_take(b, size);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, size);
	return v;
}

static inline int64_t bytes_signed(struct bytes *b, unsigned size)
{
	unsigned shift = 64 - 8 * size;

	return (int64_t)(bytes_number(b, size) << shift) >> shift;
}

/* Bits beyond the 64th are lost, as in other readers of DWARF. */
static inline uint64_t bytes_leb(struct bytes *b, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)bytes_number(b, 1);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !b->bad);
	if (is_signed && byte & 0x40 && shift < 64)
		v |= ~0ull << shift;
	return v;
}

static inline uint64_t bytes_uleb(struct bytes *b)
{
	return bytes_leb(b, false);
}

static inline int64_t bytes_sleb(struct bytes *b)
{
	return (int64_t)bytes_leb(b, true);
}

#endif
