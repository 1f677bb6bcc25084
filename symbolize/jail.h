/* SPDX-License-Identifier: MIT */
/*
 * jail: a process about to read a file that may be hostile gives away what it will not need.
 */
#ifndef MM_JAIL_H
#define MM_JAIL_H

#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"

/*
 * fork(): in the new process, which is called @name, no handler of ours is left, signals of the terminal are none of its business, and it dies with us.
 * Its descriptors are ours yet.
 */
pid_t jail_fork(const char *name);

/*
 * Limit what this process can use: @memory_bytes of address space beyond what it has, @cpu_seconds,
 * no core dump. 0 or -errno.
 */
must_check int jail_limit(uint64_t memory_bytes, uint64_t cpu_seconds);

/*
 * From now on no file can be opened, nothing executed, no other process touched: only the
 * system calls of reading, computing and writing are left, the others fail with EPERM.
 * A kernel without seccomp leaves it at no open files.
 */
void jail_close(void);

#endif
