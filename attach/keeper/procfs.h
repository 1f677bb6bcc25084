/* SPDX-License-Identifier: MIT */
/* procfs: the few things that the keeper reads from /proc, by plain system calls. */
#ifndef MM_PROCFS_H
#define MM_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A thread of @pid that lives: @pid itself, or another one if its first thread has ended. 0: there is none.
 */
pid_t procfs_living_thread(pid_t pid);

/* Open the memory of @pid for reading and writing; fd or -errno. */
int procfs_open_mem(pid_t pid);

/* Open the list of mappings of @pid; fd or -errno. */
int procfs_open_maps(pid_t pid);

enum activity {
	ACTIVITY_ASLEEP,	/* blocked in the kernel, not while making a process: safe to leave alone */
	ACTIVITY_BUSY,		/* runs, may run, is stopped, or is inside fork or clone */
	ACTIVITY_GONE,		/* a zombie, or not there */
};

/* What thread @tid of process @pid is doing. */
enum activity procfs_activity(pid_t pid, pid_t tid);

/* The letter of /proc/PID/task/TID/stat: R, S, D, t, ...; X: it is not there; ?: not known. */
char procfs_state(pid_t pid, pid_t tid);

/* The process that @pid is a child of now; 0: it is gone. */
pid_t procfs_parent(pid_t pid);

/* The number of the processor that thread @tid runs on, or ran on last; -1: not known. */
int procfs_processor(pid_t tid);

/* Has the first thread of @pid been stopped by a signal? Stops of a traced thread do not count. */
bool procfs_stopped(pid_t pid);

/* Does @tid sleep where no signal and no interrupt wakes it? */
bool procfs_uninterruptible(pid_t pid, pid_t tid);

/*
 * Is @tid blocked in vfork (or clone, clone3 with CLONE_VFORK), waiting for the child? @mem: memory of the
 * process, since clone3 has its flags in memory.
 */
bool procfs_in_vfork(pid_t pid, pid_t tid, int mem);

/* Is @tid blocked in exec: reading the program, or waiting for the other threads to end? */
bool procfs_in_exec(pid_t pid, pid_t tid);

/*
 * Is @tid blocked, and is it in a call that may have done a part of what it was asked for (a large write, a
 * recv that waits for all bytes)? If such a call is woken, it returns with that part, and cannot be started
 * again.
 */
enum waiting {
	WAITS_NOT,	/* it runs, or is ready to run */
	WAITS,		/* it is blocked in another call, or that is not known */
	WAITS_MOVING,	/* blocked in such a call */
};
enum waiting procfs_waits(pid_t pid, pid_t tid);

/* Signal sets of a thread, bit n-1 for signal n. */
struct procfs_signals {
	uint64_t blocked;	/* as it is now, also inside a call that sets its own */
	uint64_t ignored;	/* by SIG_IGN, or because that is the default */
	uint64_t handled;	/* by a handler or SIG_IGN */
};

/* 0 or -errno. */
int procfs_signals(pid_t tid, struct procfs_signals *out);

/* How often a thread has gone to sleep so far; 0 if that is not known. */
uint64_t procfs_sleeps(pid_t tid);

/* How much processor time a thread has had so far. For a running thread this is some milliseconds old. */
struct procfs_slices {
	uint64_t ran_ns, waited_ns;	/* waited: ready to run, but had no processor */
	uint64_t n;			/* how many slices it had */
};

/* false: no such thread, or the kernel does not count. */
bool procfs_slices(pid_t pid, pid_t tid, struct procfs_slices *out);

/* The same, from an open schedstat. */
bool procfs_slices_at(int fd, struct procfs_slices *out);

/*
 * Call @each for every number in /proc/@pid/task; stop at its first negative return, and return that;
 * otherwise return the sum.
 */
int procfs_each_task(pid_t pid, int (*each)(void *ctx, pid_t tid), void *ctx);

/* The same for the child processes of one thread. */
int procfs_each_child(pid_t pid, pid_t tid, int (*each)(void *ctx, pid_t child), void *ctx);

#endif
