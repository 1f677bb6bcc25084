/* SPDX-License-Identifier: MIT */
#include "attach/keeper/sched/sched_priority.h"

#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICE (-10)
#define SLICE_NS 100000u		/* the shortest that the kernel grants */

void sched_priority_ask_for_share(void)
{
	setpriority(PRIO_PROCESS, 0, NICE);
}

static void ask_for_slices(void)
{
	struct sched_attr attr = {
		.size = sizeof(attr), .sched_flags = SCHED_FLAG_KEEP_POLICY,
		/* as it is now: a lower one would be refused, and the slice with it */
		.sched_nice = getpriority(PRIO_PROCESS, 0), .sched_runtime = SLICE_NS,
	};
	long policy = syscall(SYS_sched_getscheduler, 0);

	/* without the flag, which not every kernel knows; SCHED_RESET_ON_FORK may be set as well */
	if ((policy & ~SCHED_RESET_ON_FORK) == SCHED_IDLE || (policy & ~SCHED_RESET_ON_FORK) == SCHED_BATCH)
		attr.sched_flags = policy & SCHED_RESET_ON_FORK ? SCHED_FLAG_RESET_ON_FORK : 0;
	(void)syscall(SYS_sched_setattr, 0, &attr, 0);
}

void sched_priority_ask(void)
{
	sched_priority_ask_for_share();
	ask_for_slices();
}
