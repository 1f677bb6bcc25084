/* SPDX-License-Identifier: MIT */
/*
 * scan_cmd: `mmattach scan`: which blocks a process or a core file has at one moment, and which of them are
 * lost.
 *
 *	look		a snapshot: of a process stopped once and briefly (scan_live.h),
 *			or of a core (scan_core.h)
 *	examine		census, flood, classes, groups: all after the process was released
 *	report
 */
#ifndef MM_SCAN_CMD_H
#define MM_SCAN_CMD_H

#include "attach/options/options.h"
#include "base/cleanup.h"

/* The exit status. */
must_check int scan_cmd(const struct options *opt, int argc, char **argv);

#endif
