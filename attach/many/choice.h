/* SPDX-License-Identifier: MIT */
/*
 * choice: which processes are to be watched, by looking at /proc again and again.
 *
 * The first look chooses what is there: the processes of a list, of a name, of a cgroup; with `descend` the
 * descendants, too. A later look (--follow) adds what is new: processes of that name or in that cgroup, and
 * new children of a chosen one. Each is handed out once, when it is old enough: most new processes of a
 * shell or a build live for milliseconds only, and are not worth a watch. One that execs is handed out
 * again.
 *
 *	not known ──▶ OTHER	not chosen; looked at again now and then: its name or its cgroup may change
 *	          ──▶ YOUNG	chosen; next it is HANDED, or it ends, and is counted
 *	          ──▶ EXCLUDED	a kernel thread, or mmattach itself with all that it has started
 *
 * A child whose parent has ended before the child was seen belongs to another process by then. It is known
 * by its session, if a chosen process leads that.
 *
 * A look reads the names in /proc, and one or two files of each process that is new. With 400 processes,
 * and a shell that starts 4,000 a second, ten looks a second take 2 or 3 % of a processor.
 */
#ifndef MM_CHOICE_H
#define MM_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/many/cgroups.h"
#include "attach/many/procs.h"
#include "base/addrmap.h"
#include "base/cleanup.h"

struct choice_wish {
	const pid_t *pids;	/* processes, or their threads */
	size_t npids;
	const char *name;	/* NULL: by another way */
	struct cgroup_wish cgroup;
	bool descend;		/* the descendants that are there, too */
	bool follow;		/* later looks add what is new */
	pid_t self;		/* mmattach: it and its descendants are never chosen */
	uint64_t least_age_ns;	/* of a process that a later look has found */
};

struct choice_found {
	pid_t pid;
	char comm[PROCSTAT_COMM];
	uint64_t start_ns;	/* CLOCK_BOOTTIME */
	bool later;		/* not by the first look */
	bool inherits;		/* a copy of a process that was chosen, as far as is known: no exec was seen since */
};

struct choice {
	struct choice_wish wish;
	int proc;		/* the folder */
	struct addrmap known;	/* by process id */
	uint32_t looks;
	uint64_t brief;		/* chosen ones that had ended before they were old enough */
	/* of the last look; the caller takes them before the next one */
	struct choice_found *found;
	size_t nfound, room;
	/* ids of the processes that the look has read */
	pid_t *read;
	size_t nread, read_room;
};

/* @proc: "/proc". @wish is copied, what it points to is not. 0 or -errno. choice_close in any case. */
must_check int choice_open(struct choice *c, const char *proc, const struct choice_wish *wish);
void choice_close(struct choice *c);

/* Look. @now_ns: CLOCK_BOOTTIME. 0 or -errno. */
must_check int choice_look(struct choice *c, uint64_t now_ns);

/*
 * @pid is watched already, without having been chosen by a look: its descendants are followed. 0 or
 * -ENOMEM.
 */
must_check int choice_adopt(struct choice *c, pid_t pid);

/* Its watch has ended, but it goes on. The next look hands it out again. @execed: with another program. */
void choice_again(struct choice *c, pid_t pid, bool execed);

#endif
