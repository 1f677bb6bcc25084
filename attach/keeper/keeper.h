/* SPDX-License-Identifier: MIT */
/*
 * keeper: the small process that is the tracer.
 *
 * If a tracer dies while an int3 is planted, the target dies of SIGTRAP at its next call. The part of
 * mmattach that parses ELF files and fills tables is the part that can crash or be killed for its memory, so
 * it is not the tracer:
 *
 *	controller (mmattach)                    keeper (mm-keeper)
 *	decides where, reads the events          traces, plants, emulates, lifts
 *	may be killed or stopped, may hang       outlives it, lifts everything, leaves
 *
 * The keeper is forked before any expensive work, has its own session and name, takes no signal from a
 * terminal, allocates nothing after its start, parses nothing, and does no stdio.
 *
 * Reading order: state.h, tracee.h, loop.c, wait_stops.c (wait), serve.c, hit.c (one hit), newproc.c,
 * seize.c, leave.c.
 */
#ifndef MM_KEEPER_H
#define MM_KEEPER_H

#include <sys/types.h>

#include "attach/keeper/shared/shared.h"

/*
 * Fork the keeper. @shared was mapped MAP_SHARED and filled by the caller. @argv is main's: the keeper
 * overwrites its own copy, so that a `pkill -f` meant for mmattach does not hit it. 0 with @pid and @pidfd,
 * or -errno.
 */
must_check int keeper_start(struct shared *shared, int argc, char **argv, pid_t *pid, int *pidfd);

#endif
