/* SPDX-License-Identifier: MIT */
/*
 * session_verdicts: when a watch takes a snapshot, to find which of its blocks are still reachable
 * (verdict_snapshot.h).
 *
 *	at its end			before the keeper leaves, with the traps still planted: what
 *					happens after that moment is not part of the watch
 *	at the target's own end		all its threads are stopped where they are about to end
 *					(keeper/pause/exit_hold.h)
 *	at an interim report		with --verdicts yes, or on SIGUSR1: the target is stopped for
 *					that only if the user has asked for it
 *
 * The snapshot is s->snapshot; the report makes verdicts of it, or has the reason why there are none.
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
 * With a budget the pause must fit into what it leaves, and what it shows is used as session_loss.h says. Only while
 * the process lives.
 */

/* Are verdicts wanted, and is there a family whose blocks can have one? Otherwise no snapshot is taken. */
bool session_verdicts_wanted(const struct session *s);

/* Called by watch.ending, with the session. */
void session_verdicts_at_end(void *ctx);

/* At the end of the watch, unless there is a snapshot of the target's own end. */
void session_verdicts_last(struct session *s);

/*
 * Before an interim report. true: s->snapshot is for this report alone; the caller drops it once the copy
 * that makes the report has started.
 */
bool session_verdicts_interim(struct session *s);
void session_verdicts_drop(struct session *s);

/*
 * Stop the target and copy it, while events are read: the ledger has those up to the moment of the stop, and no later
 * ones. false: s->snapshot has the reason.
 */
bool session_verdicts_take(struct session *s);

#endif
