/* SPDX-License-Identifier: MIT */
/*
 * text_scan_python: CPython's objects by type, behind the groups of a scan.
 *
 *	objects of CPython 3.11.2: 56210 in 7.5 MiB (not part of the blocks above, but for 61 large ones)
 *	     bytes   objects  type, and which types refer to it
 *	   3.1 MiB     20000  shop.Order: list 20000
 *	   ...
 */
#ifndef MM_TEXT_SCAN_PYTHON_H
#define MM_TEXT_SCAN_PYTHON_H

#include "base/strbuf.h"
#include "report/model/scan.h"

/* At most @top types, 0: all. Nothing if there is no interpreter. */
void text_scan_python(struct strbuf *sb, const struct scan_report *r, size_t top);

#endif
