/* SPDX-License-Identifier: MIT */
/*
 * session_verdicts: when a watch finds out which of its blocks are still reached (verdict_snapshot.h).
 *
 *	at its end			before the keeper leaves, with the traps still planted: what
 *					happens after that moment is not part of the watch
 *	at the target's own end		all its threads are stopped where they are about to end
 *					(keeper/pause/exit_hold.h)
 *	at an interim report		with --verdicts yes, or on SIGUSR1: the target is stopped for
 *					that only if the user has asked for it
 *
 * The position in the ring at the moment when all threads were stopped (pause_had.ring_head) separates what
 * counts from what does not: so the table of live blocks is that of the copy. The keeper leaves before the
 * copy is searched.
 *
 * The result is in s->look; the report makes verdicts of it, or says why there are none.
 */
#ifndef MM_SESSION_VERDICTS_H
#define MM_SESSION_VERDICTS_H

#include <stdbool.h>

#include "base/cleanup.h"

struct session;

/* 0 or -ENOMEM. Call session_verdicts_close in any case. */
must_check int session_verdicts_open(struct session *s);
void session_verdicts_close(struct session *s);

/*
 * Are verdicts wanted, and are there blocks that can have one? Otherwise the target is not stopped for them.
 */
bool session_verdicts_wanted(const struct session *s);

/* Called by watch.ending, with the session. */
void session_verdicts_at_end(void *ctx);

/* At the end of the watch, unless the target's own end came first. */
void session_verdicts_last(struct session *s);

/*
 * Before an interim report. true: s->look is of this report alone; the caller drops it once the copy that
 * makes the report has started.
 */
bool session_verdicts_interim(struct session *s);
void session_verdicts_drop(struct session *s);

#endif
