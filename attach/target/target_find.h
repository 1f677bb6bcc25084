/* SPDX-License-Identifier: MIT */
/*
 * target_find: the process that has a name; if several have it, a table from which the user chooses one, that
 * with the most resident memory first:
 *
 *	    PID   PARENT         RSS  COMMAND
 *	   1240     1234    61.0 MiB  nginx: worker process
 *	   1234        1     3.1 MiB  nginx: master process
 */
#ifndef MM_TARGET_FIND_H
#define MM_TARGET_FIND_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/strbuf.h"

/*
 * The one process called @name: by comm, or by the base name of its executable or of argv[0]. Zombies and
 * ourselves do not count. 0; -ENOENT there is none; -EEXIST there are several, and the table is appended to
 * @listing; -ENOMEM, -errno of reading /proc.
 */
must_check int target_find(const char *name, pid_t *pid, struct strbuf *listing);

/* Is a process with these called @name? @exe and @argv0: NULL or "" if they are not known. */
bool target_is_called(const char *comm, const char *exe, const char *argv0, const char *name);

#endif
