/* SPDX-License-Identifier: MIT */
/*
 * repair: `mmattach repair PID` takes int3 traps out of a process that nobody
 * answers for any more, because the keeper that planted them was killed with -9.
 *
 * The code in memory is compared with the files it was mapped from. Only pages that
 * the process has of its own (a write by a debugger makes such a copy) can differ, and only
 * those are read. An int3 in memory that the file does not have is put back to the file's
 * byte. Where other bytes differ within REPAIR_APART of it, it is not a lone trap but part of
 * somebody's hook (a jump's distance may hold 0xcc): that is listed and left alone.
 *
 * What cannot be told apart from a trap of ours is an int3 that the program
 * planted into its own code, or a uprobe of the kernel: both would go too.
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
 * Repair @pid, without stopping it; what was done goes to @out, what is in the
 * way to the log. The exit status: 0 every lone int3 was put back (or there was none); 1 one could not
 * be, or nothing could be read. A process that is being traced is refused: its tracer answers for the
 * traps.
 */
must_check int repair(pid_t pid, FILE *out);

/*
 * The way around for kernels booted with proc_mem.force_override=ptrace, which let only its
 * tracer write to the code of @pid: a short-lived tracer, which writes one byte through @mem (of /proc/PID/mem). The
 * target is not stopped, and no system call of it interrupted. 0 or -errno.
 */
must_check int repair_write_as_tracer(pid_t pid, int mem, taddr addr, uint8_t byte);

#endif
