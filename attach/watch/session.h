/* SPDX-License-Identifier: MIT */
/*
 * session: one watch from beginning to end. Opens in order, closes in reverse.
 *
 *	find the target      which process is it, and can it be attached to? (no traps, no tracer yet)
 *	fork the keeper      before anything heavy
 *	plan                 read its modules, decide where traps go; nothing found: stop here
 *	seize, plant         from here on the keeper is responsible for the target
 *	watch                read events until the end
 *	leave                the keeper lifts, detaches, exits
 *	report
 */
#ifndef MM_SESSION_H
#define MM_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/events/processes.h"
#include "attach/rules/rulefile.h"
#include "attach/snapshot/awake.h"
#include "attach/target/spawn.h"
#include "attach/watch/attached.h"
#include "attach/watch/freed_sizes.h"
#include "attach/watch/interim.h"
#include "attach/watch/session_loss.h"
#include "attach/watch/session_share.h"
#include "attach/watch/watch.h"
#include "base/cleanup.h"

struct backtrace;
struct verdict_snapshot;
struct verdict_asked;
struct options;
struct loss_probes;
struct member;
struct planting;
struct recorder;
struct reporting;
struct sampling;
struct scope;
struct tally;

/*
 * All that belongs to one watch; what is not open yet is zero. Parts that only some files use are pointers.
 */
struct session {
	const struct options *opt;
	struct member *member;		/* of a watch that is one of several; else NULL */
	int argc;
	char **argv;			/* the command line: a keeper overwrites its copy with its own name */
	struct ruleset rules;
	struct attached at;		/* the target, and its keeper */
	struct planting *planting;
	struct recorder *recorder;
	struct scope *scope;
	struct tally *tally;
	struct freed_sizes freed_sizes;
	struct sampling *sampling;	/* with a budget; else NULL */
	struct backtrace *backtrace;
	struct spawn spawn;
	struct spawn_before before;
	struct watch watch;
	struct interim interim;
	struct interim metrics;		/* --metrics: made in the same way, more often */
	struct processes processes;	/* memory use of it and its children */
	struct reporting *reporting;
	struct verdict_asked *asked;	/* --who-points-at */
	struct verdict_snapshot *snapshot;	/* to find which blocks are still reachable */
	void (*preparing)(struct session *s);	/* called while a copy of the target is prepared; NULL: nothing is */
	struct session_loss loss;
	struct awake awake;		/* the threads of the process, for pauses of a watch with a budget */
	struct loss_probes *probes;	/* while the code is looked for that loses blocks; else NULL */
	bool probing;			/* a part of the budget is for these */
	struct session_share share;
	int signals;
	struct {
		int control;		/* the socket for its user's requests, or -1 (gdb.h) */
		uint32_t request;	/* the number of its newest request */
		int take_over_error;	/* -errno: the target could not be taken over from it */
		pid_t copy;		/* of ourselves, which saves the trace so far; 0: none */
	} gdb;
	/* called when the target is stopped at its end, possibly before the watch has begun */
	void (*at_end)(void *session);
	bool hold_end;		/* if the target ends by itself, it must be copied before */
	bool spawned, allocator_reported, runtime_reported;
	uint64_t begun_ns;	/* when the first thing was done for it */
	uint64_t end_ns;	/* when the watch ended; 0: it has not */
};

/*
 * Watch as @opt says. Returns the exit status. @member: NULL, or this watch is one of several: it writes a trace, and
 * makes no report.
 */
must_check int session_run(const struct options *opt, struct member *member, int argc, char **argv);

/* Can the watches of several processes go on with what these fork (attach/keeper/shared/slots.h)? */
bool session_uses_slots(const struct options *opt);

#endif
