/* SPDX-License-Identifier: MIT */
/* scan_python: CPython's objects in the memory of a scan, by type, into the report. */
#ifndef MM_ATTACH_SCAN_PYTHON_H
#define MM_ATTACH_SCAN_PYTHON_H

#include "attach/scan/scan_parts.h"

/* Nothing if there is no interpreter. 0 or -ENOMEM. */
must_check int scan_python_add(struct scan *sc);

#endif
