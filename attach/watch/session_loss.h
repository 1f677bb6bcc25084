/* SPDX-License-Identifier: MIT */
/*
 * session_loss: what is lost while a process is watched with a budget. Where a pause fits into what the budget leaves,
 * the process is stopped and copied
 *
 *	soon after the beginning	if the watch is long enough that this costs the end nothing: which of all
 *					its blocks are lost already
 *	ten seconds later		if at least as long is left: of which sizes is what was lost meanwhile.
 *					Sites that allocate blocks of these sizes are watched closely from then on
 *	at the end			which tracked blocks are lost: that decides whether a stack leaks
 *					(report/model/sampled.h); and, compared with the first copy, what the
 *					process has lost meanwhile, whether its code was seen or not (loss.h)
 *
 * These verdicts are not recorded one by one.
 */
#ifndef MM_SESSION_LOSS_H
#define MM_SESSION_LOSS_H

#include <stdint.h>

struct session;

/* At each turn of the watch: a copy is made when it is time. */
void session_loss_tick(struct session *s, uint64_t now_ns);

/* The watch is over: tell the sampler what became known, before it ends; and the reader of the report. */
void session_loss_end(struct session *s);

void session_loss_close(struct session *s);

#endif
