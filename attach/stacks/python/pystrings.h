/* SPDX-License-Identifier: MIT */
/* pystrings: a string object of an interpreter, as UTF-8. */
#ifndef MM_PYTHON_STRINGS_H
#define MM_PYTHON_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/stacks/python/layouts.h"
#include "base/taddr.h"

#define PYSTRINGS_MOST 1024	/* a longer one is cut */

/* The string at @at of the process whose memory is @mem, with a NUL. false: there is none. */
bool pystrings_read(int mem, const struct layout *l, taddr at, char *buf, size_t n);

#endif
