/* SPDX-License-Identifier: MIT */
#include "attach/stacks/python/codes.h"

#include <stdlib.h>
#include <string.h>

#include "attach/stacks/python/pylines.h"
#include "attach/stacks/python/pystrings.h"

#define LINES_MOST (1u << 18)	/* bytes of a table */
#define OB_TYPE 8
#define OB_SIZE 16
#define BYTES_DATA 32

/*
 * Where a code object was freed, the first words are those of an allocator: a pointer, or 0, in place of the
 * number of references.
 */
bool codes_read(const struct script_runtime *base, struct script_code *code)
{
	const struct python_runtime *rt = python_runtime_of(base);
	const uint16_t n = rt->layout.code.size;
	uint64_t references;

	if (n > sizeof(code->bytes) || !script_read(base->mem, code->addr, code->bytes, n))
		return false;
	references = script_code_word(code, 0);
	return references && references <= UINT32_MAX && script_code_word(code, OB_TYPE) == rt->code_type;
}

static void read_lines(int mem, taddr at, struct script_code *code)
{
	uint64_t n;

	if (!script_read_word(mem, at + OB_SIZE, &n) || !n || n > LINES_MOST)
		return;
	code->lines = malloc(n);
	if (code->lines && script_read(mem, at + BYTES_DATA, code->lines, n))
		code->nlines = (uint32_t)n;
}

static const char *read_text(const struct python_runtime *rt, struct script_places *places, taddr at)
{
	char text[PYSTRINGS_MOST];

	if (!pystrings_read(rt->base.mem, &rt->layout, at, text, sizeof(text)))
		return NULL;
	return script_places_text(places, text);
}

bool codes_describe(const struct script_runtime *base, struct script_places *places, struct script_code *code)
{
	const struct python_runtime *rt = python_runtime_of(base);
	const struct layouts_code *l = &rt->layout.code;

	code->function = read_text(rt, places, script_code_word(code, l->name));
	code->file = read_text(rt, places, script_code_word(code, l->filename));
	read_lines(base->mem, script_code_word(code, l->lines), code);
	return code->function && code->file;
}

uint32_t codes_line(const struct script_runtime *base, const struct script_code *code, uint32_t position)
{
	const struct layout *l = &python_runtime_of(base)->layout;
	const uint32_t first = (uint32_t)script_code_number(code, l->code.first_line);

	if (position == UINT32_MAX)
		return first;
	return pylines_at(l->lines, code->lines, code->nlines, first, position);
}

int64_t codes_offset(const struct python_runtime *rt, const struct chain_link *l)
{
	const uint16_t bytecode = rt->layout.code.bytecode;

	return bytecode ? (int64_t)(l->at - l->code - bytecode) : (int64_t)(int32_t)l->at * rt->layout.unit;
}

bool codes_has_not_begun(const struct python_runtime *rt, const struct script_code *code, int64_t offset)
{
	const uint16_t first = rt->layout.code.first_traceable;

	return offset / 2 < (first ? script_code_number(code, first) : 0);
}
