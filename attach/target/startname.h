/* SPDX-License-Identifier: MIT */
/*
 * startname: by which name a program was started, where its file has several: redis-server is a link to
 * redis-check-rdb, and /proc/PID/maps has the latter, which no user of redis-server knows.
 *
 * The kernel has put the name that exec was given on the stack (AT_EXECFN), below what a program may overwrite to
 * change its title. It is believed only if it names the same file in the same folder; and the file's own name is kept
 * if that begins with it (python3.10, which is started as python3): the interpreters' versions are known by that.
 */
#ifndef MM_STARTNAME_H
#define MM_STARTNAME_H

#include <sys/types.h>

#include "base/procmaps.h"

/*
 * The path of the file of @m, a mapping of @pid, whose path is @path, with the name by which it was started.
 * NULL: it is the usual one, or it is not the program, or out of memory; else free it.
 */
char *startname(pid_t pid, const struct mapping *m, const char *path);

#endif
