/* SPDX-License-Identifier: MIT */
/*
 * scan_live: a snapshot and a census of a running process: find it, seize it, stop and copy it once, leave; then count.
 *
 * The process may have been stopped in the middle of the allocator's work, and the census may then not come out even. So if
 * its sums are not the allocator's own, all is done again, at most SCAN_PAUSES times; what remains is said in the report.
 */
#ifndef MM_SCAN_LIVE_H
#define MM_SCAN_LIVE_H

#include "attach/scan/scan_parts.h"

#define SCAN_PAUSES 3
#define SCAN_MAX_PAUSE_NS 1000000000ull

/* Fill sc->target, modules, snapshot, census, and of the report what is known then. The process is free again. 0 or -errno (said). */
must_check int scan_live(struct scan *sc, int argc, char **argv);

#endif
