/* SPDX-License-Identifier: MIT */
/*
 * loaderblocks: what the dynamic loader has allocated with the program's malloc, and has no pointer to the
 * beginning of: so each of these blocks would be possibly lost, as in valgrind. They belong to the loader:
 * they are no leaks, and what they point to is in use.
 *
 * - DTVs: the tables by which threads find their thread-local variables, one for each thread.
 * - the tables of loaded objects in which _dl_find_object (glibc 2.35 and later) looks: they begin at a
 *   multiple of 128 in their block. Each dlopen may make one.
 */
#ifndef MM_LOADERBLOCKS_H
#define MM_LOADERBLOCKS_H

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"

/*
 * Move them from c->blocks to c->own; the DTVs of all threads, also of ended ones whose stack still exists.
 * 0 or -ENOMEM.
 */
must_check int loaderblocks_set_apart(const struct snapshot *s, struct census *c);

#endif
