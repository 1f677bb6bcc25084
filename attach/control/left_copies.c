/* SPDX-License-Identifier: MIT */
#include "attach/control/left_copies.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "attach/keeper/procfs.h"
#include "attach/target/procstat.h"
#include "attach/target/target.h"
#include "base/cleanup.h"

#define STEP_NS 10000000u	/* of a process's time of start */
#define DEEPEST 16	/* generations: of what is forked within milliseconds */

struct look {
	void (*lift)(void *ctx, int mem);
	void *ctx;
	int proc;
	uint64_t stack;		/* where that of the target begins */
	pid_t parent;		/* whose children are looked at, */
	unsigned depth;		/* and in which generation */
};

static void lift_in(const struct look *l, pid_t pid)
{
	cleanup_close int mem = procfs_open_mem(pid);

	if (mem >= 0)
		l->lift(l->ctx, mem);
}

static bool is_copy(const struct look *l, pid_t pid)
{
	struct procstat st;

	return procstat_read(l->proc, pid, &st) == 0 && l->stack && st.stack_start == l->stack;
}

static bool has_tracer(pid_t pid)
{
	return target_status_number(pid, "TracerPid");
}

static void look_at_children(const struct look *l, pid_t pid);

static int look_at(void *ctx, pid_t child)
{
	const struct look *l = ctx;

	if (!is_copy(l, child) || has_tracer(child))
		return 0;
	lift_in(l, child);
	if (l->depth < DEEPEST)
		look_at_children(l, child);
	return 0;
}

static int look_at_task(void *ctx, pid_t tid)
{
	struct look *l = ctx;

	return procfs_each_child(l->parent, tid, look_at, l);
}

static void look_at_children(const struct look *l, pid_t pid)
{
	struct look children = *l;

	children.parent = pid;
	children.depth++;
	(void)procfs_each_task(pid, look_at_task, &children);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Is the process that has the number of the slot's copy still that? One that was started before the copy was seen
 * is. (Not by its stack: the target may have executed another program since.)
 */
static bool is_left_in_slot(const struct look *l, const struct slot *s)
{
	const uint64_t suspended_ns = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
	struct procstat st;

	return procstat_read(l->proc, s->pid, &st) == 0 && st.start_ns <= s->born_ns + suspended_ns + STEP_NS &&
	       !has_tracer(s->pid);
}

static void look_at_slots(const struct look *l, const struct slots *slots, pid_t keeper)
{
	for (uint32_t i = 0; slots && i < SLOTS; i++) {
		const struct slot *s = &slots->all[i];
		const uint32_t state = atomic_load(&s->state);

		if ((state == SLOT_OFFERED || state == SLOT_CLAIMED) && s->keeper == keeper &&
		    is_left_in_slot(l, s))
			lift_in(l, s->pid);
	}
}

void left_copies_each(const struct slots *slots, pid_t keeper, pid_t pid,
		      void (*lift)(void *ctx, int mem), void *ctx)
{
	const struct timespec pauses[] = { { 0, 10000000 }, { 0, 90000000 } };
	cleanup_close int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct look l = { .lift = lift, .ctx = ctx, .proc = proc };
	struct procstat st;

	look_at_slots(&l, slots, keeper);
	if (procstat_read(proc, pid, &st) == 0)
		l.stack = st.stack_start;
	look_at_children(&l, pid);
	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		nanosleep(&pauses[i], NULL);
		look_at_children(&l, pid);
	}
}
