/* SPDX-License-Identifier: MIT */
/*
 * pause: a process is stopped once, as a whole and briefly, and copied into a snapshot.
 *
 *	prepare     what there is to copy (maps, pagemap), populated memory for it, how long it will take: no
 *	            thread is stopped. If longer than --max-pause is expected: not done at all, and reported
 *	stop        every thread; registers
 *	copy        resident pages of writable memory (copy_plan.h), and no other: process_vm_readv of a page
 *	            that is not resident would make it so in the target
 *	resume      as found: calls that were interrupted start again, a process that was stopped before
 *	            stays stopped
 *
 * The keeper stops and resumes (keeper/pause/pausing.h), since it is the tracer; if the controller dies
 * meanwhile, it resumes and leaves. If a pause lasts longer than its limit, the keeper ends it by itself, and
 * the snapshot is discarded: -ETIMEDOUT.
 */
#ifndef MM_PAUSE_H
#define MM_PAUSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/snapshot/memory_limit.h"
#include "base/cleanup.h"

struct link;
struct snapshot;

struct pause_wish {
	uint64_t max_pause_ns;		/* not begun if it is expected to last longer; 0: no limit */
	/*
	 * ended if it lasts so long; 0: a multiple of what is expected and of max_pause_ns, at least a second. Where
	 * it is given, no thread is stopped for longer, so it is also begun if only threads that get no processor may
	 * make it too long
	 */
	uint64_t limit_ns;
	/*
	 * if not NULL: called every millisecond during preparation, which may take seconds, so that events
	 * are read. false: the process has ended, or runs another program (-ESRCH)
	 */
	bool (*meanwhile)(void *ctx);
	void *ctx;
};

struct pause_had {
	/* from the first thread stopped to the last one resumed; sum of all tries */
	uint64_t expected_ns, had_ns;
	uint64_t at_ns;			/* when all were stopped; CLOCK_MONOTONIC */
	/* link_position() then: exactly the records before it are from before the stop */
	uint64_t ring_head;
	uint64_t bytes;			/* copied in the pause */
	/* not_stopped: asleep in the kernel, uninterruptibly or where an interruption would be noticed */
	uint32_t threads, not_stopped;
	/* more than one if it grew much between preparing and stopping; only without max_pause_ns */
	uint32_t tries;
	/* of the last try; on -ENOMEM, less may be available than is needed */
	struct memory_limit room;
};

/*
 * Copy the process that @l's keeper has seized (nothing needs to be planted). @had is filled as far as it is
 * known, also on failure. 0; -ETIME: it would take longer than max_pause_ns (had->expected_ns is how long),
 * and no thread was stopped; -ETIMEDOUT as above; -ESRCH: the target is gone, or has exec'ed; -EOPNOTSUPP:
 * gdb is the tracer; -ENOMEM, before any thread was stopped, also if the machine has enough memory but cannot
 * spare it; -EAGAIN: it grew faster than memory could be prepared; -EPIPE: the keeper is gone; another
 * -errno. On failure @out is empty.
 */
must_check int pause_and_copy(struct link *l, pid_t pid, const struct pause_wish *wish, struct snapshot *out,
			      struct pause_had *had);

#endif
