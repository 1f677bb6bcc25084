/* SPDX-License-Identifier: MIT */
/*
 * repair: `mmattach repair PID` lifts int3 traps that no process handles any more, because the keeper that
 * planted them was killed with -9.
 *
 * The code in memory is compared with the files it was mapped from. Only private copies of pages (a write by
 * a debugger makes one) can differ, and only those are read. An int3 in memory that the file does not have is
 * replaced by the file's byte. If other bytes differ within REPAIR_APART of it, it is not a lone trap but
 * part of another tool's hook (a jump's distance may contain 0xcc): that is listed and left alone.
 *
 * An int3 that the program planted into its own code, or a uprobe of the kernel, cannot be distinguished from
 * a trap of ours: both would be removed too.
 */
#ifndef MM_REPAIR_H
#define MM_REPAIR_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/taddr.h"

#define REPAIR_APART 5	/* bytes of the shortest jump that a hook is made of */

/*
 * Repair @pid, without stopping it; what was done is printed to @out, obstacles are logged. The exit status:
 * 0: every lone int3 was replaced (or there was none); 1: one could not be, or nothing could be read. A
 * process that is being traced is refused: its tracer handles the traps.
 */
must_check int repair(pid_t pid, FILE *out);

/*
 * A workaround for kernels booted with proc_mem.force_override=ptrace, on which only the tracer of @pid may
 * write to its code: a short-lived tracer writes one byte through @mem (of /proc/PID/mem). The target is not
 * stopped, and none of its system calls is interrupted. 0 or -errno.
 */
must_check int repair_write_as_tracer(pid_t pid, int mem, taddr addr, uint8_t byte);

#endif
