/* SPDX-License-Identifier: MIT */
/*
 * import: the files of older tools as a ledger, which is then written as a trace (report/tracefiles/shrink.h) and reported as any other.
 *
 *	mmleak	ADDRESS CALLER SIZE is an allocation, ADDRESS CALLER a release: dumps raw, sorted or shrunken;
 *		names by the maps that it saved
 *	mtrace	@ OBJECT:(SYMBOL+OFFSET)[ADDRESS] OP ADDRESS [SIZE], as glibc's mtrace() writes it
 *
 * Neither has times or stacks: all ages are 0, and a stack is one frame. A line that is neither an event nor anything known is
 * counted, and the first one named in a note; a file without a single good line is refused.
 */
#ifndef MM_IMPORT_H
#define MM_IMPORT_H

#include <stddef.h>

#include "base/cleanup.h"
#include "report/ledger/ledger.h"

/* Fill @l (initialised here; ledger_fini in any case) from @paths in their order. @maps may be NULL. 0 or -errno (said). */
must_check int import_mmleak(const char *const *paths, size_t n, const char *maps, struct ledger *l);
must_check int import_mtrace(const char *const *paths, size_t n, struct ledger *l);

#endif
