/* SPDX-License-Identifier: MIT */
/* libcs: the names of the C library's own functions that allocate memory. */
#ifndef MM_LIBCS_H
#define MM_LIBCS_H

#include <stdbool.h>

/* malloc, calloc, ...; not functions that call them, as strdup does. */
bool libcs_allocator(const char *name);

#endif
