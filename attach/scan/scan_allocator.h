/* SPDX-License-Identifier: MIT */
/*
 * scan_allocator: which malloc a process has besides those whose blocks a scan lists (heap/allocators.h): the
 * report must name it.
 */
#ifndef MM_SCAN_ALLOCATOR_H
#define MM_SCAN_ALLOCATOR_H

#include <stdbool.h>

#include "attach/target/modules.h"
#include "base/strbuf.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"

/*
 * "jemalloc (libjemalloc.so.2)" is appended to @out: the module whose malloc the others call, if that is not
 * glibc; else one that has the functions of a known allocator; none that @c lists. false: there is none, as far
 * as can be seen.
 */
bool scan_allocator_of_process(const struct modules *ms, const struct census *c, struct strbuf *out);

/* The same of a core: by the names of its mapped files. */
bool scan_allocator_of_core(const struct snapshot *s, const struct census *c, struct strbuf *out);

#endif
