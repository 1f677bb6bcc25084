/* SPDX-License-Identifier: MIT */
/*
 * watcher: the mmattach that watches a process for the view, and writes the trace that the view reads. It never
 * waits for the view: its trace and its messages go to files. It ends as on SIGTERM if the view dies, in whatever
 * way.
 *
 * Without -o the trace is a file in TMPDIR without a name: nothing is left of it, however the view ends.
 */
#ifndef MM_WATCHER_H
#define MM_WATCHER_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/options/options.h"
#include "base/cleanup.h"
#include "base/strbuf.h"

struct watcher {
	pid_t pid;		/* 0: none, or it was waited for */
	char *path;		/* of the trace; NULL: nothing is watched */
	int trace, messages;	/* its trace, to read, if that has no name; its stderr. -1: none */
	dev_t dev;		/* of the file that had the name before, which is no trace of this watch */
	ino_t ino;		/* 0: none had it */
};

#define WATCHER_INIT { .trace = -1, .messages = -1 }

/* With the options of @argv, the command line of top. 0 or -errno (logged); watcher_end in any case. */
must_check int watcher_start(struct watcher *w, const struct options *opt, int argc, char **argv);
bool watcher_runs(struct watcher *w);
/* Is its trace there? */
bool watcher_has_begun(const struct watcher *w);
/* Append what it has said: errors and warnings. */
void watcher_said(const struct watcher *w, struct strbuf *sb);
/* End it as on SIGTERM, and wait until the process was left. */
void watcher_stop(struct watcher *w);
void watcher_end(struct watcher *w);	/* the same, and free @w */

#endif
