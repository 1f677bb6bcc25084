/* SPDX-License-Identifier: MIT */
/* save: a copy of the trace as far as it was read, in one file: later pieces follow in it, as with cat. */
#ifndef MM_SAVE_H
#define MM_SAVE_H

#include "base/cleanup.h"
#include "report/tracefiles/follow.h"

/* To @path, which must be a free name. 0; -EEXIST; -errno: nothing is left of it. */
must_check int save_trace(const struct follow *f, const char *path);

#endif
