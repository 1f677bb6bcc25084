/* SPDX-License-Identifier: MIT */
/*
 * import: reads the files of older tools into a ledger, which is then written as a trace
 * (report/tracefiles/shrink.h) and reported like any other.
 *
 *	mmleak	ADDRESS CALLER SIZE is an allocation, ADDRESS CALLER a free: dumps raw, sorted or shrunken;
 *		names from the maps that it saved
 *	mtrace	@ OBJECT:(SYMBOL+OFFSET)[ADDRESS] OP ADDRESS [SIZE], as glibc's mtrace() writes it
 *
 * Neither has times or stacks: all ages are 0, and a stack is one frame. Lines that are not understood are
 * counted, and a note names the first one; a file without a single valid line is refused.
 */
#ifndef MM_IMPORT_H
#define MM_IMPORT_H

#include <stddef.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/*
 * Fill @l (initialised here; ledger_fini in any case) from @paths in their order. @maps may be NULL. 0 or
 * -errno (logged).
 */
must_check int import_mmleak(const char *const *paths, size_t n, const char *maps, struct ledger *l);
must_check int import_mtrace(const char *const *paths, size_t n, struct ledger *l);

#endif
