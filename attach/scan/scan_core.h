/* SPDX-License-Identifier: MIT */
/* scan_core: a snapshot and a census of a core file. */
#ifndef MM_SCAN_CORE_H
#define MM_SCAN_CORE_H

#include "attach/scan/scan_parts.h"

/* As scan_live, from opt->core. 0 or -errno (logged). */
must_check int scan_core(struct scan *sc);

#endif
