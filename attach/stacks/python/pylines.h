/* SPDX-License-Identifier: MIT */
/*
 * pylines: which line of a script an instruction of its bytecode belongs to, by the table of its code object.
 * Pure.
 */
#ifndef MM_PYTHON_LINES_H
#define MM_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "attach/stacks/python/layouts.h"

/* @at: offset of the instruction in bytes; @first: the code's first line. 0: there is no line there. */
uint32_t pylines_at(enum layouts_lines form, const uint8_t *table, size_t n, uint32_t first, uint32_t at);

#endif
