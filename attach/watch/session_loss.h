/* SPDX-License-Identifier: MIT */
/*
 * session_loss: what is lost while a process is watched with a budget. Where a pause fits into what the budget leaves,
 * the process is stopped and copied
 *
 *	soon after the beginning	of a watch of 15 s or more, or later: which of all its blocks are lost already
 *	ten seconds later		if as much is left: of which sizes is what was lost meanwhile. Sites that
 *					allocate blocks of these sizes are watched closely from then on
 *	at the end			which tracked blocks are lost: that decides whether a stack leaks
 *					(report/model/sampled.h); and, compared with the first copy, what the
 *					process has lost meanwhile, whether its code was seen or not (loss.h)
 *
 *				Tracked blocks are looked for in each copy; what is lost stays so
 *	in between		after a window of the kernel's probes, if there are any (session_probes.h): which of the
 *				blocks that they saw are lost
 *
 * While the watch goes on a copy is searched by a copy of ourselves, with a low priority. These verdicts are not
 * recorded one by one. A process that is one of several is copied at the end only: all would be at the same time.
 */
#ifndef MM_SESSION_LOSS_H
#define MM_SESSION_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/loss/loss.h"
#include "attach/watch/interim.h"

struct session;

struct session_loss {
	struct interim search;	/* of a copy of the process, by a copy of ourselves */
	int found;		/* a file in memory, with what it has found; only while `searching` */
	bool searching;
	uint64_t copied_ns;	/* when the copy that is searched was made */
	uint64_t judged_ns;	/* when the last one was made that shows which tracked blocks are lost; 0: none does */
	uint64_t next_ns;	/* not before that the next one is made; 0: at the usual time */
	unsigned failed;	/* how many could not be made: from the second on it waits twice as long each time */
	bool again;		/* a later one was made, and it is known of which sizes blocks are lost */
	bool for_probes;	/* the search is for these (session_probes.h) */
	uint64_t at_ns;		/* when the first was made; 0: what was lost then is not known, */
	char why_not[240];	/* for that reason */
	struct loss before;	/* what was lost then */
	struct loss latest;	/* and in the last copy but the one at the end, which may fail */
	uint64_t latest_ns;	/* when that was made; 0: there was none */
	struct loss then;	/* likewise in the second one, if the kernel's probes were made because of it, */
	uint64_t then_ns;	/* and when it was made */
};

/* At each turn of the watch: a copy is made when it is time. */
void session_loss_tick(struct session *s, uint64_t now_ns);

/* The watch is over: tell the sampler what became known, before it ends; and the reader of the report. */
void session_loss_end(struct session *s);

void session_loss_close(struct session *s);

#endif
