/* SPDX-License-Identifier: MIT */
/*
 * musl_slots: what is in a slot. The four bytes before a block are its head:
 *
 *	-4  0; or 1: where the group begins is in the four bytes before the head
 *	-3  the number of the slot; in the three upper bits how many bytes at the end are unused: 0 to 4, or
 *	    5: that number is in the last four bytes; 6: not a block but a group
 *	-2  where in the group it begins, in units of 16 bytes
 *
 * A block need not begin where its slot does. Then the head of the slot has 7 in those bits, and by how many
 * units the block begins later. The byte behind the block is 0. Free sets the second byte to 255 and the
 * third and fourth to 0, and only then the slot's bit in the mask.
 */
#include "heap/musl/musl.h"

#define LATER 0xe0u		/* second byte of a slot's head: the block begins later */
#define TRUNCATED 0x10000u	/* units: by how many a block begins later is known modulo this */

static const uint16_t classes[MUSL_CLASSES] = {
	1,    2,    3,	  4,	5,    6,    7,	  8,	9,    10,   12,	  15,	18,   20,   25,	  31,
	36,   42,   50,	  63,	72,   84,   102,  127,	146,  170,  204,  255,	292,  340,  409,  511,
	584,  682,  818,  1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
};

uint64_t musl_stride(unsigned class)
{
	return (uint64_t)classes[class] * MUSL_UNIT;
}

struct musl_head musl_head_of(uint64_t word)
{
	return (struct musl_head){ .wide_offset = (uint32_t)word, .wide = (uint8_t)(word >> 32),
				   .index = (uint8_t)(word >> 40), .offset = (uint16_t)(word >> 48) };
}

static bool read_head(struct musl *g, taddr block, struct musl_head *h)
{
	uint64_t word;

	if (!snapshot_cursor_word(&g->cursor, block - 8, &word))
		return false;
	*h = musl_head_of(word);
	return true;
}

/* Is it the head of what begins at @at in slot @i? */
static bool is_head(const struct musl_group *gr, unsigned i, taddr at, const struct musl_head *h)
{
	const uint64_t units = (at - gr->mem) / MUSL_UNIT - 1;

	if ((h->index & 31) != i || h->index >> 5 > MUSL_IS_GROUP)
		return false;
	if (h->wide)
		return !h->offset && h->wide_offset == units && units > UINT16_MAX;
	return h->offset == units;
}

/* How many bytes before @end are not the block's; false: they are not as malloc has left them. */
static bool unused_at_end(struct musl *g, const struct musl_head *h, taddr at, taddr end, uint64_t *out)
{
	uint64_t last, n = h->index >> 5, word;

	/* the last eight bytes with the one at @end */
	if (!snapshot_cursor_word(&g->cursor, end - 7, &last) || last >> 56)
		return false;
	if (n == MUSL_ROOM_AT_END) {
		n = last >> 24 & UINT32_MAX;
		if (n < MUSL_ROOM_AT_END || last >> 16 & 0xff)
			return false;
	}
	*out = n;
	if (n > end - at || !snapshot_cursor_word(&g->cursor, end - n - 7, &word))
		return false;
	return !(word >> 56);
}

static enum musl_slot look_at(struct musl *g, const struct musl_group *gr, unsigned i, const struct musl_head *h,
			      struct block *out)
{
	const taddr end = gr->mem + MUSL_UNIT + (i + 1) * gr->stride - MUSL_HEAD;
	uint64_t unused;

	if (h->index == MUSL_FREED && !h->offset)
		return MUSL_RELEASED;
	if (!is_head(gr, i, out->addr, h))
		return MUSL_TORN;
	if (h->index >> 5 == MUSL_IS_GROUP)
		return MUSL_GROUP;
	out->size = end - out->addr;
	if (!unused_at_end(g, h, out->addr, end, &unused))
		return MUSL_TORN;
	out->size -= unused;
	return MUSL_BLOCK;
}

/* The block begins @units later, or 1 MiB or more behind that, if it is aligned to more. */
static enum musl_slot look_later(struct musl *g, const struct musl_group *gr, unsigned i, uint64_t units,
				 struct block *out)
{
	const taddr start = gr->mem + MUSL_UNIT + i * gr->stride;
	const uint64_t all = (gr->stride - MUSL_HEAD) / MUSL_UNIT;
	enum musl_slot is = MUSL_TORN;

	for (; units <= all && is == MUSL_TORN && !out->size; units += TRUNCATED) {
		struct musl_head h;

		out->addr = start + units * MUSL_UNIT;
		if (!read_head(g, out->addr, &h))
			return MUSL_UNSEEN;
		is = look_at(g, gr, i, &h, out);
	}
	return is;
}

enum musl_slot musl_slot_look(struct musl *g, const struct musl_group *gr, unsigned i, struct block *out)
{
	struct musl_head h;

	*out = (struct block){ gr->mem + MUSL_UNIT + i * gr->stride, 0 };
	if (!read_head(g, out->addr, &h))
		return MUSL_UNSEEN;
	if (h.index == LATER)
		return look_later(g, gr, i, h.offset, out);
	/* all of slot 0's head is 0 if its block begins there and leaves no byte unused */
	if (!h.index && !h.offset && !h.wide && i)
		return MUSL_RELEASED;
	return look_at(g, gr, i, &h, out);
}
