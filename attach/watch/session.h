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

#include "attach/options/options.h"
#include "base/cleanup.h"

/* Watch as @opt says; the exit status. */
must_check int session_run(const struct options *opt, int argc, char **argv);

#endif
