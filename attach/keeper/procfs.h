/* SPDX-License-Identifier: MIT */
/*
 * procfs: the few things that the keeper asks /proc, by plain system calls.
 */
#ifndef MM_PROCFS_H
#define MM_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A thread of @pid that lives: itself, unless its first thread has ended and others go on. 0 if there is none. */
pid_t procfs_living_thread(pid_t pid);

/* Open the memory of @pid for reading and writing; fd or -errno. */
int procfs_open_mem(pid_t pid);

/* Open its list of mappings; fd or -errno. */
int procfs_open_maps(pid_t pid);

enum activity {
	ACTIVITY_ASLEEP,	/* blocked in the kernel, not in the middle of making a process: safe to leave alone */
	ACTIVITY_BUSY,		/* runs, may run, is stopped, or is inside fork or clone */
	ACTIVITY_GONE,		/* a zombie, or not there */
};

/* What thread @tid of process @pid is doing. */
enum activity procfs_activity(pid_t pid, pid_t tid);

/* The letter of /proc/PID/task/TID/stat: R, S, D, t, ...; X: it is not there; ?: that cannot be told. */
char procfs_state(pid_t pid, pid_t tid);

/* The processor that thread @tid runs on, or ran on last; -1: not known. */
int procfs_processor(pid_t tid);

/* Has its first thread been stopped by a signal? Who is traced stops all the time, and is not meant. */
bool procfs_stopped(pid_t pid);

/* Does it sleep where no signal wakes it, and no interrupt? */
bool procfs_uninterruptible(pid_t pid, pid_t tid);

/*
 * Is it blocked in vfork (or clone, clone3 with CLONE_VFORK), waiting for the child? @mem: of the process,
 * since clone3 has its flags in memory.
 */
bool procfs_in_vfork(pid_t pid, pid_t tid, int mem);

/* Is it blocked in exec: reading the program, or waiting for the other threads to end? */
bool procfs_in_exec(pid_t pid, pid_t tid);

/*
 * Is it blocked, and in a call that may have done a part of what it was asked for (a large write, a receipt that wants all)? Woken, that
 * would return with that part, and cannot be started again.
 */
enum waiting {
	WAITS_NOT,	/* it runs, or would */
	WAITS,		/* or it cannot be told */
	WAITS_MOVING,	/* in such a call */
};
enum waiting procfs_waits(pid_t pid, pid_t tid);

/* Signal sets of a thread, bit n-1 for signal n. */
struct procfs_signals {
	uint64_t blocked;	/* as it is now, also inside a call that brings its own */
	uint64_t ignored;	/* by SIG_IGN, or because that is the default */
	uint64_t handled;	/* by a handler or SIG_IGN */
};

/* 0 or -errno. */
int procfs_signals(pid_t tid, struct procfs_signals *out);

/* How often a thread has gone to sleep so far; 0 if that cannot be told. */
uint64_t procfs_sleeps(pid_t tid);

/* How a thread has had processors so far. Of one that runs it is as of some milliseconds ago. */
struct procfs_turns {
	uint64_t ran_ns, waited_ns;	/* waited: ready to run, and had none */
	uint64_t n;			/* how often it was given one */
};

/* false: not there, or a kernel that does not tell. */
bool procfs_turns(pid_t pid, pid_t tid, struct procfs_turns *out);

/* The same, of a schedstat that is open. */
bool procfs_turns_at(int fd, struct procfs_turns *out);

/* Call @each for every number in /proc/@pid/task; stops at its first negative return, which is returned; else the sum. */
int procfs_each_task(pid_t pid, int (*each)(void *ctx, pid_t tid), void *ctx);

/* The same for the child processes of one thread. */
int procfs_each_child(pid_t pid, pid_t tid, int (*each)(void *ctx, pid_t child), void *ctx);

#endif
