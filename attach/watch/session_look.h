/* SPDX-License-Identifier: MIT */
/*
 * session_look: when a watch looks which of its blocks are still reached (look.h).
 *
 *	at its end			before the keeper leaves, traps standing: what happens behind that moment is no part of the watch
 *	at the target's own end		all its threads stand where they are about to end (keeper/pause/ending.h)
 *	at an interim report		with --verdicts yes: to stop the target every so often is for who has said so
 *
 * What came of it is in s->look; the report judges it, and says why where there is nothing.
 */
#ifndef MM_SESSION_LOOK_H
#define MM_SESSION_LOOK_H

#include <stdbool.h>

#include "base/cleanup.h"

struct session;

/* 0 or -ENOMEM. session_look_close in any case. */
must_check int session_look_open(struct session *s);
void session_look_close(struct session *s);

/* Are there to be verdicts, and blocks that can have one? Else nobody is stopped for nothing. */
bool session_look_wanted(const struct session *s);

/* watch.ending, with the session. */
void session_look_at_end(void *ctx);

/* At the end of the watch, unless the target's own came first. */
void session_look_last(struct session *s);

/* Before an interim report. true: s->look is of it alone, the caller's to drop when the copy that makes the report is under way. */
bool session_look_interim(struct session *s);
void session_look_drop(struct session *s);

#endif
