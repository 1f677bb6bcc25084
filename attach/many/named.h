/* SPDX-License-Identifier: MIT */
/*
 * named: the processes that the user has named, each for itself: the numbers of -p or --tree, or the one of
 * -n.
 */
#ifndef MM_NAMED_H
#define MM_NAMED_H

#include <stddef.h>
#include <sys/types.h>

#include "attach/many/procs.h"
#include "base/cleanup.h"

struct options;

struct named {
	pid_t *pids;
	size_t n;		/* 0: processes are named in another way */
};

/*
 * A number of no process is kept: it becomes a line of the report. Not so the name of no process, or of
 * several. 0 or -errno (logged). named_fini in any case.
 */
must_check int named_find(struct named *r, const struct options *o);
void named_fini(struct named *r);

/* Why @pid was not chosen. @st: what there is of it, zeros without; @proc as in procs.h. */
const char *named_why_not(int proc, pid_t pid, struct procstat *st);

#endif
