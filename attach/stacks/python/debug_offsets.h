/* SPDX-License-Identifier: MIT */
/*
 * debug_offsets: the table of offsets that CPython 3.13 has at the beginning of _PyRuntime
 * (_Py_DebugOffsets). Pure.
 */
#ifndef MM_PYTHON_DEBUG_OFFSETS_H
#define MM_PYTHON_DEBUG_OFFSETS_H

#include <stddef.h>
#include <stdint.h>

#include "attach/stacks/python/layouts.h"

#define DEBUG_OFFSETS_WORDS 44	/* as many as are looked at */

/*
 * Complete @l from the table. If it is not usable, @why (@n bytes) gets the reason; else it stays as it is.
 */
void debug_offsets_take(const uint64_t words[DEBUG_OFFSETS_WORDS], struct layout *l, char *why, size_t n);

#endif
