/* SPDX-License-Identifier: MIT */
/*
 * allocators: which allocators other than glibc's never look at the stack of their callers, so that their functions
 * can have return probes (attach/probes/return_probe.h).
 *
 * Musl's never does. jemalloc, tcmalloc and mimalloc are known by the names of their libraries (a program that has
 * one of them in it may have hooks of its own): an import of an unwinder's function means that they may make a
 * profile. jemalloc calls _Unwind_Backtrace once when it starts with opt.prof, and only then later: as long as the
 * slot of that function is not bound, it makes none. (With LD_BIND_NOW this is not known.)
 */
#ifndef MM_TARGET_ALLOCATORS_H
#define MM_TARGET_ALLOCATORS_H

#include <stdbool.h>

#include "attach/target/modules.h"

/* @mem: /proc/PID/mem. */
bool allocator_ignores_stack(const struct module *m, int mem);

#endif
