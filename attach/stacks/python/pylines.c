/* SPDX-License-Identifier: MIT */
#include "attach/stacks/python/pylines.h"

#include <stdbool.h>

/* --- 3.9: (bytes, lines), signed lines; a pair is where a line begins --- */

static uint32_t by_lnotab(const uint8_t *t, size_t n, uint32_t first, uint32_t at)
{
	uint32_t line = first, addr = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		addr += t[i];
		if (addr > at)
			break;
		line += (uint32_t)(int8_t)t[i + 1];
	}
	return line;
}

/* --- 3.10: (bytes, lines) of a range; -128: it has no line --- */

static uint32_t by_ranges(const uint8_t *t, size_t n, uint32_t first, uint32_t at)
{
	uint32_t line = first, end = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		const int8_t by = (int8_t)t[i + 1];

		end += t[i];
		line += by == -128 ? 0 : (uint32_t)by;
		if (at < end)
			return by == -128 ? 0 : line;
	}
	return 0;
}

/* --- 3.11: entries that begin with a byte whose highest bit is set --- */

enum { FORM_ONE_LINE = 10, FORM_NO_COLUMN = 13, FORM_LONG = 14, FORM_NO_LINE = 15 };

/* Six bits a byte, the lowest first; the lowest bit of the number is its sign. */
static int32_t signed_number(const uint8_t *t, size_t n, size_t i)
{
	uint32_t value = 0, shift = 0;

	for (; i < n && shift < 30; i++, shift += 6) {
		value |= (uint32_t)(t[i] & 0x3f) << shift;
		if (!(t[i] & 0x40))
			break;
	}
	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

/* By how many lines the entry at @i is further on. */
static int32_t step_of(const uint8_t *t, size_t n, size_t i, unsigned form)
{
	if (form == FORM_NO_COLUMN || form == FORM_LONG)
		return signed_number(t, n, i + 1);
	return form >= FORM_ONE_LINE && form < FORM_NO_COLUMN ? (int32_t)(form - FORM_ONE_LINE) : 0;
}

static uint32_t by_locations(const uint8_t *t, size_t n, uint32_t first, uint32_t at)
{
	uint32_t line = first, end = 0;

	for (size_t i = 0; i < n; i++) {
		const unsigned form = t[i] >> 3 & 15;

		if (!(t[i] & 0x80))
			continue;
		end += 2u * ((t[i] & 7u) + 1);
		line += (uint32_t)step_of(t, n, i, form);
		if (at < end)
			return form == FORM_NO_LINE ? 0 : line;
	}
	return 0;
}

uint32_t pylines_at(enum layouts_lines form, const uint8_t *table, size_t n, uint32_t first, uint32_t at)
{
	switch (form) {
	case LAYOUTS_LINES_LNOTAB:
		return by_lnotab(table, n, first, at);
	case LAYOUTS_LINES_RANGES:
		return by_ranges(table, n, first, at);
	case LAYOUTS_LINES_LOCATIONS:
		return by_locations(table, n, first, at);
	}
	return 0;
}
