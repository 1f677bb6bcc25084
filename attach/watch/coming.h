/* SPDX-License-Identifier: MIT */
/*
 * coming: from the options to a target in which traps stand, or to a message that
 * says why not and what to do about it.
 *
 *	find it ──▶ keeper ──▶ what is mapped, where traps go ──▶ seize ──▶ plant
 *
 * Until it is seized nothing in the target is touched. A program that we start is seized before its
 * first instruction, and planted when it has been loaded (watch.c, on its exec). A scan ends before the planting.
 */
#ifndef MM_COMING_H
#define MM_COMING_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/control/link.h"
#include "attach/control/planting.h"
#include "attach/events/processes.h"
#include "attach/events/recorder.h"
#include "attach/events/tally.h"
#include "attach/options/options.h"
#include "attach/options/ruleset.h"
#include "attach/reporting/reporting.h"
#include "attach/sampling/sampling.h"
#include "attach/stacks/backtrace.h"
#include "attach/target/modules.h"
#include "attach/target/spawn.h"
#include "attach/target/target.h"
#include "attach/target/targetfs.h"
#include "attach/verdicts/look.h"
#include "attach/watch/interim.h"
#include "attach/watch/watch.h"
#include "base/cleanup.h"

/* All that belongs to one watch; what is not there yet is zero. */
struct session {
	const struct options *opt;
	struct ruleset rules;
	struct target_info target;
	struct targetfs fs;
	struct link link;
	struct modules *modules;
	struct planting planting;
	struct recorder recorder;
	struct scope scope;
	struct tally tally;
	struct sampling *sampling;	/* with a budget; else NULL */
	struct backtrace *backtrace;
	struct spawn spawn;
	struct spawn_before before;
	struct watch watch;
	struct interim interim;
	struct processes processes;	/* what it and its children take of memory */
	struct reporting reporting;
	struct look_asked asked;	/* --who-points-at */
	struct look look;	/* which blocks are still reached */
	int signals;
	int control;		/* gdb's socket for what its user wants, or -1 (gdb.h) */
	bool under_gdb;		/* gdb is the tracer, now */
	int not_taken;		/* -errno: the target could not be taken from gdb */
	uint32_t request;	/* the number of the newest one of its */
	pid_t copy;		/* of ourselves, that has saved the trace so far; 0: none */
	void (*at_end)(void *session);	/* called where the target stands at its end, which may come before the watch has begun */
	bool hold_end;		/* when the target ends by itself, it is to be looked at before */
	bool linked, planting_up, tally_up, recorder_up, spawned, allocator_told;
	uint64_t end_ns;	/* the watch was over then; 0: it goes on */
};

/* Attach to the running process that the options name. 0 or -errno (said). */
must_check int come_to_running(struct session *s, int argc, char **argv);

/*
 * Seize the running process that the options name, and plant nothing: to stop and copy it once (attach/snapshot/pause.h). What is mapped
 * is read before. (The fence of seizing is needed all the same: a thread that was being born would not be ours, and could not be
 * stopped.) 0 or -errno (said).
 */
must_check int come_to_look(struct session *s, int argc, char **argv);

/* Start the program that the options name. 0 or -errno (said). */
must_check int come_to_program(struct session *s, int argc, char **argv);

/* gdb has let the target go, as it was: the keeper attaches to it, and all goes on. 0 or -errno (said). */
must_check int come_over(struct session *s);

/* Have the keeper lift all traps and leave; one that was stopped is continued. What does not end is said. */
void come_undone(struct session *s);

#endif
