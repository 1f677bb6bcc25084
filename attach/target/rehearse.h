/* SPDX-License-Identifier: MIT */
/*
 * rehearse: is all of ptrace there that the keeper will need?
 *
 * A sandbox may let part of it through. Found out with a trap planted it is too
 * late: a thread behind an int3 that can neither be moved nor asked is lost. So
 * every request is made once before, on a child of our own.
 */
#ifndef MM_REHEARSE_H
#define MM_REHEARSE_H

#include "base/cleanup.h"

/* 0, or -errno with the name of what failed in @what. */
must_check int rehearse(const char **what);

#endif
