/* SPDX-License-Identifier: MIT */
/*
 * folder: where the traces of several watches go: a folder of the user's (-o FOLDER/), which stays; or one
 * of our own in TMPDIR, which is removed in the end. If mmattach is killed, the watches remove what they
 * have written there, and the last one the folder.
 */
#ifndef MM_FOLDER_H
#define MM_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct folder {
	char *path;		/* NULL: not open */
	bool ours;
};

/* Is the argument of -o a folder: there is one of that name, or it ends with a slash? */
bool folder_is_meant(const char *output);

/* @output: NULL for one of our own. It is made if it is not there. 0 or -errno (logged). */
must_check int folder_open(struct folder *f, const char *output);

/* Remove it, with all that is in it, if it is ours. */
void folder_close(struct folder *f);

/*
 * A path in it for process @pid, which no file has: "812-nginx.mmt", "812-nginx.2.mmt". NULL: no memory.
 */
char *folder_name(const struct folder *f, pid_t pid, const char *comm);

/* In a watch: a lock of a folder of ours, until the descriptor is closed. -1: there is none. */
int folder_hold(const struct folder *f);

/*
 * In a watch whose starter is gone: remove @path from a folder of ours. The last one that holds it removes the
 * folder, too, with the traces of watches that had ended before, which no report will be made of.
 */
void folder_abandon(const struct folder *f, int held, const char *path);

#endif
