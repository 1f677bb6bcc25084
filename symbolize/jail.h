/* SPDX-License-Identifier: MIT */
/* jail: a process that is about to read a possibly hostile file gives up all rights that it will not need. */
#ifndef MM_JAIL_H
#define MM_JAIL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

/*
 * fork(). The new process is called @name, has none of our signal handlers, ignores signals of the terminal,
 * and is killed when we end. It still has our open descriptors.
 */
pid_t jail_fork(const char *name);

/*
 * Limit what this process can use: @memory_bytes of address space beyond what it has, @cpu_seconds,
 * no core dump. 0 or -errno.
 */
must_check int jail_limit(uint64_t memory_bytes, uint64_t cpu_seconds);

/*
 * From now on no file can be opened, no program executed, no other process touched: only the system calls for
 * reading, computing and writing remain, all others fail with EPERM. On a kernel without seccomp the only
 * effect is that no file can be opened.
 */
void jail_close(void);

#endif
