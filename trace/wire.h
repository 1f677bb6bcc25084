/* SPDX-License-Identifier: MIT */
/*
 * wire: how numbers are encoded in a record: varints (LEB128), signed ones by zigzag, addresses as
 * differences.
 *
 * A cursor never reads beyond its end, a sink never writes beyond its own: what does not fit makes it bad
 * (full), and it stays so; check once, after all fields. What was read from a bad cursor is 0 or garbage,
 * never memory outside of it.
 */
#ifndef MM_WIRE_H
#define MM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/taddr.h"

#define WIRE_VARINT_MAX 10	/* bytes of a varint */

struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

struct sink {
	uint8_t *at, *end;
	bool full;
};

static inline uint64_t wire_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

static inline int64_t wire_unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1 ^ -(v & 1));
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* A byte; 0 at the end. */
static inline uint8_t cursor_byte(struct cursor *c)
{
	if (c->at < c->end)
		return *c->at++;
	c->bad = true;
	return 0;
}

/* Overlong forms are accepted; what does not fit into 64 bits is bad. */
static inline uint64_t cursor_varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t b = cursor_byte(c);
		v |= (uint64_t)(b & 127) << shift;
		if (b & 128)
			continue;
		c->bad |= shift == 63 && b > 1;
		return v;
	}
	c->bad = true;
	return 0;
}

static inline uint32_t cursor_varint32(struct cursor *c)
{
	uint64_t v = cursor_varint(c);

	c->bad |= v > UINT32_MAX;
	return (uint32_t)v;
}

/* @n bytes, or NULL. */
static inline const uint8_t *cursor_bytes(struct cursor *c, uint64_t n)
{
	const uint8_t *p = c->at;

	if (n > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return p;
}

static inline void sink_byte(struct sink *s, uint8_t b)
{
	if (s->at < s->end)
		*s->at++ = b;
	else
		s->full = true;
}

/* Full a little early: if the longest varint would not fit. */
static inline void sink_varint(struct sink *s, uint64_t v)
{
	if (s->end - s->at < WIRE_VARINT_MAX) {
		s->full = true;
		return;
	}
	for (; v >= 128; v >>= 7)
		*s->at++ = (uint8_t)(v | 128);
	*s->at++ = (uint8_t)v;
}

static inline void sink_bytes(struct sink *s, const void *data, size_t n)
{
	if (n > (size_t)(s->end - s->at)) {
		s->full = true;
		return;
	}
	if (n)
		memcpy(s->at, data, n);
	s->at += n;
}

/*
 * An address, by its difference to the one before (modulo 2^64), which is mostly a multiple of 16. The varint
 * is zigzag of the difference divided by 16 (rounded down), times two; and one more if a byte with the rest
 * (1 to 15) follows.
 */
static inline void sink_address(struct sink *s, taddr before, taddr addr)
{
	int64_t difference = (int64_t)(addr - before);
	uint8_t rest = difference & 15;

	sink_varint(s, wire_zigzag(difference >> 4) << 1 | !!rest);
	if (rest)
		sink_byte(s, rest);
}

static inline taddr cursor_address(struct cursor *c, taddr before)
{
	uint64_t v = cursor_varint(c);
	uint8_t rest = v & 1 ? cursor_byte(c) : 0;

	c->bad |= rest > 15;
	return before + ((uint64_t)wire_unzigzag(v >> 1) << 4) + rest;
}

#endif
