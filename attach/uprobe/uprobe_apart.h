/* SPDX-License-Identifier: MIT */
/*
 * uprobe_apart: making and removing probes, so that a kill -9 of mmattach does not interrupt it.
 *
 * The kernel gives up at a page of the target if the calling thread is about to be killed ("unregister, leaking
 * uprobe"), and leaves the breakpoint there for ever. So it is done in a process of its own, which shares our memory
 * and our files. If we are killed meanwhile it goes on, and its end closes the files: with no signal pending.
 */
#ifndef MM_UPROBE_APART_H
#define MM_UPROBE_APART_H

/* Run @f with @arg there, and wait until it is done. If there can be no such process, it is done here. */
void uprobe_apart(void (*f)(void *arg), void *arg);

#endif
