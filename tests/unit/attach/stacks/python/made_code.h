/* SPDX-License-Identifier: MIT */
/*
 * made_code: code objects as CPython 3.11 has them, made by hand in our own memory, for the tests of what
 * reads them.
 */
#ifndef TESTS_MADE_CODE_H
#define TESTS_MADE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
	uint64_t references, type, length, hash;
	uint32_t state, unused;
	uint64_t wide;
	uint8_t ascii[24]; /* 48: letters of ASCII */
	uint8_t others[40]; /* 72: those of others */
};

struct bytes {
	uint64_t references, type, length, hash;
	uint8_t data[32];
};

struct code_object {
	uint64_t references, type;
	uint8_t unused[56];
	uint32_t first_line; /* 72 */
	uint8_t unused2[36];
	uint64_t filename, name, qualname, lines; /* 112, 120, 128, 136 */
	uint8_t unused3[24];
	uint32_t first_traceable; /* 168 */
	uint8_t unused4[12];
	uint8_t bytecode[64]; /* 184 */
};

static uint64_t type_object;

static inline void make_text(struct text *t, const void *letters, size_t n, unsigned width, bool ascii)
{
	*t = (struct text) { .references = 1,
			     .length = n,
			     .state = width << 2 | 1u << 5 | (unsigned)ascii << 6 };
	memcpy(ascii ? t->ascii : t->others, letters, n * width);
}

/* Its instructions are on the first line, the next one, the one after it. */
static inline void make_code(struct code_object *object, struct bytes *lines, const struct text *name,
			     const struct text *file, uint32_t first_line)
{
	static const uint8_t table[] = { 0xd0, 0x00, 0x00, 0xd8, 0x00, 0x00, 0xd8, 0x00, 0x00 };

	*lines = (struct bytes) { .references = 1, .length = sizeof(table) };
	memcpy(lines->data, table, sizeof(table));
	*object = (struct code_object) {
		.references = 1,
		.type = (uintptr_t)&type_object,
		.first_line = first_line,
		.filename = (uintptr_t)file,
		.name = (uintptr_t)name,
		.qualname = (uintptr_t)name,
		.lines = (uintptr_t)lines,
		.first_traceable = 1,
	};
}

#endif
