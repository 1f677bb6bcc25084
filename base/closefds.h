/* SPDX-License-Identifier: MIT */
/* closefds: a child that keeps a few file descriptors, and no other of its parent's. */
#ifndef MM_CLOSEFDS_H
#define MM_CLOSEFDS_H

#include <stddef.h>

/* Close all but @fds[0..n), which are sorted by this. */
void closefds_but(int *fds, size_t n);

#endif
