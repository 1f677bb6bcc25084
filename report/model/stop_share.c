/* SPDX-License-Identifier: MIT */
/* stop_share: see stop_share.h. */
#include "report/model/stop_share.h"

#include <math.h>

#define NEARLY_ALL 0.9
#define MUCH 0.02	/* of the time: at a load of 5, 4 % stopped have cost 40 % of the requests */

bool stop_share_of_all(const struct summary_run *run, struct stop_share *out)
{
	/* a program that mmattach starts is stopped before its watch begins */
	*out = (struct stop_share){ .stopped_s = fmin(run->stopped_seconds, run->thread_seconds),
				    .time_s = run->thread_seconds };
	if (!(run->thread_seconds > 0 && run->seconds > 0))
		return false;
	out->threads = (uint64_t)(fmin(run->thread_seconds / run->seconds, 1e9) + 0.5);
	return true;
}

bool stop_share_of_hitting(const struct summary_run *run, struct stop_share *out)
{
	const double all = run->stopped_seconds / run->thread_seconds;

	*out = (struct stop_share){ run->hitting, run->hitting_stopped, run->hitting_seconds };
	if (!(run->hitting_seconds > 0 && run->hitting_seconds < NEARLY_ALL * run->thread_seconds))
		return false;
	/* the sum of a budget has costs beside those of hits: the share of all is larger then */
	return run->hitting_stopped / run->hitting_seconds >= all;
}

bool stop_share_of_worst(const struct summary_run *run, struct stop_share *out)
{
	*out = (struct stop_share){ 1, fmin(run->worst_stopped, run->worst_seconds), run->worst_seconds };
	return run->worst_seconds > 0 && !summary_is_sampled(run);
}

bool stop_share_first(const struct summary_run *run, struct stop_share *out)
{
	return stop_share_of_hitting(run, out) || stop_share_of_all(run, out);
}

bool stop_share_slows(const struct stop_share *share)
{
	return share->stopped_s > MUCH * share->time_s;
}
