/* SPDX-License-Identifier: MIT */
/*
 * openfiles: raises the limit on open files.
 *
 * Each module of the target stays open, once for each unwinder in use, and usual shells allow 1024 files. So
 * at the start the soft limit is raised to the hard one. A program that mmattach starts runs with the
 * original limit, because it may depend on it (select, a loop over all descriptors).
 */
#ifndef MM_OPENFILES_H
#define MM_OPENFILES_H

#include <sys/resource.h>

/* @before, if not NULL, gets the old limits. A failure is only logged: unopened modules are reported. */
void openfiles_raise(struct rlimit *before);

/* After fork: set the limits as they were. */
void openfiles_restore(const struct rlimit *before);

#endif
