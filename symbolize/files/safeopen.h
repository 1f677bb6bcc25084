/* SPDX-License-Identifier: MIT */
/*
 * safeopen: open a regular file by a path that another user may have prepared.
 *
 * Below a given root no symbolic link and no ".." leads out of it. The path is first opened with O_PATH,
 * which triggers no device and waits for no FIFO, and is opened for reading only if it is a regular file.
 */
#ifndef MM_SAFEOPEN_H
#define MM_SAFEOPEN_H

#include "base/cleanup.h"

/*
 * Open @path (absolute) for reading below the directory @root, or below our own root directory if that is -1.
 * Returns the descriptor; -EINVAL if it is not a regular file, or -errno (-ENOSYS: @root given on a kernel
 * before 5.6).
 */
must_check int safeopen(int root, const char *path);

#endif
