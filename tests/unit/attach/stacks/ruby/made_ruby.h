/* SPDX-License-Identifier: MIT */
/*
 * made_ruby: objects as Ruby has them, made by hand in our own memory, for the tests of what reads them: strings
 * and arrays of both layouts; sequences of instructions and methods of 3.1.
 */
#ifndef TESTS_MADE_RUBY_H
#define TESTS_MADE_RUBY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "attach/stacks/ruby/rblayouts.h"

struct string {
	uint64_t flags, class, length, pointer, last;
	char room[24];
};

struct array {
	uint64_t flags, class, length, capacity, pointer;
};

struct line {
	uint32_t line, node, events;
};

struct body {
	uint32_t type, nwords; /* 0, 4 */
	uint64_t code; /* 8 */
	uint8_t unused[48];
	uint64_t path, base_label, label; /* 64, 72, 80 */
	uint8_t unused2[32];
	uint64_t lines, positions; /* 120 */
	uint32_t nlines, unused3; /* 136 */
	uint64_t index; /* 144 */
};

struct object {
	uint64_t flags, class, body;
};

struct definition {
	uint64_t unused[4], id; /* 32 */
};

/* Its text is in it: before 3.3, and since. */
static inline void make_short(struct string *s, const char *text, bool long_length)
{
	const size_t n = strlen(text);

	*s = (struct string){ .flags = RB_STRING | (long_length ? 0 : n << 14), .length = long_length ? n : 0 };
	memcpy((char *)s + (long_length ? 24 : 16), text, n);
}

static inline void make_long(struct string *s, const char *text)
{
	*s = (struct string){ .flags = RB_STRING | RB_OUTSIDE, .length = strlen(text), .pointer = (uintptr_t)text };
}

static inline void make_array(struct array *a, const uint64_t *elements, size_t n)
{
	*a = (struct array){ .flags = RB_ARRAY, .length = n, .pointer = (uintptr_t)elements };
}

#endif
