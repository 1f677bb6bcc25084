/* SPDX-License-Identifier: MIT */
#include "attach/keeper/calm.h"

uint64_t calm_ns(const struct calm *c, uint64_t now_ns)
{
	return c->on && now_ns > c->since_ns ? c->sum_ns + (now_ns - c->since_ns) : c->sum_ns;
}

bool calm_end(struct calm *c, pid_t tid, uint64_t at_ns)
{
	/* another one, that had stopped before we let the last one go; that one itself has surely run */
	bool late = c->on && tid != c->last && at_ns <= c->since_ns, counts = c->on && !late;

	if (!c->on)
		return false;
	c->sum_ns = calm_ns(c, at_ns);
	c->since_ns = at_ns;
	c->on = false;
	return counts;
}

void calm_begin(struct calm *c, pid_t tid, uint64_t at_ns)
{
	if (c->on)
		return;
	c->on = true;
	c->last = tid;
	c->since_ns = at_ns;
}
