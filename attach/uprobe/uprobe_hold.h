/* SPDX-License-Identifier: MIT */
/*
 * uprobe_hold: probes that stay while another tracer has the target.
 *
 * A debugger that sets a breakpoint where a probe is takes the probe's int3 for the program's code, and writes it
 * there when it removes the breakpoint. While the probe is there, that is right. Without it, the next thread that
 * runs there would die of SIGTRAP (tests/live/test_uprobe_attacks.py: test_breakpoint_on_a_probe). So a child of ours
 * keeps the probes, which record nothing any more, until the tracer has detached.
 */
#ifndef MM_UPROBE_HOLD_H
#define MM_UPROBE_HOLD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * If a tracer has @pid, start the child. It keeps the file descriptors @fds[0..n), of which one is @pidfd, and no
 * other; the caller may close its own. A failure is logged.
 */
void uprobe_hold(pid_t pid, int pidfd, int *fds, size_t n);

#endif
