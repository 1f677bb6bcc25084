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
 * With a budget the pause must fit into what it leaves, and the verdicts are those of the tracked blocks: they decide
 * whether a stack leaks (report/model/sampled.h), and are not recorded one by one. Only at the end of the watch, while
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

/* With a budget: tell the sampler what became known, before it ends; and the reader of the report. */
void session_verdicts_of_sample(struct session *s);

#endif
