/* SPDX-License-Identifier: MIT */
/*
 * scan_allocator: which malloc a process has instead of glibc's, or beside it. A scan lists only glibc's
 * blocks, so its report must name the other one.
 */
#ifndef MM_SCAN_ALLOCATOR_H
#define MM_SCAN_ALLOCATOR_H

#include <stdbool.h>

#include "attach/target/modules.h"
#include "base/strbuf.h"
#include "heap/snapshot/snapshot.h"

/*
 * "jemalloc (libjemalloc.so.2)" is appended to @out: the module whose malloc the others call, if that is not
 * glibc; else one that has the functions of a known allocator. false: there is none, as far as can be seen.
 */
bool scan_allocator_of_process(const struct modules *ms, struct strbuf *out);

/* The same of a core: by the names of its mapped files. */
bool scan_allocator_of_core(const struct snapshot *s, struct strbuf *out);

#endif
