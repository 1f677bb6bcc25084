/* SPDX-License-Identifier: MIT */
/*
 * dtvs: the tables by which threads find their thread-local variables. The dynamic loader allocates one for
 * each new thread, with the program's malloc, and has no pointer to its beginning: so each would be possibly
 * lost, as in valgrind. They belong to the loader: they are no leaks, and what they point to is in use.
 */
#ifndef MM_DTVS_H
#define MM_DTVS_H

#include "base/cleanup.h"
#include "heap/census.h"
#include "heap/snapshot/snapshot.h"

/*
 * Move those of all threads, also of ended ones whose stack still exists, from c->blocks to c->own. 0 or
 * -ENOMEM.
 */
must_check int dtvs_set_apart(const struct snapshot *s, struct census *c);

#endif
