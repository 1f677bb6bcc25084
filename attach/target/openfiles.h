/* SPDX-License-Identifier: MIT */
/*
 * openfiles: as many files as we may have open.
 *
 * Each module of the target is kept open, once for each unwinder in use, and usual shells allow 1024. So the soft limit becomes the hard one at the
 * start; a program that we launch gets back what we were given, for that may be what it lives by (select, a loop over all descriptors).
 */
#ifndef MM_OPENFILES_H
#define MM_OPENFILES_H

#include <sys/resource.h>

/* @before, if not NULL, is filled with the limits as they were. A failure is only logged: modules that cannot be opened are reported. */
void openfiles_raise(struct rlimit *before);

/* After fork: the limits as they were. */
void openfiles_restore(const struct rlimit *before);

#endif
