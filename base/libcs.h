/* SPDX-License-Identifier: MIT */
/* libcs: what the C library calls its own functions that give out memory. */
#ifndef MM_LIBCS_H
#define MM_LIBCS_H

#include <stdbool.h>

/* malloc, calloc, ...; not what reaches them, as strdup does. */
bool libcs_allocator(const char *name);

#endif
