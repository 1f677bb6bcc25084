/* SPDX-License-Identifier: MIT */
/*
 * codes: a code object of CPython (PyCodeObject): its names, its table of lines, and where in its
 * instructions a frame is. (What is known of all of them: scripts/script_codes.h.)
 */
#ifndef MM_PYTHON_CODES_H
#define MM_PYTHON_CODES_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/stacks/python/runtime.h"
#include "attach/stacks/scripts/script_codes.h"

/* Of struct script_language. */
bool codes_read(const struct script_runtime *rt, struct script_code *code);
bool codes_describe(const struct script_runtime *rt, struct script_places *places, struct script_code *code);
uint32_t codes_line(const struct script_runtime *rt, const struct script_code *code, uint32_t position);

/* Where in the bytecode the frame of @l is, in bytes; negative: before the first instruction. */
int64_t codes_offset(const struct python_runtime *rt, const struct chain_link *l);

/* As a position of script_codes. */
static inline uint32_t codes_position(int64_t offset)
{
	return offset < 0 || offset > INT32_MAX ? UINT32_MAX : (uint32_t)offset;
}

/* Is that before the first instruction of the function that is shown? */
bool codes_has_not_begun(const struct python_runtime *rt, const struct script_code *code, int64_t offset);

#endif
