/* SPDX-License-Identifier: MIT */
/*
 * rehearse: is everything in ptrace available that the keeper will need?
 *
 * A sandbox may allow only part of it. With a trap planted it is too late to find out: a thread behind an
 * int3 is lost if its registers can be neither read nor set. So every request is tried once before, on a
 * child of our own.
 */
#ifndef MM_REHEARSE_H
#define MM_REHEARSE_H

#include "base/cleanup.h"

/* 0, or -errno with the name of what failed in @what. */
must_check int rehearse(const char **what);

#endif
