/* SPDX-License-Identifier: MIT */
#include "attach/stacks/python/pystrings.h"

#include <string.h>

#include "attach/stacks/scripts/script_language.h"

#define LENGTH 16		/* in characters */
#define STATE 32
#define HEAD 40
#define LONGEST (1u << 24)	/* of a plausible one */

/* Of the word at STATE. */
static unsigned width_of(uint32_t state)
{
	return state >> 2 & 7;
}

static bool is_compact(uint32_t state)
{
	return state >> 5 & 1;
}

static bool is_ascii(uint32_t state)
{
	return state >> 6 & 1;
}

/* Returns how many bytes. */
static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* @n characters of @width bytes each, as many as fit. */
static void convert(const uint8_t *from, size_t n, unsigned width, char *buf, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < n && used + 5 <= room; i++) {
		uint32_t c = 0;

		memcpy(&c, from + i * width, width);
		if (!c)
			break;
		used += put_utf8(buf + used, c);
	}
	buf[used] = '\0';
}

bool pystrings_read(int mem, const struct layout *l, taddr at, char *buf, size_t n)
{
	uint8_t head[HEAD], letters[4 * PYSTRINGS_MOST];
	uint64_t length;
	uint32_t state;
	unsigned width;
	size_t bytes;

	if (!script_read(mem, at, head, sizeof(head)))
		return false;
	memcpy(&length, head + LENGTH, sizeof(length));
	memcpy(&state, head + STATE, sizeof(state));
	width = width_of(state);
	if (!is_compact(state) || length > LONGEST || (width != 1 && width != 2 && width != 4))
		return false;
	if (length > n - 1)
		length = n - 1;
	if (length > PYSTRINGS_MOST)
		length = PYSTRINGS_MOST;
	bytes = length * width;
	at += is_ascii(state) ? l->ascii : l->compact;
	if (!script_read(mem, at, letters, bytes))
		return false;
	convert(letters, length, width, buf, n);
	return true;
}
