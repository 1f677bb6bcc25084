/* SPDX-License-Identifier: MIT */
#include "attach/keeper/budget/quiet_clock.h"

uint64_t quiet_clock_ns(const struct quiet_clock *c, uint64_t now_ns)
{
	return c->on && now_ns > c->since_ns ? c->sum_ns + (now_ns - c->since_ns) : c->sum_ns;
}

uint64_t quiet_clock_work_ns(const struct quiet_clock *c, uint64_t cpu_ns)
{
	uint64_t since = c->since_cpu_ns + c->stop_cpu_ns / 2;

	return c->on && c->since_cpu_ns && cpu_ns > since ? c->work_ns + (cpu_ns - since) : c->work_ns;
}

bool quiet_clock_end(struct quiet_clock *c, pid_t tid, struct quiet_time at)
{
	/*
	 * late: another thread that had stopped before we resumed the last one, which itself has surely run
	 */
	bool late = c->on && tid != c->last && at.ns <= c->since_ns, counts = c->on && !late;

	if (!c->on)
		return false;
	c->sum_ns = quiet_clock_ns(c, at.ns);
	c->since_ns = at.ns;
	c->work_ns =
		quiet_clock_work_ns(c, at.cpu_ns > c->stop_cpu_ns / 2 ? at.cpu_ns - c->stop_cpu_ns / 2 : 0);
	c->stops++;
	c->on = false;
	return counts;
}

void quiet_clock_begin(struct quiet_clock *c, pid_t tid, struct quiet_time at)
{
	if (c->on)
		return;
	c->on = true;
	c->last = tid;
	c->since_ns = at.ns;
	c->since_cpu_ns = at.cpu_ns;
}
