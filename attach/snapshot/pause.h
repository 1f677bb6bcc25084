/* SPDX-License-Identifier: MIT */
/*
 * pause: a process stopped once, as a whole and briefly, and copied into a snapshot.
 *
 *	prepare     what there is to copy (maps, pagemap), room for it populated, how long it will take: nobody is stopped
 *	            longer than --max-pause expected: not done at all, and said
 *	stop        every thread; registers
 *	copy        resident pages of writable memory (mirror.h), and no other: process_vm_readv of a page that is not
 *	            resident would make it so in the target
 *	resume      as found: calls that were interrupted start again, who was stopped before stays stopped
 *
 * The keeper stops and resumes (keeper/pause/pausing.h), for it is the tracer; if we die meanwhile, it resumes and leaves.
 * Should a pause last longer than its limit, the keeper ends it by itself, and the snapshot is thrown away: -ETIMEDOUT.
 */
#ifndef MM_PAUSE_H
#define MM_PAUSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/snapshot/room.h"
#include "base/cleanup.h"

struct link;
struct snapshot;

struct pause_wish {
	uint64_t max_pause_ns;		/* not begun if it is expected to last longer; 0: whatever it takes */
	uint64_t limit_ns;		/* ended if it lasts so long; 0: a multiple of what is expected and of max_pause_ns, a second at least */
	void (*meanwhile)(void *ctx);	/* if not NULL: called every millisecond while it is prepared, which may take seconds: events want to be read */
	void *ctx;
};

struct pause_had {
	uint64_t expected_ns, had_ns;	/* from the first thread that stood to the last that was let go; of all tries */
	uint64_t at_ns;			/* all stood then; CLOCK_MONOTONIC */
	uint64_t ring_head;		/* ring.head then: records before it are of before the stop, all of them, and no others */
	uint64_t bytes;			/* copied in it */
	uint32_t threads, not_stopped;	/* not_stopped: asleep in the kernel where nothing interrupts, or where it would be seen */
	uint32_t tries;			/* a second one where it grew much between preparing and stopping; only where any pause will do */
	struct room room;		/* of the last try; of -ENOMEM, less may be available than is needed */
};

/*
 * Copy the process that @l's keeper has seized (nothing needs to be planted). @had is filled as far as it came, also on
 * failure. 0; -ETIME: it would take longer than max_pause_ns (had->expected_ns says how long), and nobody was stopped; -ETIMEDOUT as above;
 * -ESRCH the target is gone, or has exec'ed; -EOPNOTSUPP: gdb is the tracer; -ENOMEM, before anybody was stopped, also where the machine has so much,
 * but could not spare it; -EAGAIN: it grew faster than room could be made; -EPIPE: the keeper is gone; another -errno. On failure @out is empty.
 */
must_check int pause_and_copy(struct link *l, pid_t pid, const struct pause_wish *wish, struct snapshot *out, struct pause_had *had);

#endif
