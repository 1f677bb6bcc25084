/* SPDX-License-Identifier: MIT */
/*
 * dtvs: the tables by which threads find their thread-local variables. The dynamic loader allocates one for each thread that is made,
 * with the program's malloc, and keeps no pointer to its beginning: so each would be possibly lost, as it is to valgrind. They are the
 * loader's: nobody lost them, and what they point to is in use.
 */
#ifndef MM_DTVS_H
#define MM_DTVS_H

#include "base/cleanup.h"
#include "heap/glibc/census.h"
#include "heap/snapshot/snapshot.h"

/* Take those of all threads, also of ended ones whose stack is kept, out of c->blocks, and add them to c->own. 0 or -ENOMEM. */
must_check int dtvs_set_apart(const struct snapshot *s, struct census *c);

#endif
