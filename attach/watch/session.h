/* SPDX-License-Identifier: MIT */
/*
 * session: one watch from beginning to end. Opens in order, closes in reverse.
 *
 *	find the target      who is it, and can it be attached to? (no traps, no tracer yet)
 *	fork the keeper      before anything heavy
 *	plan                 read its modules, decide where traps go; nothing found: stop here
 *	seize, plant         from here on the keeper answers for the target
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
#include "attach/target/spawn.h"
#include "attach/watch/attached.h"
#include "attach/watch/interim.h"
#include "attach/watch/watch.h"
#include "base/cleanup.h"

struct backtrace;
struct look;
struct look_asked;
struct options;
struct planting;
struct recorder;
struct reporting;
struct sampling;
struct scope;
struct tally;

/* All that belongs to one watch; what is not there yet is zero. Parts that only some files know are pointers. */
struct session {
	const struct options *opt;
	struct ruleset rules;
	struct attached at;		/* the target, and its keeper */
	struct planting *planting;
	struct recorder *recorder;
	struct scope *scope;
	struct tally *tally;
	struct sampling *sampling;	/* with a budget; else NULL */
	struct backtrace *backtrace;
	struct spawn spawn;
	struct spawn_before before;
	struct watch watch;
	struct interim interim;
	struct processes processes;	/* what it and its children take of memory */
	struct reporting *reporting;
	struct look_asked *asked;	/* --who-points-at */
	struct look *look;		/* which blocks are still reached */
	int signals;
	struct {
		int control;		/* its socket for what its user wants, or -1 (gdb.h) */
		uint32_t request;	/* the number of the newest one of its */
		int not_taken;		/* -errno: the target could not be taken from it */
		pid_t copy;		/* of ourselves, that has saved the trace so far; 0: none */
	} gdb;
	void (*at_end)(void *session);	/* called where the target stands at its end, which may come before the watch has begun */
	bool hold_end;		/* when the target ends by itself, it is to be looked at before */
	bool spawned, allocator_told;
	uint64_t end_ns;	/* the watch was over then; 0: it goes on */
};

/* Watch as @opt says; the exit status. */
must_check int session_run(const struct options *opt, int argc, char **argv);

#endif
