/* SPDX-License-Identifier: MIT */
/*
 * cgroups: does a process belong to a cgroup, a unit of systemd, or a container? By the text of
 * /proc/PID/cgroup, which has the paths of its cgroups, of version 1 (one for each controller) and 2:
 *
 *	12:memory:/docker/4f1a...
 *	0::/system.slice/nginx.service
 *
 * Nothing else is needed: no daemon is asked, and no file system of cgroups has to be mounted.
 */
#ifndef MM_CGROUPS_H
#define MM_CGROUPS_H

#include <stdbool.h>

/* At most one is not NULL. */
struct cgroup_wish {
	const char *path;	/* "/system.slice/nginx.service": it, and those below */
	const char *unit;	/* "nginx.service"; without a dot, a service */
	const char *container;	/* the first digits of its id, 12 or more */
};

bool cgroup_is_wanted(const struct cgroup_wish *wish);

/* @text: of /proc/PID/cgroup. */
bool cgroup_has(const struct cgroup_wish *wish, const char *text);

/* Where cgroups are mounted: shells complete paths that begin so, and they mean the cgroup. */
const char *cgroup_path(const char *path);

#endif
