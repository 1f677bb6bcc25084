/* SPDX-License-Identifier: MIT */
/*
 * scan_cmd: `mmattach scan`: what a process, or a core file, holds at one moment, and what of it is lost.
 *
 *	look		a snapshot: of a process stopped once and briefly (scan_live.h), or of a core (scan_core.h)
 *	examine		census, flood, classes, groups: all after the process was let go
 *	report
 */
#ifndef MM_SCAN_CMD_H
#define MM_SCAN_CMD_H

#include "attach/options/options.h"
#include "base/cleanup.h"

/* The exit status. */
must_check int scan_cmd(const struct options *opt, int argc, char **argv);

#endif
