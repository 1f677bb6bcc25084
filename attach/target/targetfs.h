/* SPDX-License-Identifier: MIT */
/*
 * targetfs: the target's files by the names that it uses, also after its end.
 *
 * Its root directory is opened when we come (O_PATH: nothing is touched), with
 * the number that it has in its own pid namespace. What is there was laid by
 * somebody we need not trust: no name leads out of the root, no symbolic link
 * at the end of a name is followed, and only regular files are read.
 */
#ifndef MM_TARGETFS_H
#define MM_TARGETFS_H

#include <sys/types.h>

#include "base/cleanup.h"

struct perfmap;

struct targetfs {
	int root;		/* -1: could not be opened */
	pid_t inner_pid;	/* as the target itself knows it */
	uid_t owner;
};

#define TARGETFS_INIT { -1, 0, 0 }

/* What cannot be had is left out: then the reading fails. */
void targetfs_open(pid_t pid, struct targetfs *out);
void targetfs_fini(struct targetfs *fs);

/*
 * /tmp/perf-PID.map: the code that the target made itself, in the format of Linux perf. Read only if it belongs to the
 * target's user or to root. 0 (perfmap_fini afterwards), -ENOENT, or another -errno.
 */
must_check int targetfs_read_perfmap(const struct targetfs *fs, struct perfmap *out);

#endif
