/* SPDX-License-Identifier: MIT */
/*
 * procs: what a choice of processes (choice.h) reads about each of them, from few and small files of /proc:
 * there may be thousands, ten times a second. @proc is that folder, open.
 */
#ifndef MM_PROCS_H
#define MM_PROCS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/target/procstat.h"
#include "base/cleanup.h"

/* Is it called @name, as -n has it (target_find.h)? @comm is known already. */
bool procs_is_called(int proc, pid_t pid, const char *comm, const char *name);

/* The text of its file `cgroup`: free it. NULL: it has ended, or there is none. */
char *procs_cgroup(int proc, pid_t pid);

/* The process that thread @id belongs to, in /proc; 0: there is none. */
pid_t procs_process_of(pid_t id);

#endif
