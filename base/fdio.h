/* SPDX-License-Identifier: MIT */
/*
 * fdio: whole reads, whole writes, whole files.
 *
 * read(2) and write(2) may do less than was asked; what is here does all of it
 * or fails. And a result file appears under its name only when it is
 * complete: it is written beside it under a temporary name, then renamed.
 */
#ifndef MM_FDIO_H
#define MM_FDIO_H

#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* Write all @n bytes. 0 or -errno (what was written before stays written). */
must_check int write_full(int fd, const void *buf, size_t n);

/* Read @n bytes at @offset; the number read, less only at the end of file, or -errno. */
must_check ssize_t pread_full(int fd, void *buf, size_t n, off_t offset);

/*
 * The whole of @fd, from its current offset, into memory of its own (free it), with a NUL behind the @n
 * bytes. For files whose size is not known beforehand, as in /proc. 0; -EFBIG if there are more than @limit
 * bytes; -ENOMEM; -errno of read.
 */
must_check int read_whole_fd(int fd, size_t limit, char **out, size_t *n);

/*
 * The same by name, below directory @dirfd (AT_FDCWD: the current one). Opened O_NONBLOCK|O_NOCTTY, so that a
 * FIFO of that name cannot block us.
 */
must_check int read_whole_file_at(int dirfd, const char *path, size_t limit, char **out, size_t *n);
must_check int read_whole_file(const char *path, size_t limit, char **out, size_t *n);

/*
 * /dev/null, or where there is none (a chroot with nothing but the program) an empty file that cannot be
 * written. A descriptor or -errno.
 */
must_check int open_null(void);

/*
 * A result file in the making, mode 0600. Under a name that is free, or a regular file's, it is written under
 * a temporary name in the same folder and renamed by outfile_commit. A device or FIFO (/dev/null) is written
 * in place, and so is the target of a symbolic link (/dev/stdout), but only if no other user could have made
 * the link or file: in a folder that others can write, a link is refused with -ELOOP, and another user's
 * device or FIFO with -EPERM.
 */
struct outfile {
	int fd;		/* write here; -1 when not open */
	int dirfd;	/* the folder, for the rename; -1: written in place */
	char *name;	/* within the folder */
	char *temp;	/* NULL: written in place */
};

#define OUTFILE_INIT { -1, -1, NULL, NULL }

/* 0 or -errno; on failure there is nothing to abort. */
must_check int outfile_open(struct outfile *of, const char *path);

/* Everything is written: give it its name. 0 or -errno; after an error it is aborted. */
must_check int outfile_commit(struct outfile *of);

/* Discard it. Does nothing after a commit. */
void outfile_abort(struct outfile *of);

/* Open, write and commit @n bytes at once. */
must_check int write_whole_file(const char *path, const void *buf, size_t n);

#endif
