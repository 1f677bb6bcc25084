/* SPDX-License-Identifier: MIT */
/*
 * runtimes: finds a language runtime with a heap of its own, outside of malloc: "CPython", "JVM", "Go", "V8".
 * The report has a hint for each (report/text/text_memory.c).
 */
#ifndef MM_RUNTIMES_H
#define MM_RUNTIMES_H

#include "attach/target/modules.h"

/* The name of the runtime; NULL: none that we know. */
const char *runtimes_find(const struct modules *ms);

#endif
