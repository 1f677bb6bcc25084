/* SPDX-License-Identifier: MIT */
/*
 * safeopen: open a regular file by a path that somebody else may have laid out.
 *
 * Below a given root nothing leads out of it, no symbolic link and no "..". The
 * path is first opened with O_PATH, which touches no device and waits for no
 * FIFO, and really opened only if a regular file is there.
 */
#ifndef MM_SAFEOPEN_H
#define MM_SAFEOPEN_H

#include "base/cleanup.h"

/*
 * Open @path (absolute) for reading below the directory @root, or below our own root directory if that is -1.
 * The descriptor; -EINVAL for what is no regular file, or -errno (-ENOSYS: a kernel before 5.6, and a root).
 */
must_check int safeopen(int root, const char *path);

#endif
