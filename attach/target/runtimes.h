/* SPDX-License-Identifier: MIT */
/*
 * runtimes: what runs the process, where that has a heap of its own that malloc knows nothing of: "CPython", "JVM", "Go", "V8". What to do there the report says
 * (report/text/text_memory.c).
 */
#ifndef MM_RUNTIMES_H
#define MM_RUNTIMES_H

#include "attach/target/modules.h"

/* NULL: none that is known. */
const char *runtimes_find(const struct modules *ms);

#endif
