/* SPDX-License-Identifier: MIT */
/*
 * attached: a process that is found, and a keeper that holds it: what a watch and a scan begin and end with, or the message that
 * says why not and what to do about it.
 *
 *	find it ──▶ keeper ──▶ (what is mapped, where traps go) ──▶ seize
 *
 * Until it is seized nothing in the target is touched; seizing stops nothing, and plants nothing.
 */
#ifndef MM_ATTACHED_H
#define MM_ATTACHED_H

#include <stdbool.h>

#include "attach/control/link.h"
#include "attach/target/target.h"
#include "attach/target/targetfs.h"
#include "base/cleanup.h"

struct modules;
struct options;

/* What is not there yet is zero; ATTACHED_INIT. */
struct attached {
	const struct options *opt;
	struct target_info target;
	struct targetfs fs;
	struct link link;
	struct modules *modules;
	bool under_gdb;		/* gdb is the tracer, now */
	bool linked;
};

#define ATTACHED_INIT { .fs = TARGETFS_INIT }

/* The process that the options name. 0 or -errno (said). */
must_check int attached_find(struct attached *a);

/* Its keeper, which has nothing to do yet. 0 or -errno (said). */
must_check int attached_open(struct attached *a, int argc, char **argv);

/* 0 or -errno, for attached_say_failed. */
must_check int attached_seize(struct attached *a);

/*
 * All of these: to stop and copy the process once (attach/snapshot/pause.h). What is mapped
 * is read before. (The fence of seizing is needed all the same: a thread that was being born would not be ours, and could not be
 * stopped.) 0 or -errno (said).
 */
must_check int attached_look(struct attached *a, int argc, char **argv);

/* Something failed with @err. The keeper has left when this returns, if the reason could be itself. */
void attached_say_failed(struct attached *a, int err);

/* Before there is a keeper: @what is not allowed. */
void attached_say_not_permitted(struct attached *a, int err, const char *what);

/* Have the keeper lift all traps and leave; one that was stopped is continued. What does not end is said. */
void attached_undo(struct attached *a);

/* In any case. The keeper has left, or does so when its link is closed. */
void attached_close(struct attached *a);

#endif
