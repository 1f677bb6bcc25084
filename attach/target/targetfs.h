/* SPDX-License-Identifier: MIT */
/*
 * targetfs: the target's files by the names that the target uses, also after its end.
 *
 * Its root directory is opened when we attach (O_PATH: nothing is touched), and its pid in its own pid
 * namespace is read. The files there are not trusted: no name leads out of the root, no symbolic link at the
 * end of a name is followed, and only regular files are read.
 */
#ifndef MM_TARGETFS_H
#define MM_TARGETFS_H

#include <sys/types.h>

#include "base/cleanup.h"

struct perfmap;

struct targetfs {
	int root;		/* -1: could not be opened */
	pid_t inner_pid;	/* the pid in the target's own namespace */
	uid_t owner;
};

#define TARGETFS_INIT { -1, 0, 0 }

/* If something cannot be opened, only later reading fails. */
void targetfs_open(pid_t pid, struct targetfs *out);
void targetfs_fini(struct targetfs *fs);

/*
 * /tmp/perf-PID.map: the code that the target generated itself, in the format of Linux perf. Read only if it
 * belongs to the target's user or to root. 0 (call perfmap_fini afterwards), -ENOENT, or another -errno.
 */
must_check int targetfs_read_perfmap(const struct targetfs *fs, struct perfmap *out);

#endif
