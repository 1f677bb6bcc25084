/* SPDX-License-Identifier: MIT */
#include "attach/watch/watch_cost.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "attach/control/link.h"
#include "attach/keeper/procfs.h"
#include "attach/watch/watch.h"
#include "base/log.h"

#define FIRST_NS 3000000000ull	/* a shorter time says little */
#define MUCH 0.25		/* of its time */

/* No hint names what was just done, or cannot be done. */
static const char *what_costs_less(const struct watch *w)
{
	if (w->cost.under_gdb)
		return "`mmleak stop` ends the watch; mmattach without gdb costs less (mmattach help budget)";
	if (w->link->uprobe && w->cost.no_other)
		return "Ctrl-C ends the watch; --sample 512K costs less (mmattach help budget)";
	if (w->link->uprobe || w->cost.no_auto)
		return "Ctrl-C ends the watch; --budget 1% costs less (mmattach help budget)";
	return "Ctrl-C ends the watch; --engine auto costs less, --budget 1% least (mmattach help budget)";
}

/* At the end of the process all threads have ended, and none before the others. */
static bool has_ended_alone(pid_t pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%u", (int)pid, tid);
	return access(path, F_OK) < 0 && errno == ENOENT && procfs_living_thread(pid);
}

void watch_cost_see(struct watch *w)
{
	const uint32_t tid = atomic_load(&w->link->shared->counts.worst.tid);

	if (tid && tid != w->cost.gone && has_ended_alone(w->pid, tid))
		w->cost.gone = tid;
}

uint64_t watch_cost_until(const struct watch *w, uint64_t now_ns)
{
	const struct shared_worst *worst = &w->link->shared->counts.worst;
	const uint64_t last_ns = atomic_load(&worst->last_ns);

	return w->cost.gone && atomic_load(&worst->tid) == w->cost.gone && last_ns < now_ns ? last_ns : now_ns;
}

void watch_cost_look(struct watch *w, uint64_t now_ns)
{
	const struct shared_worst *worst = &w->link->shared->counts.worst;
	const uint64_t since_ns = atomic_load(&worst->since_ns), ns = atomic_load(&worst->ns);
	const uint64_t until_ns = watch_cost_until(w, now_ns);
	double share;

	if (w->cost.said || w->cost.limited || !since_ns || until_ns < since_ns + FIRST_NS)
		return;
	share = (double)ns / (double)(until_ns - since_ns);
	if (share < MUCH)
		return;
	w->cost.said = true;
	log_warn("this watch slows the target much: it takes at least %.0f%% of the time of thread %u",
		 100 * (share < 1 ? share : 1), atomic_load(&worst->tid));
	log_hint("%s", what_costs_less(w));
}
