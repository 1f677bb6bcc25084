/* SPDX-License-Identifier: MIT */
/*
 * loss_windows: when the kernel's probes are made, and for how long, so that they cost no more than their part of a
 * budget. Pure.
 *
 * That part is of any ten seconds (struct ten_seconds), and one window may use up nearly all of it: a long window sees
 * more of a burst than many short ones, which would all end at its beginning; and in a long one blocks become
 * lost whose holder is collected only later. It begins when nearly all of that part is left again, at a random moment
 * of the time that the process works (its CPU time), not of all time: of a process that works in bursts a window that
 * begins between two of them would end at the beginning of the next one, each time. Where few calls are made, not much
 * is used up: then the window lasts ten seconds, and nearly every call is seen.
 *
 * What a call costs is known from the self-test of the probes. How often calls are made is not, so a window that has
 * begun is looked at every few milliseconds, the more often, the nearer its end is. What it costs until the process is
 * copied and the probes are taken out is spent, too, and is expected to be as much as in the last moments, for as long
 * as that took the last time; if it becomes too much, the window was in vain.
 */
#ifndef MM_LOSS_WINDOWS_H
#define MM_LOSS_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/keeper/budget/token_bucket.h"

struct loss_windows {
	uint64_t limit_ns;		/* of any ten seconds */
	struct ten_seconds spent;
	uint64_t random;
	/* since the beginning: how long the process has worked, in how much time */
	uint64_t first_ns, first_work_ns;
	/* the next window may begin since then (0: not yet); it does when it has worked so much, at the latest at that time */
	uint64_t ready_ns, at_work_ns, at_ns;
	bool open;
	uint64_t allowed_ns;		/* what the present window may cost */
	uint64_t opened_ns, cost_ns;	/* of the present window: its beginning; its cost so far */
	bool overdrawn;			/* it was given up, as it became too dear */
	uint64_t looked_ns, over_ns;	/* when its cost was asked for last; when it was over (0: not yet) */
	uint64_t copying_ns;		/* of the last one: from then until the probes were out */
	uint64_t next_ns;		/* not before that: the next one begins; the present one is looked at */
	uint64_t lasted_ns;		/* all windows that are over */
	unsigned n;			/* how many began */
};

/* What the clocks show: time; the CPU time of the process. */
struct loss_clocks {
	uint64_t now_ns, work_ns;
};

/* Their part is @ppm of the time. */
void loss_windows_init(struct loss_windows *w, uint32_t ppm, const struct loss_clocks *now);

/*
 * Does one begin now? @room_ns: what the last ten seconds leave of the whole budget, without what the copy will
 * cost: it costs no more than that. If not, next_ns is when to ask again.
 */
bool loss_windows_begins(struct loss_windows *w, const struct loss_clocks *now, uint64_t room_ns);
void loss_windows_open(struct loss_windows *w, uint64_t now_ns);

/* It has cost @ns more: is it over? If not, next_ns is when to look again. */
bool loss_windows_spend(struct loss_windows *w, uint64_t now_ns, uint64_t ns);
/* It is over, but goes on until the process is copied, and has cost @ns more: is that too much? */
bool loss_windows_overdraws(struct loss_windows *w, uint64_t now_ns, uint64_t ns);

/* The probes are out; until then it has cost @ns more. */
void loss_windows_close(struct loss_windows *w, uint64_t now_ns, uint64_t ns);

#endif
