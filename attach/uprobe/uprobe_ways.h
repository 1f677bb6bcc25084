/* SPDX-License-Identifier: MIT */
/*
 * uprobe_ways: how a kernel runs a program at the probes of a process, and which of these ways this one has.
 *
 *	session		one link for all sites of a file; the program decides at an entry whether its return
 *			is probed (Linux 6.13)
 *	multi		no returns, one link for all sites of a file (6.6; before 6.12 its filter takes one
 *			thread only, so that is not used)
 *	perf		a perf event for each probe, with a program attached (5.15)
 *
 * Before 5.15 no program is loaded at all: 5.10 warns in its log at one that uses our tables, and such a warning makes
 * some machines panic.
 */
#ifndef MM_UPROBE_WAYS_H
#define MM_UPROBE_WAYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

#define UPROBE_SINCE_MULTI 612	/* Linux 6.12 */

enum uprobe_way { UPROBE_WAY_AUTO, UPROBE_WAY_SESSION, UPROBE_WAY_MULTI, UPROBE_WAY_PERF };

const char *uprobe_way_name(enum uprobe_way way);	/* "uprobe session", "uprobe_multi", "perf events" */
enum uprobe_way uprobe_way_of(const char *name);	/* NULL: auto; "session", "multi", "perf" */

/* Of this kernel, as major * 100 + minor. */
int uprobe_linux_version(void);
const char *uprobe_linux_release(char *out, size_t n);	/* as uname prints it; returns @out */

/*
 * Has the Linux of @version what @way takes, as far as its version and @files show? Auto: what all ways take. 0;
 * -EOPNOTSUPP, or -ENOSYS for auto, with the reason in @why. @files: in place of /, for tests.
 */
must_check int uprobe_way_check(enum uprobe_way way, int version, const char *files, char *why, size_t n);

#endif
